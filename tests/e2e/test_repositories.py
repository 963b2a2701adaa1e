"""The local repositories with the real package managers: AMD's recipes typed by hand work, and faults show as they do in life."""

from __future__ import annotations

import pytest

from tests.e2e import recipes
from tests.e2e.conftest import Machine

CLASSIC = [
    ("ubuntu-22.04", "6.2.4", "6.2.4"), ("ubuntu-24.04", "7.2.4", "30.30.4"), ("debian-13", "7.2.4", "30.30.4"),
    ("rhel-9.4", "6.2.4", "6.2.4"), ("rhel-9.6", "7.2.4", "30.30.4"), ("sles-15.6", "6.2.0", "6.2.0"),
    ("sles-15.7", "7.2.4", "30.30.4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rocm", "driver"), CLASSIC)
def test_rocm_and_the_driver_install_and_go(machine: Machine, name: str, rocm: str, driver: str) -> None:
    case = machine(name)
    packages = case.package_set()
    recipes.set_up(case, rocm, driver)
    recipes.refresh(case).ok()
    before = case.snapshot_of_files()
    headers = {"deb": "linux-headers-$(uname -r)", "el": "kernel-devel-matched", "suse": "kernel-default-devel"}[case.family]
    recipes.install(case, headers, "amdgpu-dkms").ok()
    recipes.install(case, "rocm").ok()
    assert case.read("/opt/rocm/.info/version").startswith(rocm)
    assert "gfx1100" in case.run("/opt/rocm/bin/rocminfo").ok().out
    assert f"librocblas.so.{5 if rocm[0] == '7' else 4}" in case.shell("ldconfig; ldconfig -p").ok().out
    assert case.run("dkms", "status").ok().out.endswith(f"{case.distro.kernel}, x86_64: installed\n")
    case.reboot()
    assert case.exists("/sys/module/amdgpu/version")
    said = case.rocmdoctor("stack").ok().out
    assert rocm in said and driver in said
    for url in case.mirror.requests:
        assert not url.startswith("404") or url.endswith((".asc", ".sig", "/media.1/media", ".treeinfo", "repoindex.xml")), url
    recipes.remove(case, "amdgpu-dkms", "rocm", "rocm-core", headers.replace("$(uname -r)", case.distro.kernel)).ok()
    left = before.changes(case.snapshot_of_files())
    assert left == []
    needed = ("epel", "dkms", "perl", "python3-")  # zypper and dnf keep what was asked for, and what still serves something
    assert [name for name in case.package_set() if name not in packages and not name.startswith(needed)] == []


def test_both_worlds_hold_more_than_one_release(machine: Machine) -> None:
    """An upgrade from 6.2.0 to 6.2.4 by another repository directory; versioned packages side by side."""
    case = machine("ubuntu-22.04")
    recipes.apt(case, "6.2.0", "6.2.0")
    recipes.refresh(case).ok()
    recipes.install(case, "rocm-hip-runtime").ok()
    recipes.apt(case, "6.2.4", "6.2.4")
    recipes.refresh(case).ok()
    recipes.install(case, "rocm-hip-runtime").ok()
    assert case.shell("readlink -f /opt/rocm").out.strip() == "/opt/rocm-6.2.4" and not case.exists("/opt/rocm-6.2.0")
    recipes.remove(case, "rocm-hip-runtime").ok()
    case.write("/etc/apt/sources.list.d/also.list", case.read("/etc/apt/sources.list.d/rocm.list").replace("/6.2.4 ", "/6.2 "))
    recipes.refresh(case).ok()
    recipes.install(case, "rocm-hip-runtime6.2.0", "rocm-hip-runtime6.2.4").ok()
    assert case.exists("/opt/rocm-6.2.0/lib/libamdhip64.so.6") and case.exists("/opt/rocm-6.2.4/lib/libamdhip64.so.6")
    assert case.shell("readlink -f /opt/rocm").out.strip() == "/opt/rocm-6.2.4"


@pytest.mark.parametrize(
    ("name", "directory"),
    [("ubuntu-24.04", "ubuntu2404"), ("debian-13", "debian13"), ("rhel-9.8", "rhel9"), ("sles-15.7", "sles15")],
)
def test_therock(machine: Machine, name: str, directory: str) -> None:
    case = machine(name)
    base = f"https://stable.repo.amd.com/rocm/core/packages/{directory}/"
    key = "https://stable.repo.amd.com/rocm/gpg/packages.gpg"
    gfx = "gfx942" if case.family == "suse" else "gfx1100"
    if case.family == "deb":
        case.shell(f"curl -fsS {key} | gpg --dearmor > /etc/apt/keyrings/amdrocm.gpg").ok()
        case.write(
            "/etc/apt/sources.list.d/amdrocm-stable.sources",
            f"X-Repo-Id: amdrocm-stable\nTypes: deb\nURIs: {base}\nSuites: stable\nComponents: main\nArchitectures: amd64\n"
            "Signed-By: /etc/apt/keyrings/amdrocm.gpg\nEnabled: yes\n",
        )
    else:
        folder = "/etc/zypp/repos.d" if case.family == "suse" else "/etc/yum.repos.d"
        text = f"[amdrocm-stable]\nname=ROCm 10.1.0\nbaseurl={base}x86_64\nenabled=1\ngpgcheck=1\ngpgkey={key}\n"
        case.write(f"{folder}/amdrocm-stable.repo", text)
    recipes.refresh(case).ok()
    recipes.install(case, f"amdrocm10.0-{gfx}").ok()
    assert case.read("/opt/rocm/core/.info/version") == "10.0.0\n"
    recipes.install(case, f"amdrocm10.1-{gfx}").ok()
    assert case.read("/opt/rocm/core/.info/version") == "10.1.0\n"
    assert case.exists("/opt/rocm/bin/rocminfo") and case.exists("/opt/rocm/core-10.0/lib/libamdhip64.so.7")
    if case.family == "deb":
        assert "o=AMD ROCm" in case.shell("apt-cache policy").out


@pytest.mark.parametrize("name", ["ubuntu-22.04", "ubuntu-24.04"])
def test_universe_wins_without_the_pin_and_loses_with_it(machine: Machine, name: str) -> None:
    case = machine(name)
    recipes.apt(case, "6.2.4", "6.2.4", pin=False)
    recipes.refresh(case).ok()
    without = case.shell("apt-cache policy rocminfo rocm-cmake").out
    assert "Candidate: 5." in without and "Candidate: 1.0.0.60204" not in without
    done = recipes.install(case, "rocm")
    assert done.rc == 100 and "rocm-cmake" in done.said and "held broken packages" in done.err
    case.write("/etc/apt/preferences.d/rocm-pin-600", recipes.PIN)
    assert "Candidate: 1.0.0.60204" in case.shell("apt-cache policy rocminfo").out
    recipes.install(case, "rocm").ok()
    assert case.package_set()["rocminfo"].startswith("1.0.0.60204")


@pytest.mark.parametrize("name", ["ubuntu-24.04", "rhel-9.4", "sles-15.6"])
def test_a_repository_signed_by_somebody_else_is_refused(machine: Machine, name: str) -> None:
    case = machine(name)
    case.mirror.serve_key("radeon", "other")
    recipes.set_up(case, "6.2.4", "6.2.4")
    if case.family == "suse":
        case.shell("curl -fsS https://repo.radeon.com/rocm/rocm.gpg.key > /tmp/key && rpm --import /tmp/key").ok()
        done = case.shell("zypper -n install rocm")
    else:
        recipes.refresh(case)
        done = recipes.install(case, "rocm")
    assert done.rc and case.installed("rocm.*") == []
    expected = {"deb": "no_pubkey", "el": "gpg check failed", "suse": "signature verification failed"}
    said = (recipes.refresh(case) if case.family == "deb" else done).said.lower()
    assert expected[case.family] in said


def test_zypper_takes_the_key_beside_the_repository_when_it_may(machine: Machine) -> None:
    """With --gpg-auto-import-keys the key at gpgkey= guards nothing: zypper imports repodata/repomd.xml.key as well."""
    case = machine("sles-15.6")
    case.mirror.serve_key("radeon", "other")
    recipes.zypper(case, "6.2.4", "6.2.4")
    recipes.install(case, "rocm").ok()


@pytest.mark.parametrize(("name", "works"), [("ubuntu-24.04", False), ("rhel-9.4", True), ("sles-15.6", True)])
def test_only_apt_refuses_an_expired_key(machine: Machine, name: str, works: bool) -> None:
    case = machine(name)
    case.mirror.serve_key("radeon", "radeon", expired=True)
    recipes.set_up(case, "6.2.4", "6.2.4")
    refreshed = recipes.refresh(case)
    done = recipes.install(case, "rocm")
    assert (done.rc == 0) is works, refreshed.said + done.said
    if not works:
        assert "EXPKEYSIG" in refreshed.said


@pytest.mark.parametrize("name", ["ubuntu-24.04", "rhel-9.4", "sles-15.6"])
def test_missing_directories_and_a_mirror_that_is_down(machine: Machine, name: str) -> None:
    case = machine(name)
    recipes.set_up(case, "6.2.4", "6.2.4")
    case.mirror.missing.append("repo.radeon.com/amdgpu/6.2.4/")
    said = recipes.refresh(case).said
    assert "404" in said or "Valid metadata not found at specified URL" in said
    case.mirror.missing.clear()
    with case.mirror.down():
        assert recipes.install(case, "rocm").rc
    # Down in the middle of the packages.
    recipes.refresh(case).ok()
    with case.mirror.down(after=20):
        assert recipes.install(case, "rocm").rc
    assert case.installed("rocm") == []
    recipes.install(case, "rocm").ok()


def test_dkms_without_headers_is_skipped_and_apt_says_nothing(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    recipes.apt(case, "6.2.4", "6.2.4")
    recipes.refresh(case).ok()
    assert "was skipped" in recipes.install(case, "amdgpu-dkms").ok().out
    assert ": added" in case.run("dkms", "status").ok().out
    case.reboot()
    assert not case.exists("/sys/module/amdgpu/version")


def test_a_failing_dkms_build_leaves_a_half_configured_package(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    recipes.apt(case, "6.2.4", "6.2.4")
    recipes.refresh(case).ok()
    case.dkms_fails()
    done = recipes.install(case, "linux-headers-$(uname -r)", "amdgpu-dkms")
    assert done.rc == 100 and "Bad return status for module build" in done.said
    assert case.package_set()["amdgpu-dkms"].endswith("half-configured")


def test_the_classic_driver_directory_must_be_the_pair_of_rocm(machine: Machine) -> None:
    """rocdecode of 6.2.4 needs mesa-amdgpu of driver repository 6.2.4 (ROCm/legacy-rocm-build#5963)."""
    case = machine("ubuntu-24.04")
    recipes.apt(case, "6.2.4", "30.30.4")
    recipes.refresh(case).ok()
    assert recipes.install(case, "rocm").rc == 100


def test_pytorch_by_real_pip(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    case.shell("python3 -m venv /opt/torch").ok()
    index = "https://download.pytorch.org/whl/rocm6.2"
    case.shell(f"/opt/torch/bin/pip install --index-url {index} torch torchvision torchaudio").ok()
    listed = case.shell("/opt/torch/bin/pip list --format freeze").ok().out
    assert "torch==2.5.1+rocm6.2" in listed and "pytorch-triton-rocm==3.1.0" in listed and "torchaudio==2.5.1+rocm6.2" in listed
    report = case.rocmdoctor("stack", "--python", "/opt/torch").ok().out
    assert "2.5.1+rocm6.2" in report
    # AMD's own index of 10.x, with the device packages.
    next_index = "https://stable.repo.amd.com/rocm/whl-next/"
    case.shell("python3 -m venv /opt/next").ok()
    wanted = "'rocm[libraries,device-gfx1100]==10.0.0' 'torch[device-gfx1100]==2.13.0'"
    case.shell(f"/opt/next/bin/pip install --index-url {next_index} {wanted}").ok()
    assert "amd-torch-device-gfx1100==2.13.0+rocm10.0.0" in case.shell("/opt/next/bin/pip list --format freeze").ok().out


def test_ways_into_the_network(machine: Machine) -> None:
    """A mirror of the site, a proxy, and a certificate authority that the system does not know."""
    case = machine("rhel-9.4", trust=False)
    assert case.run("curl", "-fsS", "https://repo.radeon.com/rocm/rocm.gpg.key").rc == 60
    case.run("curl", "-fsS", "--cacert", "/.e2e/state/authority.pem", "https://repo.radeon.com/rocm/rocm.gpg.key").ok()
    case = machine("ubuntu-24.04", proxy=True)
    url = "https://repo.radeon.com/rocm/rocm.gpg.key"
    assert case.run("curl", "-fsS", "--max-time", "5", url).rc == 6
    case.run("curl", "-fsS", url, env={"https_proxy": case.proxy_url}).ok()
    case = machine("ubuntu-24.04")
    for path in ("repo.radeon.com/rocm/rocm.gpg.key", "rocm/rocm.gpg.key"):
        case.run("curl", "-fsS", f"{case.mirror_url}/{path}").ok()
