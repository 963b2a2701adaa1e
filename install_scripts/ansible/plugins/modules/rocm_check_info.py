#!/usr/bin/python
# Copyright: rocmdoctor contributors
# MIT License (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: rocm_check_info
short_description: Judges GPUs, driver, ROCm and PyTorch of a node
version_added: 0.1.0
description:
  - Runs C(rocmdoctor check) on the target and returns its report, the verdict, and the root causes of what does not work.
  - Never changes anything, and does not fail where the node is broken. Use RV(verdict) or RV(root_causes) to decide.
extends_documentation_fragment:
  - rocmdoctor.rocm.doctor
attributes:
  check_mode:
    description: Can run in check mode and returns the same.
    support: full
  diff_mode:
    description: Nothing is changed, so there is nothing to compare.
    support: none
options:
  only:
    description:
      - Only these checks or areas, as ids or globs (V(permissions.*), V(gpu_present)).
    type: list
    elements: str
    default: []
  skip:
    description:
      - Not these checks or areas, as ids or globs.
    type: list
    elements: str
    default: []
  deep:
    description:
      - Also run programs (PyTorch, C(hipcc)), which can take some minutes.
    type: bool
    default: false
  profile:
    description:
      - Judge as this kind of host instead of the kind that it looks like.
    type: str
    choices: [node, workstation, container, wsl, ci]
  user:
    description:
      - Judge the access of this user instead of the one that the module runs as.
    type: str
  python:
    description:
      - Judge this interpreter or environment.
    type: path
  rocm:
    description:
      - Judge against this release of ROCm, like V(6.2) or V(6.2.4), instead of the installed one.
    type: str
  expect_gpus:
    description:
      - How many GPUs the node has. Fewer that can be used are a failure; without it a GPU that is gone passes as long as the
        others work.
    type: int
  baseline:
    description:
      - A file on the target with accepted findings, which do not count.
    type: path
  root:
    description:
      - Judge the system that is installed under this folder.
    type: path
  snapshot:
    description:
      - Judge a host that C(rocmdoctor snapshot) has recorded; a folder or an archive on the target.
    type: path
  facts:
    description:
      - Also return RV(facts), the values that C(rocmdoctor facts) gives to C(/etc/ansible/facts.d).
    type: bool
    default: false
seealso:
  - module: rocmdoctor.rocm.rocm_install
  - module: rocmdoctor.rocm.rocm_fix
"""

EXAMPLES = r"""
- name: Judge the node
  rocmdoctor.rocm.rocm_check_info:
  register: rocm

- name: Stop where jobs would fail
  ansible.builtin.fail:
    msg: "{{ rocm.root_causes | map(attribute='title') | join('; ') }}"
  when: rocm.verdict not in ['healthy', 'degraded']

- name: Judge what the batch user can reach, without the checks of packages
  rocmdoctor.rocm.rocm_check_info:
    user: batch
    profile: node
    skip:
      - packages
      - repo
  register: rocm

- name: Use small facts, in the form of ansible_local.rocm
  rocmdoctor.rocm.rocm_check_info:
    facts: true
  register: rocm

- name: Group the nodes by their first GPU
  ansible.builtin.group_by:
    key: "gfx_{{ rocm.facts.gfx | first | default('none') }}"
"""

RETURN = r"""
verdict:
  description: What all checks together say.
  type: str
  returned: success
  choices: [healthy, degraded, broken, no-amd-gpu]
  sample: broken
root_causes:
  description: What failed. What follows from it is not among these.
  type: list
  elements: dict
  returned: success
  contains:
    id:
      description: Id of the check.
      type: str
      sample: permissions.kfd-access
    title:
      description: What is wrong.
      type: str
      sample: batch cannot open /dev/kfd
    detail:
      description: Why it is so.
      type: str
    fix:
      description: The first remedy in words, null where none is known.
      type: str
      sample: Add batch to the render and video groups
gfx:
  description: Targets of the AMD GPUs, each once, in the order of the GPUs.
  type: list
  elements: str
  returned: success
  sample: [gfx90a]
rocm:
  description: Version of the ROCm in use, null where there is none.
  type: str
  returned: success
  sample: 6.2.0
report:
  description: The whole report, as C(rocmdoctor check --format json) prints it (docs/report.schema.json).
  type: dict
  returned: success
facts:
  description: The values of C(rocmdoctor facts), as C(ansible_local.rocm) has them where that is set up.
  type: dict
  returned: when O(facts=true)
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rocmdoctor.rocm.plugins.module_utils.doctor import ARGUMENTS, Doctor, root_causes


def main():
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "only": {"type": "list", "elements": "str", "default": []},
            "skip": {"type": "list", "elements": "str", "default": []},
            "deep": {"type": "bool", "default": False},
            "profile": {"type": "str", "choices": ["node", "workstation", "container", "wsl", "ci"]},
            "user": {"type": "str"},
            "python": {"type": "path"},
            "rocm": {"type": "str"},
            "expect_gpus": {"type": "int"},
            "baseline": {"type": "path"},
            "root": {"type": "path"},
            "snapshot": {"type": "path"},
            "facts": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("root", "snapshot")],
        supports_check_mode=True,
    )
    given = module.params
    place = [word for name in ("user", "python", "root", "snapshot") if given[name] for word in (f"--{name}", given[name])]
    words = [word for name in ("profile", "rocm", "baseline") if given[name] for word in (f"--{name}", given[name])]
    words += [word for name in ("only", "skip") for pattern in given[name] for word in (f"--{name}", pattern)]
    words += ["--expect-gpus", str(given["expect_gpus"])] if given["expect_gpus"] is not None else []
    words += ["--deep"] if given["deep"] else []

    doctor = Doctor(module)
    answer = doctor.ask("check", *place, *words)
    if answer.data is None:
        module.fail_json(msg=f"the node could not be judged: {answer.why}", rc=answer.rc)
    report = answer.data
    for result in report["results"]:
        if result["status"] == "error":
            module.warn(f"the check {result['id']} broke: {result['title']}")
    host = report["host"]
    installs = sorted(host.get("rocm") or [], key=lambda install: not install.get("active"))
    found = {
        "changed": False,
        "verdict": report["summary"]["verdict"],
        "root_causes": root_causes(report),
        "gfx": list(dict.fromkeys(gpu["gfx"] for gpu in host.get("gpus") or [] if gpu.get("gfx"))),
        "rocm": installs[0].get("version") if installs else None,
        "report": report,
    }
    if given["facts"]:
        answer = doctor.ask("facts", *place)
        if answer.data is None:
            module.fail_json(msg=f"rocmdoctor gave no facts: {answer.why}", rc=answer.rc)
        found["facts"] = answer.data
    module.exit_json(**found)


if __name__ == "__main__":
    main()
