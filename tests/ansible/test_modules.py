"""The modules, run by real ansible-core on this machine with a stand-in for rocmdoctor: what they ask and make of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.control_node import ControlNode, Event, Played
from tests.ansible.stand_in import StandIn, plan, report, step

Make = Callable[..., StandIn]
DONE: dict[str, Any] = {"status": "done", "changed": ["one"], "reboot_required": False}


def task(module: str, **arguments: Any) -> dict[str, Any]:
    return {"name": "Ask", f"rocmdoctor.rocm.{module}": {"executable": "{{ doctor }}", **arguments}}


def ask(control_node: ControlNode, doctor: StandIn | Path, module: str, *options: str, **arguments: Any) -> Event:
    path = doctor.path if isinstance(doctor, StandIn) else doctor
    return control_node.play({"node": {"doctor": str(path)}}, tasks=[task(module, **arguments)], options=options).of("node")


def after(words: list[str], option: str) -> list[str]:
    """The values of an option in a command line."""
    return [words[i + 1] for i, word in enumerate(words[:-1]) if word == option]


# the program -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["rocm_check_info", "rocm_install", "rocm_fix"])
def test_missing_and_unfit_programs_say_so_and_others_go_on(
    control_node: ControlNode, stand_in: Make, tmp_path: Path, module: str
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'bad interpreter' >&2\nexit 126\n")
    broken.chmod(0o755)
    fine = stand_in("fine").answer("check", out=report()).answer("install", out=plan()).answer("fix", out=plan())
    newer = stand_in("newer").answer("check", out='{"schema_version": 9}').answer("fix", out="words")
    paths = {
        "missing": tmp_path / "none",
        "nowhere": "rocmdoctor-that-nobody-has",
        "old": stand_in("old", version="0.0.9").path,
        "broken": broken,
        "newer": newer.path,
        "fine": fine.path,
    }
    arguments = {"checks": ["host_groups"]} if module == "rocm_fix" else {}
    played = control_node.play({n: {"doctor": str(p)} for n, p in paths.items()}, tasks=[task(module, **arguments)])
    remedy = "the role rocmdoctor.rocm.node or install_scripts/bootstrap.sh installs it"
    assert played.failed("missing") == f"{tmp_path}/none was not found on the target; {remedy}"
    assert "(looked in PATH, /usr/local/bin, /opt/rocmdoctor/bin)" in played.failed("nowhere")
    assert "rocmdoctor 0.0.9 on the target" in played.failed("old") and "needs 0.1.0 or newer" in played.failed("old")
    assert "does not run as rocmdoctor: bad interpreter" in played.failed("broken")
    assert "is not the JSON that this collection reads" in played.failed("newer")
    assert played.of("fine").status == "ok" and "Traceback" not in played.out


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("rocm_install", {"state": "gone"}, "value of state must be one of"),
    ("rocm_install", {"driver": "nvidia"}, "value of driver must be one of"),
    ("rocm_install", {"venv": "/a", "python": "/b"}, "mutually exclusive"),
    ("rocm_install", {"lock": "/a", "rocm": "6.2"}, "mutually exclusive"),
    ("rocm_install", {"packages": [" "]}, "packages names no package"),
    ("rocm_install", {"version": "6.2"}, "Unsupported parameters"),
    ("rocm_fix", {}, "missing required arguments: checks"),
    ("rocm_fix", {"checks": []}, "checks names no check"),
    ("rocm_check_info", {"root": "/a", "snapshot": "/b"}, "mutually exclusive"),
    ("rocm_check_info", {"profile": "phone"}, "value of profile must be one of"),
]


def test_wrong_arguments(control_node: ControlNode, stand_in: Make) -> None:
    tasks = [task(module, **given) | {"name": f"{n}!", "ignore_errors": True} for n, (module, given, _) in enumerate(WRONG)]
    doctor = stand_in()
    played = control_node.play({"node": {"doctor": str(doctor.path)}}, tasks=tasks)
    for number, (_, _, said) in enumerate(WRONG):
        event = played.of("node", f"{number}!")
        assert event.status == "failed" and said in event.result["msg"]
    assert doctor.asked == []


# rocm_check_info -------------------------------------------------------------------------------------------------


def test_check(control_node: ControlNode, stand_in: Make) -> None:
    rocm = [{"version": "6.4.3", "active": False}, {"version": "6.2.0", "active": True}]
    doctor = stand_in().answer(
        "check", rc=1, out=report("broken", ("permissions.kfd-access",), rocm=rocm), err="rocmdoctor: note: x\n"
    )
    doctor.answer("facts", out={"verdict": "broken"})
    event = ask(
        control_node, doctor, "rocm_check_info", "--check", only=["permissions.*", "gpu_present"], skip=["network"], deep=True,
        profile="node", user="batch", python="/opt/venv", rocm="6.2", expect_gpus=8, baseline="/etc/b.yaml", matrix="/etc/m.yaml",
        facts=True,
    )  # fmt: skip
    found = event.result
    assert event.status == "ok" and found["changed"] is False
    assert (found["verdict"], found["gfx"], found["rocm"]) == ("broken", ["gfx90a"], "6.2.0")
    cause = {"id": "permissions.kfd-access", "title": "permissions.kfd-access is wrong", "detail": "why", "fix": None}
    assert found["root_causes"] == [cause] and found["report"]["summary"]["verdict"] == "broken"
    assert found["facts"]["verdict"] == "broken"
    check, facts = doctor.asked
    assert check == [
        *(
            "check",
            "--format",
            "json",
            "--matrix",
            "/etc/m.yaml",
            "--user",
            "batch",
            "--python",
            "/opt/venv",
            "--profile",
            "node",
        ),
        *("--rocm", "6.2", "--baseline", "/etc/b.yaml", "--only", "permissions.*", "--only", "gpu_present", "--skip", "network"),
        *("--expect-gpus", "8", "--deep"),
    ]
    assert facts == ["facts", "--matrix", "/etc/m.yaml", "--user", "batch", "--python", "/opt/venv"]


def test_check_that_cannot_judge(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("check", rc=2, err="rocmdoctor: user 'nobody1' does not exist\n")
    event = ask(control_node, doctor, "rocm_check_info", user="nobody1")
    assert event.status == "failed" and event.result["msg"] == "the node could not be judged: user 'nobody1' does not exist"


def test_a_check_that_broke_is_a_warning(control_node: ControlNode, stand_in: Make) -> None:
    values = report()
    values["results"].append({"id": "numa.balancing", "status": "error", "title": "time limit", "fixes": []})
    event = ask(control_node, stand_in().answer("check", rc=3, out=values), "rocm_check_info")
    assert event.status == "ok" and any("numa.balancing broke: time limit" in str(w) for w in event.result["warnings"])


# rocm_install ----------------------------------------------------------------------------------------------------

FILES = [{"path": "/etc/apt/sources.list.d/rocm.list", "before": None, "after": "deb x\n", "note": ""}]
KEY = [{"path": "/etc/apt/keyrings/rocm.gpg", "before": None, "after": "", "note": "key CA8B"}]


def test_install_with_every_option(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("install", out=plan(step("one"), **DONE)).answer("check", out=report())
    event = ask(
        control_node, doctor, "rocm_install", rocm="6.2", packages=["rocm-hip-runtime", "rocblas"], driver="inbox",
        pytorch="2.5.1", venv="/opt/torch", users=["alice", "batch"], mirror="https://mirror.example.com", ca="/etc/ca.pem",
        side_by_side=True, allow_unsupported=True, matrix="/etc/m.yaml",
    )  # fmt: skip
    assert event.status == "ok" and event.result["changed"] is True and event.result["rocm"] == "6.2.4"
    assert (event.result["run_id"], event.result["changed_steps"]) == ("run-1", ["one"])
    assert doctor.asked[-1] == [
        *(
            "install",
            "--format",
            "json",
            "--matrix",
            "/etc/m.yaml",
            "--driver",
            "inbox",
            "--packages",
            "rocm-hip-runtime,rocblas",
        ),
        *(
            "--rocm",
            "6.2",
            "--pytorch",
            "2.5.1",
            "--venv",
            "/opt/torch",
            "--mirror",
            "https://mirror.example.com",
            "--ca",
            "/etc/ca.pem",
        ),
        *("--user", "alice", "--user", "batch", "--side-by-side", "--allow-unsupported", "--yes"),
    ]


def test_check_mode_plans_and_never_says_yes(control_node: ControlNode, stand_in: Make) -> None:
    steps = step("one", files=FILES, commands=[["apt-get", "update"]]), step("two", done=True, files=KEY)
    reboot = step("reboot", kind="reboot-notice", needs=["reboot"])
    doctor = stand_in().answer("install", out=plan(*steps, reboot)).answer("check", out=report())
    event = ask(control_node, doctor, "rocm_install", "--check", "--diff", resume=True)
    found = event.result
    assert event.status == "ok" and found["changed"] is True and found["reboot_required"] is True
    assert found["commands"] == [["apt-get", "update"]] and found["plan"]["status"] == "applicable"
    (row,) = found["diff"]
    assert (row["before"], row["after"], row["after_header"]) == ("", "deb x\n", FILES[0]["path"])
    assert all("--dry-run" in words for words in doctor.asked if words[0] == "install")
    assert not any(word in words for words in doctor.asked for word in ("--yes", "-y", "--resume"))


def test_diff_of_a_run_is_of_what_changed(control_node: ControlNode, stand_in: Make) -> None:
    before = [{"path": "/etc/a", "before": "old\n", "after": "new\n", "note": ""}]
    steps = step("one", files=before), step("key", files=KEY), step("three", files=FILES, done=True)
    applied = plan(*steps, status="done", changed=["one", "key"], reboot_required=True)
    doctor = stand_in().answer("install", out=applied).answer("check", out=report())
    played = control_node.play({"node": {"doctor": str(doctor.path)}}, tasks=[task("rocm_install")], options=["--diff"])
    found = played.of("node").result
    assert [(row["before"], row["after"]) for row in found["diff"]] == [("old\n", "new\n"), ("", "(key CA8B)\n")]
    assert found["reboot_required"] is True
    assert "-old" in played.out and "+new" in played.out and "/etc/a" in played.out
    assert "diff" not in ask(control_node, doctor, "rocm_install").result


@pytest.mark.parametrize("check", [True, False])
def test_nothing_to_do_is_no_change(control_node: ControlNode, stand_in: Make, check: bool) -> None:
    """A reboot that is still due is no change either, and is said."""
    steps = step("one", done=True, files=FILES), step("reboot", kind="reboot-notice", needs=["reboot"])
    outcome: dict[str, Any] = {} if check else {"status": "unchanged", "changed": [], "reboot_required": True}
    doctor = stand_in().answer("install", out=plan(*steps, **outcome)).answer("check", out=report())
    found = ask(control_node, doctor, "rocm_install", "--diff", *(["--check"] if check else [])).result
    assert found["changed"] is False and found["diff"] == [] and found["reboot_required"] is True


def test_a_refused_node_says_why_and_others_go_on(control_node: ControlNode, stand_in: Make) -> None:
    reason = ("unsupported-gpu", "AMD does not list gfx803 for ROCm 7.2.4", "ROCm 6.4 was the last")
    bad = stand_in("bad").answer("install", rc=1, out=plan(step("one"), refusals=(reason,))).answer("check", out=report())
    good = stand_in("good").answer("install", out=plan(step("one"), **DONE)).answer("check", out=report())
    hosts = {name: {"doctor": str(doctor.path)} for name, doctor in (("bad", bad), ("good", good))}
    played = control_node.play(hosts, tasks=[task("rocm_install"), {"name": "Next", "ansible.builtin.debug": {"msg": "on"}}])
    assert played.rc != 0
    assert played.failed("bad") == "rocmdoctor refuses: AMD does not list gfx803 for ROCm 7.2.4 (ROCm 6.4 was the last)"
    assert played.of("bad").result["changed"] is False and played.of("bad").result["refusals"][0]["code"] == "unsupported-gpu"
    assert played.of("good", "Next").status == "ok"


def test_a_run_that_failed_in_the_middle(control_node: ControlNode, stand_in: Make) -> None:
    failed = plan(
        step("one"),
        step("two"),
        status="failed",
        changed=["one"],
        failed_step="two",
        message="E: no space",
        reboot_required=False,
    )
    doctor = stand_in().answer("install", rc=1, out=failed, err="progress\n").answer("check", out=report())
    event = ask(control_node, doctor, "rocm_install")
    assert event.status == "failed" and event.result["changed"] is True
    assert event.result["msg"] == "Do two: E: no space (log /var/log/run-1; `rocmdoctor undo run-1` takes back what was done)"


def test_complaints_without_json_are_the_message(control_node: ControlNode, stand_in: Make) -> None:
    said = "rocmdoctor: the run r1 was cut off; `rocmdoctor install --resume` finishes it\n"
    doctor = stand_in().answer("install", rc=1, err=said).answer("check", out=report())
    event = ask(control_node, doctor, "rocm_install")
    assert (
        event.status == "failed" and event.result["msg"].startswith("the run r1 was cut off") and event.result["changed"] is False
    )


INSTALLED = [
    {"version": "6.2.0", "origin": "amd-package"},
    {"version": "6.10.1", "origin": "amd-package"},
    {"version": "7.2.4", "origin": "wheel"},
]


@pytest.mark.parametrize(
    ("state", "rocm", "asked"),
    [
        ("present", None, ["6.10.1"]),
        ("present", "6.2", ["6.2.0"]),
        ("present", "6.2.0", ["6.2.0"]),
        ("present", "6.1", ["6.1"]),
        ("present", "7.2", ["7.2"]),
        ("present", "latest", ["latest"]),
        ("latest", None, []),
        ("latest", "6.2", ["6.2"]),
    ],
)
def test_which_release_is_asked_for(
    control_node: ControlNode, stand_in: Make, state: str, rocm: str | None, asked: list[str]
) -> None:
    doctor = stand_in().answer("check", out=report(rocm=INSTALLED)).answer("install", out=plan())
    ask(control_node, doctor, "rocm_install", state=state, **({"rocm": rocm} if rocm else {}))
    assert after(doctor.asked[-1], "--rocm") == asked


def test_absent(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("uninstall", out=plan(step("one"), **DONE))
    event = ask(control_node, doctor, "rocm_install", state="absent", rocm="6.2.0", keep_driver=True)
    assert event.result["changed"] is True
    assert doctor.asked == [["uninstall", "--format", "json", "--rocm", "6.2.0", "--keep-driver", "--yes"]]


def test_lock_files(control_node: ControlNode, stand_in: Make, tmp_path: Path) -> None:
    """A lock excludes what it says itself; one that is written is a change where it is another one."""
    doctor = stand_in().answer("install", out=plan()).answer("check", out=report(rocm=INSTALLED))
    event = ask(control_node, doctor, "rocm_install", lock="/etc/rocm.lock", write_lock=str(tmp_path / "lock"))
    assert doctor.asked == [
        ["install", "--format", "json", "--lock", "/etc/rocm.lock", "--write-lock", str(tmp_path / "lock"), "--yes"]
    ]
    assert event.result["changed"] is False
    program = tmp_path / "writing"
    program.write_text(f'#!/bin/sh\n[ "$1" = install ] && echo locked >{tmp_path}/lock\nexec {doctor.path} "$@"\n')
    program.chmod(0o755)
    changed = [ask(control_node, program, "rocm_install", write_lock=str(tmp_path / "lock")).result["changed"] for _ in "12"]
    assert changed == [True, False]


@pytest.mark.parametrize(("state", "resumes"), [("cut-off", True), ("interrupted", True), ("failed", False), ("done", False)])
def test_resume(control_node: ControlNode, stand_in: Make, state: str, resumes: bool) -> None:
    doctor = stand_in().answer("install", out=plan()).answer("check", out=report())
    doctor.answer("undo", "--list", out={"runs": [{"run_id": "r1", "state": state}]})
    doctor.answer("install", "--resume", out={"outcome": {"status": "done", "changed": ["rocm"], "reboot_required": False}})
    event = ask(control_node, doctor, "rocm_install", resume=True)
    assert (["install", "--format", "json", "--resume", "--yes"] in doctor.asked) is resumes
    assert event.status == "ok" and event.result["changed"] is resumes


def test_resume_that_fails(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("undo", out={"runs": [{"run_id": "r1", "state": "cut-off"}]})
    outcome = {"status": "failed", "changed": [], "message": "E: broken packages"}
    event = ask(control_node, doctor.answer("--resume", rc=1, out={"outcome": outcome}), "rocm_install", resume=True)
    assert event.status == "failed" and event.result["msg"].endswith("could not be finished: E: broken packages")


# rocm_fix --------------------------------------------------------------------------------------------------------


def failing(name: str, *, automatic: bool) -> dict[str, Any]:
    values = report("broken", (name,))
    values["results"][0]["fixes"] = [{"title": "t", "commands": [["x"]], "automatic": automatic, "needs": ["root"]}]
    return values


def test_fix(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("fix", out=plan(step("one"), **DONE)).answer("check", out=report())
    event = ask(control_node, doctor, "rocm_fix", checks=["permissions.kfd-access", "repo"], user="batch")
    assert event.status == "ok" and event.result["changed"] is True and event.result["failing"] == []
    assert doctor.asked == [
        ["fix", "--format", "json", "--user", "batch", "--yes", "--", "permissions.kfd-access", "repo"],
        ["check", "--format", "json", "--user", "batch", "--only", "permissions.kfd-access", "--only", "repo"],
    ]


@pytest.mark.parametrize("need", ["relogin", "reboot"])
def test_fix_that_waits(control_node: ControlNode, stand_in: Make, need: str) -> None:
    doctor = stand_in().answer("fix", out=plan(step("one", needs=["root", need]), **DONE))
    doctor.answer("check", rc=1, out=failing("a.b", automatic=True))
    event = ask(control_node, doctor, "rocm_fix", checks=["a.b"])
    assert event.status == "ok" and event.result["failing"] == [{"id": "a.b", "title": "a.b is wrong", "waits_for": need}]
    assert event.result["reboot_required"] is (need == "reboot")


@pytest.mark.parametrize("check", [True, False])
def test_fix_without_a_remedy_fails(control_node: ControlNode, stand_in: Make, check: bool) -> None:
    values = plan() | {"notices": ["a.b: not fixed automatically; change the BIOS"]}
    doctor = stand_in().answer("fix", out=values).answer("check", rc=1, out=failing("a.b", automatic=False))
    event = ask(control_node, doctor, "rocm_fix", *(["--check"] if check else []), checks=["a.b"])
    assert event.status == "failed" and event.result["changed"] is False
    assert event.result["msg"] == "still fails: a.b is wrong [a.b]; a.b: not fixed automatically; change the BIOS"


def test_fix_in_check_mode_counts_what_it_would_do(control_node: ControlNode, stand_in: Make) -> None:
    doctor = stand_in().answer("fix", out=plan(step("one"))).answer("check", rc=1, out=failing("a.b", automatic=True))
    event = ask(control_node, doctor, "rocm_fix", "--check", checks=["a.b"])
    assert event.status == "ok" and event.result["changed"] is True and event.result["failing"] == []
    assert doctor.asked[0][-3:] == ["--dry-run", "--", "a.b"]


# targets ---------------------------------------------------------------------------------------------------------


def _runs(python: str | Path) -> bool:
    """A shim of pyenv is there and runs nothing."""
    try:
        return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


def test_python_3_9_on_the_target(control_node: ControlNode, stand_in: Make) -> None:
    places = ["/usr/bin/python3.9", shutil.which("python3.9"), *sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))]
    old = next((place for place in places if place and _runs(place)), None)
    if old is None:
        pytest.skip("no Python 3.9 here")
    doctor = stand_in().answer("check", out=report()).answer("install", out=plan()).answer("fix", out=plan())
    tasks = [task("rocm_check_info"), task("rocm_install"), task("rocm_fix", checks=["a.b"])]
    played: Played = control_node.play(
        {"node": {"doctor": str(doctor.path), "ansible_python_interpreter": str(old)}}, tasks=tasks
    )
    assert [event.status for event in played.ok().events] == ["ok"] * 3


@pytest.mark.skipif(shutil.which("su") is None or sys.platform != "linux", reason="no su here")
def test_become_and_the_account_that_became_root(control_node: ControlNode, stand_in: Make) -> None:
    """The deploying account is no user of the GPUs: rocmdoctor does not hear of it."""
    doctor = stand_in().answer("check", out=report()).answer("install", out=plan(step("one"), **DONE))
    made = task("rocm_install") | {"environment": {"SUDO_USER": "deploy"}}
    played = control_node.play({"node": {"doctor": str(doctor.path), "ansible_become_method": "su"}}, tasks=[made], become=True)
    if played.rc != 0 and "password" in played.out.lower():
        pytest.skip("su asks for a password here")
    assert played.ok().of("node").result["changed"] is True
    assert doctor.sudo_users <= {"", None}
