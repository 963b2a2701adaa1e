"""The keys that sign AMD's repositories, and what package managers do with one that has expired."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping
from typing import NamedTuple

from rocmdoctor.matrix.document import Document


class SigningKey(NamedTuple):
    """A repository key: where AMD publishes it, where the recipes keep it, and its fingerprint. `origin` is the apt Origin."""

    name: str
    url: str
    keyring: str
    origin: str
    fingerprint: str
    note: str | None
    source: tuple[str, ...]


class KeyExpiry(NamedTuple):
    """Which package managers refuse, accept or warn about an expired signing key."""

    refuses: tuple[str, ...]
    accepts: tuple[str, ...]
    warns: tuple[str, ...]


def read_signing_keys(doc: Document) -> Mapping[str, SigningKey]:
    found = {}
    for name, node in doc.section("signing_keys").items():
        fields = node.fields(frozenset({"url", "keyring", "origin", "fingerprint", "source"}), frozenset({"note"}))
        found[name] = SigningKey(
            name,
            fields["url"].text(),
            fields["keyring"].text(),
            fields["origin"].text(),
            fields["fingerprint"].text(),
            fields["note"].text() if "note" in fields else None,
            fields["source"].sources(),
        )
    return found


def read_key_expiry(doc: Document) -> KeyExpiry:
    fields = doc.section("key_expiry").fields(frozenset({"source", "refuses", "accepts", "warns", "note"}))
    fields["source"].sources()
    return KeyExpiry(fields["refuses"].texts(), fields["accepts"].texts(), fields["warns"].texts())
