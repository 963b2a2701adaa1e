"""amd-smi and rocm-smi: the management tools' view.

They read sysfs: that they work proves nothing of compute access (rules.md 23).
"""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rocmdoctor.host import Command, Host

TIME_LIMIT = 10.0
"""Seconds. Both tools import a Python package and walk sysfs: about a second on eight GPUs."""

AMD_SMI = ("amd-smi", "list", "--json")
ROCM_SMI = ("rocm-smi", "--showproductname", "--json")


class Smi(NamedTuple):
    """One tool's answer. `error_text`: its telling last lines when it failed. `gpus`: how many are listed, None when not told.

    `ok`: the tool ran to its end and answered in a known form (an empty list is an answer: `gpus` 0). `error`, None when ok:
    driver-not-loaded | no-gpu | symbol-missing | library-missing | import-error | usage | permission | timeout | crash |
    other."""

    tool: str
    found: bool
    program: str | None
    ok: bool
    gpus: int | None
    driver_version: str | None
    error_text: str
    error: str | None = None

    @property
    def named_libraries(self) -> tuple[str, ...]:
        """Absolute paths of libraries and Python files that the error text names, each once: they show mixed releases."""
        return tuple(dict.fromkeys(re.findall(_PATH, self.error_text)))


# Patterns as text: only a failing tool or one without --json needs them, and re keeps what it compiled.
_ANSI = r"\x1b\[[0-9;?]*[A-Za-z]"
_PATH = r"/[\w./+-]+(?:\.so(?:\.[\d.]*\d)?|\.py)\b"
_CARD = r"card\d{1,4}"
_ROW = r"(\d{1,4})\s+(?:\[?0[xX][0-9a-fA-F]+|\d{1,4}\s+0[xX][0-9a-fA-F]+|[\d.]+(?:[cC]|°C)\b)"
_EXCEPTION = r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b"

# In order of precedence; substrings in lower case.
_ERRORS = (
    ("symbol-missing", "undefined symbol"),
    ("library-missing", "cannot open shared object file"),
    ("library-missing", "unable to load"),
    ("library-missing", "' not found (required by"),
    ("driver-not-loaded", "driver not initialized"),
    ("driver-not-loaded", "driver_not_loaded"),
    ("driver-not-loaded", "amdgpu not found in modules"),
    ("driver-not-loaded", "driver not found"),
    ("no-gpu", "unable to detect any gpu"),
    ("no-gpu", "no amd gpus specified"),
    ("no-gpu", "no such device"),
    ("import-error", "modulenotfounderror"),
    ("import-error", "importerror"),
    ("import-error", "unhandled import error"),
    ("usage", "unrecognized arguments"),
    ("usage", "invalid choice"),
    ("usage", "not a valid command"),
    ("permission", "permission denied"),
    ("permission", "amdsmi_status_no_perm"),
    ("crash", "segmentation fault"),
    ("crash", "double free or corruption"),
    ("crash", "core dumped"),
)


def _json_in(text: str) -> Any:
    """The JSON value in a text with warnings before and after it, or None. At most 64 lines are tried as its beginning."""
    decoder = json.JSONDecoder()
    tried = 0
    position = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip()[:1] in ("{", "["):
            try:
                value, _ = decoder.raw_decode(text, position + len(line) - len(line.lstrip()))
            except (ValueError, RecursionError):
                tried += 1
                if tried == 64:
                    return None
            else:
                return value
        position += len(line)
    return None


def _read_json(value: Any) -> tuple[int | None, str | None]:
    """(GPUs, driver version) of either tool's JSON; (None, None) for JSON of another shape."""
    if isinstance(value, list):  # amd-smi list
        rows = [row for row in value if isinstance(row, dict)]
        if len(rows) != len(value):
            return None, None
        # Partitions of one board are rows of their own, each with a number in "gpu".
        return len({str(row.get("gpu", i)) for i, row in enumerate(rows)}), None
    if not isinstance(value, dict):
        return None, None
    if isinstance(value.get("gpu_data"), list):  # amd-smi 26
        return _read_json(value["gpu_data"])
    cards = [key for key in value if isinstance(key, str) and re.fullmatch(_CARD, key)]
    system = value.get("system")
    driver = system.get("Driver version") if isinstance(system, dict) else None
    if not cards and system is None:
        return None, None
    return len(cards), driver if isinstance(driver, str) else None


def _read_tables(text: str) -> tuple[int | None, str | None]:
    """(GPUs, driver version) of text output, for tools that know no --json: rocm-smi's tables, amd-smi's blocks."""
    blocks, rows, driver, in_driver, gpus_in_lines = 0, set(), None, False, set()
    known = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("GPU:"):
            blocks += 1
        elif "ROCm System Management Interface" in stripped or "ROCM-SMI" in stripped:
            known = True
        elif stripped == "DRIVER:":
            in_driver = True
        elif in_driver and stripped.startswith("VERSION:"):
            driver, in_driver = stripped.partition(":")[2].strip() or None, False
        elif stripped.startswith("GPU["):
            gpus_in_lines.add(stripped[4:8].partition("]")[0])
        else:
            row = re.match(_ROW, stripped)
            if row:
                rows.add(row.group(1))
    if blocks:
        return blocks, driver
    if known and (rows or gpus_in_lines):
        return len(rows or gpus_in_lines), driver
    return None, driver


def _telling(text: str) -> str:
    """The last lines of an error text; of a traceback, the exception with the files it passed last."""
    lines = [line.rstrip()[:400] for line in re.sub(_ANSI, "", text).splitlines() if line.strip()]
    last = next((i for i in range(len(lines) - 1, -1, -1) if re.match(_EXCEPTION, lines[i])), None)
    if last is None:
        return "\n".join(lines[-4:])
    where = [line for line in lines[:last] if line.lstrip().startswith("File ")][-3:]
    return "\n".join(where + lines[last : last + 5])


def parse(tool: str, stdout: str, stderr: str = "", rc: int = 0) -> Smi:
    """One tool's output, JSON or (older tools) text. `program` is None and `found` True: the caller knows better."""
    value = _json_in(stdout)
    count, driver = _read_json(value)
    if count is None:
        count, driver = _read_tables(stdout)
    said = f"{stdout}\n{stderr}" if value is None else stderr
    lowered = said.lower()
    if rc == 0 and count is not None:
        return Smi(tool, True, None, True, count, driver, "")
    error = next((kind for kind, needle in _ERRORS if needle in lowered), None)
    if rc == 0 and error == "no-gpu":
        return Smi(tool, True, None, True, 0, driver, _telling(said))
    if error is None:
        error = "crash" if rc < 0 or rc in (134, 139) else "other"
    return Smi(tool, True, None, False, count, driver, _telling(said) or f"exit status {rc}", error)


def _gather(host: "Host", argv: Sequence[str]) -> Smi:
    command: Command = host.run(argv, timeout=TIME_LIMIT)
    if not command.found:
        return Smi(argv[0], False, None, False, None, None, "")
    if command.timed_out:
        text = f"{argv[0]} did not end within {TIME_LIMIT:g} s"
        return Smi(argv[0], True, command.program, False, None, None, text, "timeout")
    smi = parse(argv[0], command.stdout, command.stderr, command.rc)
    return smi._replace(program=command.program)


def gather_amd_smi(host: "Host") -> Smi:
    """`amd-smi list --json`. Raises UnknownFact when it could not be run or captured."""
    return _gather(host, AMD_SMI)


def gather_rocm_smi(host: "Host") -> Smi:
    """`rocm-smi --showproductname --json`. Its absence is no fault from ROCm 10.1 on. Raises UnknownFact as above."""
    return _gather(host, ROCM_SMI)
