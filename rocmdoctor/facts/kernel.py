"""The running kernel and its command line.

Sources: uname(2); /proc/cmdline and Linux Documentation/admin-guide/kernel-parameters.rst, lib/cmdline.c (next_arg: quotes,
`--`) and kernel/params.c (`-` and `_` are equal in names); module_blacklist= of kernel/module/main.c, modprobe.blacklist= of
modprobe(8).
"""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rocmdoctor.host import Host


class Kernel(NamedTuple):
    """`release` as uname gives it ("6.8.0-45-generic"); `flavour` is its last part ("generic", "oem", "azure", "el9_4",
    "default")."""

    release: str
    machine: str
    build: str
    """uname -v, e.g. "#45~22.04.1-Ubuntu SMP ..."."""

    @property
    def flavour(self) -> str | None:
        """The words at the end of the release, None when there are only numbers ("6.12.0", "6.12.0-rc3")."""
        return _flavour(self.release)

    @property
    def is_wsl(self) -> bool:
        return "microsoft" in self.release.lower()


class Cmdline(NamedTuple):
    """Parameters in order, values unquoted; a parameter without "=" has the value None."""

    params: tuple[tuple[str, str | None], ...]

    def has(self, name: str) -> bool:
        """`-` and `_` are the same in parameter names, as for the kernel."""
        wanted = name.replace("-", "_")
        return any(n == wanted for n, _ in self._normal())

    def get(self, name: str) -> str | None:
        """The last value given, or None."""
        values = self.all(name)
        return values[-1] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter that may be given several times (modprobe.blacklist=)."""
        wanted = name.replace("-", "_")
        return tuple(v for n, v in self._normal() if n == wanted and v is not None)

    @property
    def blacklist(self) -> tuple[str, ...]:
        """Module names named by modprobe.blacklist=, module_blacklist= (rules.md 15), `-` written `_`."""
        values = self.all("modprobe.blacklist") + self.all("module_blacklist")
        return tuple(dict.fromkeys(m.strip().replace("-", "_") for v in values for m in v.split(",") if m.strip()))

    def _normal(self) -> tuple[tuple[str, str | None], ...]:
        return tuple((n.replace("-", "_"), v) for n, v in self.params)


def parse_cmdline(text: str) -> Cmdline:
    """Parameters up to `--` (what follows is for init). Quotes keep blanks together: `a="b c"` and `"a=b c"` are one."""
    params: list[tuple[str, str | None]] = []
    for word in re.findall(_WORD, text.strip("\n\0")):
        if word == "--":
            break
        plain = word.replace('"', "")
        if plain:
            name, equals, value = plain.partition("=")
            params.append((name, value if equals else None))
    return Cmdline(tuple(params))


def gather(host: "Host") -> Kernel:
    """The running kernel; in a container that of its host. Raises UnknownFact."""
    uname = host.uname
    return Kernel(uname.release, uname.machine, uname.version)


def gather_cmdline(host: "Host") -> Cmdline:
    """/proc/cmdline; without one, no parameters. Raises UnknownFact."""
    return parse_cmdline(host.read("/proc/cmdline", 64 << 10) or "")


_WORD = r'(?:"[^"]*(?:"|$)|[^\s"])+'
_MACHINE = r"[.-](?:x86_64|aarch64|ppc64le|riscv64|i[3-6]86)$"


def _flavour(release: str) -> str | None:
    """For "6.1.0-28-cloud-amd64" cloud-amd64, for "5.14.0-427.13.1.el9_4.x86_64" el9_4, for "6.12.73+deb13-amd64" amd64."""
    rest = re.sub(r"\+[^-]*", "", release[:256])
    rest = re.sub(r"^[0-9.]+", "", re.sub(_MACHINE, "", rest))
    words: list[str] = []
    for group in reversed(rest.split("-")):
        parts = [p for p in group.split(".") if re.search(r"[A-Za-z]", p) and not re.fullmatch(r"rc\d+", p)]
        if not parts:
            if words or re.fullmatch(r"rc\d+", group):
                break
            continue
        words.append(parts[-1])
        if "." in group:
            break
    words = [re.sub(r"^(arch|zen|hardened)\d+$", r"\1", w) for w in words]
    words = list(dict.fromkeys(reversed(words)))
    if words and words[-1].endswith("uek"):
        return "uek"
    return "-".join(words) or None
