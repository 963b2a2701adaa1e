"""A plan as a POSIX shell script that does the same: for hosts where nobody may install rocmdoctor.

Every word is quoted by shlex, file contents stand in here-documents with a quoted delimiter, keys are compared with the pinned
fingerprint before they are put in place. What the script cannot do is journal and undo.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from rocmdoctor import __version__
from rocmdoctor.plan import managers
from rocmdoctor.plan.accounts import AddUserToGroups
from rocmdoctor.plan.driver_module import DkmsModule
from rocmdoctor.plan.environments import PipInstall, PythonVenv
from rocmdoctor.plan.files import RemoveFile, WriteFile
from rocmdoctor.plan.keys import FetchKey, ImportKey, TrustKey
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan, Step
from rocmdoctor.reports.printable import printable

_HEAD = """\
set -eu
umask 022
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

fail() {
    printf '%s\\n' "$*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || fail 'This script changes the system: run it as root.'
"""
_KEYS = """
# fetch_key URL FINGERPRINT FILE FORM: the key behind URL, when it is the one that is expected and has not expired. With "any" for
# the fingerprint, which nobody publishes then, the only key there is trusted and shown.
fetch_key() {
    command -v gpg >/dev/null || fail 'gpg is needed to verify the signing key: install gnupg.'
    work=$(mktemp -d)
    if command -v curl >/dev/null; then
        curl -fsSL @CURL@-o "$work/key" "$1"
    elif command -v wget >/dev/null; then
        wget -q @WGET@-O "$work/key" "$1"
    else
        fail 'curl or wget is needed.'
    fi
    gpg --homedir "$work" --batch --with-colons --show-keys "$work/key" >"$work/list" 2>/dev/null || fail "No key at $1."
    found=$(awk -F: '$1 == "fpr" && main { print $10 } { main = ($1 == "pub") }' "$work/list")
    if [ "$2" = any ]; then
        [ "$(printf '%s\\n' "$found" | wc -w)" -eq 1 ] || fail "One key is expected at $1."
        printf '%s\\n' "The key $found of $1 is trusted from now on."
    elif [ "$found" != "$2" ]; then
        fail "The key at $1 has the fingerprint $found, and $2 is expected."
    fi
    ends=$(awk -F: '$1 == "pub" { print $7; exit }' "$work/list")
    [ -z "$ends" ] || [ "$ends" -gt "$(date +%s)" ] || fail "The key at $1 has expired."
    mkdir -p "$(dirname "$3")"
    case $4 in
    binary)
        gpg --homedir "$work" --batch --yes --dearmor -o "$work/binary" "$work/key" 2>/dev/null || cp "$work/key" "$work/binary"
        install -m 0644 "$work/binary" "$3"
        ;;
    *) install -m 0644 "$work/key" "$3" ;;
    esac
    rm -rf "$work"
}
"""


def render(plan: Plan, matrix_date: str) -> str:
    """The script. Raises ValueError for a plan that is refused."""
    if plan.refusals:
        raise ValueError("a refused plan has no script")
    lines = [
        "#!/bin/sh",
        f"# {_comment(plan.title)}",
        f"# Made by rocmdoctor {__version__}, compatibility data of {matrix_date}. It does what `rocmdoctor install` would do.",
        *(f"# Note: {_comment(notice)}" for notice in plan.notices),
        _HEAD.rstrip(),
    ]
    keys = [step for step in plan.steps if isinstance(step, (FetchKey, ImportKey))]
    if keys:
        ca = keys[0].ca
        curl, wget = (f"--cacert {_word(ca)} ", f"--ca-certificate={_word(ca)} ") if ca else ("", "")
        lines.append(_KEYS.replace("@CURL@", curl).replace("@WGET@", wget).rstrip())
    for step in plan.steps:
        lines += [
            "",
            f"# {_comment(step.title)}" + (f": {_comment(step.reason)}" if step.reason else ""),
            *_PARTS[type(step)](step),
        ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return printable(text)


def _word(text: str) -> str:
    return shlex.quote(text)


def _argv(argv: Sequence[str]) -> str:
    return shlex.join(argv)


def _write(step: Step) -> Iterator[str]:
    assert isinstance(step, WriteFile)
    folder, _, name = step.path.rpartition("/")
    new = _word(f"{folder}/.{name}.rocmdoctor-new")
    lines = step.text.splitlines()
    end = "EOF"
    while end in lines:
        end += "_"
    changes = f"[ ! -f {_word(step.path)} ] || chmod --reference={_word(step.path)} {new}"
    yield f"mkdir -p {_word(folder)}"
    yield f"cat >{new} <<'{end}'"
    yield from lines
    yield end
    yield f"chmod {step.mode:04o} {new}"
    yield changes
    yield f"mv -f {new} {_word(step.path)}"
    if step.then:
        yield _argv(step.then)


def _remove(step: Step) -> Iterator[str]:
    yield from map(_argv, step.commands)


def _fetch(step: Step) -> Iterator[str]:
    assert isinstance(step, FetchKey)
    form = "armored" if step.path.endswith(".asc") else "binary"
    yield f"fetch_key {_argv((step.url, step.fingerprint, step.path, form))}"


def _import(step: Step) -> Iterator[str]:
    assert isinstance(step, ImportKey)
    yield f"fetch_key {_argv((step.url, step.fingerprint or 'any', step.path, 'armored'))}"
    yield _argv(("rpm", "--import", step.path))


def _install(step: Step) -> Iterator[str]:
    assert isinstance(step, InstallPackages)
    sure = tuple(wish for wish in step.wishes if not wish.optional)
    maybe = tuple(wish for wish in step.wishes if wish.optional)
    argv = _argv(managers.install(step.manager, sure, removals=bool(step.removes)))
    if not maybe:
        yield argv
        return
    yield "set --"
    for wish in maybe:
        yield f"if {_argv(managers.exists(step.manager, wish.name))} >/dev/null 2>&1; then"
        yield f'    set -- "$@" {_word(wish.name)}'
        yield "fi"
    yield f'{argv} "$@"'


def _module(step: Step) -> Iterator[str]:
    assert isinstance(step, DkmsModule)
    kernel = _word(step.kernel)
    find = f"find /lib/modules/{kernel}/updates /lib/modules/{kernel}/extra /lib/modules/{kernel}/weak-updates -name 'amdgpu.ko*'"
    yield "built() {"
    yield f'    [ -n "$({find} 2>/dev/null || true)" ]'
    yield "}"
    yield f"built || {_argv(step.commands[0])}"
    yield f"built || fail {_word(f'There is no amdgpu module for kernel {step.kernel}: DKMS skipped or failed the build.')}"


def _venv(step: Step) -> Iterator[str]:
    assert isinstance(step, PythonVenv)
    yield f"[ -e {_word(step.path + '/pyvenv.cfg')} ] || {_argv(step.commands[0])}"


def _pip(step: Step) -> Iterator[str]:
    assert isinstance(step, PipInstall)
    if not step.hashes:
        yield _argv(step.commands[0])
        return
    yield "requirements=$(mktemp)"
    yield "cat >\"$requirements\" <<'EOF'"
    yield from step.hashes
    yield "EOF"
    yield " ".join('"$requirements"' if word == "REQUIREMENTS" else _word(word) for word in step.commands[0])
    yield 'rm -f "$requirements"'


def _commands(step: Step) -> Iterator[str]:
    yield from map(_argv, step.commands)


def _reboot(step: Step) -> Iterator[str]:
    yield f"printf '%s\\n' {_word('Reboot to load the new driver.')}"


def _run(step: Step) -> Iterator[str]:
    assert isinstance(step, RunCommand)
    there = f"[ -e {_word(step.path)} ] || " if step.path else ""
    yield there + _argv(step.argv)


_PARTS: dict[type[Step], Callable[[Step], Iterator[str]]] = {
    WriteFile: _write,
    RemoveFile: _remove,
    FetchKey: _fetch,
    ImportKey: _import,
    TrustKey: _import,
    RefreshIndex: _commands,
    InstallPackages: _install,
    RemovePackages: _commands,
    AddUserToGroups: _commands,
    RunCommand: _run,
    DkmsModule: _module,
    PythonVenv: _venv,
    PipInstall: _pip,
    RebootNotice: _reboot,
}
