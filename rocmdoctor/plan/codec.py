"""Steps written down and read back: what a killed run left in its journal is resumed and undone by another process."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rocmdoctor.plan.step import Record, Step


class NoStep(ValueError):
    """A record that is no step of this version."""


def kinds() -> dict[str, type[Step]]:
    """Every kind of step by its name."""
    from rocmdoctor.plan import accounts, driver_module, environments, files, keys, packages, programs, reboot

    classes: tuple[type[Step], ...] = (
        files.WriteFile,
        files.RemoveFile,
        keys.FetchKey,
        keys.ImportKey,
        keys.TrustKey,
        packages.RefreshIndex,
        packages.InstallPackages,
        packages.RemovePackages,
        accounts.AddUserToGroups,
        programs.RunCommand,
        driver_module.DkmsModule,
        environments.PythonVenv,
        environments.PipInstall,
        reboot.RebootNotice,
    )
    return {c.kind: c for c in classes}


def read_step(record: Any) -> Step:
    """The step that `Step.written_down` wrote. Raises NoStep."""
    if not isinstance(record, dict):
        raise NoStep("a step is no object")
    kind = kinds().get(str(record.get("kind")))
    if kind is None:
        raise NoStep(f"unknown kind of step {record.get('kind')!r}")
    known = {f.name: f for f in fields(kind)}
    values: Record = {name: value for name, value in record.items() if name != "kind"}
    if set(values) - set(known):
        raise NoStep(f"a {kind.kind} with unknown fields {sorted(set(values) - set(known))}")
    shapes = getattr(kind, "shapes", {})
    try:
        return kind(**{name: shapes[name](value) if name in shapes else _frozen(value) for name, value in values.items()})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise NoStep(f"a {kind.kind} that cannot be read: {error}") from None


def _frozen(value: Any) -> Any:
    """Lists of JSON are the tuples of the step; objects stay as they are (their kinds have `shapes`)."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
