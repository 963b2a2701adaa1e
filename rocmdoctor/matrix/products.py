"""Product names: "AMD Instinct MI250X / MI250" of a PCI table against "Instinct MI250X" and "MI250X" of AMD's pages."""

from __future__ import annotations

_FILLER = frozenset({"amd", "instinct", "radeon", "graphics", "(tm)", "tm", "series", "accelerator", "ai", "rx", "pro", "oam"})
"""Words that AMD's own pages drop at will. RX, PRO and AI go too: the numbers behind them are unique ("W7900", "R9700")."""


def tokens(name: str) -> tuple[str, ...]:
    """The telling words of one product name, lower case; "Radeon RX 7900 XTX" is ("7900", "xtx")."""
    words = name.lower().replace("™", " ").replace("®", " ").split()
    kept = tuple(word for word in words if word not in _FILLER)
    return kept or tuple(words)


def alternatives(product: str) -> tuple[tuple[str, ...], ...]:
    """A name may hold several products: "MI60 / MI50", "RX 6600; RX 6600M". Each as tokens."""
    parts = [part for piece in product.split(";") for part in piece.split(" / ")]
    return tuple(tokens(part) for part in parts if part.strip())


def same_product(product: str, listed: str) -> bool:
    """True when the board's name (or one of its alternatives) is AMD's listed product, whichever words either leaves out.

    A virtual function counts as its board ("MI300X VF"), a "HF" variant too.
    """
    wanted = tokens(listed)
    variants = {"vf", "mxgpu", "hf"}
    return any(tuple(word for word in option if word not in variants) == wanted for option in alternatives(product))


def any_listed(product: str, listed: tuple[str, ...]) -> bool:
    return any(same_product(product, name) for name in listed)
