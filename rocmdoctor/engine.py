"""The engine: a registry of checks, their order, their time limits, and one result for each.

A check is a generator of findings over facts and matrix. What it cannot know becomes `skip`, what it depends on and
has failed becomes `skip` because of that, and what it breaks itself becomes `error`; the other checks go on.
"""

import sys
import time
from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Finding, Result, Status, misshapen

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix

CheckFunction = Callable[["Facts", "Matrix"], Iterator[Finding]]

PLACES = ("bare-metal", "vm", "container", "wsl")
PRESENCE = "gpu_present.device"
"""The check without which there is nothing to judge."""
PROFILES = ("node", "workstation", "container", "wsl", "ci")
TIME_LIMIT = 20.0
"""Seconds a check may take. Commands have shorter limits of their own; this one catches a plug-in that loops."""
DEADLINE = 55.0
"""Seconds for a whole run: Slurm ends a health check after 60."""
DEEP_TIME_LIMIT = 120.0
"""Seconds a deep check may take: it starts programs that compile and compute."""
DEEP_DEADLINE = 600.0
"""Seconds for a whole run with deep checks: somebody asked for them and waits."""


class NotApplicable(Exception):
    """Raised by a check that has nothing to judge on this host: a `skip` that says why."""


class Check(NamedTuple):
    """A registered check. `why` is its docstring; `places` are the environments it judges; `profiles` None means every profile.

    `deep`: it starts programs that use the GPU, and is part of a run only when that was asked for. `image`: it judges what is
    installed, which the profile `ci` takes to be meant for an AMD GPU even where the builder has none.
    """

    id: str
    title: str
    function: CheckFunction
    after: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    places: tuple[str, ...] = PLACES
    profiles: tuple[str, ...] | None = None
    needs_gpu: bool = True
    deep: bool = False
    image: bool = False

    @property
    def area(self) -> str:
        return self.id.rpartition(".")[0]

    @property
    def why(self) -> str:
        import inspect

        return inspect.cleandoc(self.function.__doc__ or "")


_registry: dict[str, Check] = {}


def check(
    id: str,
    *,
    title: str,
    after: Sequence[str] = (),
    docs: Sequence[str] = (),
    places: Sequence[str] = PLACES,
    profiles: Sequence[str] | None = None,
    needs_gpu: bool = True,
    deep: bool = False,
    image: bool = False,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check. `id` is `area.name` (stable once released), `title` states the healthy case.

    `after` names checks that must hold first: when one of them fails, this one is skipped because of it. `needs_gpu`:
    skipped on a host without an AMD GPU. `deep`: only with `--deep`, with a longer time limit. `image`: judged without a GPU in
    the profile `ci`. Raises ValueError on a duplicate id: two checks must not share a name.
    """

    def register(function: CheckFunction) -> CheckFunction:
        if not all(id.split(".")) or "." not in id or any(c.isspace() for c in id):
            raise ValueError(f"the id {id!r} is not of the form area.name")
        if id in _registry:
            raise ValueError(f"check {id} is registered twice")
        profiles_ = tuple(profiles) if profiles else None
        _registry[id] = Check(id, title, function, tuple(after), tuple(docs), tuple(places), profiles_, needs_gpu, deep, image)
        return function

    return register


class UnknownCheck(Exception):
    """A pattern or id that matches no check: wrong usage."""


class _TimeUp(BaseException):
    """The time limit of a check; a BaseException, so that a check's own `except Exception` cannot swallow it."""


def all_checks(*, deep: bool = True) -> tuple[Check, ...]:
    """The checks, in order of layer: what must hold first stands first. Without `deep` those of modules with deep checks may be
    left out: a run that neither asks for them nor has a pattern that could name one saves a millisecond."""
    from rocmdoctor import checks

    checks.load(deep=deep)
    return tuple(_registry.values())


def plugin_checks() -> tuple[tuple[Check, ...], tuple[Result, ...]]:
    """Checks of the entry-point group `rocmdoctor.checks`, and one error result for each plug-in that is broken.

    It fails to import, or what its checks come after does not exist. Such a plug-in leaves nothing in the registry.
    """
    from rocmdoctor import plugins

    entries = plugins.entry_points()
    if not entries:
        return (), ()
    from rocmdoctor import checks, plugin_loading

    checks.load()  # a plug-in may come after any of them
    with redirect_stdout(sys.stderr):
        return plugin_loading.load(entries, _registry)


def select(
    checks: Sequence[Check], only: Iterable[str] = (), skip: Iterable[str] = (), *, deep: bool = False
) -> tuple[Check, ...]:
    """Checks whose id or area matches a glob of `only` (all when empty) and none of `skip`; deep ones only with `deep`.

    Raises UnknownCheck for a pattern that matches no check, and for one of `only` that matches deep checks alone.
    """
    allowed = {c.id for c in checks if deep or not c.deep}

    def matching(patterns: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
        for pattern in patterns:
            hits = {c.id for c in checks if fnmatchcase(c.id, pattern) or fnmatchcase(c.area, pattern)}
            if not hits:
                raise UnknownCheck(f"no check matches {pattern!r}; `rocmdoctor list-checks` names them all")
            yield pattern, hits

    only = tuple(only)
    wanted: set[str] = set() if only else allowed
    for pattern, hits in matching(only):
        if not hits & allowed:
            raise UnknownCheck(f"{pattern!r} matches deep checks alone, which start programs on the GPU: add --deep")
        wanted |= hits & allowed
    unwanted = {id for _, hits in matching(skip) for id in hits}
    return tuple(c for c in checks if c.id in wanted and c.id not in unwanted)


def in_order(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Every check behind what it comes after; otherwise the given order. Raises ValueError on a cycle or an unknown id."""
    by_id = {c.id: c for c in checks}
    done: dict[str, Check] = {}
    path: list[str] = []

    def visit(check: Check) -> None:
        if check.id in done:
            return
        if check.id in path:
            raise ValueError(f"checks wait for each other: {' -> '.join([*path, check.id])}")
        path.append(check.id)
        for name in check.after:
            if name not in by_id:
                raise ValueError(f"check {check.id} comes after {name}, which does not exist")
            visit(by_id[name])
        path.pop()
        done[check.id] = check

    for check in checks:
        visit(check)
    return tuple(done.values())


class Course(NamedTuple):
    """What a run goes through, made once for any number of hosts."""

    checks: tuple[Check, ...]
    """Those that are selected and what they come after, in order."""
    chosen: frozenset[str]
    silent: frozenset[str]
    """Not reported when they fail."""
    deep: bool


def course(checks: Sequence[Check], selected: Sequence[Check], unreported: Iterable[str] = ()) -> Course:
    """What a selected check comes after is judged too, and reported only when it failed and is not among `unreported` (globs
    that somebody asked to leave out: what waits for such a failure is skipped because of it all the same). Without a deep check
    in `selected` none is run, whatever comes after it."""
    unwanted = tuple(unreported)
    silent = {c.id for c in checks for pattern in unwanted if fnmatchcase(c.id, pattern) or fnmatchcase(c.area, pattern)}
    deep = any(c.deep for c in selected)
    by_id = {c.id: c for c in checks}
    needed: set[str] = set()

    def need(check: Check) -> None:
        if check.id not in needed:
            needed.add(check.id)
            for name in check.after:
                if name in by_id and (deep or not by_id[name].deep):
                    need(by_id[name])

    for check in selected:
        need(check)
    ordered = tuple(c for c in in_order(checks) if c.id in needed)
    return Course(ordered, frozenset(c.id for c in selected), frozenset(silent), deep)


def run(
    checks: Sequence[Check],
    selected: Sequence[Check],
    facts: "Facts",
    matrix: "Matrix",
    *,
    profile: str | None = None,
    unreported: Iterable[str] = (),
    time_limit: float | None = None,
    deadline: float | None = None,
) -> tuple[Result, ...]:
    """Judge one host: `follow` with the course of these checks."""
    way = course(checks, selected, unreported)
    return follow(way, facts, matrix, profile=profile, time_limit=time_limit, deadline=deadline)


def follow(
    way: Course,
    facts: "Facts",
    matrix: "Matrix",
    *,
    profile: str | None = None,
    time_limit: float | None = None,
    deadline: float | None = None,
) -> tuple[Result, ...]:
    """The results of a host.

    `time_limit` is for each check and `deadline` for the whole run, in seconds; None: TIME_LIMIT and DEADLINE, and for deep
    checks DEEP_TIME_LIMIT and DEEP_DEADLINE. Checks that the deadline cuts off are errors.
    """
    if deadline is None:
        deadline = DEEP_DEADLINE if way.deep else DEADLINE
    started = time.monotonic()
    cause: dict[str, str] = {}  # id of a check that did not hold -> id of the failure behind it
    reported: list[Result] = []
    # standard output is for data, whatever a plug-in prints
    with _alarm(), redirect_stdout(sys.stderr):
        for check in way.checks:
            left = deadline - (time.monotonic() - started)
            limit = time_limit or (DEEP_TIME_LIMIT if check.deep else TIME_LIMIT)
            results = judge(check, facts, matrix, cause, profile, min(limit, left))
            first = results[0]
            if first.status is Status.FAIL or (len(results) > 1 and any(r.status is Status.FAIL for r in results)):
                cause[check.id] = check.id
            elif first.because_of:
                cause[check.id] = first.because_of
            if check.id in way.chosen or (check.id in cause.values() and check.id not in way.silent):
                reported += results
    return tuple(reported)


def judge(
    check: Check, facts: "Facts", matrix: "Matrix", cause: dict[str, str], profile: str | None, seconds: float
) -> tuple[Result, ...]:
    """The results of one check: a result per finding, or the one that says that there is none."""
    start = time.monotonic()

    def result(status: Status, detail: str = "", because_of: str | None = None, title: str | None = None) -> Result:
        took = time.monotonic() - start
        return Result(
            check.id, check.area, status, title or check.title, detail, docs=check.docs, because_of=because_of, seconds=took
        )

    image = check.image and profile == "ci"
    for name in check.after:
        if name in cause and not (image and cause[name] == PRESENCE):
            return (result(Status.SKIP, f"not judged: {cause[name]} failed", cause[name]),)
    if seconds <= 0:
        return (result(Status.ERROR, "not judged: the time for the whole run is over"),)
    if check.profiles is not None and profile not in check.profiles:
        return (result(Status.SKIP, f"only part of the profile {' and '.join(check.profiles)}"),)
    try:
        with _limit(seconds):
            if check.places != PLACES and facts.place.kind not in check.places:
                return (result(Status.SKIP, f"does not apply to a host of the kind {facts.place.kind}"),)
            if (
                check.needs_gpu
                and not image
                and not facts.gpus
                and not (facts.place.kind == "wsl" and facts.place.has_dxg is not False)
            ):
                return (result(Status.SKIP, "there is no AMD GPU to judge"),)
            findings = tuple(check.function(facts, matrix))
        for finding in findings:
            if fault := misshapen(finding):
                raise TypeError(fault)
    except UnknownFact as unknown:
        return (result(Status.SKIP, f"unknown: {unknown}"),)
    except NotApplicable as reason:
        return (result(Status.SKIP, str(reason)),)
    except _TimeUp:
        return (result(Status.ERROR, f"the check took longer than {seconds:.0f} s and was stopped"),)
    except (Exception, SystemExit) as error:
        from rocmdoctor.matrix import MatrixError

        if isinstance(error, MatrixError):  # wrong for every check: the input of the run, not a bug of this one
            raise
        return (result(Status.ERROR, f"the check broke: {type(error).__name__}: {error}{_where(error)}"),)
    took = time.monotonic() - start
    return tuple(
        Result(
            check.id,
            check.area,
            f.status,
            f.title,
            f.detail,
            f.evidence,
            f.fixes,
            tuple(dict.fromkeys(f.docs + check.docs)),
            seconds=took,
        )
        for f in findings
    ) or (result(Status.PASS),)


def _where(error: BaseException) -> str:
    """File and line where a check broke: what a bug report needs and a user can copy."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if not trace:
        return ""
    return f" ({trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})"


class _alarm:
    """For the block, SIGALRM raises _TimeUp. Signals reach only the main thread; elsewhere there is no limit. Blocks may be
    nested: the handler is set by the outermost one, which is what costs."""

    depth = 0
    thread = 0
    """That of the outermost block."""

    def __enter__(self) -> None:
        if _alarm.depth and _alarm.thread == get_ident():
            self.mine = True
        else:
            import signal
            import threading

            self.mine = threading.current_thread() is threading.main_thread()
            if self.mine:
                self.previous = signal.signal(signal.SIGALRM, self._ring)
                _alarm.thread = get_ident()
        _alarm.depth += self.mine

    def __exit__(self, *exc: object) -> None:
        if self.mine:
            _alarm.depth -= 1
            if _alarm.depth == 0:
                import signal

                signal.signal(signal.SIGALRM, self.previous)

    @staticmethod
    def _ring(signum: int, frame: object) -> None:
        raise _TimeUp


class _limit(_alarm):
    """Raises _TimeUp in the block after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        from signal import ITIMER_REAL, setitimer

        if _alarm.depth and _alarm.thread == get_ident():  # in a run, as nearly always
            self.within = True
        else:
            self.within = False
            super().__enter__()
        if self.within or self.mine:
            setitimer(ITIMER_REAL, self.seconds)

    def __exit__(self, *exc: object) -> None:
        from signal import ITIMER_REAL, setitimer

        if self.within or self.mine:
            setitimer(ITIMER_REAL, 0)
        if not self.within:
            super().__exit__(*exc)
