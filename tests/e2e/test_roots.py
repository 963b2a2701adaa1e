"""The dressed roots themselves: they pass for the machines that they play, and nothing of them is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e import dress
from tests.e2e.cache import cache_folder
from tests.e2e.conftest import Machine

MAIN = ("ubuntu-22.04", "ubuntu-24.04", "debian-13", "rhel-9.4", "sles-15.6")


@pytest.mark.parametrize("name", MAIN)
def test_check_sees_a_healthy_machine_without_rocm(machine: Machine, name: str) -> None:
    case = machine(name)
    report = json.loads(case.rocmdoctor("check", "--format", "json").out)
    assert [r["id"] for r in report["results"] if r["status"] in ("fail", "warn", "error")] == ["rocm_install.present"]
    host = report["host"]
    assert host["kernel"] == case.distro.kernel == case.run("uname", "-r").ok().out.strip()
    assert case.distro.pretty in json.dumps(host)


def test_the_driver_that_is_installed_is_loaded_at_boot(machine: Machine) -> None:
    case = machine("ubuntu-24.04", driver=None)
    assert not case.exists("/sys/module/amdgpu") and not case.exists("/dev/kfd")
    assert case.run("modinfo", "amdgpu").rc == 1
    case.shell("apt-get update && apt-get install -y linux-modules-extra-$(uname -r)").ok()
    boot = case.read("/proc/sys/kernel/random/boot_id")
    case.reboot()
    assert case.read("/proc/sys/kernel/random/boot_id") != boot
    assert case.exists("/sys/module/amdgpu") and not case.exists("/sys/module/amdgpu/version")
    assert case.run("modinfo", "amdgpu").ok().out.startswith("filename:")
    case.run("python3", "-c", "open('/dev/kfd', 'r+b', buffering=0).close()").ok()


def test_a_user_is_not_in_the_groups(machine: Machine) -> None:
    case = machine("rhel-9.4")
    assert case.run("id", "-nG", dress.USER).ok().out.split() == ["user1", "wheel"]
    report = json.loads(case.rocmdoctor("check", "--only", "permissions.*", "--format", "json", user=dress.USER).out)
    assert report["summary"]["fail"]


def test_files_and_packages_can_be_compared(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    before, packages = case.snapshot_of_files(), case.package_set()
    case.shell(
        "cp -p /etc/hosts /etc/hosts.new && mv /etc/hosts.new /etc/hosts; touch /etc/one; chmod 600 /etc/fstab; rm /etc/issue"
    ).ok()
    case.shell("echo 'x' >> /etc/passwd; mkdir -p /opt/new; ls / > /tmp/list").ok()
    changes = before.changes(case.snapshot_of_files())
    assert [line.split(" (")[0] for line in changes] == [
        "! /etc/fstab",
        "- /etc/issue",
        "+ /etc/one",
        "! /etc/passwd",
        "+ /opt/new",
    ]
    assert before.changes(case.snapshot_of_files(), ignore=("/etc/*", "/opt/new")) == []
    case.shell("apt-get update && apt-get install -y python3-wheel").ok()
    assert case.package_set() == packages | {"python3-wheel": "0.42.0-2"}


def test_kill_behind_a_sync(machine: Machine) -> None:
    """What stops rocmdoctor behind each line of its journal: it ends there, and later writes are not made."""
    case = machine("debian-13")
    script = "import os; f = os.open('/var/lib/a-journal', os.O_CREAT | os.O_WRONLY)\n"
    script += "for n in range(5): os.write(f, b'%d\\n' % n); os.fsync(f)"
    for last, expected in ((1, -9), (3, -9), (6, 0)):
        case.run("rm", "-f", "/var/lib/a-journal")
        done = case.run("python3", "-c", script, env={"E2E_KILL_AT": str(last), "E2E_KILL_PATH": "journal"})
        assert done.rc in (expected, expected % 256 or 0, 137 if expected else 0)
        assert case.read("/var/lib/a-journal").split() == [str(n) for n in range(min(last, 5))]


def test_faults_of_the_machine(machine: Machine) -> None:
    case = machine("ubuntu-24.04")
    with case.read_only("/etc"):
        assert case.run("touch", "/etc/x").rc
    case.run("touch", "/etc/x").ok()
    with case.small_disk("/opt", "64k"):
        assert "No space left" in case.shell("head -c 200000 /dev/zero > /opt/big").err
    with case.lock_held("/var/lib/dpkg/lock-frontend"):
        assert "Could not get lock" in case.shell("apt-get update; apt-get install -y python3-wheel").err
    case.shell("apt-get update && apt-get install -y broken-on-install; dpkg --audit | grep -q broken-on-install").ok()
    case.dkms_fails()
    assert case.exists("/.e2e/state/dkms-fails")


def test_nothing_is_left(machine: Machine) -> None:
    case = machine("sles-15.6")
    point = cache_folder() / "mnt"
    assert str(point) not in Path("/proc/self/mounts").read_text() and list(point.iterdir()) == []
    process = case.root.popen(["sleep", "600"])
    case.close()
    assert process.wait(5)
