# Copyright: rocmdoctor contributors
# MIT License (see LICENSE)

"""The rocmdoctor on the target: found, asked for its version, run, its JSON read. Nothing of it is imported here: it has a Python
of its own (3.10 or newer), which is rarely the one that runs modules."""

from __future__ import annotations

import json
import re

MINIMUM = "0.1.0"
SCHEMA_VERSION = 1
PLACES = ["/usr/local/bin", "/opt/rocmdoctor/bin"]
"""Where install_scripts/bootstrap.sh puts it: su, sudo and cron often have a PATH without these."""
REMEDY = "the role rocmdoctor.rocm.node or install_scripts/bootstrap.sh installs it"

ARGUMENTS = {
    "executable": {"type": "str", "default": "rocmdoctor"},
    "matrix": {"type": "path"},
}

# Who became root is the account of Ansible, not a user of the GPUs: only users that are named are judged and added to groups.
_ENVIRONMENT = {"SUDO_USER": "", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


class Answer:
    """What rocmdoctor said. `data` is its JSON, None where it printed none; `said` its complaints, each a line."""

    def __init__(self, rc, data, said):
        self.rc = rc
        self.data = data
        self.said = said

    @property
    def why(self):
        return "; ".join(self.said) or f"it ended with status {self.rc} and said nothing"


class Doctor:
    """Ends the module with a clear message where rocmdoctor is missing, too old, or prints what this collection cannot read."""

    def __init__(self, module):
        self._module = module
        self.path = self._find(module.params["executable"])
        self.version = self._version()

    def _find(self, name):
        found = self._module.get_bin_path(name, opt_dirs=PLACES)
        if found is None:
            where = "" if "/" in name else f" (looked in PATH, {', '.join(PLACES)})"
            self._module.fail_json(msg=f"{name} was not found on the target{where}; {REMEDY}")
        return found

    def _version(self):
        rc, out, err = self._run(["--version"])
        found = re.match(r"rocmdoctor (\d+(?:\.\d+)*)", out)
        if rc != 0 or not found:
            said = (err.strip() or out.strip() or f"exit status {rc}").splitlines()[-1]
            self._module.fail_json(msg=f"{self.path} on the target does not run as rocmdoctor: {said}; {REMEDY}")
        if _numbers(found.group(1)) < _numbers(MINIMUM):
            old = f"rocmdoctor {found.group(1)} on the target ({self.path}) is too old, this collection needs {MINIMUM} or newer"
            self._module.fail_json(msg=f"{old}; {REMEDY}")
        return found.group(1)

    def _run(self, words):
        return self._module.run_command([self.path, *words], environ_update=_ENVIRONMENT)

    def ask(self, *words):
        """An Answer. `words`: the arguments; `--format json` is added except for `facts`, which knows nothing else."""
        form = [] if words[0] == "facts" else ["--format", "json"]
        matrix = self._module.params.get("matrix")
        form += ["--matrix", matrix] if matrix else []
        rc, out, err = self._run([words[0], *form, *words[1:]])
        return self._answer(rc, out, err)

    def history(self, *words):
        """An Answer of a command about runs, which takes no matrix."""
        return self._answer(*self._run([words[0], "--format", "json", *words[1:]]))

    def _answer(self, rc, out, err):
        said = [line.partition(": ")[2] for line in err.splitlines() if line.startswith("rocmdoctor: ")]
        said = [line for line in said if not line.startswith("note: ")]
        data = None
        if out.strip():
            try:
                data = json.loads(out)
            except ValueError:
                data = None
            if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
                strange = "its answer is not the JSON that this collection reads; use a collection of its version"
                self._module.fail_json(msg=f"rocmdoctor {self.version} on the target: {strange}", rc=rc)
        elif not said:
            said = err.strip().splitlines()[-1:]
        return Answer(rc, data, said)


def _numbers(version):
    return [int(part) for part in version.split(".")]


def root_causes(report):
    """(id, title, detail) of each failure of a report, as dictionaries, with the title of its first remedy."""
    found = []
    for result in report["results"]:
        if result["status"] != "fail":
            continue
        fixes = result.get("fixes") or [{}]
        found.append({"id": result["id"], "title": result["title"], "detail": result.get("detail"), "fix": fixes[0].get("title")})
    return found


class Change:
    """A run of `install`, `uninstall` or `fix`, or the plan for one: its JSON as the result of a module."""

    def __init__(self, answer):
        self.answer = answer
        self.plan = answer.data or {}
        self.outcome = self.plan.get("outcome") or {}

    @property
    def open_steps(self):
        """Steps that are to be done, without the notice to reboot, which changes nothing."""
        return [step for step in self.plan.get("steps", []) if step["done"] is not True and step["kind"] != "reboot-notice"]

    def changed(self, check_mode):
        if check_mode:
            return self.plan.get("status") == "applicable"
        return bool(self.outcome.get("changed"))

    def reboot_required(self, check_mode):
        if check_mode:
            return "reboot" in self.plan.get("needs", [])
        return bool(self.outcome.get("reboot_required"))

    def diff(self, changed_ids=None):
        """Files before and after; of the steps `changed_ids` where a run has been made, else of all that are open."""
        rows = []
        for step in self.open_steps if changed_ids is None else self.plan.get("steps", []):
            if changed_ids is not None and step["id"] not in changed_ids:
                continue
            for file in step["files"]:
                if file["before"] == file["after"] and not file["note"]:
                    continue
                rows.append(
                    {
                        "before_header": file["path"],
                        "after_header": file["path"],
                        "before": file["before"] or "",
                        "after": file["after"] or (f"({file['note']})\n" if file["note"] else ""),
                    }
                )
        return rows

    @property
    def trouble(self):
        """Why it was refused or failed, in one line; None when it was not."""
        refusals = self.plan.get("refusals") or []
        if refusals:
            said = [r["reason"] + (f" ({r['help']})" if r["help"] else "") for r in refusals]
            return f"rocmdoctor refuses: {'; '.join(said)}"
        if self.outcome.get("status") in ("failed", "interrupted"):
            failed = self.outcome["failed_step"]
            title = next((step["title"] for step in self.plan["steps"] if step["id"] == failed), failed or self.plan["title"])
            back = f"`rocmdoctor undo {self.outcome['run_id']}` takes back what was done"
            return f"{title}: {self.outcome['message']} (log {self.outcome['log']}; {back})"
        if self.answer.rc != 0:
            return self.answer.why
        if not self.plan:
            return "rocmdoctor printed no plan"
        return None

    def result(self, module):
        """The values that the modules return for a change."""
        check_mode = module.check_mode
        found = {
            "changed": self.changed(check_mode),
            "reboot_required": self.reboot_required(check_mode),
            "plan": {key: value for key, value in self.plan.items() if key != "outcome"},
            "commands": [argv for step in self.open_steps for argv in step["commands"]],
            "changed_steps": list(self.outcome.get("changed") or []),
            "notices": list(self.plan.get("notices") or []),
            "refusals": list(self.plan.get("refusals") or []),
            "run_id": self.outcome.get("run_id"),
            "log": self.outcome.get("log"),
        }
        if module._diff:
            found["diff"] = self.diff(None if check_mode else found["changed_steps"])
        return found
