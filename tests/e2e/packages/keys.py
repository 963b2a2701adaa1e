"""Throw-away OpenPGP keys made with gpg: one per publisher, and copies that are expired."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

BORN = "20200101T000000"
"""The faked time at which keys are made, so that a copy that expired long ago can be made of each."""


class GpgFailed(Exception):
    """gpg ended with an error; the text is what it said."""


def _gpg(home: Path, *argv: str, data: bytes | None = None) -> bytes:
    # The agent listens on a socket in its home, whose path is limited to 108 bytes: keep `home` short.
    quiet = ["--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", ""]
    done = subprocess.run(
        ["gpg", "--homedir", str(home), *quiet, *argv],
        input=data,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if done.returncode:
        raise GpgFailed(f"gpg {' '.join(argv)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Key:
    """`home` holds the secret key. `armoured` and `expired_armoured` are the public key as a publisher serves it, `binary` as a
    keyring file."""

    name: str
    home: Path
    fingerprint: str
    armoured: bytes
    binary: bytes
    expired_armoured: bytes

    def clear_sign(self, text: bytes) -> bytes:
        """InRelease of apt."""
        return _gpg(self.home, "--local-user", self.fingerprint, "--digest-algo", "SHA512", "--clearsign", data=text)

    def detached(self, path: Path) -> bytes:
        """An armoured signature (repomd.xml.asc)."""
        return _gpg(self.home, "--local-user", self.fingerprint, "--armor", "--detach-sign", "--output", "-", str(path))

    def rest(self) -> None:
        """End the agent that gpg started for this key."""
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], capture_output=True)


def make_key(home: Path, name: str, owner: str) -> Key:
    """A new RSA key in a home folder of its own. Takes a quarter of a second."""
    home.mkdir(mode=0o700, parents=True)
    _gpg(home, f"--faked-system-time={BORN}!", "--quick-gen-key", owner, "rsa2048", "sign", "never")
    listed = _gpg(home, "--with-colons", "--list-keys").decode()
    fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
    armoured = _gpg(home, "--armor", "--export", fingerprint)
    binary = _gpg(home, "--export", fingerprint)
    # The same key with an end in the past, as a copy that nobody has fetched again looks; then back to the one without.
    _gpg(home, f"--faked-system-time={BORN[:4]}0102T000000!", "--quick-set-expire", fingerprint, "1y")
    expired = _gpg(home, "--armor", "--export", fingerprint)
    _gpg(home, "--quick-set-expire", fingerprint, "never")
    return Key(name, home, fingerprint, armoured, binary, expired)


def load_or_make(folder: Path, name: str, owner: str) -> Key:
    """The key of that name below `folder`, made at the first call."""
    home, public = folder / name, folder / f"{name}.public"
    if not public.is_dir():
        key = make_key(home, name, owner)
        public.mkdir()
        for part in ("armoured", "binary", "expired_armoured"):
            (public / part).write_bytes(getattr(key, part))
        (public / "fingerprint").write_text(key.fingerprint)
        return key
    read = {part: (public / part).read_bytes() for part in ("armoured", "binary", "expired_armoured")}
    return Key(name, home, (public / "fingerprint").read_text(), **read)
