"""How a plan fits a host: release, driver, PyTorch, what is there already, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.facts import Facts
from rocmdoctor.matrix import Matrix, load_matrix
from rocmdoctor.plan import uninstall
from rocmdoctor.plan.environments import PipInstall, PythonVenv
from rocmdoctor.plan.files import RemoveFile, WriteFile
from rocmdoctor.plan.keys import ImportKey, TrustKey
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages
from rocmdoctor.plan.step import Plan, Step
from tests.hostbuilder import HostBuilder
from tests.hostbuilder.spec import Driver
from tests.plan.bare_hosts import bare, plan_for, relabelled


def codes(plan: Plan) -> list[str]:
    return [refusal.code for refusal in plan.refusals]


def ids(plan: Plan) -> list[str]:
    return [step.id for step in plan.steps]


def step(plan: Plan, name: str) -> Step:
    return next(s for s in plan.steps if s.id == name)


def wishes(plan: Plan, name: str = "rocm") -> list[str]:
    found = step(plan, name)
    assert isinstance(found, InstallPackages)
    return [wish.name for wish in found.wishes]


# the release -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "gfx", "chosen"),
    [
        ("6.2", "gfx1100", "6.2.4"),
        ("6.2.0", "gfx1100", "6.2.0"),
        ("7.2", "gfx90a", "7.2.4"),
        ("6.4", "gfx90a", "6.4.3"),  # 6.4.4 is for Radeon alone
        ("6.4", "gfx1100", "6.4.4"),
        ("latest", "gfx90a", "10.1.0"),
        (None, "gfx90a", "10.1.0"),
    ],
)
def test_release(matrix: Matrix, asked: str | None, gfx: str, chosen: str) -> None:
    plan = plan_for(bare("ubuntu", "22.04", gfx).build(), matrix, rocm=asked)
    assert plan.versions["rocm"] == chosen
    if asked and asked.count(".") == 1:
        assert any(f"--rocm {asked} is ROCm {chosen}" in note for note in plan.notices)


@pytest.mark.parametrize(
    ("asked", "code"),
    [("99.0", "unknown-release"), ("6.9", "unknown-release"), ("six", "unknown-release"), ("", "unknown-release")],
)
def test_unknown_release(matrix: Matrix, asked: str, code: str) -> None:
    plan = plan_for(bare().build(), matrix, rocm=asked)
    assert codes(plan) == [code] and not plan.steps


def test_unsupported_gpu(matrix: Matrix) -> None:
    host = bare("ubuntu", "22.04", "gfx803").build()
    plan = plan_for(host, matrix, rocm="6.2")
    assert any(code.endswith("-gpu") for code in codes(plan))
    assert all("--allow-unsupported" in refusal.help for refusal in plan.refusals)
    assert not plan_for(host, matrix, rocm="6.2", allow_unsupported=True).refusals


def test_unsupported_system(matrix: Matrix) -> None:
    plan = plan_for(bare("ubuntu", "20.04", "gfx90a").build(), matrix, rocm="6.2")
    assert "unsupported-os" in codes(plan)


@pytest.mark.parametrize(("os_id", "version"), [("arch", ""), ("fedora", "41"), ("alpine", "3.20")])
def test_no_packages_for_the_distribution(matrix: Matrix, os_id: str, version: str) -> None:
    host = relabelled(bare(), id=os_id, version_id=version, name=os_id).build()
    assert codes(plan_for(host, matrix)) == ["distribution"]


@pytest.mark.parametrize(
    ("os_id", "version", "codename", "suite"),
    [("linuxmint", "21.3", "jammy", "jammy"), ("pop", "22.04", "jammy", "jammy"), ("neon", "24.04", "noble", "noble")],
)
def test_derivatives_take_the_packages_of_their_base(matrix: Matrix, os_id: str, version: str, codename: str, suite: str) -> None:
    host = relabelled(bare(), id=os_id, version_id=version, id_like="ubuntu debian", ubuntu_codename=codename).build()
    plan = plan_for(host, matrix, rocm="6.2")
    assert not plan.refusals, plan.refusals
    rocm = step(plan, "repo-rocm.list")
    assert isinstance(rocm, WriteFile) and f" {suite} main" in rocm.text
    assert any("does not test that" in note for note in plan.notices)


# the driver ------------------------------------------------------------------------------------------------------


PACKAGED = HostBuilder().no_rocm()._with(driver=Driver("dkms", "6.2.0"))
"""AMD's driver 6.2.0 is loaded, and there is no ROCm."""


def driver_of(plan: Plan) -> Any:
    return plan.choices["driver"]["chosen"]


@pytest.mark.parametrize(
    ("builder", "options", "chosen"),
    [
        (bare("ubuntu", "22.04", "gfx90a")._with(driver=None), {"rocm": "6.2"}, "6.2.4"),  # nothing serves it
        (PACKAGED, {"rocm": "6.2.0"}, "6.2.0"),  # the packaged one, of that release
        (PACKAGED, {"rocm": "6.2.4"}, None),  # the packaged 6.2.0 carries 6.2.4
        (PACKAGED, {"rocm": "10.1"}, "31.60.0"),  # it does not carry that
        (HostBuilder().no_rocm().distro("ubuntu", "24.04").gpus("gfx1151"), {"rocm": "10.1", "allow_unsupported": True}, None),
        (HostBuilder().no_rocm(), {"rocm": "6.2", "driver": "none"}, None),
        (HostBuilder().no_rocm(), {"rocm": "6.2", "driver": "inbox"}, None),
        (bare("ubuntu", "22.04", "gfx90a").container(), {"rocm": "6.2"}, None),
        (bare("ubuntu", "22.04").no_gpus(), {"rocm": "6.2"}, None),
    ],
)
def test_driver(matrix: Matrix, builder: HostBuilder, options: dict[str, Any], chosen: str | None) -> None:
    plan = plan_for(builder.build(), matrix, **options)
    assert driver_of(plan) == chosen, plan.notices
    assert ("driver" in ids(plan)) is (chosen is not None)


def test_a_driver_that_does_not_build_is_not_chosen(matrix: Matrix) -> None:
    host = bare("ubuntu", "22.04", "gfx90a").kernel("6.8.0-45-generic")._with(driver=None).build()
    plan = plan_for(host, matrix, rocm="6.2.0")
    assert driver_of(plan) is None and any("known not to build" in note for note in plan.notices)
    assert "driver-build" in codes(plan_for(host, matrix, rocm="6.2.0", driver="dkms"))


@pytest.mark.parametrize(
    ("builder", "code"),
    [
        (bare("ubuntu", "22.04", "gfx90a").container(), "driver-in-container"),
        (bare("ubuntu", "22.04").wsl(), "driver-in-wsl"),
        (bare("ubuntu", "24.04", "gfx1151"), "driver-on-ryzen"),
    ],
)
def test_driver_where_it_must_not_be(matrix: Matrix, builder: HostBuilder, code: str) -> None:
    assert code in codes(plan_for(builder.build(), matrix, rocm="7.2", driver="dkms"))


def test_an_old_driver_is_removed_before_a_new_one(matrix: Matrix) -> None:
    plan = plan_for(HostBuilder().rocm("6.2.0").build(), matrix, rocm="6.4.3", driver="dkms")
    order = ids(plan)
    assert order.index("old-driver") < order.index("driver-needs") < order.index("driver") < order.index("rocm")
    removed = step(plan, "old-driver")
    assert isinstance(removed, RemovePackages) and "amdgpu-dkms" in removed.names
    assert plan.done["reboot"] is False and plan.done["driver-module"] is False
    assert "reboot" in plan.needs


def test_modules_extra_is_optional(matrix: Matrix) -> None:
    plan = plan_for(bare("ubuntu", "22.04", "gfx90a")._with(driver=None).build(), matrix, rocm="6.2")
    found = step(plan, "driver-needs")
    assert isinstance(found, InstallPackages)
    assert [wish.optional for wish in found.wishes] == [False, True]


# PyTorch ---------------------------------------------------------------------------------------------------------


def torch_step(plan: Plan) -> PipInstall | None:
    return next((s for s in plan.steps if isinstance(s, PipInstall)), None)


def test_uv_where_it_is_installed_for_everybody(matrix: Matrix) -> None:
    """It trusts the system's certificates, or the one that is named."""
    host = bare().file("/usr/bin/uv").build()
    plan = plan_for(host, matrix, rocm="6.2")
    venv = next(s for s in plan.steps if isinstance(s, PythonVenv))
    pip = torch_step(plan)
    assert pip is not None and venv.commands[0][:2] == ("/usr/bin/uv", "venv")
    assert pip.commands[0][:4] == ("env", "UV_NATIVE_TLS=true", "/usr/bin/uv", "pip")
    assert not any(wish.endswith("-venv") for wish in wishes(plan))
    pip = torch_step(plan_for(host, matrix, rocm="6.2", mirror="https://m.site/x", ca="/etc/ssl/site.pem"))
    assert pip is not None and pip.commands[0][1] == "SSL_CERT_FILE=/etc/ssl/site.pem"


def test_an_environment_without_pip_needs_uv(matrix: Matrix) -> None:
    base = (
        bare()
        .file("/srv/e/pyvenv.cfg", "home = /usr/bin\nversion = 3.10.12\nuv = 0.5\n")
        .link("/srv/e/bin/python", "/usr/bin/python3")
    )
    plan = plan_for(base.build(), matrix, rocm="6.2", venv="/srv/e")
    assert torch_step(plan) is None and any("has no pip" in note for note in plan.notices)
    assert torch_step(plan_for(base.file("/usr/local/bin/uv").build(), matrix, rocm="6.2", venv="/srv/e")) is not None


def test_torch_goes_into_an_environment_of_its_own(matrix: Matrix) -> None:
    plan = plan_for(bare("ubuntu", "22.04", "gfx90a").build(), matrix, rocm="6.2")
    pip = torch_step(plan)
    assert pip is not None and pip.python == "/opt/rocmdoctor/torch/bin/python"
    assert pip.requirements[0].startswith("torch==") and "+rocm6.2" in pip.requirements[0]
    assert pip.index.endswith("/whl/rocm6.2.4")
    venv = step(plan, "venv")
    assert isinstance(venv, PythonVenv) and venv.path == "/opt/rocmdoctor/torch"
    assert "python3.10-venv" in wishes(plan), "Debian and Ubuntu keep venv in a package of its own"
    assert ids(plan).index("venv") > ids(plan).index("rocm")


@pytest.mark.parametrize(
    ("torch", "options", "touched", "said"),
    [
        ("2.5.1+cu124", {}, False, "cuda build"),
        ("2.5.1+cpu", {}, False, "cpu build"),
        ("2.5.1+cu124", {"pytorch": "2.5"}, True, ""),
        ("2.5.1+rocm6.2", {}, False, "which stays"),
        ("2.5.1+rocm6.2", {"pytorch": "2.7"}, True, ""),
        ("2.5.1+rocm6.2", {"pytorch": "none"}, False, ""),
    ],
)
def test_torch_that_is_there(matrix: Matrix, torch: str, options: dict[str, Any], touched: bool, said: str) -> None:
    plan = plan_for(HostBuilder().torch(torch).build(), matrix, rocm="6.2", **options)
    assert (torch_step(plan) is not None) is touched
    assert any(said in note for note in plan.notices)


def test_torch_that_does_not_exist_is_refused_when_asked_for(matrix: Matrix) -> None:
    host = bare("ubuntu", "22.04", "gfx90a").build()
    assert codes(plan_for(host, matrix, rocm="6.2", pytorch="9.9")) == ["pytorch"]
    assert codes(plan_for(bare().no_gpus().build(), matrix, rocm="6.2", pytorch="2.5")) == ["pytorch-gpu"]


def test_externally_managed_python_is_refused(matrix: Matrix) -> None:
    host = bare("ubuntu", "24.04", "gfx90a").file("/usr/lib/python3.12/EXTERNALLY-MANAGED").build()
    plan = plan_for(host, matrix, rocm="6.2", python="/usr/bin/python3")
    assert "externally-managed" in codes(plan)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"python": "/nope/python3"}, "no such interpreter"),
        ({"python": ""}, "names no interpreter"),
        ({"python": "/etc/passwd"}, "neither a Python interpreter nor an environment"),
        ({"venv": "/etc/passwd"}, "no folder"),
        ({"venv": "/etc/passwd/deep/er"}, "/etc/passwd is no folder"),
        ({"venv": "/srv/full"}, "not empty"),
        ({"venv": "/srv/dangling"}, "link to nowhere"),
        ({"venv": "/srv/old"}, "no interpreter any more"),
        ({"venv": "some/venv"}, "no absolute path"),
        ({"venv": "/srv/new", "python": "/usr/bin/python3"}, "exclude each other"),
    ],
)
@pytest.mark.parametrize("pytorch", [None, "none", "2.5"])
def test_where_no_pytorch_can_be_is_refused_before_anything(
    matrix: Matrix, options: dict[str, Any], why: str, pytorch: str | None
) -> None:
    host = bare("ubuntu", "22.04", "gfx90a").file("/etc/passwd", "root:x:0:0::/root:/bin/sh\n").file("/srv/full/letter", "x")
    host = host.link("/srv/dangling", "/srv/nowhere").file("/srv/old/pyvenv.cfg", "home = /usr/bin\nversion = 3.9.2\n")
    plan = plan_for(host.build(), matrix, rocm="6.2", pytorch=pytorch, **options)
    assert any(refusal.code == "options" and why in refusal.reason for refusal in plan.refusals), plan.refusals
    assert len([refusal for refusal in plan.refusals if refusal.code == "options"]) == 1


@pytest.mark.parametrize("venv", ["/srv/new/deep/er", "/srv/e"])
def test_where_pytorch_can_be(matrix: Matrix, venv: str) -> None:
    host = bare("ubuntu", "22.04", "gfx90a").file("/srv/e/pyvenv.cfg", "home = /usr/bin\nversion = 3.10.12\n")
    host = host.link("/srv/e/bin/python", "/usr/bin/python3")
    assert "options" not in codes(plan_for(host.build(), matrix, rocm="6.2", venv=venv))


def test_two_targets_get_one_wheel_with_both_device_packages(matrix: Matrix) -> None:
    plan = plan_for(bare("ubuntu", "24.04", "gfx942", "gfx90a").build(), matrix, rocm="10.1", allow_unsupported=True)
    pip = torch_step(plan)
    assert pip is not None and "torch[device-gfx942,device-gfx90a]==2.14.0" in pip.requirements
    assert wishes(plan)[:2] == ["amdrocm10.1-gfx942", "amdrocm10.1-gfx90a"]


# what is there already -------------------------------------------------------------------------------------------

AMDGPU_INSTALL = "deb [arch=amd64,i386 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.2.4 jammy main\n"


def test_files_of_amdgpu_install_are_recognised(matrix: Matrix) -> None:
    host = bare().repo("rocm.list", AMDGPU_INSTALL).build()
    plan = plan_for(host, matrix, rocm="6.2.4")
    assert "repo-rocm.list" not in ids(plan)
    assert any("/etc/apt/sources.list.d/rocm.list already has AMD's repository" in note for note in plan.notices)


def test_a_source_in_another_file_is_not_doubled(matrix: Matrix) -> None:
    host = bare().repo("amd.list", AMDGPU_INSTALL).build()
    assert "repo-rocm.list" not in ids(plan_for(host, matrix, rocm="6.2.4"))


def test_a_source_without_signed_by_is_replaced(matrix: Matrix) -> None:
    host = bare().repo("rocm.list", "deb https://repo.radeon.com/rocm/apt/6.2.4 jammy main\n").build()
    assert plan_for(host, matrix, rocm="6.2.4").done["repo-rocm.list"] is False


def test_another_release_in_another_file_is_removed(matrix: Matrix) -> None:
    old = AMDGPU_INSTALL.replace("6.2.4", "5.7")
    plan = plan_for(bare().repo("amd.list", old).build(), matrix, rocm="6.2.4")
    assert isinstance(step(plan, "other-amd.list"), RemoveFile)
    mixed = plan_for(bare().repo("amd.list", old + "deb http://x.example/y jammy main\n").build(), matrix, rocm="6.2.4")
    assert codes(mixed) == ["mixed-file"]


def test_a_second_plan_has_nothing_open(matrix: Matrix) -> None:
    """The same release again: repositories, pin and packages are there; what the builder does not have are two small files."""
    host = HostBuilder().no_torch().package("python3-setuptools", "59").package("python3-wheel", "0.37").build()
    plan = plan_for(host, matrix, rocm="6.2.0", pytorch="none")
    assert not plan.refusals
    open_ = {s.id for s in plan.open_steps}
    assert open_ <= {"key-radeon", "loader", "path", "driver-needs"}, open_


@pytest.mark.parametrize(
    ("builder", "options", "code"),
    [
        (HostBuilder().rocm("6.2.0"), {"rocm": "10.1"}, "other-world"),
        (HostBuilder().distro("ubuntu", "24.04").rocm("10.0.0"), {"rocm": "7.2"}, "other-world"),
        (HostBuilder().rocm("6.4.3"), {"rocm": "6.2"}, "downgrade"),
        (HostBuilder().rocm("6.2.0"), {"rocm": "6.2.4", "side_by_side": True}, "single-version"),
        (HostBuilder().no_rocm().also_rocm("6.2.0"), {"rocm": "6.2.4"}, "side-by-side"),
        (HostBuilder().kernel("6.8.12-4-pve"), {"rocm": "6.2"}, "proxmox"),
        (HostBuilder().package("pve-manager", "8.2"), {"rocm": "6.2"}, "proxmox"),
        (bare().filesystem("/", 10_000, 500), {"rocm": "6.2"}, "disk"),
        (bare("ubuntu", "22.04", "gfx90a")._with(driver=None).filesystem("/boot", 500, 20), {"rocm": "6.2"}, "disk-boot"),
        (bare(), {"rocm": "6.2", "users": ("nobody-here",)}, "user"),
        (bare(), {"rocm": "6.2", "users": ("-rf",)}, "user"),
        (bare(), {"rocm": "6.2", "packages": ("-o=Dir=/x",)}, "package"),
        (bare(), {"rocm": "6.2", "packages": ()}, "package"),
        (bare(), {"rocm": "6.2", "mirror": "ftp://x"}, "mirror"),
        (bare(), {"rocm": "6.2", "mirror": "https://me:secret@x/y"}, "mirror"),
        (bare(), {"rocm": "6.2", "mirror": "https://x/$(id)"}, "mirror"),
        (bare(), {"rocm": "6.2", "ca": "ca.pem"}, "ca"),
    ],
)
def test_refusals(matrix: Matrix, builder: HostBuilder, options: dict[str, Any], code: str) -> None:
    plan = plan_for(builder.build(), matrix, **options)
    assert code in codes(plan), plan.refusals
    refusal = next(r for r in plan.refusals if r.code == code)
    assert "secret" not in refusal.reason


def test_the_distributions_packages_of_the_same_name_give_way(matrix: Matrix) -> None:
    host = bare().package("rocminfo", "5.7.1-3", origin="Ubuntu").build()
    removed = step(plan_for(host, matrix, rocm="6.2"), "distribution-rocm")
    assert isinstance(removed, RemovePackages) and removed.names == ("rocminfo",)


# options ---------------------------------------------------------------------------------------------------------


def test_mirror_replaces_every_address(matrix: Matrix) -> None:
    for os_id, version in (("ubuntu", "22.04"), ("rhel", "9.4"), ("sles", "15.6")):
        plan = plan_for(bare(os_id, version, "gfx90a").build(), matrix, rocm="6.2", mirror="https://mirror.site/amd/")
        text = repr(plan.steps)
        assert "repo.radeon.com/" not in text.replace("o=repo.radeon.com", "") and "download.pytorch.org" not in text
        assert "https://mirror.site/amd/rocm/rocm.gpg.key" in text


def test_certificate_of_the_mirror(matrix: Matrix) -> None:
    options = {"rocm": "6.2", "mirror": "https://mirror.site/amd", "ca": "/etc/ssl/site.pem"}
    apt = step(plan_for(bare("ubuntu", "22.04", "gfx90a").build(), matrix, **options), "apt-ca")
    assert isinstance(apt, WriteFile) and 'Acquire::https::mirror.site::CaInfo "/etc/ssl/site.pem";' in apt.text
    dnf = step(plan_for(bare("rhel", "9.4", "gfx90a").build(), matrix, **options), "repo-rocm.repo")
    assert isinstance(dnf, WriteFile) and "sslcacert=/etc/ssl/site.pem" in dnf.text


def test_side_by_side(matrix: Matrix) -> None:
    host = HostBuilder().no_rocm().also_rocm("6.2.0").no_torch().build()
    plan = plan_for(host, matrix, rocm="6.4.3", side_by_side=True, pytorch="none")
    assert not plan.refusals and wishes(plan)[0] == "rocm6.4.3"
    rocm = step(plan, "repo-rocm-6.4.3.list")
    assert isinstance(rocm, WriteFile) and "/apt/6.4.3 " in rocm.text
    # the other release's file stays as it is
    assert not any(getattr(s, "path", "") == "/etc/apt/sources.list.d/rocm.list" for s in plan.steps)


@pytest.mark.parametrize(
    ("system", "rocm", "sections"),
    [
        (("rhel", "9.4"), "6.2.4", {"ROCm-6.2.4", "amdgpu-6.2.4"}),
        (("rhel", "9.4"), "7.2.4", {"rocm-7.2.4", "amdgraphics-7.2.4"}),
        (("sles", "15.6"), "6.2.4", {"ROCm-6.2.4", "amdgpu-6.2.4", "devel_languages_perl"}),
    ],
)
def test_side_by_side_every_release_has_sections_of_its_own(
    matrix: Matrix, system: tuple[str, str], rocm: str, sections: set[str]
) -> None:
    plan = plan_for(bare(*system, "gfx90a").build(), matrix, rocm=rocm, side_by_side=True, pytorch="none", driver="none")
    files = [s for s in plan.steps if isinstance(s, WriteFile) and s.path.endswith(".repo")]
    assert {line for file in files for line in re.findall(r"^\[(.+)\]$", file.text, re.M)} == sections
    index = next(s for s in plan.steps if isinstance(s, RefreshIndex))
    assert set(index.repositories) == sections
    assert [f.path.rpartition("/")[2] for f in files if "rocm" in f.path] == [f"rocm-{rocm}.repo"]


def test_side_by_side_shares_the_newest_driver(matrix: Matrix) -> None:
    line = "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/amdgpu/30.30.4/ubuntu jammy main\n"
    host = bare("ubuntu", "22.04", "gfx90a").file("/etc/apt/sources.list.d/amdgpu-30.30.4.list", line).build()
    plan = plan_for(host, matrix, rocm="6.2.4", side_by_side=True, pytorch="none", driver="dkms")
    assert "side-by-side-driver" in codes(plan)
    assert "side-by-side-driver" not in codes(plan_for(host, matrix, rocm="6.2.4", side_by_side=True, driver="none"))


def test_users(matrix: Matrix) -> None:
    named = plan_for(bare().build(), matrix, rocm="6.2", users=("user1", "root"))
    assert [s.id for s in named.steps if s.kind == "add-user-to-groups"] == ["user-user1"]
    sudo = (
        bare().user("root", 0, gid=0, groups=("root",), sudo_user="user1").file("/etc/passwd", "user1:x:1000:1000::/:/bin/sh\n")
    )
    assert "user-user1" in ids(plan_for(sudo.build(), matrix, rocm="6.2"))
    assert not [s for s in plan_for(bare().build(), matrix, rocm="6.2").steps if s.kind == "add-user-to-groups"]


def test_packages_by_name(matrix: Matrix) -> None:
    plan = plan_for(bare().build(), matrix, rocm="6.2", packages=("rocm-hip-runtime", "rocm-opencl-runtime"))
    assert wishes(plan)[:2] == ["rocm-hip-runtime", "rocm-opencl-runtime"]


def test_extra_repositories(matrix: Matrix) -> None:
    host = bare("rhel", "9.4", "gfx90a").remove("/etc/yum.repos.d").build()
    plan = plan_for(host, matrix, rocm="6.2")
    assert ids(plan)[:2] == ["epel", "builder"]
    assert "epel" not in ids(plan_for(bare("rhel", "9.4", "gfx90a").build(), matrix, rocm="6.2"))
    sles = plan_for(bare("sles", "15.6", "gfx90a").file("/usr/bin/SUSEConnect").build(), matrix, rocm="6.2")
    assert next(i for i in ids(sles) if i.startswith("module-")) == "module-sle-module-desktop-applications"


def test_extra_repositories_can_be_taken_back(matrix: Matrix) -> None:
    rhel = plan_for(bare("rhel", "9.4", "gfx90a").remove("/etc/yum.repos.d").build(), matrix, rocm="6.2")
    assert getattr(step(rhel, "builder"), "back") == ("crb", "disable")  # noqa: B009
    sles = plan_for(bare("sles", "15.6", "gfx90a").file("/usr/sbin/SUSEConnect").build(), matrix, rocm="6.2")
    assert "module-PackageHub" in ids(sles)


PERL = "download.opensuse.org/repositories/devel:/languages:/perl/15.6/"


def test_the_project_with_perl_modules(matrix: Matrix) -> None:
    """Nobody publishes its key's fingerprint: it is trusted once, over HTTPS, in the plan's words."""
    plan = plan_for(bare("sles", "15.6", "gfx90a").build(), matrix, rocm="6.2")
    key, file = step(plan, "key-project"), step(plan, "repo-devel_languages_perl.repo")
    assert isinstance(key, TrustKey) and key.url == f"https://{PERL}repodata/repomd.xml.key"
    assert isinstance(file, WriteFile) and f"baseurl=https://{PERL}\n" in file.text and "priority=120\n" in file.text
    assert ids(plan).index("key-project") < ids(plan).index("index")
    assert not [word for s in plan.steps for argv in s.commands for word in argv if "gpg-auto-import" in word]
    assert any("devel:languages:perl" in notice and "trusted" in notice for notice in plan.notices)


def test_the_project_on_a_mirror(matrix: Matrix) -> None:
    host = bare("sles", "15.6", "gfx90a").build()
    plan = plan_for(host, matrix, rocm="6.2", mirror="https://mirror.site/amd")
    assert "download.opensuse.org" not in repr(plan.steps) and not plan.refusals
    assert getattr(step(plan, "key-project"), "url").startswith("https://mirror.site/amd/repositories/")  # noqa: B009
    assert "project-key" in codes(plan_for(host, matrix, rocm="6.2", mirror="http://mirror.site/amd"))


def test_the_project_of_the_administrator_is_left_alone(matrix: Matrix) -> None:
    text = f"[perl]\nbaseurl=https://mirror.site/x/{PERL.partition('/')[2]}\nenabled=1\ngpgcheck=1\n"
    host = bare("sles", "15.6", "gfx90a").file("/etc/zypp/repos.d/perl.repo", text).build()
    assert not [name for name in ids(plan_for(host, matrix, rocm="6.2")) if "project" in name or "perl" in name]


def test_a_pinned_project(matrix: Matrix, tmp_path: Path) -> None:
    text = matrix.path.read_text(encoding="utf-8")
    pinned = tmp_path / "matrix.yaml"
    pinned.write_text(text.replace("project: {name:", f"project: {{fingerprint: {'A' * 40}, name:"), encoding="utf-8")
    plan = plan_for(bare("sles", "15.6", "gfx90a").build(), load_matrix(pinned), rocm="6.2")
    key = step(plan, "key-project")
    assert type(key) is ImportKey and key.fingerprint == "A" * 40


# uninstall -------------------------------------------------------------------------------------------------------


def uninstall_plan(builder: HostBuilder, matrix: Matrix, rocm: str | None = None, **more: Any) -> Plan:
    host = builder.build()
    return uninstall.build(Facts(host, matrix), matrix, rocm, **more)


def test_uninstall(matrix: Matrix) -> None:
    builder = HostBuilder().package("amdgpu-install", "6.2.60200-2009582.22.04", state="config-files")
    plan = uninstall_plan(builder, matrix)
    gone = step(plan, "packages")
    assert isinstance(gone, RemovePackages)
    assert {"rocm", "rocm-core", "amdgpu-dkms", "amdgpu-install"} <= set(gone.names)
    assert "libc6" not in gone.names and "dkms" not in gone.names
    assert {"repo-rocm.list", "repo-amdgpu.list", "pin-rocm-pin-600", "key-rocm.gpg", "index"} <= set(ids(plan))


def test_uninstall_keeps_the_driver_when_told(matrix: Matrix) -> None:
    gone = step(uninstall_plan(HostBuilder(), matrix, keep_driver=True), "packages")
    assert isinstance(gone, RemovePackages) and not [n for n in gone.names if n.startswith("amdgpu-dkms")]
    left = set(ids(uninstall_plan(HostBuilder(), matrix, keep_driver=True)))
    assert "repo-rocm.list" in left and not left & {"repo-amdgpu.list", "key-rocm.gpg"}, "a driver that stays gets its updates"


def test_uninstall_of_one_release(matrix: Matrix) -> None:
    builder = HostBuilder().no_rocm().also_rocm("6.2.0").also_rocm("6.4.3")
    gone = step(uninstall_plan(builder, matrix, "6.2"), "packages")
    assert isinstance(gone, RemovePackages)
    assert gone.names and all("6.2.0" in name for name in gone.names)


def test_uninstall_of_nothing(matrix: Matrix) -> None:
    assert not uninstall_plan(bare(), matrix).steps
