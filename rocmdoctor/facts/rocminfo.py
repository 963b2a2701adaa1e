"""rocminfo: the run time's own view. Agents, ISA names, pools, error texts (ROCm/rocminfo rocminfo.cc)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Agent:
    """`isa` holds the names of all ISA blocks in order; the target is the first (rules.md 6). `gfx` is the plain target ("gfx90a") from
    Name or ISA, None for a CPU. `features`: "sramecc+:xnack-" part of the first ISA. `pool_bytes`: size of the largest global pool.
    `node` is KFD's node number, `uuid` as printed, `bdf` "0000:03:00.0" from BDFID and Domain where printed."""

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


@dataclass(frozen=True, slots=True)
class RocmInfo:
    """`found`: the program exists. `error`: one of not-loaded | kfd-missing | permission | kfd-open | out-of-resources | hsa-error | no-gpu-agent | timeout |
    library-missing | symbol-missing | crash, None when it went well. `error_text`: the telling line(s)."""

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

    @property
    def gpus(self) -> tuple[Agent, ...]:
        return tuple(a for a in self.agents if a.device_type == "GPU")


def parse(stdout: str, stderr: str = "", rc: int = 0) -> RocmInfo:
    """All formats: ANSI colours, indentation, prompts and other tools' text around it, fragments without headings."""
    raise NotImplementedError


def gather(host: Host) -> RocmInfo:
    """Runs `rocminfo` (from PATH, else the active /opt/rocm's). Raises UnknownFact when it could not be run or captured."""
    raise NotImplementedError
