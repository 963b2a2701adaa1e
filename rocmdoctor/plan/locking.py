"""Lock files: the exact packages and wheels of an installation with their hashes, to be reproduced elsewhere or refused.

    {"format": "rocmdoctor-lock", "version": 1, "system": "ubuntu 22.04", "rocm": "6.2.4", "driver": null, "manager": "apt",
     "packages": [{"name": "rocm-core", "version": "6.2.4.60204-139~22.04", "sha256": "..."}],
     "python": "3.10", "index": "https://...", "gfx": ["gfx1100"],
     "wheels": [{"name": "torch", "version": "2.5.1+rocm6.2", "sha256": ["..."]}]}

Of a deb, `sha256` is the file's, as the signed index has it; of an rpm it is the header's (rpm's SHA256HEADER), which signs the
payload's digest; null where no repository had the package any more when the lock was written. `step` is the step of the plan that
a package came with; without one it belongs to ROCm.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rocmdoctor import versions
from rocmdoctor.facts import Facts, pythons
from rocmdoctor.facts.packages import Package
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import compared, journal, kept
from rocmdoctor.plan.draft import Options
from rocmdoctor.plan.environments import PipInstall, uv_program
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex
from rocmdoctor.plan.step import Plan, Refusal, Step, judged

FORMAT = "rocmdoctor-lock"
MOST_BYTES = 16 << 20
"""Size of a lock file at most."""
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_~:^-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class LockError(ValueError):
    """A file that is no lock: wrong usage."""


class Locked(NamedTuple):
    """One package or wheel; a wheel has a hash per file that pip may choose, a package one or none. `step`: what it came with."""

    name: str
    version: str
    sha256: tuple[str, ...]
    step: str = ""


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock file says. `python` is the X.Y of the environment, `index` where its wheels come from."""

    system: str
    rocm: str
    driver: str | None
    manager: str
    packages: tuple[Locked, ...]
    python: str | None
    index: str | None
    gfx: tuple[str, ...]
    wheels: tuple[Locked, ...]


# reading ---------------------------------------------------------------------------------------------------------


def read(text: str) -> Lock:
    """Raises LockError."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != 1:
            raise LockError("it is no lock file of this version")
        return Lock(
            _word(data["system"], spaces=True),
            _word(data["rocm"]),
            _word(data["driver"]) if data["driver"] else None,
            _word(data["manager"]),
            tuple(_package(row) for row in data["packages"]),
            _word(data["python"]) if data.get("python") else None,
            str(data["index"]) if data.get("index") else None,
            tuple(_word(gfx) for gfx in data.get("gfx", ())),
            tuple(_locked(row) for row in data.get("wheels", ())),
        )
    except LockError:
        raise
    except RecursionError:
        raise LockError("it cannot be read: it is nested too deeply") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockError(f"it cannot be read: {error!r:.200}") from None


def _word(value: Any, *, spaces: bool = False) -> str:
    """A name or version: it goes onto command lines."""
    text = str(value)
    if not all(_WORD.fullmatch(part) for part in (text.split(" ") if spaces else [text])):
        raise LockError(f"{text[:80]!r} is no name or version")
    return text


def _locked(row: Mapping[str, Any]) -> Locked:
    hashes = row["sha256"] if isinstance(row["sha256"], list) else [row["sha256"]]
    if not hashes or not all(isinstance(h, str) and _SHA256.fullmatch(h) for h in hashes):
        raise LockError(f"{row.get('name')} has no SHA-256")
    return Locked(_word(row["name"]), _word(row["version"]), tuple(hashes))


def _package(row: Mapping[str, Any]) -> Locked:
    step = _word(row["step"]) if row.get("step") else ""
    if row["sha256"] is None:
        return Locked(_word(row["name"]), _word(row["version"]), (), step)
    return _locked(row)._replace(step=step)


def options(lock: Lock, given: Options) -> Options:
    """What a lock asks for, in the place of releases and drivers; where and for whom stays as given."""
    torch = next((wheel.version for wheel in lock.wheels if wheel.name == "torch"), "none")
    return replace(given, rocm=lock.rocm, packages=("rocm",), driver="dkms" if lock.driver else "none", pytorch=torch)


def locked(plan: Plan, lock: Lock, facts: Facts) -> Plan:
    """The plan with the lock's versions and hashes; with refusals where it does not fit this host."""
    refusals = list(plan.refusals)
    system = plan.choices.get("system")
    if system != lock.system:
        refusals.append(Refusal("lock", f"the lock is for {lock.system}, this host takes the packages of {system}"))
    rows = {row.name: row for row in lock.packages}
    shares = _shares(plan, rows)
    installs = [step.id for step in plan.steps if isinstance(step, InstallPackages)]
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, InstallPackages):
            later = installs[installs.index(step.id) + 1 :] if step.id == installs[0] else []
            ahead = [name for other in later for name in shares[other]]
            own = shares[step.id]
            unlocked = tuple(wish for wish in step.wishes if wish.name not in rows and step.id != "rocm")
            wishes = tuple(Wish(name, rows[name].version) for name in own)
            digests = tuple((name, rows[name].version, rows[name].sha256[0]) for name in (*own, *ahead) if rows[name].sha256)
            more = tuple(Wish(name, rows[name].version) for name in ahead)
            steps.append(replace(step, wishes=(*wishes, *unlocked), digests=digests, ahead=more))
        elif isinstance(step, PipInstall):
            steps.append(_locked_wheels(step, lock))
        else:
            steps.append(step)
    serves = tuple(wish for step in steps if isinstance(step, InstallPackages) for wish in step.wishes)
    found = tuple(replace(s, serves=serves) if isinstance(s, RefreshIndex) else s for s in steps)
    if lock.wheels and not any(isinstance(step, PipInstall) for step in found):
        refusals.append(Refusal("lock", "the wheels of the lock do not fit this host: no such PyTorch for its GPUs and Python"))
    notices = list(plan.notices)
    bare = sorted(row.name for row in lock.packages if not row.sha256)
    if bare:
        notices.append(f"the lock has the version, and no hash, of {_some(bare)}")
    if system == lock.system:
        hashed = [(row.name, row.version, row.sha256[0]) for row in lock.packages if row.sha256]
        differing, silent = compared.standing(facts.host, lock.manager, hashed)
        refusals += [Refusal("lock", f"installed already: {text}", "remove it, or write a lock anew") for text in differing]
        if silent:
            notices.append(compared.unchecked(silent))
    done = judged(found, facts.host)
    if lock.wheels and any(isinstance(step, PipInstall) and done[step.id] for step in found):
        notices.append("the wheels are installed already in the versions of the lock; their hashes cannot be compared any more")
    return replace(plan, steps=found, refusals=tuple(refusals), notices=tuple(notices), done=done)


def _shares(plan: Plan, rows: Mapping[str, Locked]) -> dict[str, list[str]]:
    """Names of the lock per step that installs packages: what the step wishes, and what came with it when the lock was written.
    The rest is ROCm's, but for the driver's own packages."""
    installs = {step.id: [wish.name for wish in step.wishes] for step in plan.steps if isinstance(step, InstallPackages)}
    shares: dict[str, list[str]] = {id: [] for id in installs}
    wished = {name: id for id, names in installs.items() if id != "rocm" for name in names}
    for name, row in rows.items():
        id = wished.get(name) or row.step
        if id not in installs:
            id = "driver" if name.startswith("amdgpu-dkms") else "rocm"
        if id in installs:
            shares[id].append(name)
    return shares


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _wishes(step: Step) -> tuple[Wish, ...]:
    return step.wishes if isinstance(step, InstallPackages) else ()


def _locked_wheels(step: PipInstall, lock: Lock) -> PipInstall:
    lines = tuple(
        f"{wheel.name}=={wheel.version} " + " ".join(f"--hash=sha256:{value}" for value in wheel.sha256) for wheel in lock.wheels
    )
    exact = tuple(f"{wheel.name}=={wheel.version}" for wheel in lock.wheels)
    return replace(step, requirements=exact, hashes=lines)


# writing ---------------------------------------------------------------------------------------------------------


def write(plan: Plan, facts: Facts, target: Target, log: str) -> tuple[str, tuple[str, ...]]:
    """The lock of what this plan has installed, and what must be said of it. Raises ChangeFailed when there are no hashes."""
    manager = next((s.manager for s in plan.steps if isinstance(s, InstallPackages)), "")
    wished = {wish.name: step.id for step in plan.steps for wish in _wishes(step)}
    came = _came_along(target)
    steps: dict[Package, str] = {}
    for p in facts.packages.packages:
        keys = (p.name, f"{p.name}:{p.arch}", f"{p.name}-{p.version}.{p.arch}")
        step = next((known[key] for key in keys for known in (wished, came) if key in known), None)
        if p.installed and (p.from_amd or step is not None):
            steps[p] = step or ""
    rows = _package_rows(steps, manager, target, log)
    bare = [str(row["name"]) for row in rows if row["sha256"] is None]
    if bare and len(bare) == len(rows):
        raise ChangeFailed(f"no repository has the hash of any of its packages ({_some(bare)})")
    said = (f"no repository has the hash of {_some(bare)}: the lock has only the version",) if bare else ()
    pip = next((step for step in plan.steps if isinstance(step, PipInstall)), None)
    versions_ = plan.versions
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "created": target.now(),
        "system": plan.choices.get("system"),
        "rocm": versions_.get("rocm"),
        "driver": versions_.get("driver"),
        "manager": manager,
        "packages": rows,
    }
    if pip is not None:
        env = pythons.gather(target.look(), pip.python)[0]
        data |= {
            "python": versions.major_minor(env.version),
            "index": pip.index,
            "gfx": list(pip.gfx),
            "wheels": _wheel_rows(pip, {d.name: d.version for d in reversed(env.distributions)}, target, log),
        }
    return json.dumps(data, indent=1) + "\n", said


def _came_along(target: Target) -> dict[str, str]:
    """What installations have added or changed that were not taken back, dependencies included: name to step."""
    found: dict[str, str] = {}
    for entry in journal.runs(target):
        if entry.command != "install" or entry.undone:
            continue
        for step in entry.steps:
            after = entry.after.get(step.id)
            if isinstance(step, InstallPackages) and after is not None:
                found.update(dict.fromkeys((*after.get("installed", ()), *after.get("upgraded", ())), step.id))
    return found


def _package_rows(steps: Mapping[Package, str], manager: str, target: Target, log: str) -> list[dict[str, str | None]]:
    """A row per name; of one that is installed several times (kernels) the last."""
    wanted = {p.name: (p.full_version, step) for p, step in steps.items()}
    if not wanted:
        return []
    question = compared.question(manager, ((name, version) for name, (version, _) in wanted.items()))
    found = compared.answered(manager, target.run(question, log).stdout)
    rows: list[dict[str, str | None]] = []
    for name, (version, step) in sorted(wanted.items()):
        row: dict[str, str | None] = {"name": name, "version": version, "sha256": found.get((name, version))}
        rows.append({**row, "step": step} if step else row)
    return rows


def _wheel_rows(pip: PipInstall, distributions: Mapping[str, str], target: Target, log: str) -> list[dict[str, Any]]:
    """Hashes as the index has them: pip is asked what it would install, and answers with a report."""
    own = ("pip", "setuptools", "wheel")
    names = {name: version for name, version in distributions.items() if name not in own}
    folder = f"{kept.STATE}/wheels"  # not "lock": that is the file of the lock against a second run
    kept.make_folders(target, folder, 0o700)
    requirements, report = f"{folder}/requirements.txt", f"{folder}/report.json"
    try:
        target.write(requirements, "".join(f"{n}=={v}\n" for n, v in sorted(names.items())).encode(), 0o600)
        index = ("--index-url", pip.index) if pip.index else ()
        if pip.uv:
            compile_ = ("pip", "compile", "--no-deps", "--generate-hashes", "--python", pip.python, *index, requirements)
            answer = target.run((*uv_program(pip.uv, pip.ca), *compile_, "-o", report), log)
            rows = _uv_rows((target.read(report) or b"").decode("utf-8", "replace"))
        else:
            options_ = ("--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", report)
            answer = target.run((pip.python, "-m", "pip", "install", *options_, *index, "-r", requirements), log)
            rows = _pip_rows(target.read(report) or b"{}")
    finally:
        target.remove_tree(folder)
    if answer.rc != 0:
        raise ChangeFailed(f"the hashes of the wheels cannot be had: {answer.stdout.strip()[-200:]}")
    lacking = sorted(set(names) - {row["name"] for row in rows})
    if lacking:
        raise ChangeFailed(f"the index has no hash of {', '.join(lacking[:5])}")
    return rows


def _pip_rows(report: bytes) -> list[dict[str, Any]]:
    from rocmdoctor.facts.distributions import normalised

    rows = []
    for item in json.loads(report).get("install", ()):
        digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if digest:
            name, version = normalised(item["metadata"]["name"]), item["metadata"]["version"]
            rows.append({"name": name, "version": version, "sha256": [digest]})
    return sorted(rows, key=lambda row: str(row["name"]))


def _uv_rows(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        if found := re.match(r"([A-Za-z0-9._-]+)==(\S+)", line):
            rows.append({"name": found[1].lower(), "version": found[2], "sha256": []})
        if rows:
            rows[-1]["sha256"] += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return [row for row in rows if row["sha256"]]
