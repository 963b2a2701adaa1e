"""The text report: what a person reads in ten seconds, at 80 columns, whatever the host contains."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.reports import text
from rocmdoctor.results import Evidence, Finding, Fix, Result, Status
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, OVERRIDE, gpu, host, passed, report, skipped


def lines(*args: object, **options: object) -> list[str]:
    return text.render(*args, **options).splitlines()  # type: ignore[arg-type]


def test_a_healthy_host_is_said_in_six_lines() -> None:
    assert lines(HEALTHY) == [
        "Host     Ubuntu 22.04.4 LTS, kernel 6.8.0-45-generic",
        "GPU      Radeon RX 7900 XTX (gfx1100, 24 GiB)",
        "Driver   amdgpu 6.8.5, DKMS, release 6.2",
        "ROCm     6.2.0 in /opt/rocm-6.2.0, AMD's packages",
        "PyTorch  2.5.1+rocm6.2 in /opt/venv/bin/python",
        "Healthy: 2 checks passed.",
    ]


def test_a_broken_host() -> None:
    assert text.render(BROKEN).partition("\n\n")[2] == (
        "FAIL  user1 cannot open /dev/kfd [permissions.kfd-access]\n"
        "      The node belongs to the group render, and user1 is not in it. Every HIP\n"
        '      program ends with "no ROCm-capable device".\n'
        "      - /dev/kfd: mode 0660 root:render, open: EACCES\n"
        "      - groups of user1: user1 (1000), sudo (27)\n"
        "      Fix: Add user1 to the render and video groups:\n"
        "          sudo usermod -a -G render,video user1\n"
        "      Then log out and in again, and verify:\n"
        "          rocmdoctor check --only 'permissions.*'\n"
        "\n"
        "WARN  HSA_OVERRIDE_GFX_VERSION is a left-over [hsa_override.global]\n"
        "      It names the GPU's own target, so it changes nothing today and misleads\n"
        "      the next program.\n"
        "      Fix: Unset it where it is set:\n"
        "          unset HSA_OVERRIDE_GFX_VERSION\n"
        "\n"
        "3 checks skipped: 2 because of permissions.kfd-access, 1 as unknown (dmesg is\n"
        "not readable).\n"
    )


def test_no_gpu_has_a_verdict_too() -> None:
    said = text.render(NO_GPU)
    assert "\nNo AMD GPU was found: 1 problem, 0 checks passed.\n" in said
    assert "skipped" not in said and "amdgpu" not in said


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ([], "No AMD GPU was found: nothing could be judged."),
        ([skipped("kfd_node.present", "there is no AMD GPU to judge")], "No AMD GPU was found: nothing could be judged."),
        ([passed("torch_build.rocm", "t")], "No AMD GPU was found: 1 check passed."),
        (
            [skipped("gpu_present.pci", "unknown: /sys/bus was not read")],
            "Nothing could be judged: it is unknown whether there is an AMD GPU (/sys/bus was not read).",
        ),
        (
            [skipped("gpu_present.pci", "unknown: no /sys"), passed("torch_build.rocm", "t")],
            "Not judged in full: it is unknown whether there is an AMD GPU (no /sys); 1 check passed.",
        ),
    ],
)
def test_no_gpu_without_a_finding(results: list[Result], sentence: str) -> None:
    assert lines(report(*results, gpus=[]), width=100)[-1] == sentence


def test_an_unseen_bus_is_said_whatever_was_asked() -> None:
    asked = report(skipped("torch_build.rocm", "unknown: no /sys"), gpus=[])._replace(unseen="no /sys")
    assert lines(asked)[-1] == "Nothing could be judged: it is unknown whether there is an AMD GPU (no /sys)."


def test_root_needs_no_sudo() -> None:
    assert "sudo" not in text.render(BROKEN, as_root=True).replace("sudo (27)", "")


def test_quiet_says_only_what_failed() -> None:
    assert text.render(HEALTHY, quiet=True) == ""
    said = text.render(BROKEN, quiet=True)
    assert said.startswith("FAIL  user1 cannot") and "WARN" not in said and "skipped" not in said and "Ubuntu" not in said


def test_verbose_says_everything() -> None:
    said = text.render(BROKEN, verbose=True)
    assert "rocmdoctor 0.1.0, compatibility matrix of 2026-11-30" in said
    assert "ok    /dev/kfd exists [kfd_node.present]" in said
    assert "skip  wsl.librocdxg: does not apply to a host of the kind bare-metal" in said
    assert "See https://rocm.docs.amd.com" in said
    assert "- HSA_OVERRIDE_GFX_VERSION: 11.0.0" in said


def test_evidence_is_bounded_without_v() -> None:
    evidence = tuple(Evidence(f"file {n}", " ".join(f"line-{m}" for m in range(60))) for n in range(7))
    one = report(KFD_ACCESS._replace(evidence=evidence))
    short, long = text.render(one), text.render(one, verbose=True)
    assert "and 3 more (-v)" in short and "file 4" not in short and "line-59" not in short
    assert "file 6" in long and "line-59" in long


@pytest.mark.parametrize(
    ("needs", "verify", "said"),
    [
        ((), (), None),
        (("reboot",), (), "Then reboot."),
        (("relogin", "reboot"), (), "Then log out and in again and reboot."),
        (("root",), ("rocminfo",), "Verify:"),
        (("root", "reboot"), ("rocminfo",), "Then reboot, and verify:"),
    ],
)
def test_what_follows_a_fix(needs: tuple[str, ...], verify: tuple[str, ...], said: str | None) -> None:
    fix = Fix("Load the module", (("modprobe", "amdgpu"),), needs, verify=verify)
    page = lines(report(KFD_ACCESS._replace(evidence=(), fixes=(fix,))))
    last = [line.strip() for line in page if line.strip().startswith(("Then", "Verify"))]
    assert last == ([said] if said else [])


def test_advice_without_a_command_and_a_second_way() -> None:
    fixes = (Fix("Move the card to a slot of the CPU"), Fix("Use a kernel that the board supports.", (("uname", "-r"),)))
    page = lines(report(KFD_ACCESS._replace(fixes=fixes)))
    assert "      Fix: Move the card to a slot of the CPU." in page
    assert "      Or: Use a kernel that the board supports:" in page


def test_alternatives_with_one_proof_say_it_once() -> None:
    one, other = ("rocmdoctor", "check", "--only", "a.*"), ("rocminfo",)
    fixes = (Fix("First", verify=one), Fix("Second", verify=one), Fix("Third", verify=other))
    page = [line.strip() for line in lines(report(KFD_ACCESS._replace(evidence=(), detail="", fixes=fixes)))]
    assert page[page.index("Fix: First.") :] == [
        "Fix: First.",
        "Or: Second.",
        "Verify:",
        "rocmdoctor check --only 'a.*'",
        "Or: Third.",
        "Verify:",
        "rocminfo",
    ]


def test_paths_stay_whole() -> None:
    path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c/" + "x" * 20
    page = text.render(report(KFD_ACCESS._replace(evidence=(Evidence(path, "Secure Boot is enabled"),))))
    assert path in page


def test_skips_are_counted_by_cause_and_reasons_are_bounded() -> None:
    skips = [skipped(f"repo.r{n}", f"unknown: reason {n}") for n in range(4)]
    said = text.render(report(OVERRIDE, *skips))
    assert said.endswith("4 checks skipped as unknown (reason 0; reason 1; ...).\n")


def test_a_check_that_broke_is_shown() -> None:
    broke = Result("repo.codename", "repo", Status.ERROR, "Codenames fit", "the check broke: KeyError: 'x'")
    said = text.render(report(broke))
    assert "Not judged in full: 1 check broke, 0 checks passed." in said
    assert "ERROR Codenames fit [repo.codename]" in said and "KeyError" in said


def test_a_healthy_host_counts_what_is_unknown() -> None:
    one = report(passed("a.b", "t"), skipped("c.d", "unknown: dmesg is not readable"), skipped("e.f", "does not apply"))
    assert lines(one)[-1] == "Healthy: 1 check passed, 1 not judged (-v says why)."
    assert "skip  c.d: unknown: dmesg is not readable" in lines(one, verbose=True)


def test_nothing_judged_is_not_healthy() -> None:
    assert "Nothing could be judged: does not apply.\n" in text.render(report(skipped("a.b", "does not apply")))
    two = report(skipped("a.b", "unknown: dmesg is closed"), skipped("a.c", "does not apply"), skipped("a.d", "does not apply"))
    assert "Nothing could be judged: dmesg is closed.\n" in text.render(two)


def test_notices_come_last() -> None:
    assert lines(report(passed("a.b", "t"), notices=("The matrix is old.",)))[-1] == "Note: The matrix is old."


@pytest.mark.parametrize(
    ("changes", "label", "row"),
    [
        ({"gpus": [gpu()] * 8}, "GPU", "8 x Radeon RX 7900 XTX (gfx1100, 24 GiB)"),
        ({"gpus": [gpu(product=None, gfx=None, vram_bytes=None)]}, "GPU", "AMD GPU 1002:744c (gfx unknown)"),
        ({"gpus": [gpu(driver="vfio-pci")]}, "GPU", "Radeon RX 7900 XTX (gfx1100, 24 GiB, driver vfio-pci)"),
        ({"gpus": [gpu(vram_bytes=512 << 20)]}, "GPU", "Radeon RX 7900 XTX (gfx1100, 512 MiB)"),
        ({"amdgpu": {"loaded": True, "kind": "inbox", "version": None, "release": None}}, "Driver", "amdgpu, the kernel's own"),
        ({"amdgpu": {"loaded": False, "kind": None, "version": None, "release": None}}, "Driver", "amdgpu is not loaded"),
        ({"environment": "wsl"}, "Driver", None),
        ({"environment": "wsl"}, "Host", "Ubuntu 22.04.4 LTS, kernel 6.8.0-45-generic, WSL"),
        ({"os": {"id": None, "name": None}, "kernel": None, "machine": "aarch64"}, "Host", "unknown distribution, aarch64"),
        (
            {"rocm": [{"version": None, "root": "/opt/r", "origin": "unknown", "active": False}]},
            "ROCm",
            "version unknown in /opt/r",
        ),
        (
            {"python": [{"executable": "p", "version": "3", "torch": {"version": "2.5.1+cu121", "build": "cuda"}}]},
            "PyTorch",
            "2.5.1+cu121 in p",
        ),
        (
            {"python": [{"executable": "p", "version": "3", "torch": {"version": "2.5.1", "build": "cpu"}}]},
            "PyTorch",
            "2.5.1 (cpu build) in p",
        ),
        ({"python": [{"executable": "p", "version": "3", "torch": None}]}, "PyTorch", None),
    ],
)
def test_host_rows(changes: dict[str, object], label: str, row: str | None) -> None:
    from rocmdoctor.reports.host_lines import host_rows

    assert dict(host_rows(host(**changes))).get(label) == row


def test_many_kinds_of_gpu_are_counted() -> None:
    page = lines(report(passed("a.b", "t"), gpus=[gpu(product=f"card {n}") for n in range(6)]))
    assert "         and 3 more" in page


HOSTILE = ["[red]x[/red]", "\x1b]0;title\x07", "a\n\nFAIL  forged [x.y]", "\u202e", "\r", "%s {0} \\", "x" * 5000, "", "\udcff"]


@pytest.mark.parametrize("evil", HOSTILE)
@pytest.mark.parametrize("verbose", [False, True])
def test_host_strings_cannot_forge_the_report(evil: str, verbose: bool) -> None:
    found = KFD_ACCESS._replace(
        title=f"title {evil}",
        detail=f"detail {evil}",
        evidence=(Evidence(evil, evil),),
        fixes=(Fix(f"fix {evil}", ((evil, evil),), ("root",), verify=(evil,)),),
        docs=(evil,),
    )
    skip = skipped("c.d", f"unknown: {evil}")
    page = text.render(
        report(found, skip, notices=(evil,), gpus=[gpu(product=evil)], kernel=evil, os={"name": evil}), verbose=verbose
    )
    assert all(line.isprintable() for line in page.split("\n"))
    assert not re.search(r"^FAIL  forged", page, re.M)
    if evil.startswith("[red]"):
        assert evil in page


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_width(width: int) -> None:
    page = lines(BROKEN, width=width, verbose=True)
    links = [line for line in page if "https://" in line]
    assert all(len(line) <= max(width, 40) for line in page if line not in links)


def test_colour_only_adds_escapes() -> None:
    coloured = text.render(BROKEN, color=True, verbose=True)
    assert "\x1b[1;31mFAIL\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.render(BROKEN, verbose=True)


@given(st.builds(Finding, st.sampled_from([Status.FAIL, Status.WARN]), st.text(), st.text()), st.integers(0, 120))
def test_any_finding_renders(finding: Finding, width: int) -> None:
    result = Result("a.b", "a", finding.status, finding.title, finding.detail)
    assert all(line.isprintable() for line in text.render(report(result), width=width).split("\n"))
