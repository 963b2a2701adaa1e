"""Time and memory of `rocmdoctor fleet` over thousands of synthetic snapshots. See README.md beside this file."""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE))

GOAL_SECONDS, GOAL_MIB, GOAL_RATIO = 60.0, 500.0, 1.15
"""For the largest number of nodes; the ratio is that of the times for each node, largest to smallest number."""
BROKEN_EVERY = 997
"""One snapshot in so many is cut off in the middle."""


def build(folder: str, number: int) -> None:
    """Write node `number`: its hardware, release and fault follow from the number alone."""
    from tests.hostbuilder import FAULTS, HostBuilder

    path = Path(folder, f"node{number:05}.tar.gz")
    if path.exists():
        return
    choose = random.Random(number)
    builder = HostBuilder()
    kind = choose.random()
    if kind < 0.45:
        name = choose.choice(sorted(FAULTS))
        builder = builder.with_fault(name)
    elif kind < 0.7:
        builder = builder.gpus("gfx942", count=8).rocm(choose.choice(("6.2.0", "6.2.4", "6.3.1")))
    elif kind < 0.8:
        builder = builder.distro("rhel", "9.4").gpus("gfx90a", count=choose.choice((4, 8))).rocm("6.2.4")
    else:
        builder = builder.kernel(choose.choice(("6.8.0-40-generic", "6.8.0-45-generic", "6.8.0-48-generic")))
    builder.write_tar(path)
    if number % BROKEN_EVERY == 0:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])


def generate(folder: Path, nodes: int, jobs: int) -> None:
    """Write what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for _ in pool.imap_unordered(functools.partial(build, str(folder)), range(1, nodes + 1), chunksize=50):
            pass


def measure(argv: Sequence[str], output: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time, and peak MiB of the program and its workers together (sum of resident sizes, sampled
    ten times a second: shared pages count in each)."""
    import psutil

    start = time.perf_counter()
    used: dict[int, float] = {}
    peak = 0
    with output.open("wb") as file, subprocess.Popen(argv, stdout=file, stderr=subprocess.DEVNULL, cwd=TREE) as program:
        root = psutil.Process(program.pid)
        while program.poll() is None:
            resident = 0
            try:
                for process in (root, *root.children(recursive=True)):
                    resident += process.memory_info().rss
                    times = process.cpu_times()
                    used[process.pid] = times.user + times.system
            except psutil.Error:
                pass
            peak = max(peak, resident)
            time.sleep(0.1)
    assert program.returncode in (0, 1, 3), f"{argv} ended with {program.returncode}"
    return time.perf_counter() - start, sum(used.values()), peak / 2**20


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 10_000], help="numbers of nodes (default 1000 10000)")
    parser.add_argument("--format", default="text", help="format of the output (default text)")
    parser.add_argument("--jobs", type=int, default=2, help="processes that generate and that read (default 2)")
    parser.add_argument("--keep", type=Path, help="a folder in which the snapshots stay for the next run")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args(argv)
    rates: list[float] = []
    with tempfile.TemporaryDirectory(prefix="rocmdoctor-fleet-benchmark-") as folder:
        top = options.keep or Path(folder)
        print("   nodes  seconds  processor  peak MiB  ms a node")
        for nodes in sorted(options.nodes):
            generate(top / str(nodes), nodes, options.jobs)
            command = [sys.executable, "-m", "rocmdoctor", "fleet", str(top / str(nodes)), "--jobs", str(options.jobs)]
            seconds, used, peak = measure([*command, "--format", options.format], Path(folder, "output"))
            rates.append(used / nodes)
            print(f"{nodes:8} {seconds:8.1f} {used:10.1f} {peak:9.0f} {used / nodes * 1000:10.2f}", flush=True)
    ratio = rates[-1] / rates[0]
    print(f"processor time for each node, most to fewest nodes: {ratio:.2f} (goal {GOAL_RATIO} at most)")
    print(f"goals for the most nodes: {GOAL_SECONDS:.0f} s, {GOAL_MIB:.0f} MiB")
    return int(options.check and not (seconds <= GOAL_SECONDS and peak <= GOAL_MIB and ratio <= GOAL_RATIO))


if __name__ == "__main__":
    sys.exit(main())
