"""What programs do when they are run: the interpreter with its torch, hipcc and what it compiled. Only for deep checks.

They run in children with a time limit. A hang, a crash or nonsense is a result like any other: how far it came, how it ended,
and its last lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rocmdoctor.facts import known
from rocmdoctor.facts.deep_programs import MARK, TORCH, VECTOR_ADD
from rocmdoctor.host import Command, Host, UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.rocminfo import Agent

TORCH_LIMIT = 90.0
"""Seconds. The first import of a ROCm build reads some gigabytes of libraries: a minute from a slow disk or the network."""
COMPILE_LIMIT = 40.0
"""Seconds for hipcc, which needs one to five."""
RUN_LIMIT = 30.0
"""Seconds for the compiled program, which needs less than one for each GPU."""

TOLERANCE = {"float32": 5e-3, "float16": 3e-2}
"""Deviation that is allowed, in parts of the largest value: TF32 and sums in half precision stay far below it."""

MAX_STEPS, MAX_STEP, MAX_LINE, MAX_LINES = 2000, 10_000, 300, 5
_SIGNAL_STATUS = (132, 134, 135, 136, 137, 139)
"""Exit status 128 + n by which a shell says that its program died of a signal."""
_ANSI = r"\x1b\[[0-9;?]*[A-Za-z]"


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a program. `state`: begun | done | failed | left (not done for want of time). `kind` and `text`: the exception
    or error of a failed one. The other fields as the programs give them; what is missing or of another type is empty."""

    stage: str
    state: str
    device: int | None = None
    dtype: str = ""
    kind: str = ""
    text: str = ""
    version: str = ""
    hip: str = ""
    name: str = ""
    gfx: str = ""
    available: bool | None = None
    count: int | None = None
    error: float | None = None

    @property
    def allowed(self) -> float:
        """The deviation that still counts as right."""
        return TOLERANCE.get(self.dtype, 0.0)

    @property
    def right(self) -> bool:
        """A computation that was done and is right; not a number is wrong."""
        return self.state == "done" and self.error is not None and self.error <= self.allowed

    @property
    def lines(self) -> tuple[str, ...]:
        """The first lines of `text`, printable, at most MAX_LINES."""
        return printable_lines(self.text, MAX_STEP)[:MAX_LINES]

    @property
    def message(self) -> str:
        """ "ImportError: libamdhip64.so.6: cannot open ...": kind and first line."""
        kind = "".join(c for c in self.kind[:80] if c.isprintable())
        return f"{kind}: {self.lines[0]}" if self.lines else kind

    @property
    def device_name(self) -> str:
        """Product or target as the program was told it; "" when it was not."""
        return next(iter(printable_lines((self.name or self.gfx)[:100])), "")


class Ending(NamedTuple):
    """How a program ended. `how`: exit | signal | time-out | not-started. `what`: "SIGSEGV", "exit status 1", "90 s".

    `lines`: the last ones that it wrote, printable, at most MAX_LINES; of an endless output those of its first part.
    """

    how: str
    what: str
    rc: int
    lines: tuple[str, ...]


class TorchRun(NamedTuple):
    """The interpreter `executable` with the program TORCH."""

    executable: str
    steps: tuple[Step, ...]
    ending: Ending
    frames: tuple[str, ...] = ()
    """Where in Python it crashed or hung, innermost first: 'File ".../torch/cuda/__init__.py", line 120 in device_count'."""

    def of(self, *stages: str) -> tuple[Step, ...]:
        """The steps of these stages that came to an end."""
        return tuple(s for s in self.steps if s.stage in stages and s.state != "begun")

    def end_of(self, stage: str) -> Step | None:
        """The end of a stage that occurs once; None when it was not reached or not survived."""
        return next(iter(self.of(stage)), None)

    @property
    def finished(self) -> bool:
        """The program took its last step; what happens after that happens in the clean-up of libraries."""
        return finished(self.steps)

    @property
    def reached(self) -> str:
        """The stage in which it hung or died; "" when it finished, and when it did not even begin."""
        return "" if self.finished or not self.steps else self.steps[-1].stage


class HipRun(NamedTuple):
    """`hipcc` with the program VECTOR_ADD. `targets`: what it was compiled for; `refused`: targets that this compiler refused
    while it took the first. `compiled`: how hipcc ended when it failed, None when it did not. `ran`: the program's own end."""

    hipcc: str
    targets: tuple[str, ...]
    refused: tuple[str, ...]
    compiled: Ending | None
    complaint: tuple[str, ...]
    """hipcc's lines that tell what was wrong, also for `refused`."""
    steps: tuple[Step, ...] = ()
    ran: Ending | None = None

    @property
    def finished(self) -> bool:
        return finished(self.steps)


# reading what they say -------------------------------------------------------------------------------------------

_TEXTS = ("dtype", "kind", "text", "version", "hip", "name", "gfx")


def parse_steps(stdout: str) -> tuple[Step, ...]:
    """The steps among the lines of standard output; anything else in it is passed over."""
    import json

    steps: list[Step] = []
    for piece in ("\n" + stdout).split("\n" + MARK)[1:]:
        if len(steps) == MAX_STEPS:
            break
        try:
            data = json.loads(piece[:MAX_STEP].partition("\n")[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and isinstance(data.get("stage"), str) and isinstance(data.get("state"), str):
            steps.append(_step(data))
    return tuple(steps)


def _step(data: dict[str, Any]) -> Step:
    def integer(name: str) -> int | None:
        value = data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 16 else None

    texts = {name: data[name] for name in _TEXTS if isinstance(data.get(name), str)}
    available, error = data.get("available"), data.get("error")
    return Step(
        data["stage"][:40],
        data["state"][:40],
        **texts,
        device=integer("device"),
        count=integer("count"),
        available=available if isinstance(available, bool) else None,
        error=float(error) if isinstance(error, (int, float)) and _small(error) else None,
    )


def _small(number: float) -> bool:
    """Not a boolean, and no integer that is none of a float; not a number is let through and is never right."""
    return not isinstance(number, bool) and (number != number or abs(number) < 1e300)


def finished(steps: Sequence[Step]) -> bool:
    return any(s.stage == "end" for s in steps)


def printable_lines(text: str, count: int = MAX_LINES) -> tuple[str, ...]:
    """The last lines that are not blank, without escape sequences and other controls, each cut at MAX_LINE."""
    lines: list[str] = []
    for line in reversed(re.sub(_ANSI, "", text[-16_000:]).splitlines()):
        clean = "".join(c if c.isprintable() else " " for c in line).strip()
        if clean and not clean.startswith(MARK.strip()):
            lines.append(clean if len(clean) <= MAX_LINE else clean[:MAX_LINE] + "...")
            if len(lines) == count:
                break
    return tuple(reversed(lines))


def python_frames(stdout: str) -> tuple[str, ...]:
    """The innermost frames that faulthandler wrote behind the steps; those of the import system tell nothing."""
    _, found, trace = stdout[-64_000:].rpartition("(most recent call first):")
    frames = [line for line in printable_lines(trace, 64) if line.startswith("File ") and '"<' not in line] if found else []
    return tuple(frames[:3])


def ending_of(command: Command, limit: float) -> Ending:
    """How a command ended. Lines of standard error come first; standard output counts when there is none."""
    lines = printable_lines(command.stderr) or printable_lines(command.stdout)
    if command.timed_out:
        return Ending("time-out", f"{limit:g} s", command.rc, lines)
    if command.rc in (126, 127):
        return Ending("not-started", f"exit status {command.rc}", command.rc, lines)
    if command.rc < 0 or command.rc in _SIGNAL_STATUS:
        return Ending("signal", _signal_name(-command.rc if command.rc < 0 else command.rc - 128), command.rc, lines)
    return Ending("exit", f"exit status {command.rc}", command.rc, lines)


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# running ---------------------------------------------------------------------------------------------------------


def run_torch(host: Host, executable: str) -> TorchRun:
    """Import torch, ask for GPUs, and multiply matrices on each, with the environment of the user and no other.

    `-B`: nothing is written into the user's site-packages. Raises UnknownFact where programs are not run.
    """
    try:
        command = host.run([executable, "-B", "-c", TORCH], timeout=TORCH_LIMIT)
    except UnknownFact as unknown:
        # Some reasons quote the whole command line.
        raise UnknownFact(f"{executable} was not run: {str(unknown).partition(chr(10))[0][:200]}") from None
    if not command.found:
        raise UnknownFact(f"{executable} was not run on this host")
    ending = ending_of(command, TORCH_LIMIT)
    return TorchRun(executable, parse_steps(command.stdout), ending, python_frames(command.stdout))


def run_hip(host: Host, hipcc: str, targets: Sequence[str]) -> HipRun:
    """Compile a vector addition for the targets, the most important first, and run it. Raises UnknownFact as `run_torch`.

    A compiler may refuse the target of a newer integrated GPU: then the program is compiled for the first target alone.
    """
    wanted, refused = tuple(targets), tuple(targets[:0])
    with host.scratch({"vector_add.cpp": VECTOR_ADD}) as scratch:
        program = f"{scratch.folder}/vector_add"

        def compiled(archs: Sequence[str]) -> Command:
            flags = [f"--offload-arch={a}" for a in archs]
            return scratch.run([hipcc, *flags, "-o", program, f"{program}.cpp"], timeout=COMPILE_LIMIT)

        done = compiled(wanted)
        if not done.found:
            raise UnknownFact(f"{hipcc} was not run on this host")
        complaint = _complaint(done, scratch.folder)
        if done.rc and not done.timed_out and len(wanted) > 1:
            again = compiled(wanted[:1])
            if again.rc == 0:
                done, refused, wanted = again, wanted[1:], wanted[:1]
        if done.rc:
            return HipRun(hipcc, wanted, (), ending_of(done, COMPILE_LIMIT), complaint)
        ran = scratch.run([program], timeout=RUN_LIMIT)
    return HipRun(hipcc, wanted, refused, None, complaint, parse_steps(ran.stdout), ending_of(ran, RUN_LIMIT))


def _complaint(done: Command, folder: str) -> tuple[str, ...]:
    """The compiler's errors, else its last lines; the folder's random name says nothing."""
    if not done.rc:
        return ()
    said = (done.stderr or done.stdout)[:200_000].replace(folder + "/", "")
    errors = "\n".join([line for line in said.splitlines() if "error" in line.lower() or "not found" in line][:MAX_LINES])
    return printable_lines(errors) or printable_lines(said)


def hip_targets(facts: "Facts") -> tuple[str, ...]:
    """What to compile for: the run time's own names of the GPUs (an override changes them), else KFD's and the PCI id's.

    Discrete GPUs first. Raises UnknownFact when no target is known.
    """
    nothing: tuple[Agent, ...] = ()
    agents = sorted(known(lambda: facts.rocminfo.gpus, nothing), key=lambda a: a.apu)
    found = [a.gfx for a in agents if a.gfx]
    if not found:
        for gpu in sorted(facts.gpus, key=lambda g: g.klass == "apu"):
            override = facts.environment.override_for(gpu.kfd_node)
            found += [gfx for gfx in ((override.gfx if override else None) or gpu.gfx,) if gfx]
    if not found:
        raise UnknownFact("no GPU's gfx target is known")
    return tuple(dict.fromkeys(found))[:16]
