#!/usr/bin/python
# Copyright: rocmdoctor contributors
# MIT License (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: rocm_install
short_description: Installs or removes ROCm, its driver and PyTorch
version_added: 0.1.0
description:
  - Runs C(rocmdoctor install) or C(rocmdoctor uninstall) on the target, which plans by AMD's own instructions for this GPU, this
    distribution and this kernel, and refuses before it changes anything where they do not fit.
  - Every change is journaled on the target, so C(rocmdoctor undo) takes a run back.
  - Never reboots. RV(reboot_required) says when it is needed.
extends_documentation_fragment:
  - rocmdoctor.rocm.doctor
attributes:
  check_mode:
    description: Returns the plan and changes nothing. The package manager itself is not asked before the real run.
    support: full
  diff_mode:
    description: Shows the files that are written or removed, before and after. What packages bring is not shown.
    support: full
options:
  state:
    description:
      - V(present) installs ROCm. A release that is there already from AMD's packages is kept where it is what O(rocm) asks for;
        without O(rocm), that is any release.
      - V(latest) brings the newest release that AMD supports on this node, or the newest of the series O(rocm).
      - V(absent) removes AMD's packages of ROCm and the driver, their repositories, pins and keys.
    type: str
    choices: [present, absent, latest]
    default: present
  rocm:
    description:
      - A release (V(6.2.4)), a series (V(6.2)), or V(latest) for the newest that has packages for this distribution.
      - Without it, the newest release that AMD supports on this node.
      - With O(state=absent), only this release is removed.
    type: str
  packages:
    description:
      - Packages of AMD to install.
    type: list
    elements: str
    default: [rocm]
  driver:
    description:
      - The kernel driver. V(auto) takes AMD's table for this GPU and kernel, V(inbox) the kernel's own, V(dkms) AMD's package,
        V(none) does not look at the driver.
    type: str
    choices: [auto, inbox, dkms, none]
    default: auto
  keep_driver:
    description:
      - With O(state=absent), leave the package of the driver installed.
    type: bool
    default: false
  pytorch:
    description:
      - A version of PyTorch, or V(none). Needs O(venv) or O(python); without it, the newest that fits is installed there.
    type: str
  venv:
    description:
      - A Python environment for PyTorch, which is made where it is not there.
    type: path
  python:
    description:
      - Install PyTorch into this interpreter.
    type: path
  users:
    description:
      - Accounts that shall use the GPUs. They are added to the groups that own the devices.
    type: list
    elements: str
    default: []
  mirror:
    description:
      - URL of a mirror of AMD's hosts, with unchanged paths. Every download is taken from it.
    type: str
  ca:
    description:
      - Certificate authority of the mirror, as a PEM file on the target.
    type: path
  side_by_side:
    description:
      - Install beside other releases.
    type: bool
    default: false
  allow_unsupported:
    description:
      - Also do what AMD does not support.
    type: bool
    default: false
  lock:
    description:
      - A lock file on the target. Exactly the packages and wheels that it names are installed, or nothing.
      - It says which releases, so it goes without O(rocm), O(pytorch), O(driver) and O(packages).
    type: path
  write_lock:
    description:
      - Write down the exact packages and wheels with their hashes, into this file on the target, when all is installed.
      - Not done in check mode.
    type: path
  resume:
    description:
      - When the last run on the target was cut off (a lost connection, a power cut), finish it first. Without this, the module
        fails on such a node and names the commands that finish the run or take it back.
    type: bool
    default: false
seealso:
  - module: rocmdoctor.rocm.rocm_check_info
  - module: rocmdoctor.rocm.rocm_fix
"""

EXAMPLES = r"""
- name: Install the best ROCm for this node
  rocmdoctor.rocm.rocm_install:
  become: true

- name: Install ROCm 6.2 and PyTorch for two users
  rocmdoctor.rocm.rocm_install:
    rocm: "6.2"
    venv: /opt/torch
    users:
      - alice
      - batch
  become: true
  register: installed

- name: Reboot when the driver is new
  ansible.builtin.reboot:
  become: true
  when: installed.reboot_required

- name: Bring every node to the newest release that AMD supports on it, from the mirror of the site
  rocmdoctor.rocm.rocm_install:
    state: latest
    mirror: https://mirror.example.com/amd
    ca: /etc/pki/tls/certs/site.pem
  become: true

- name: Remove ROCm and keep the driver
  rocmdoctor.rocm.rocm_install:
    state: absent
    keep_driver: true
  become: true
"""

RETURN = r"""
plan:
  description: The plan, as C(rocmdoctor install --dry-run --format json) prints it.
  type: dict
  returned: always, when it could be made
  contains:
    status:
      description: Whether there is something to do.
      type: str
      choices: [applicable, nothing-to-do, refused]
    versions:
      description: The chosen releases under C(rocm), C(driver) and C(torch), null where there is none.
      type: dict
    steps:
      description: The steps with title, reason, commands, files, and whether they were done before.
      type: list
      elements: dict
    needs:
      description: What the open steps need, of C(root), C(network), C(reboot) and C(relogin).
      type: list
      elements: str
rocm:
  description: The release of ROCm that the plan is for, null for O(state=absent) without O(rocm).
  type: str
  returned: always, when a plan could be made
  sample: 6.2.0
commands:
  description: Programs of the steps that were open, each as a list of words. Files are written without a program.
  type: list
  elements: list
  returned: always, when a plan could be made
changed_steps:
  description: Ids of the steps that changed something. Empty in check mode.
  type: list
  elements: str
  returned: always, when a plan could be made
  sample: [key-rocm, repository-rocm, rocm]
reboot_required:
  description: Whether a reboot is needed before the new driver is the loaded one, also when an earlier run has asked for it.
  type: bool
  returned: always, when a plan could be made
notices:
  description: What is worth knowing and no obstacle.
  type: list
  elements: str
  returned: always, when a plan could be made
refusals:
  description: Why nothing was changed.
  type: list
  elements: dict
  returned: always, when a plan could be made
  contains:
    code:
      description: A stable name of the reason.
      type: str
      sample: unsupported-gpu
    reason:
      description: The reason in words.
      type: str
    help:
      description: What can be done.
      type: str
run_id:
  description: Name of the run, for C(rocmdoctor undo) and C(rocmdoctor verify). Null when nothing was run.
  type: str
  returned: always, when a plan could be made
log:
  description: Log of the run on the target. Null when nothing was run.
  type: str
  returned: always, when a plan could be made
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rocmdoctor.rocm.plugins.module_utils.doctor import ARGUMENTS, Change, Doctor

AMD_PACKAGES = ("amd-package", "amdrocm-package")
CUT_OFF = ("cut-off", "interrupted")


def kept_release(doctor, module):
    """The installed release that satisfies `state: present`, None where there is none: it is asked for by its number, so that
    the plan does not go beyond it."""
    asked = module.params["rocm"]
    if asked and not asked.replace(".", "").isdigit():
        return None
    answer = doctor.ask("check", "--only", "rocm_install")
    if answer.data is None:
        module.fail_json(msg=f"the node could not be looked at: {answer.why}", rc=answer.rc)
    installs = [i for i in answer.data["host"].get("rocm") or [] if i.get("origin") in AMD_PACKAGES and i.get("version")]
    fitting = [i["version"] for i in installs if not asked or f"{i['version']}.".startswith(f"{asked}.")]
    return max(fitting, key=lambda version: [int(part) for part in version.split(".") if part.isdigit()], default=None)


def install_words(doctor, module):
    given = module.params
    release = given["rocm"]
    if given["state"] == "present" and not given["lock"]:
        release = kept_release(doctor, module) or release
    words = ["install"]
    words += ["--driver", given["driver"]] if given["driver"] != "auto" else []
    words += ["--packages", ",".join(given["packages"])] if given["packages"] != ["rocm"] else []
    words += ["--rocm", release] if release else []
    valued = ("pytorch", "venv", "python", "mirror", "ca", "lock", "write_lock")
    words += [word for name in valued if given[name] for word in (f"--{name.replace('_', '-')}", given[name])]
    words += [word for user in given["users"] for word in ("--user", user)]
    words += ["--side-by-side"] if given["side_by_side"] else []
    words += ["--allow-unsupported"] if given["allow_unsupported"] else []
    return words


def contents(module):
    """A checksum of the lock file that is to be written, None while there is none."""
    return module.sha256(module.params["write_lock"]) if module.params["write_lock"] else None


def uninstall_words(given):
    words = ["uninstall"]
    words += ["--rocm", given["rocm"]] if given["rocm"] else []
    words += ["--keep-driver"] if given["keep_driver"] else []
    return words


def resumed(doctor, module):
    """Whether a run that was cut off has been finished now."""
    runs = doctor.history("undo", "--list")
    if runs.data is None:
        module.fail_json(msg=f"the runs on the target could not be listed: {runs.why}", rc=runs.rc)
    if not any(run["state"] in CUT_OFF for run in runs.data["runs"]):
        return False
    answer = doctor.history("install", "--resume", "--yes")
    if answer.data is None or answer.rc != 0:
        outcome = (answer.data or {}).get("outcome") or {}
        module.fail_json(
            msg=f"the run that was cut off could not be finished: {outcome.get('message') or answer.why}",
            changed=bool(outcome.get("changed")),
            rc=answer.rc,
        )
    return bool(answer.data["outcome"]["changed"])


def main():
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "state": {"type": "str", "choices": ["present", "absent", "latest"], "default": "present"},
            "rocm": {"type": "str"},
            "packages": {"type": "list", "elements": "str", "default": ["rocm"]},
            "driver": {"type": "str", "choices": ["auto", "inbox", "dkms", "none"], "default": "auto"},
            "keep_driver": {"type": "bool", "default": False},
            "pytorch": {"type": "str"},
            "venv": {"type": "path"},
            "python": {"type": "path"},
            "users": {"type": "list", "elements": "str", "default": []},
            "mirror": {"type": "str"},
            "ca": {"type": "path"},
            "side_by_side": {"type": "bool", "default": False},
            "allow_unsupported": {"type": "bool", "default": False},
            "lock": {"type": "path"},
            "write_lock": {"type": "path"},
            "resume": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("venv", "python"), ("lock", "rocm"), ("lock", "pytorch")],
        supports_check_mode=True,
    )
    given = module.params
    if not [name for name in given["packages"] if name.strip()]:
        module.fail_json(msg="packages names no package")
    doctor = Doctor(module)
    went_on = given["resume"] and not module.check_mode and resumed(doctor, module)
    locked = contents(module)
    words = uninstall_words(given) if given["state"] == "absent" else install_words(doctor, module)
    change = Change(doctor.ask(*words, "--dry-run" if module.check_mode else "--yes"))
    if not change.plan:
        module.fail_json(msg=change.trouble, changed=went_on, rc=change.answer.rc)
    found = change.result(module)
    found["changed"] = found["changed"] or went_on or contents(module) != locked
    found["rocm"] = (change.plan.get("versions") or {}).get("rocm")
    if change.trouble:
        module.fail_json(msg=change.trouble, rc=change.answer.rc, **found)
    module.exit_json(**found)


if __name__ == "__main__":
    main()
