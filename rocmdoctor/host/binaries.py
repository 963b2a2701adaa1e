"""Which files of a host are binaries, of which a snapshot holds that they exist and not what is in them."""

from __future__ import annotations

import re

_KEYS = r"(/(keyrings|rpm-gpg|trusted\.gpg\.d)/|\.(gpg|pgp|asc|key)$)"
_KEYRING = re.compile(_KEYS)
_BINARY = re.compile(
    r"\.so(\.[0-9.]+)?$|\.(ko|bin|dat|a|o|hsaco|co|kpack|hip|pyc)(\.(xz|zst|gz|bz2))?$|\.(xz|zst|gz|bz2)$"
    r"|/(s?bin|libexec|firmware)/|^/boot/(vmlinuz|initrd|initramfs)"
)
_NEVER = re.compile(r"^/(proc|sys)/")


def is_keyring(path: str) -> bool:
    """Whether a keyring lies at this path: its content is kept where it could be read."""
    return _KEYRING.search(path) is not None


def is_binary_place(path: str) -> bool:
    """Whether a library, executable, kernel module or firmware file lies at this path, judged by its name."""
    return _BINARY.search(path) is not None and _NEVER.search(path) is None


def may_be_placeholder(path: str) -> bool:
    """Whether an empty file at this path means that the content was not kept."""
    return is_binary_place(path) or is_keyring(path)


def keeps_content(path: str, data: bytes) -> bool:
    """Whether the recorder keeps the content: keyrings, whatever the kernel prints, and text."""
    if is_keyring(path) or _NEVER.search(path):
        return True
    return not data.startswith(b"\x7fELF") and b"\0" not in data[:8192]
