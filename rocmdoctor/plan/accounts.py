"""Group membership of users: the groups that own /dev/kfd and the render nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, Record, Run, Step


@dataclass(frozen=True, slots=True)
class AddUserToGroups(Step):
    """`usermod -a -G`. Undoing takes out of those groups only that the user was not in before."""

    kind: ClassVar[str] = "add-user-to-groups"

    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("usermod", "-a", "-G", ",".join(self.groups), self.user),)

    def is_done(self, host: Host) -> bool:
        return not self._missing(host)

    def _missing(self, host: Host) -> tuple[str, ...]:
        has = groups_of(host, self.user)
        return tuple(group for group in self.groups if group not in has)

    def prepare(self, run: Run) -> Record:
        try:
            return {"missing": list(self._missing(run.target.look()))}
        except UnknownFact as unknown:
            raise ChangeFailed(f"the groups of {self.user} cannot be told: {unknown}") from None

    def apply(self, run: Run, before: Record) -> Record:
        run_or_fail(run, self.commands[0])
        run.say(f"{self.user} must log in again: sessions that are open do not have the new groups")
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        has = groups_of(run.target.look(), self.user)
        for group in before["missing"]:
            if group in has:
                run_or_fail(run, ("gpasswd", "-d", self.user, str(group)))


def groups_of(host: Host, user: str) -> frozenset[str]:
    """Names of the groups that a new session of `user` would have: of the database, else of `id`, which asks directories too.

    Raises UnknownFact when the user is not known.
    """
    passwd = host.read("/etc/passwd") or ""
    rows = (entry.split(":") for entry in passwd.splitlines())
    line = next((fields for fields in rows if len(fields) > 3 and fields[0] == user), None)
    if line is None and user != "root":
        answer = host.run(("id", "-Gn", "--", user))
        if not answer.found or answer.rc != 0:
            raise UnknownFact(f"there is no user {user}")
        return frozenset(answer.stdout.split())
    found = set()
    for entry in (host.read("/etc/group") or "").splitlines():
        fields = entry.split(":")
        if len(fields) > 3 and (user in fields[3].split(",") or (line and fields[2] == line[3])):
            found.add(fields[0])
    return frozenset(found)


def exists(host: Host, user: str) -> bool:
    """Whether there is such a user. Raises UnknownFact when the database cannot be read."""
    if any(line.split(":", 1)[0] == user for line in (host.read("/etc/passwd") or "").splitlines()):
        return True
    answer = host.run(("id", "-u", "--", user))
    return answer.found and answer.rc == 0
