"""The host builder: what is put in is read back by the facts, and a healthy host never contradicts itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor.facts import Facts
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.recorded import RecordedHost, open_snapshot
from rocmdoctor.matrix import load_matrix
from tests.hostbuilder import DISTROS, FAULTS, GFX, MODELS, RELEASES, HostBuilder, card, driver_of, encode_gfx, release_of
from tests.hostbuilder.openpgp import fingerprint

HEALTHY = HostBuilder()
MATRIX = load_matrix()


def facts_of(builder: HostBuilder) -> Facts:
    return Facts(builder.build(), MATRIX)


# a snapshot is the host ------------------------------------------------------------------------------------------


def _answers(host: RecordedHost, builder: HostBuilder) -> dict[str, Any]:
    parts = builder.snapshot()
    answers: dict[str, Any] = {"env": dict(host.env), "uname": host.uname, "user": host.user, "groups": dict(host.groups)}
    for path in (*parts.files, *parts.nodes):
        answers[f"node {path}"] = (host.node(path), host.node(path, follow=False), host.open_result(path))
    questions: dict[str, Callable[[], Any]] = {path: partial(host.read_bytes, path) for path in parts.files}
    questions |= {str(command["argv"]): partial(host.run, command["argv"]) for command in parts.commands}
    for name, question in questions.items():
        try:
            answers[name] = question()
        except UnknownFact as exc:
            answers[name] = str(exc)
    answers["glob"] = host.glob("/sys/bus/pci/devices/*/vendor")
    return answers


SHAPES = {
    "default": HEALTHY,
    "rhel, two MI210": HEALTHY.distro("rhel", "9.4").gpus("gfx90a", count=2),
    "TheRock": HEALTHY.distro("ubuntu", "24.04").rocm("10.1.0").gpus("gfx1151"),
    "container": HEALTHY.container("podman", rootless=True),
    "WSL": HEALTHY.in_wsl(),
    "odd content": HEALTHY.file("/etc/odd", b"\xff\x00\x80").unknown("cmd:dmesg", "/sys/kernel/debug/**").dmesg("[   9.0] odd"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_written_snapshots_open_again(name: str, tmp_path: Path) -> None:
    builder = SHAPES[name]
    in_memory = _answers(builder.build(), builder)
    builder.write(tmp_path / "folder")
    builder.write_tar(tmp_path / "host.tar.gz")
    assert _answers(open_snapshot(tmp_path / "folder"), builder) == in_memory
    assert _answers(open_snapshot(tmp_path / "host.tar.gz"), builder) == in_memory


def test_the_same_host_gives_the_same_bytes(tmp_path: Path) -> None:
    HEALTHY.write_tar(tmp_path / "one.tar.gz")
    HostBuilder().write_tar(tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_builder_is_never_changed_by_its_children() -> None:
    before = HEALTHY.snapshot()
    HEALTHY.gpus("gfx942", count=8).distro("sles", "15.6").file("/etc/x", "y").fault_no_driver().build()
    after = HEALTHY.snapshot()
    assert before == after


# agreement -------------------------------------------------------------------------------------------------------


def assert_agreement(builder: HostBuilder) -> None:
    """What different sources of one healthy host say is the same."""
    facts, spec = facts_of(builder), builder.spec
    kernel, log = facts.kernel.release, "\n".join(line.text for line in facts.kernel_log.lines)
    assert kernel in log and facts.host.read("/proc/version", 4096) is not None
    wanted = [c.gfx for c in spec.cards for _ in range(c.partitions)]
    nodes = {n.id: n for n in facts.kfd.gpus}
    assert [n.gfx for n in nodes.values()] == wanted
    agents = facts.rocminfo.gpus
    assert facts.rocminfo.error is None or not spec.rocm
    if spec.rocm:
        # Partitions of a board are functions of their own to the run time.
        shown = [(a.gfx, a.node, (a.bdf or "")[:-1]) for a in agents]
        assert shown == [(n.gfx, n.id, (n.pci_address or "")[:-1]) for n in nodes.values()]
        assert len(facts.rocminfo.agents) - len(agents) == len(facts.kfd.nodes) - len(nodes)
        for agent in agents:
            assert agent.node is not None
            assert agent.pool_bytes == nodes[agent.node].vram_bytes
    boards = {d.address: d for d in facts.pci if d.is_amd_gpu}
    assert len(boards) == len(spec.cards)
    for node in nodes.values():
        assert node.pci_address is not None
        board = boards[node.pci_address[:-1] + "0"]
        assert (board.device, board.driver) == (node.device_id, "amdgpu")
        assert f"[0x{node.device_id}:0x1002]" in log and f"amdgpu {board.address}" in log
        assert facts.host.node(f"/sys/class/drm/renderD{node.render_minor}/device") is not None
    assert len(facts.access.render) == len(wanted)
    assert {n.open for n in (facts.access.kfd, *facts.access.render)} == {"ok"}
    module = facts.amdgpu
    assert module.loaded and module.builtin != (f"{module.name} " in (facts.host.read("/proc/modules") or ""))
    modinfo = facts.modinfo
    if module.kind == "dkms":
        assert modinfo is not None and modinfo.version == module.version and modinfo.filename == module.files[0].path
        assert any(
            b.kernel == kernel and b.state == "installed" and b.version.startswith(f"{module.version}-")
            for b in facts.dkms.builds
        )
        assert facts.packages.has("amdgpu-dkms") and facts.limits.ttm_module == "amdttm"
        assert f"amdgpu version: {module.version}" in log
        assert not spec.rocm or facts.rocminfo.module_version == module.version
    else:
        assert not facts.dkms.builds and facts.limits.ttm_module == "ttm" and not facts.packages.has("amdgpu-dkms")
    active = facts.rocm.active
    if spec.rocm and spec.rocm[0].origin in ("amd-package", "amdrocm-package"):
        assert active is not None and (active.version, active.origin) == (spec.rocm[0].version, spec.rocm[0].origin)
        assert {p.rocm_release for p in facts.packages.rocm} <= {active.version, release_of(active.version).two}
        for soname, path in facts.loader.cached("libamdhip64.so"):
            assert soname.endswith(f".{active.hip_soname}") and facts.host.resolve(path) == f"{active.root}/lib/{soname}"
    assert facts.amd_smi.gpus in (None, len(wanted))
    torch = facts.torch_env.torch if facts.torch_env else None
    if torch is not None and builder.spec.torch == "auto":
        assert torch.build == "rocm" and set(wanted) <= torch.library_gfx


def test_the_default_host_agrees_with_itself_and_with_its_description() -> None:
    assert_agreement(HEALTHY)
    facts = facts_of(HEALTHY)
    assert (facts.os.id, facts.os.version_id, facts.kernel.release) == ("ubuntu", "22.04", "6.8.0-40-generic")
    assert [n.gfx for n in facts.kfd.gpus] == ["gfx1100"]
    assert (facts.amdgpu.kind, facts.rocm_version, facts.place.kind) == ("dkms", "6.2.0", "bare-metal")
    torch = facts.torch_env.torch if facts.torch_env else None
    assert torch is not None
    assert (torch.version, torch.hip, torch.layout) == ("2.5.1+rocm6.2", "6.2.41133-dd7f95766", "bundled")


@pytest.mark.parametrize("gfx", GFX)
def test_every_gfx_is_read_back(gfx: str) -> None:
    assert_agreement(HEALTHY.gpus(gfx))
    facts = facts_of(HEALTHY.gpus(gfx))
    assert facts.kfd.gpus[0].gfx_target_version == encode_gfx(gfx)
    assert facts.rocminfo.gpus[0].isa[0].startswith(f"amdgcn-amd-amdhsa--{gfx}")
    assert facts.rocminfo.gpus[0].apu == (HEALTHY.gpus(gfx).spec.cards[0].model.klass == "apu")


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.device}:{m.revision}")
def test_every_model_is_read_back(model: Any) -> None:
    facts = facts_of(HEALTHY.gpus(model.gfx, device=model.device, revision=model.revision))
    board = next(d for d in facts.pci if d.is_amd_gpu)
    assert (board.device, board.revision, board.class_code) == (model.device, model.revision, model.pci_class)
    assert board.vram_total == model.vram << 20
    assert facts.rocminfo.gpus[0].marketing_name == model.product


@pytest.mark.parametrize(("ident", "version"), DISTROS, ids=lambda v: v or "rolling")
def test_every_distribution_builds_and_is_read_back(ident: str, version: str) -> None:
    for gfx in ("gfx1100", "gfx90a", "gfx1151"):
        builder = HEALTHY.distro(ident, version).gpus(gfx)
        assert_agreement(builder)
        facts = facts_of(builder)
        assert (facts.os.id, facts.os.version_id or "") == (ident, version)
        kinds = {"deb": "dpkg", "arch": "pacman", "none": None}
        assert facts.packages.kind == kinds.get(builder.spec.distro.family, "rpm")
        assert not facts.packages.broken
        assert facts.repos.unreadable == ()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("ident", "version"), [("ubuntu", "22.04"), ("rhel", "9.4"), ("sles", "15.6"), ("debian", "12")])
def test_every_release_is_read_back(release: str, ident: str, version: str) -> None:
    builder = HEALTHY.distro(ident, version).gpus("gfx90a").rocm(release)
    assert_agreement(builder)
    facts, row = facts_of(builder), release_of(release)
    assert facts.rocm_version == release
    package = facts.packages.get("amdgpu-dkms")
    assert package is not None and package.driver_release in (row.driver, row.driver.removesuffix(".0"))
    by_product = {r.product: r.release for r in facts.repos.amd}
    driver = by_product["amdgpu"]
    assert driver is not None and driver_of(driver).driver == row.driver
    if not row.therock:
        assert by_product["rocm"] == row.short


def test_unknown_versions_borrow_from_their_neighbours() -> None:
    for builder in (
        HEALTHY.distro("rhel", "9.99"),
        HEALTHY.rocm("10.7.0"),
        HEALTHY.gpus("gfx1310"),
        HEALTHY.distro("ubuntu", "30.04"),
    ):
        assert_agreement(builder)
    assert facts_of(HEALTHY.rocm("10.7.0")).rocm_version == "10.7.0"
    with pytest.raises(KeyError):
        HEALTHY.distro("nosuch", "1")


@settings(max_examples=60, deadline=None)
@given(
    distro=st.sampled_from([d for d in DISTROS if d[0] != "void"]),
    cards=st.lists(st.sampled_from(GFX), min_size=1, max_size=9),
    release=st.sampled_from(sorted(RELEASES)),
    driver=st.sampled_from(["dkms", "inbox", "builtin", "auto"]),
    python=st.sampled_from(["venv", "conda", "user", "system"]),
)
def test_any_combination_agrees(distro: tuple[str, str], cards: list[str], release: str, driver: str, python: str) -> None:
    builder = HEALTHY.distro(*distro)
    if builder.spec.distro.amd_base:
        builder = builder.rocm(release).driver(driver)
    assert_agreement(builder.gpus(*cards).python(python))


# GPUs ------------------------------------------------------------------------------------------------------------


def test_partitions_share_their_board() -> None:
    builder = HEALTHY.gpus("gfx942", count=8, partitions=8, memory_partitions=4)
    assert_agreement(builder)
    nodes = facts_of(builder).kfd.gpus
    assert len(nodes) == 64 and len({n.unique_id for n in nodes}) == 8
    assert {n.vram_bytes for n in nodes} == {48 << 30} and {n.num_xcc for n in nodes} == {1}


def test_instinct_boards_are_linked_and_radeon_cards_are_not() -> None:
    links = [link.type for n in facts_of(HEALTHY.gpus("gfx90a", count=4)).kfd.gpus for link in n.links]
    assert links.count(11) == 12 and links.count(2) == 4
    assert {link.type for n in facts_of(HEALTHY.gpus("gfx1100", count=4)).kfd.gpus for link in n.links} == {2}


def test_mixed_lists_overrides_and_visibility() -> None:
    builder = HEALTHY.gpus(card("gfx1100", device="744c", revision="cc"), card("gfx1036"))
    assert [a.marketing_name for a in facts_of(builder).rocminfo.gpus] == ["AMD Radeon RX 7900 XT", "AMD Radeon 610M"]

    def shown(**env: str) -> list[str | None]:
        return [a.gfx for a in facts_of(builder.env(**env)).rocminfo.gpus]

    assert shown() == ["gfx1100", "gfx1036"]
    assert shown(HSA_OVERRIDE_GFX_VERSION="11.0.0") == ["gfx1100", "gfx1100"]
    assert shown(HSA_OVERRIDE_GFX_VERSION_2="10.3.0") == ["gfx1100", "gfx1030"]
    assert shown(HSA_OVERRIDE_GFX_VERSION="") == []
    assert shown(ROCR_VISIBLE_DEVICES="1") == ["gfx1036"]
    assert shown(HIP_VISIBLE_DEVICES="0") == ["gfx1100", "gfx1036"]
    assert [n.gfx for n in facts_of(builder.env(HSA_OVERRIDE_GFX_VERSION="11.0.0")).kfd.gpus] == ["gfx1100", "gfx1036"]


def test_an_unknown_device_id_is_a_working_card() -> None:
    builder = HEALTHY.gpus("gfx1201", device="75ff")
    assert_agreement(builder)
    assert facts_of(builder).rocminfo.gpus[0].marketing_name == "AMD Radeon Graphics"


def test_virtual_functions_and_other_vendors() -> None:
    facts = facts_of(
        HEALTHY.vm("kvm")
        .gpus("gfx942", device="74b5", physfn=True)
        .pci_device("0000:41:00.0", "10de", "2684", 0x030000, "nvidia")
    )
    assert facts.place.kind == "vm" and facts.place.vm == "kvm"
    assert [d.is_vf for d in facts.pci if d.is_amd_gpu] == [True]
    assert [d.driver for d in facts.pci if d.vendor == "10de"] == ["nvidia"]


# driver ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("builder", "kind"),
    [
        (HEALTHY, "dkms"),
        (HEALTHY.driver("inbox"), "inbox"),
        (HEALTHY.driver("builtin"), "builtin"),
        (HEALTHY.driver(None), None),
        (HEALTHY.gpus("gfx1151"), "inbox"),
        (HEALTHY.distro("fedora", "42"), "inbox"),
        (HEALTHY.no_rocm(), "inbox"),
        (HEALTHY.no_rocm().driver("dkms", release="30.10.2"), "dkms"),
        (HEALTHY.fault_dkms_failed(), "inbox"),
        (HEALTHY.fault_dkms_other_kernel(inbox=False), None),
    ],
)
def test_driver_kinds(builder: HostBuilder, kind: str | None) -> None:
    module = facts_of(builder).amdgpu
    assert (module.kind, module.loaded) == (kind, kind is not None)


def test_a_driver_release_of_its_own() -> None:
    facts = facts_of(HEALTHY.driver("dkms", release="30.20.1"))
    package = facts.packages.get("amdgpu-dkms")
    assert (facts.amdgpu.version, package and package.driver_release, facts.rocm_version) == ("6.16.6", "30.20.1", "6.2.0")
    assert {r.product: r.release for r in facts.repos.amd} == {"rocm": "6.2", "amdgpu": "30.20.1"}


# users, places, torch, changes by hand ---------------------------------------------------------------------------


def test_users_and_device_nodes() -> None:
    outsider = facts_of(HEALTHY.user("user2", 1001, groups=("sudo",)))
    assert outsider.access.kfd.open == "EACCES" and outsider.rocminfo.error == "permission"
    late = facts_of(HEALTHY.fault_relogin())
    render = late.groups["render"]
    assert render in late.user.database_groups and render not in late.user.groups and late.access.kfd.open == "EACCES"
    assert facts_of(HEALTHY.user("root", 0)).access.kfd.open == "ok"
    odd = facts_of(HEALTHY.kfd(mode=0o666, gid=4242).fault_not_in_group())
    assert (odd.access.kfd.open, odd.access.kfd.group) == ("ok", None)
    member = HEALTHY.user(groups=("video", "render", "hpc"))
    assert facts_of(member).groups["hpc"] in facts_of(member).user.groups


def test_the_accounts_of_a_host_can_be_asked_about() -> None:
    parts = HEALTHY.snapshot()
    host = RecordedHost(parts.meta, parts.files, parts.nodes, parts.commands, user="root")
    assert host.user.uid == 0


@pytest.mark.parametrize(
    ("builder", "kind", "detail"),
    [
        (HEALTHY, "bare-metal", None),
        (HEALTHY.vm("kvm"), "vm", "kvm"),
        (HEALTHY.vm("vmware"), "vm", "vmware"),
        (HEALTHY.vm("hyperv"), "vm", "hyperv"),
        (HEALTHY.vm("amazon"), "vm", "amazon"),
        (HEALTHY.vm("google"), "vm", "google"),
        (HEALTHY.vm("virtualbox"), "vm", "virtualbox"),
        (HEALTHY.vm("xen"), "vm", "xen"),
        (HEALTHY.container("docker"), "container", "docker"),
        (HEALTHY.container("podman"), "container", "podman"),
        (HEALTHY.container("lxc"), "container", "lxc"),
        (HEALTHY.container("kubernetes"), "container", "kubernetes"),
        (HEALTHY.container("apptainer"), "container", "apptainer"),
        (HEALTHY.container("systemd-nspawn"), "container", "systemd-nspawn"),
        (HEALTHY.in_wsl(), "wsl", 2),
    ],
)
def test_places(builder: HostBuilder, kind: str, detail: object) -> None:
    place = facts_of(builder).place
    assert place.kind == kind
    assert detail in (place.vm, place.container, place.wsl, None)


def test_containers_show_devices_but_no_driver_packages() -> None:
    facts = facts_of(HEALTHY.docker())
    assert facts.amdgpu.loaded and not facts.packages.has("amdgpu-dkms") and not facts.dkms.available
    assert facts.user.uid == 0 and facts.access.kfd.open == "ok"
    with pytest.raises(UnknownFact):
        _ = facts.kernel_log
    rootless = facts_of(HEALTHY.container("podman", rootless=True))
    assert rootless.place.rootless and rootless.access.kfd.uid == 65534 and rootless.access.kfd.open == "ok"


def test_wsl_has_no_driver_by_design() -> None:
    facts = facts_of(HEALTHY.in_wsl())
    assert not facts.amdgpu.loaded and not facts.access.kfd.exists and facts.place.has_dxg
    assert [a.gfx for a in facts.rocminfo.gpus] == ["gfx1100"] and facts.loader.cached("librocdxg.so")


@pytest.mark.parametrize(
    ("version", "build", "release", "layout"),
    [
        ("2.5.1+rocm6.2", "rocm", "6.2", "bundled"),
        ("2.10.0+rocm7.1", "rocm", "7.1", "bundled"),
        ("2.14.1+rocm7.14", "rocm", "7.14", "rocm-sdk"),
        ("2.14.0+rocm10.1.0", "rocm", "10.1.0", "rocm-sdk"),
        ("2.5.1", "cuda", None, None),
        ("2.5.1+cu124", "cuda", None, None),
        ("2.5.1+cpu", "cpu", None, None),
    ],
)
@pytest.mark.parametrize("env", ["venv", "conda", "system", "user"])
def test_torch_builds(version: str, build: str, release: str | None, layout: str | None, env: str) -> None:
    found = facts_of(HEALTHY.torch(version, env=env)).torch_env
    assert found is not None and found.torch is not None
    torch = found.torch
    assert (torch.build, torch.rocm_release, torch.layout) == (build, release, layout)
    assert torch.version == ("2.5.1+cu124" if version == "2.5.1" else version)
    if build == "rocm":
        assert "gfx1100" in torch.library_gfx
    if build == "cuda":
        assert any(d.name.startswith("nvidia-") for d in found.distributions)


def test_torch_is_left_out_where_no_wheel_fits() -> None:
    assert facts_of(HEALTHY.gpus("gfx1013")).torch_env is None
    assert facts_of(HEALTHY.no_torch()).torch_env is None
    narrow = facts_of(HEALTHY.torch("2.5.1+rocm6.2", gfx=["gfx90a"])).torch_env
    assert narrow is not None and narrow.torch is not None and narrow.torch.library_gfx == {"gfx90a"}


def test_changes_by_hand_come_last() -> None:
    host = (
        HEALTHY.file("/etc/os-release", "ID=other\n")
        .remove("/sys/module/amdgpu", "/dev/kfd")
        .node("/dev/dri/renderD128", mode="0600", open="EACCES")
        .link("/opt/rocm", "/opt/elsewhere")
        .command(("dkms", "status"), stdout="nothing\n")
        .no_command("mokutil")
        .env(LANG=None, EMPTY="")
        .filesystem("/opt", 1000, 10)
        .build()
    )
    assert host.read("/etc/os-release") == "ID=other\n"
    assert host.names("/sys/module/amdgpu") == () and host.node("/dev/kfd") is None
    node = host.node("/dev/dri/renderD128")
    assert node is not None and (node.mode, node.major, host.open_result("/dev/dri/renderD128")) == (0o600, 226, "EACCES")
    assert host.resolve("/opt/rocm") is None
    assert host.run(["dkms", "status"]).stdout == "nothing\n"
    assert not host.run(["mokutil", "--sb-state"]).found
    assert "LANG" not in host.env and host.env["EMPTY"] == ""
    free = host.filesystem("/opt")
    assert free is not None and free.free == 10 << 20


def test_keyrings_can_be_read() -> None:
    facts = facts_of(HEALTHY.keyring(created="2016-04-26", expires="2021-07-31"))
    keyring = facts.repos.keyring("/etc/apt/keyrings/rocm.gpg")
    assert keyring is not None and keyring.keys is not None
    key = keyring.keys[0]
    assert (key.fingerprint, key.created[:10], (key.expires or "")[:10]) == (
        fingerprint("2016-04-26"),
        "2016-04-26",
        "2021-07-31",
    )
    text = facts_of(HEALTHY.keyring(armor=True)).repos.keyring("/etc/apt/keyrings/rocm.gpg")
    assert text is not None and text.armored and text.keys is not None and text.keys[0].expires is None


# faults ----------------------------------------------------------------------------------------------------------


def test_every_fault_is_registered_and_documented_by_its_name() -> None:
    named = {name for name in dir(HostBuilder) if name.startswith("fault_")}
    assert named == set(FAULTS)
    assert all(re.fullmatch(r"fail|warn|any", fault.status) for fault in FAULTS.values())


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_its_twin_and_still_builds(name: str, tmp_path: Path) -> None:
    twin, broken = HEALTHY.twin(name), HEALTHY.with_fault(name)
    assert twin.snapshot() != broken.snapshot()
    broken.write_tar(tmp_path / "broken.tar.gz")
    assert open_snapshot(tmp_path / "broken.tar.gz").env == broken.build().env


def test_a_module_that_is_not_there_shows_everywhere() -> None:
    for name in (
        "fault_no_driver",
        "fault_blacklisted",
        "fault_nomodeset",
        "fault_secure_boot_rejected",
        "fault_modules_extra_missing",
    ):
        facts = facts_of(HEALTHY.with_fault(name))
        assert not facts.amdgpu.loaded, name
        assert not facts.kfd.present and not facts.access.kfd.exists and not facts.access.render, name
        assert facts.rocminfo.error == "not-loaded" and not facts.amd_smi.ok, name
        assert [d.driver for d in facts.pci if d.is_amd_gpu] == [None], name


def test_how_modules_are_kept_out() -> None:
    assert facts_of(HEALTHY.fault_blacklisted()).modprobe.blacklisted[-1].module in ("amdgpu", "nvidiafb")
    assert "amdgpu" in {b.module for b in facts_of(HEALTHY.fault_blacklisted()).modprobe.blacklisted}
    assert facts_of(HEALTHY.fault_blacklisted("install")).modprobe.installs[0][0] == "amdgpu"
    assert facts_of(HEALTHY.fault_blacklisted("cmdline")).cmdline.blacklist == ("amdgpu",)
    assert facts_of(HEALTHY.fault_blacklisted("module_blacklist")).cmdline.blacklist == ("amdgpu",)
    assert facts_of(HEALTHY.fault_blacklisted(loaded=True)).amdgpu.loaded
    rejected = facts_of(HEALTHY.fault_secure_boot_rejected())
    assert rejected.secure_boot.enabled and rejected.secure_boot.mok_enrolled is False
    assert rejected.kernel_log.matching("unavailable key is rejected")
    assert facts_of(HEALTHY.secure_boot(True)).amdgpu.loaded


def test_a_card_that_does_not_start() -> None:
    one_of_two = HEALTHY.gpus("gfx1100", count=2).fault_firmware_missing(1)
    facts = facts_of(one_of_two)
    assert facts.amdgpu.loaded and len(facts.kfd.gpus) == 1
    assert [d.driver for d in facts.pci if d.is_amd_gpu] == ["amdgpu", None]
    assert facts.kernel_log.matching(r"0000:23:00.0.*Fatal error during GPU init")
    atomics = facts_of(HEALTHY.fault_pcie_atomics())
    assert atomics.kfd.present and not atomics.kfd.gpus and len(atomics.access.render) == 1
    assert atomics.kernel_log.matching("PCI rejects atomics") and atomics.rocminfo.error == "no-gpu-agent"
    bar = facts_of(HEALTHY.fault_bar_no_space())
    assert next(d for d in bar.pci if d.is_amd_gpu).bars[0][:2] == (0, 0)
    held = facts_of(HEALTHY.fault_other_driver())
    assert [d.driver for d in held.pci if d.is_amd_gpu] == ["vfio-pci"] and not held.kfd.gpus


def test_dkms_faults() -> None:
    failed = facts_of(HEALTHY.fault_dkms_failed())
    assert [b.state for b in failed.dkms.builds] == ["added"] and failed.dkms.logs[0].errors
    assert [p.name for p in failed.packages.broken] == ["amdgpu-dkms"]
    other = facts_of(HEALTHY.fault_dkms_other_kernel())
    assert [b.kernel for b in other.dkms.builds] == ["6.8.0-38-generic"] and other.amdgpu.kind == "inbox"
    bare = facts_of(HEALTHY.fault_no_headers())
    assert (
        not bare.packages.has(f"linux-headers-{bare.kernel.release}")
        and bare.host.node(f"/lib/modules/{bare.kernel.release}/build") is None
    )


def test_package_and_repository_faults() -> None:
    assert [p.name for p in facts_of(HEALTHY.fault_half_configured()).packages.broken] == ["rocm-llvm"]
    assert {p.rocm_release for p in facts_of(HEALTHY.fault_mixed_releases()).packages.rocm} == {"6.2.0", "6.1.0"}
    assert len(facts_of(HEALTHY.fault_versioned_mix()).rocm.installs) == 2
    universe = facts_of(HEALTHY.fault_universe_rocminfo())
    package = universe.packages.get("rocminfo")
    assert not universe.repos.pins and package is not None and package.rocm_release is None
    assert facts_of(HEALTHY.fault_key_missing()).repos.keyring("/etc/apt/keyrings/rocm.gpg") is None
    assert {r.release for r in facts_of(HEALTHY.fault_two_releases()).repos.amd if r.product == "rocm"} == {"6.2", "6.1"}
    assert [r.suites for r in facts_of(HEALTHY.fault_wrong_codename()).repos.amd if r.product == "rocm"] == [("noble",)]


def test_what_rocminfo_says_of_faults() -> None:
    said = {name: facts_of(HEALTHY.with_fault(name)).rocminfo.error for name in FAULTS}
    assert said["fault_kfd_denied"] == said["fault_not_in_group"] == "permission"
    assert said["fault_kfd_errno"] == "kfd-open" and said["fault_kfd_absent"] == "kfd-missing"
    assert said["fault_gpu_hang"] == "timeout" and said["fault_library_missing"] == "library-missing"
    assert said["fault_override_empty"] == "no-gpu-agent" and said["fault_key_expired"] is None


def test_trees_links_and_tools() -> None:
    facts = facts_of(HEALTHY.rocm("6.2.0", missing=("librocblas*", "rocgdb"), gfx=("gfx90a",)))
    active = facts.rocm.active
    assert active is not None and "librocblas.so" not in active.libraries and "rocgdb" not in active.tools
    assert active.gfx == frozenset({"gfx90a"})
    side = facts_of(HEALTHY.also_rocm("6.1.0"))
    assert [(i.version, i.active) for i in side.rocm.installs] == [("6.1.0", False), ("6.2.0", True)]
    dangling = HEALTHY.fault_dangling_link().build()
    assert dangling.node("/opt/rocm", follow=False) is not None and dangling.resolve("/opt/rocm") is None
    assert facts_of(HEALTHY.rocm("10.1.0")).rocm.installs[0].root == "/opt/rocm/core-10.1"
    tarball = facts_of(HEALTHY.rocm("6.2.0", packages=False)).rocm.active
    assert tarball is not None and tarball.origin == "tarball"
