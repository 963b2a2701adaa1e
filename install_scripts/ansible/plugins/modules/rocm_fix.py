#!/usr/bin/python
# Copyright: rocmdoctor contributors
# MIT License (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: rocm_fix
short_description: Does the automatic remedies of failed checks
version_added: 0.1.0
description:
  - Runs C(rocmdoctor fix) for the named checks on the target, and judges them again. Only what these checks found is touched, and
    only by remedies that need no decision.
  - Fails where a named check still fails afterwards and neither a reboot nor a new login is what it waits for. In check mode, it
    fails where no automatic remedy is known.
  - Every change is journaled on the target, so C(rocmdoctor undo) takes a run back.
extends_documentation_fragment:
  - rocmdoctor.rocm.doctor
attributes:
  check_mode:
    description: Returns the plan and changes nothing.
    support: full
  diff_mode:
    description: Shows the files that are written or removed, before and after. What programs change is not shown.
    support: full
options:
  checks:
    description:
      - Checks or areas, as ids or globs (V(permissions.kfd-access), V(host_groups)). C(rocmdoctor list-checks) names them.
    type: list
    elements: str
    required: true
  user:
    description:
      - Judge and fix the access of this user.
    type: str
seealso:
  - module: rocmdoctor.rocm.rocm_check_info
  - module: rocmdoctor.rocm.rocm_install
"""

EXAMPLES = r"""
- name: Give the batch user access to the GPUs
  rocmdoctor.rocm.rocm_fix:
    checks:
      - permissions.kfd-access
    user: batch
  become: true

- name: Fix what can be fixed of packages and repositories
  rocmdoctor.rocm.rocm_fix:
    checks: [packages, repo]
  become: true
  register: fixed

- name: Reboot when a remedy needs it
  ansible.builtin.reboot:
  become: true
  when: fixed.reboot_required
"""

RETURN = r"""
plan:
  description: The plan, as C(rocmdoctor fix --dry-run --format json) prints it.
  type: dict
  returned: always, when it could be made
failing:
  description: What still fails of the named checks; in check mode, what no automatic remedy is known for.
  type: list
  elements: dict
  returned: always, when a plan could be made
  contains:
    id:
      description: Id of the check.
      type: str
    title:
      description: What is wrong.
      type: str
    waits_for:
      description: V(reboot) or V(relogin) where that is what its remedy waits for, else null.
      type: str
commands:
  description: Programs of the steps that were open, each as a list of words.
  type: list
  elements: list
  returned: always, when a plan could be made
changed_steps:
  description: Ids of the steps that changed something. Empty in check mode.
  type: list
  elements: str
  returned: always, when a plan could be made
reboot_required:
  description: Whether a remedy that was done (or would be done, in check mode) needs a reboot.
  type: bool
  returned: always, when a plan could be made
notices:
  description: What is worth knowing, among it findings without an automatic remedy.
  type: list
  elements: str
  returned: always, when a plan could be made
refusals:
  description: Why nothing was changed.
  type: list
  elements: dict
  returned: always, when a plan could be made
run_id:
  description: Name of the run, for C(rocmdoctor undo). Null when nothing was run.
  type: str
  returned: always, when a plan could be made
log:
  description: Log of the run on the target. Null when nothing was run.
  type: str
  returned: always, when a plan could be made
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rocmdoctor.rocm.plugins.module_utils.doctor import ARGUMENTS, Change, Doctor


def automatic(result):
    return any(fix["automatic"] and fix["commands"] for fix in result["fixes"])


def still_failing(report, module, done):
    """Failures of the named checks. `done`: needs of the steps that were done."""
    found = []
    for result in report["results"]:
        if result["status"] != "fail" or (module.check_mode and automatic(result)):
            continue
        waits = next((need for need in ("reboot", "relogin") if need in done), None)
        found.append({"id": result["id"], "title": result["title"], "waits_for": waits})
    return found


def main():
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "checks": {"type": "list", "elements": "str", "required": True},
            "user": {"type": "str"},
        },
        supports_check_mode=True,
    )
    given = module.params
    checks = [name.strip() for name in given["checks"]]
    if not checks or not all(checks):
        module.fail_json(msg="checks names no check; `rocmdoctor list-checks` names them all")
    doctor = Doctor(module)
    user = ["--user", given["user"]] if given["user"] else []
    change = Change(doctor.ask("fix", *user, "--dry-run" if module.check_mode else "--yes", "--", *checks))
    if not change.plan:
        module.fail_json(msg=change.trouble, changed=False, rc=change.answer.rc)
    found = change.result(module)
    done = {need for step in change.open_steps for need in step["needs"]}
    found["reboot_required"] = found["reboot_required"] or (found["changed"] and "reboot" in done)
    if change.trouble:
        module.fail_json(msg=change.trouble, rc=change.answer.rc, **found)

    judged = doctor.ask("check", *user, *(word for name in checks for word in ("--only", name)))
    if judged.data is None:
        module.fail_json(msg=f"the node could not be judged again: {judged.why}", rc=judged.rc, **found)
    found["failing"] = still_failing(judged.data, module, done)
    hopeless = [f"{row['title']} [{row['id']}]" for row in found["failing"] if not row["waits_for"]]
    if hopeless:
        by_hand = [notice for notice in found["notices"] if ": not fixed automatically" in notice]
        module.fail_json(msg="; ".join([f"still fails: {'; '.join(hopeless)}", *by_hand]), rc=judged.rc, **found)
    module.exit_json(**found)


if __name__ == "__main__":
    main()
