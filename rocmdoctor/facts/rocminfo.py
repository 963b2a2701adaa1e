"""rocminfo: the run time's own view. Agents, ISA names, pools, error texts (ROCm/rocminfo rocminfo.cc)."""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rocmdoctor.host import Host

TIME_LIMIT = 10.0
"""Seconds. A wedged GPU lets rocminfo hang for ever; a healthy node with eight GPUs needs about one second."""

MAX_AGENTS = 1024
"""More than any machine has (CPX on eight MI300X gives 64): a bound on hostile text."""


class Agent(NamedTuple):
    """`isa` holds the names of all ISA blocks in order; the target is the first (rules.md 6). `gfx` is the plain target
    ("gfx90a") from Name or ISA, None for a CPU. `features`: "sramecc+:xnack-" part of the first ISA. `pool_bytes`: size of the
    largest global pool. `node` is KFD's node number, `uuid` as printed, `bdf` "0000:03:00.0" from BDFID and Domain."""

    number: int | None
    device_type: str
    """GPU | CPU | DSP, as printed (GPU for a fragment that has an amdgcn ISA and no type)."""
    name: str
    marketing_name: str
    gfx: str | None
    isa: tuple[str, ...]
    features: str
    node: int | None
    bdf: str | None
    pool_bytes: int | None
    apu: bool
    uuid: str = ""
    chip_id: str = ""
    """PCI device id, four hex digits ("744c"); "" when not printed or zero."""


class RocmInfo(NamedTuple):
    """`found`: the program exists. `error`: not-loaded | kfd-missing | permission | kfd-open | out-of-resources | hsa-error |
    no-gpu-agent | timeout | library-missing | symbol-missing | crash | no-login, None when it went well. `error_text`: the
    telling line(s).

    permission is EACCES alone; kfd-open is any other errno but ENOENT (rules.md 22). no-login: an older rocminfo gave up because
    the process has no login name (common in containers), which says nothing about the GPU."""

    found: bool
    program: str | None
    agents: tuple[Agent, ...]
    module_version: str | None
    """"6.9.4" of "ROCk module version 6.9.4 is loaded"."""
    runtime_version: str | None
    """HSA's "Runtime Version: 1.18": not the ROCm version."""
    error: str | None
    error_text: str
    rc: int
    wsl: bool = False
    """It said "WSL environment detected"."""

    @property
    def gpus(self) -> tuple[Agent, ...]:
        return tuple(a for a in self.agents if a.device_type == "GPU")


_ANSI = r"\x1b\[[0-9;?]*[A-Za-z]"
_HEADING = r"Agent (\d{1,9})\s*$"
_INTEGER = r"\s*(\d{1,19})"
_CHIP = r"\(0x([0-9a-fA-F]{1,8})\)"
_TARGET = r"gfx[0-9a-f]{3,5}(?![0-9a-z-])"
_MODULE = r"ROCk module version (\S+) is loaded"
_OLD_ISA = r"AMD:AMDGPU:(\d{1,3}):(\d{1,3}):(\d{1,3})"  # ROCm 1.x and 2.x

_LABELS = frozenset((
    "Name", "Uuid", "Marketing Name", "Device Type", "Node", "BDFID", "Domain", "Chip ID", "Memory Properties", "Segment", "Size",
))  # fmt: skip

_BEGINNINGS = frozenset(label[:4] for label in (*_LABELS, "Agent"))
"""Of the lines that matter: less than half of a listing."""

# In order of precedence: what is nearest to the cause comes first, its consequences later. (kind, substring in lower case)
_ERRORS = (
    ("library-missing", "error while loading shared libraries"),
    ("library-missing", "' not found (required by"),
    ("symbol-missing", "symbol lookup error"),
    ("symbol-missing", "undefined symbol"),
    ("not-loaded", "rock module is not loaded"),
    ("not-loaded", "rock module is not live"),
    ("kfd-missing", "unable to open /dev/kfd read-write: no such file"),
    ("permission", "unable to open /dev/kfd read-write: permission denied"),
    ("kfd-open", "unable to open /dev/kfd read-write"),
    ("out-of-resources", "hsa_status_error_out_of_resources"),
    ("out-of-resources", "call returned 0x1008"),
    ("hsa-error", "hsa_status_error"),
    ("hsa-error", "call returned 0x1"),
    ("hsa-error", "hsa api call failure"),
    ("crash", "segmentation fault"),
    ("crash", "core dumped"),
    ("crash", "aborted"),
    ("crash", "terminate called"),
    ("crash", "double free or corruption"),
    ("crash", "invalid pointer"),
    ("permission", 'is not member of "'),
    ("no-login", "failed to get user name to check"),
    ("no-login", "failed to find pwd entry"),
    ("no-login", "failed to get group info to check"),
    ("no-login", "failed to get user group list"),
)

# Lines worth quoting in a finding, beside those that match _ERRORS.
_TELLING = ("call returned", "users must be a member", "in order for rocm app", "is member of", "not member", "is invalid")


class _Block:
    """One agent while its lines are read."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.name: str | None = None
        self.kind = self.uuid = self.marketing = self.segment = self.chip = ""
        self.isa: list[str] = []
        self.node: int | None = None
        self.bdfid: int | None = None
        self.domain = 0
        self.pool: int | None = None
        self.apu = False

    def put(self, label: str, value: str) -> None:
        if label == "Name":
            self.name = value
        elif label == "Uuid":
            self.uuid = value
        elif label == "Marketing Name":
            self.marketing = value
        elif label == "Device Type":
            self.kind = value.upper()
        elif label == "Node":
            self.node = _integer(value)
        elif label == "BDFID":
            self.bdfid = _integer(value)
        elif label == "Domain":
            self.domain = _integer(value) or 0
        elif label == "Chip ID":
            chip = re.search(_CHIP, value)
            self.chip = f"{int(chip.group(1), 16):04x}" if chip and int(chip.group(1), 16) else ""
        elif label == "Memory Properties":
            self.apu = "APU" in value
        elif label == "Segment":
            self.segment = value
        elif label == "Size" and self.segment.startswith("GLOBAL"):
            size = _integer(value)  # printed in KB
            if size is not None and size > (self.pool or 0) // 1024:
                self.pool = size * 1024

    def agent(self) -> Agent | None:
        """None for a block that says too little to be an agent."""
        kind = self.kind or ("GPU" if self.isa or (self.name or "").startswith("gfx") else "")
        if not kind:
            return None
        bdf = None
        if self.bdfid and kind != "CPU":
            bdf = f"{self.domain:04x}:{self.bdfid >> 8 & 0xFF:02x}:{self.bdfid >> 3 & 0x1F:02x}.{self.bdfid & 7}"
        name = self.name or ""
        gfx, features = None, ""
        if kind != "CPU":
            gfx = _target(name) or next((g for g in map(_target, self.isa) if g), None)
            if self.isa and ":" in self.isa[0] and not self.isa[0].startswith("AMD:"):
                features = self.isa[0].partition(":")[2]
        isa = tuple(self.isa)
        return Agent(
            self.number, kind, name, self.marketing, gfx, isa, features, self.node, bdf, self.pool, self.apu, self.uuid, self.chip
        )


def _integer(value: str) -> int | None:
    found = re.match(_INTEGER, value)
    return int(found.group(1)) if found else None


def _target(text: str) -> str | None:
    """The plain target of an agent name or ISA name; generic targets ("gfx11-generic") are none."""
    found = re.search(_TARGET, text)
    if found:
        return found.group()
    old = re.search(_OLD_ISA, text) if text.startswith("AMD:") else None
    return f"gfx{int(old.group(1))}{int(old.group(2)):x}{int(old.group(3)):x}" if old else None


def _agents(lines: list[str]) -> tuple[Agent, ...]:
    """Agents of the listing. Without headings (a fragment), a Name that is no ISA's begins the next agent."""
    blocks: list[_Block] = []
    current: _Block | None = None
    for line in lines:
        if line[:4] not in _BEGINNINGS:
            continue
        label, colon, value = line.partition(":")
        if label in _LABELS and colon:
            value = value.strip()
            if label == "Name" and value.startswith(("amdgcn-", "AMD:AMDGPU")):
                if current and len(current.isa) < 64:
                    current.isa.append(value)
                continue
            if label == "Name" and (current is None or current.name is not None):
                current = _Block(None)
                blocks.append(current)
            if current:
                current.put(label, value)
        elif line.startswith("Agent ") and (heading := re.match(_HEADING, line)):
            current = _Block(int(heading.group(1)))
            blocks.append(current)
        if len(blocks) > MAX_AGENTS:
            break
    return tuple(a for a in (b.agent() for b in blocks) if a)


def _listing(lines: list[str]) -> list[str]:
    """The lines of the agent listing; other tools' output around it is left out where rocminfo's own headings show."""
    start = next((i for i, line in enumerate(lines) if line in ("HSA Agents", "HSA System Attributes")), 0)
    end = next((i for i in range(start, len(lines)) if lines[i].startswith("*** Done ***")), len(lines))
    return lines[start:end]


def _quoted(lines: list[str], needle: str | None) -> str:
    """The lines that tell of an error, at most eight, each cut: evidence for a finding, not a transcript."""
    telling = []
    for line in lines[:2000]:
        lower = line.lower()
        if (needle and needle in lower) or any(t in lower for t in _TELLING) or any(t in lower for _, t in _ERRORS):
            telling.append(line[:400])
            if len(telling) == 8:
                break
    if not telling:
        telling = [line[:400] for line in lines if line][-2:]
    return "\n".join(telling)


def _judge(lines: list[str], agents: tuple[Agent, ...], rc: int, listed: bool) -> tuple[str | None, str]:
    """(error, error_text). Text that looks like an error is not one where GPUs were listed and rocminfo ended well."""
    has_gpu = any(a.device_type == "GPU" for a in agents)
    if rc == 0 and has_gpu:
        return None, ""
    lowered = "\n".join(lines).lower()
    for kind, needle in _ERRORS:
        if needle in lowered:
            return kind, _quoted(lines, needle)
    if rc < 0 or rc in (132, 134, 135, 136, 139):  # killed by a signal (Popen's form, then the shell's)
        return "crash", _quoted(lines, None) or f"ended by signal {-rc if rc < 0 else rc - 128}"
    if rc:
        return "hsa-error", _quoted(lines, None) or f"exit status {rc}"
    if agents or listed:
        return "no-gpu-agent", "rocminfo lists no GPU agent"
    return "hsa-error", _quoted(lines, None) or "rocminfo said nothing"


def parse(stdout: str, stderr: str = "", rc: int = 0) -> RocmInfo:
    """All formats: ANSI colours, indentation, prompts and other tools' text around it, fragments without headings."""
    lines = [line.strip().rstrip("\\").rstrip() for line in re.sub(_ANSI, "", stdout).splitlines()]
    modules = (re.match(_MODULE, line) for line in lines if line.startswith("ROCk module version"))
    module = next((found.group(1) for found in modules if found), None)
    versions = (line.partition(":")[2].strip() for line in lines if line.startswith("Runtime Version:"))
    runtime = next(filter(None, versions), None)
    wsl = "WSL" in stdout and any(line.startswith("WSL environment detected") for line in lines)
    listed = "HSA Agents" in lines or "HSA System Attributes" in lines
    agents = _agents(_listing(lines))
    complaints = [line.strip() for line in re.sub(_ANSI, "", stderr).splitlines()]
    error, text = _judge(complaints + lines, agents, rc, listed)
    return RocmInfo(True, None, agents, module, runtime, error, text, rc, wsl)


def gather(host: "Host") -> RocmInfo:
    """Runs `rocminfo` from PATH; one that lies only in /opt/rocm*/bin is not run, `found` is False then (facts.rocm lists it).

    Raises UnknownFact when it could not be run or captured.
    """
    command = host.run(["rocminfo"], timeout=TIME_LIMIT)
    if not command.found:
        return RocmInfo(False, None, (), None, None, None, "", command.rc)
    info = parse(command.stdout, command.stderr, command.rc)
    if command.timed_out:
        info = info._replace(error="timeout", error_text=f"rocminfo did not end within {TIME_LIMIT:g} s")
    return info._replace(program=command.program)
