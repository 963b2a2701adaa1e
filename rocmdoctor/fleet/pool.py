"""Worker processes that read inputs: one for each core, started afresh (spawn), fed a little ahead, answered in order.

A worker that dies, or that one input holds up beyond its time, costs that input alone: it is started again for the rest.
"""

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rocmdoctor.fleet.inputs import Input
from rocmdoctor.fleet.node_record import NodeRecord
from rocmdoctor.fleet.reading import Reader, Unreadable

FEW = 8
"""Inputs that are read sooner than a process is started."""
AHEAD = 6
"""Inputs that wait at a worker, so that it never waits for us."""
SMALL = 8 << 10
"""Bytes of an input that fit into a socket's buffer beside others: a larger one is handed to an idle worker only, which reads
it at once. Otherwise both ends could wait for each other to read."""
TIME_LIMIT = 120.0
"""Seconds for one input; an honest one takes some milliseconds."""
COLLECT_EVERY = 200
MAX_STARTS = 3
"""Times that a process is started in a row without being heard of."""
READY = "ready"
"""What a worker says before it answers anything."""

Answer = NodeRecord | Unreadable


class Settings(NamedTuple):
    """What a worker's Reader is made of."""

    matrix: str | None
    details: bool


def read_all(inputs: Iterable[Input], settings: Settings, jobs: int = 0) -> Generator[Answer, None, None]:
    """An answer for each input, in their order. `jobs` 0: as many as there are cores for this process.

    Raises matrix.MatrixError, and KeyboardInterrupt when interrupted; then no worker is left.
    """
    if settings.matrix is not None:
        from rocmdoctor.matrix import load_matrix

        load_matrix(settings.matrix)  # each worker would die of it
    inputs = iter(inputs)
    first = list(islice(inputs, FEW))
    jobs = jobs or _cores()
    if len(first) < FEW or jobs == 1:
        reader = Reader(*settings)
        for given in chain(first, inputs):
            yield reader.read(given)
        return
    workers: list[_Worker] = []
    try:
        workers += (_Worker(settings) for _ in range(jobs))
        yield from _work(chain(first, inputs), workers)
    finally:
        for worker in workers:
            worker.end()


def _cores() -> int:
    try:
        return max(len(os.sched_getaffinity(0)), 1)
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def serve(pipe: Connection, settings: Settings) -> None:
    """A worker's life: answer inputs until the pipe closes."""
    import gc

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    reader = Reader(*settings)
    gc.disable()  # cycles are few: a third of the time goes into looking for them
    gc.freeze()
    count = 0
    with contextlib.suppress(OSError):
        pipe.send(READY)
    while True:
        try:
            given = pipe.recv()
            pipe.send(reader.read(given))
        except (EOFError, OSError):
            return
        count += 1
        if count % COLLECT_EVERY == 0:
            gc.collect()


class _Worker:
    """A process and what it has been given and not answered, with its places in the order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.given: deque[tuple[int, Input]] = deque()
        self.since = 0.0
        self._starts = 0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._ready = False
        self._starts += 1
        self._process = context.Process(target=serve, args=(theirs, self._settings), daemon=True)
        # Ctrl-C goes to the whole group. The mask is inherited: a worker that is still importing does not hear it either. The
        # resource tracker, started with the first worker, would take the mask away again: it is started before.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def takes(self, given: Input) -> bool:
        if not self.given:
            return True
        return len(self.given) < AHEAD and len(given.line or b"") <= SMALL and len(self.given[-1][1].line or b"") <= SMALL

    def give(self, place: int, given: Input) -> None:
        """Hand it over; a dead worker is noticed when its answer is awaited."""
        if not self.given:
            self.since = time.monotonic()
        self.given.append((place, given))
        self._send(given)

    def _send(self, given: Input) -> None:
        with contextlib.suppress(OSError):
            self.pipe.send(given)

    def answer(self) -> tuple[int, Answer] | None:
        """What it says to the first input it was given; its end is an answer too. None: it has just begun.

        Raises RuntimeError when it ends before that again and again: no other one would fare better.
        """
        try:
            said: Any = self.pipe.recv()
        except (EOFError, OSError):
            if self._ready:
                return self.lost("the reader ended while it read this")
            if self._starts >= MAX_STARTS:
                raise RuntimeError("no process can be started to read the inputs; --jobs 1 does without") from None
            self._again(list(self.given))
            return None
        self.since = time.monotonic()
        if not self._ready:
            self._ready, self._starts = True, 0
            return None
        return self.given.popleft()[0], said

    def lost(self, reason: str) -> tuple[int, Answer]:
        """Give up the first input, and start again for the others."""
        place, given = self.given.popleft()
        self._again(list(self.given))
        return place, Unreadable(given.name, given.source, reason)

    def _again(self, inputs: list[tuple[int, Input]]) -> None:
        """A new process, for these inputs."""
        self.end()
        self.given.clear()
        self._start()
        for place, given in inputs:
            self.give(place, given)

    def end(self) -> None:
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _work(inputs: Iterator[Input], workers: list[_Worker]) -> Iterator[Answer]:
    """Answers in order. At most a window of them waits for a slow one before it."""
    window = AHEAD * len(workers) * 4
    ready: dict[int, Answer] = {}
    handed = due = 0
    coming = next(inputs, None)
    while True:
        while coming is not None and handed - due < window:
            if coming.fault is not None:
                ready[handed] = Unreadable(coming.name, coming.source, coming.fault)
            else:
                worker = min(workers, key=lambda w: len(w.given))
                if not worker.takes(coming):
                    break
                worker.give(handed, coming)
            handed, coming = handed + 1, next(inputs, None)
        busy = {worker.pipe: worker for worker in workers if worker.given}
        if not busy and not ready:
            return
        if busy and due not in ready:
            for pipe in wait(list(busy), timeout=1.0):
                if said := busy[pipe].answer():  # type: ignore[index]
                    ready[said[0]] = said[1]
            now = time.monotonic()
            for worker in busy.values():
                if worker.given and now - worker.since > TIME_LIMIT:
                    place, answer = worker.lost(f"reading took longer than {TIME_LIMIT:.0f} s")
                    ready[place] = answer
        while due in ready:
            yield ready.pop(due)
            due += 1
