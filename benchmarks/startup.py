"""Wall time of `rocmdoctor check` against `rocm-bootstrap-detect`, measured in turns. See README.md beside this file."""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

DETECTOR = "rocm-bootstrap==0.3.0"
GOAL = 2.5
TREE = Path(__file__).resolve().parents[1]


def install(folder: Path, *requirements: str) -> Path:
    """A virtual environment in `folder` with `requirements`; its bin folder."""
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements], check=True
    )
    return folder / "bin"


def install_tree(folder: Path) -> Path:
    """This tree, installed from a copy (a build leaves files beside its sources). pip compiles what it installs, as for the
    detector; an editable install is compiled by the first run, or never under PYTHONDONTWRITEBYTECODE."""
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    return install(folder / "doctor", str(shutil.copytree(TREE, folder / "tree", symlinks=True, ignore=ignored)))


def in_turns(commands: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each command, `rounds` times, one after another within each round. The first round warms the caches."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, argv in commands.items():
            start = time.perf_counter()
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def table(seconds: dict[str, list[float]], base: str) -> str:
    """Median and least in milliseconds, and the ratio of medians to that of `base`."""
    unit = statistics.median(seconds[base])
    width = max(map(len, seconds))
    rows = [f"{'':<{width}}  median      min   ratio"]
    for name, times in seconds.items():
        middle = statistics.median(times)
        rows.append(f"{name:<{width}}  {middle * 1000:6.1f}  {min(times) * 1000:7.1f}  {middle / unit:6.2f}")
    return "\n".join(rows)


def measure(doctor: Path, detector: Path, cases: Path | None, rounds: int) -> bool:
    """Print the tables; True when both forms of the report meet the goal, and the median of the replayed hosts."""
    base = "rocm-bootstrap-detect"
    commands = {
        base: [str(detector)],
        "rocmdoctor check": [str(doctor), "check"],
        "rocmdoctor check --format json": [str(doctor), "check", "--format", "json"],
        "rocmdoctor --version": [str(doctor), "--version"],
    }
    seconds = in_turns(commands, rounds)
    print(table(seconds, base))
    unit = statistics.median(seconds[base])
    worst = max(statistics.median(seconds[name]) / unit for name in commands if " check" in name)
    print(f"worst ratio of check {worst:.2f}, goal {GOAL}")
    if cases:
        folders = sorted(f.parent for f in cases.glob("*/snapshot.json"))
        replay = {f.name: [str(doctor), "check", "--snapshot", str(f), "--format", "json"] for f in folders}
        replayed = in_turns({base: [str(detector)], **replay}, max(rounds // 5, 1))
        middles = {name: statistics.median(times) for name, times in replayed.items()}
        unit = middles.pop(base)
        slowest = max(middles, key=lambda name: middles[name])
        worst = max(worst, statistics.median(middles.values()) / unit)
        print(
            f"{len(middles)} replayed hosts: median ratio {statistics.median(middles.values()) / unit:.2f}, "
            f"slowest {middles[slowest] / unit:.2f} ({slowest}, {middles[slowest] * 1000:.0f} ms)"
        )
    return worst <= GOAL


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="runs of each command (default 25)")
    parser.add_argument("--cases", type=Path, help="a folder of snapshot folders to replay as well")
    parser.add_argument("--doctor", type=Path, help="an installed rocmdoctor (default: install this tree)")
    parser.add_argument("--detector", type=Path, help="an installed rocm-bootstrap-detect (default: install it)")
    parser.add_argument("--check", action="store_true", help=f"exit 1 when a ratio is over {GOAL}")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="rocmdoctor-startup-") as folder:
        doctor = options.doctor or install_tree(Path(folder)) / "rocmdoctor"
        detector = options.detector or install(Path(folder, "detector"), DETECTOR) / "rocm-bootstrap-detect"
        met = measure(doctor, detector, options.cases, options.rounds)
    return int(options.check and not met)


if __name__ == "__main__":
    sys.exit(main())
