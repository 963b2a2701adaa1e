"""The role `node` without its bootstrap, over hosts with a stand-in: what it makes of what rocmdoctor says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.ansible.control_node import ControlNode, Played
from tests.ansible.stand_in import StandIn, plan, report, step

Make = Callable[..., StandIn]
RUN: dict[str, Any] = {
    "run_id": "r1",
    "command": "install",
    "title": "t",
    "created": "c",
    "state": "done",
    "reboot_required": False,
    "rebooted": False,
    "open_steps": [],
    "holds": True,
}


def node(make: Make, name: str = "node", judged: dict[str, Any] | None = None, run: dict[str, Any] | None = None) -> StandIn:
    """A host that has nothing to do and is healthy, but for what is given."""
    doctor = make(name).answer("install", out=plan()).answer("check", out=judged or report()).answer("undo", out={"runs": []})
    if run is None:
        return doctor.answer("verify", rc=1, err="rocmdoctor: rocmdoctor has installed nothing here\n")
    return doctor.answer("verify", out={"run": RUN | run, "verdict": "healthy", "failing": []})


def run(control_node: ControlNode, doctors: dict[str, StandIn], *options: str, **variables: Any) -> Played:
    hosts = {name: {"node_executable": str(doctor.path)} for name, doctor in doctors.items()}
    roles = [{"role": "rocmdoctor.rocm.node", "node_bootstrap": False, "node_busy_delay": 0, **variables}]
    return control_node.play(
        hosts, roles=roles, tasks=[{"name": "Result", "ansible.builtin.debug": {"var": "node_result"}}], options=options
    )


def test_healthy(control_node: ControlNode, stand_in: Make) -> None:
    doctor = node(stand_in)
    played = run(
        control_node, {"node": doctor}, node_users=["batch"], node_rocm="6.2", node_profile="node", node_expect_gpus=8
    ).ok()
    found = played.of("node", "Result").result["node_result"]
    assert not found.pop("rocm")  # null, or "" where ansible-core is older than 2.19
    assert found == {
        "verdict": "healthy",
        "root_causes": [],
        "gfx": ["gfx90a"],
        "changed": False,
        "reboot_required": False,
        "not_holding": [],
    }
    assert played.changed("node") == []
    install = next(words for words in doctor.asked if words[0] == "install")
    assert install == ["install", "--format", "json", "--rocm", "6.2", "--user", "batch", "--yes"]
    *_, judged = (words for words in doctor.asked if words[0] == "check")
    assert judged == ["check", "--format", "json", "--profile", "node", "--expect-gpus", "8"]


def test_root_causes_are_the_message_and_others_go_on(control_node: ControlNode, stand_in: Make) -> None:
    judged = report("broken", ("gpu_support.arch", "iommu.mode"))
    judged["results"][0]["fixes"] = [{"title": "Take ROCm 6.4", "commands": [], "automatic": False}]
    doctors = {
        "bad": node(stand_in, "bad", judged),
        "loose": node(stand_in, "loose", run={"open_steps": ["Write /etc/a"], "holds": False}),
        "none": node(stand_in, "none", report("no-amd-gpu", ("gpu_present.device",))),
        "good": node(stand_in, "good", run={}),
    }
    played = run(control_node, doctors)
    first = "gpu_support.arch is wrong [gpu_support.arch]. Remedy: Take ROCm 6.4."
    assert " ".join(played.failed("bad").split()) == f"This node is broken. {first} iommu.mode is wrong [iommu.mode]."
    assert " ".join(played.failed("loose").split()) == "This node is healthy. Does not hold: Write /etc/a."
    assert "no-amd-gpu" in played.failed("none")
    assert played.of("good", "Result").status == "ok"
    assert not any("--expect-gpus" in words for words in doctors["good"].asked)
    everything = ["healthy", "no-amd-gpu"]
    run(control_node, {"none": doctors["none"]}, node_accepted_verdicts=everything).ok()


def test_check_mode_changes_and_judges_nothing_away(control_node: ControlNode, stand_in: Make, tmp_path: Path) -> None:
    """A node without rocmdoctor is told so; one with it shows its plan, and is not failed for what the run would mend."""
    doctor = node(stand_in, judged=report("broken", ("rocm_install.present",))).answer("install", out=plan(step("one")))
    bare = StandIn(tmp_path / "bare")
    bare.path.unlink()
    played = run(control_node, {"node": doctor, "bare": bare}, "--check").ok()
    assert played.of("node", "Install ROCm").result["changed"] is True
    assert "rocmdoctor is not on this node" in played.of("bare", "check mode cannot tell").result["msg"]
    assert not any("--yes" in words for words in doctor.asked)


def test_a_busy_package_manager_is_waited_for(control_node: ControlNode, stand_in: Make) -> None:
    busy = plan(step("one"), refusals=(("busy", "apt-get (process 7) is at work", "wait"),))
    other = plan(step("one"), refusals=(("disk", "/ has 1 MiB free", "make room"),))
    doctors = {name: node(stand_in, name).answer("install", rc=1, out=out) for name, out in (("busy", busy), ("full", other))}
    played = run(control_node, doctors, node_busy_retries=2)
    assert "apt-get (process 7) is at work" in played.failed("busy") and "1 MiB free" in played.failed("full")
    asked = {name: sum(words[0] == "install" for words in doctor.asked) for name, doctor in doctors.items()}
    assert asked["busy"] > 1 and asked["full"] == 1


def test_a_reboot_that_is_not_allowed_is_said(control_node: ControlNode, stand_in: Make) -> None:
    outcome: dict[str, Any] = {"status": "done", "changed": ["driver"], "reboot_required": True}
    doctor = node(stand_in, judged=report("broken", ("dkms.loaded",)), run={"reboot_required": True, "holds": False})
    doctor.answer("install", out=plan(step("driver"), **outcome))
    played = run(control_node, {"node": doctor}).ok()
    assert "must be rebooted" in played.of("node", "a reboot is needed").result["msg"]
    assert played.of("node", "Result").result["node_result"]["reboot_required"] is True


def test_fixes_and_absent_and_skip(control_node: ControlNode, stand_in: Make) -> None:
    doctor = node(stand_in).answer("fix", out=plan()).answer("uninstall", out=plan())
    run(control_node, {"node": doctor}, node_fix=["host_groups"]).ok()
    assert any(words[0] == "fix" and words[-1] == "host_groups" for words in doctor.asked)
    removed = node(stand_in, "removed").answer("uninstall", out=plan())
    run(control_node, {"node": removed}, node_state="absent", node_keep_driver=True)
    assert [words[0] for words in removed.asked if words[0] != "undo"] == ["uninstall"]
    skipped = node(stand_in, "skipped")
    run(control_node, {"node": skipped}, node_state="skip").ok()
    assert "install" not in {words[0] for words in skipped.asked}


def test_wrong_variables(control_node: ControlNode, stand_in: Make) -> None:
    played = run(control_node, {"node": node(stand_in)}, node_state="gone", node_reboot_timeout="soon")
    assert "node_state" in played.out and "must be one of" in played.out and "node_reboot_timeout" in played.out
