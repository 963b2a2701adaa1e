"""Files as they were before a step: kept byte for byte below /var/lib/rocmdoctor, with mode, owner and link target.

A record names what lay at a path and where its content is kept; putting it back needs nothing else.
"""

from __future__ import annotations

from rocmdoctor.host.target import ChangeFailed, Target, temporary_name
from rocmdoctor.plan.step import Record, Run

STATE = "/var/lib/rocmdoctor"
LOGS = "/var/log/rocmdoctor"


def make_folders(target: Target, path: str, mode: int = 0o755) -> None:
    """A folder with its parents."""
    for folder in reversed(missing_folders(target, path)):
        target.make_folder(folder, mode)


def missing_folders(target: Target, path: str) -> list[str]:
    """The folders that are not there on the way to `path`, itself included; the deepest first."""
    missing = []
    while path not in ("", "/") and target.state(path) is None:
        missing.append(path)
        path = path.rpartition("/")[0]
    return missing


def keep(run: Run, step: str, path: str) -> Record:
    """Keep what lies at `path`. The record has `type` (None: nothing), and `folders` that are missing on the way there."""
    state = run.target.state(path)
    folders = missing_folders(run.target, path.rpartition("/")[0])
    if state is None:
        return {"path": path, "type": None, "folders": folders}
    record: Record = {"path": path, "type": state.type, "folders": folders}
    record.update(mode=state.mode, uid=state.uid, gid=state.gid)
    if state.type == "link":
        return {**record, "target": state.target}
    if state.type != "file":
        raise ChangeFailed(f"{path} is no regular file; it is left alone")
    data = run.target.read(path)
    if data is None:
        raise ChangeFailed(f"{path} went away while it was looked at")
    place = f"{run.kept}/{step}-{path.rpartition('/')[2]}"
    make_folders(run.target, run.kept, 0o700)
    run.target.write(place, data, 0o600)
    return {**record, "kept": place}


def is_as_before(target: Target, record: Record) -> bool:
    """Whether the path is as the record says it was."""
    state = target.state(str(record["path"]))
    if record["type"] is None or state is None:
        return record["type"] is None and state is None
    same = (state.type, state.mode, state.uid, state.gid) == tuple(record[k] for k in ("type", "mode", "uid", "gid"))
    if state.type == "link":
        return state.type == record["type"] and state.target == record.get("target")
    return same and target.read(str(record["path"])) == target.read(str(record["kept"]))


def put_back(run: Run, record: Record, ours: bytes | None, step: str) -> None:
    """Make the path as it was. `ours`: what the step wrote there; anything else has been edited since, and is kept first."""
    target, path = run.target, str(record["path"])
    target.remove(temporary_name(path))
    if not is_as_before(target, record):
        state = target.state(path)
        current = target.read(path) if state is not None and state.type == "file" else None
        if current is not None and current != ours:
            place = f"{run.kept}/{step}-edited-{path.rpartition('/')[2]}"
            make_folders(target, run.kept, 0o700)
            target.write(place, current, 0o600)
            run.say(f"{path} was edited after it was written; that version is kept as {place}")
        if record["type"] is None:
            target.remove(path)
        elif record["type"] == "link":
            target.link(path, str(record["target"]))
        else:
            data = target.read(str(record["kept"]))
            if data is None:
                raise ChangeFailed(f"the kept copy {record['kept']} of {path} is gone")
            target.write(path, data, int(record["mode"]), (int(record["uid"]), int(record["gid"])))
    for folder in record["folders"]:
        target.remove_folder(str(folder))
