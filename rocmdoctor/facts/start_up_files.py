"""Where variables are set for coming sessions: shell start-up files, /etc/environment, environment.d, systemd units.

bash(1) INVOCATION, zsh(1) STARTUP/SHUTDOWN FILES, pam_env(8), environment.d(5), systemd.exec(5) Environment=.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known

if TYPE_CHECKING:
    from rocmdoctor.host import Host

_HOME_SHELL = (
    ".bashrc", ".profile", ".bash_profile", ".bash_login", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".xprofile", ".config/fish/config.fish",
)  # fmt: skip
_SHELL = ("/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh/zshenv", "/etc/zsh/zshrc")
_READ_LIMIT = 256 << 10
_MAX_FILES = 200

# Patterns as text: few hosts have a file that needs them, and re keeps what it compiled.
_NAME = r"(HSA_OVERRIDE_GFX_VERSION(?:_\d{1,5})?|(?:ROCR|HIP|CUDA)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|LD_LIBRARY_PATH)"
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s;&|\"'#]*)"
_ASSIGNMENT = rf"(?<![\w$]){_NAME}={_VALUE}"
_EXPORT = r"(?:^|[;&|{(]\s*|\b(?:then|do|else)\s+)(?:export|(?:declare|typeset)\s+-\w*x\w*)\s+(.*)"
_OTHER_SHELLS = rf"(?:^|;\s*)(?:setenv|set\s+-\w*x\w*)\s+{_NAME}\s+{_VALUE}"  # csh, fish
_PLAIN = rf"\s*{_NAME}={_VALUE}\s*(?:[;#].*)?$"
_MENTIONS = ("HSA_OVERRIDE_GFX_VERSION", "_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "LD_LIBRARY_PATH")


class Setting(NamedTuple):
    """A variable set in a file. `line` counts from 1, `text` is that line (cut), `value` without its quotes."""

    file: str
    line: int
    name: str
    value: str
    text: str

    @property
    def place(self) -> str:
        """ "/home/user1/.bashrc:12" for evidence."""
        return f"{self.file}:{self.line}"


def _mentions(text: str) -> bool:
    return any(name in text for name in _MENTIONS)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" else value


def _in_shell(line: str, text: str) -> Iterator[tuple[str, str]]:
    """Exported assignments of one line; a plain one counts when the file exports the name elsewhere."""
    exported = re.search(_EXPORT, line)
    if exported:
        yield from re.findall(_ASSIGNMENT, exported.group(1))
        return
    plain = re.match(_PLAIN, line)
    if plain and re.search(rf"\bexport\s[^\n#]*\b{plain.group(1)}\b", text):
        yield plain.group(1), plain.group(2)
    yield from re.findall(_OTHER_SHELLS, line)


def parse(file: str, text: str, form: str) -> Iterator[Setting]:
    """Settings of one file. `form`: shell | environment (NAME=VALUE lines) | unit (systemd)."""
    if not _mentions(text):
        return
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped[:1] in ("", "#", ";") or len(stripped) > 8192 or not _mentions(stripped):
            continue
        pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]
        if form == "shell":
            pairs = _in_shell(stripped, text)
        elif form == "environment":
            found = re.match(_PLAIN, stripped.removeprefix("export "))
            pairs = [(found.group(1), found.group(2))] if found else []
        else:
            # Environment="A=1" "B=2": the quotes are around the whole assignment.
            pairs = re.findall(_ASSIGNMENT, stripped[12:]) if stripped.startswith("Environment=") else []
        for name, value in pairs:
            yield Setting(file, number, name, _unquoted(value)[:400], stripped[:400])


def _names(host: "Host", pattern: str) -> tuple[str, ...]:
    nothing: tuple[str, ...] = ()
    return known(lambda: host.glob(pattern), nothing) if "*" in pattern else (pattern,)


def _files(host: "Host") -> Iterator[tuple[str, str]]:
    """(path, form), those of the system before those of the user."""
    home = host.env.get("HOME") or ("/root" if host.user.uid == 0 else f"/home/{host.user.name}")
    home = home.rstrip("/") if home.startswith("/") and not set(home) & set("*?[") else "/root"
    for form, pattern in (
        ("environment", "/etc/environment"),
        ("environment", "/etc/environment.d/*.conf"),
        ("shell", "/etc/profile.d/*.sh"),
        *(("shell", path) for path in _SHELL),
        ("unit", "/etc/systemd/system/*.service"),
        ("unit", "/etc/systemd/system/*.service.d/*.conf"),
        ("environment", f"{home}/.config/environment.d/*.conf"),
        *(("shell", f"{home}/{name}") for name in _HOME_SHELL),
        ("unit", f"{home}/.config/systemd/user/*.service"),
        ("unit", f"{home}/.config/systemd/user/*.service.d/*.conf"),
    ):
        for path in _names(host, pattern):
            yield path, form


def read_settings(host: "Host") -> tuple[Setting, ...]:
    """Every place that sets one of the variables for coming sessions; files that cannot be read are left out."""
    settings: list[Setting] = []
    for count, (path, form) in enumerate(_files(host)):
        text = known(partial(host.read, path, _READ_LIMIT), None)
        if text:
            settings.extend(parse(path, text, form))
        if count >= _MAX_FILES or len(settings) >= _MAX_FILES:
            break
    return tuple(settings)
