"""What a package is built for: the suffix of its version, and how names differ between deb and rpm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """`family`: deb | el | suse. `tag` is "22.04", "el9" or "sles156"; `suite` the apt suite of the classic repositories."""

    family: str
    tag: str
    suite: str = ""

    @property
    def deb(self) -> bool:
        return self.family == "deb"

    def release(self, build: str) -> str:
        """The part of a version behind the hyphen, as AMD writes it: 139~22.04, 139.el9, sles156.139."""
        if self.deb:
            return f"{build}~{self.tag}"
        return f"{build}.{self.tag}" if self.family == "el" else f"{self.tag}.{build}"

    def name(self, name: str) -> str:
        """AMD's rpm packages say -devel where its deb packages say -dev."""
        return name if self.deb or not name.endswith("-dev") else f"{name}el"


JAMMY = Target("deb", "22.04", "jammy")
NOBLE = Target("deb", "24.04", "noble")
FOCAL = Target("deb", "20.04", "focal")
EL8 = Target("el", "el8")
EL9 = Target("el", "el9")
EL10 = Target("el", "el10")
SLES156 = Target("suse", "sles156")
