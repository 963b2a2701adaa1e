"""Whether the loaded amdgpu is the installed one, and a driver that gives way to the next one of the same names."""

from __future__ import annotations

import pytest

from rocmdoctor.host import UnknownFact
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan import rehearsal, verify
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RemovePackages
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan, judged
from tests.plan.fake_machine import FakeMachine, File, Quiet, bare_ubuntu

NOTICE = RebootNotice("reboot", "Reboot")


def machine(loaded: tuple[str | None, str | None], installed: tuple[str | None, str | None] | None) -> FakeMachine:
    """(version, srcversion) of the module that is loaded and of the one that modinfo finds, None for what is not told."""
    made = bare_ubuntu()
    for name, value in zip(("version", "srcversion"), loaded, strict=True):
        if value is not None:
            made.extra_files[f"/sys/module/amdgpu/{name}"] = f"{value}\n".encode()
    fields = zip(("version", "srcversion"), installed or (None, None), strict=True)
    said = "filename: /lib/modules/x/updates/dkms/amdgpu.ko\n" + "".join(f"{n}: {v}\n" for n, v in fields if v)
    answer = (said, 0) if installed else ("", 1)
    made.commands.append({"argv": ["modinfo", "amdgpu"], "rc": answer[1], "stdout": answer[0], "stderr": ""})
    return made


@pytest.mark.parametrize(
    ("loaded", "installed", "done"),
    [
        (("6.8.5", "AA"), ("6.8.5", "AA"), True),
        (("6.8.5", "AA"), ("6.8.5", "BB"), False),
        (("6.8.5", "AA"), ("6.16.13", "BB"), False),
        (("6.8.5", None), ("6.16.13", None), False),
        (("6.8.5", "AA"), ("6.16.13", None), False),
        ((None, "AA"), ("6.16.13", "AA"), False),  # the kernel's own
        (("6.8.5", None), ("6.8.5", None), None),
        (("6.8.5", "AA"), ("6.8.5", None), None),
        (("6.8.5", "AA"), None, None),
    ],
)
def test_the_loaded_module(
    loaded: tuple[str | None, str | None], installed: tuple[str | None, str | None] | None, done: bool | None
) -> None:
    host = machine(loaded, installed)
    assert judged((NOTICE,), host.look()) == {"reboot": done}
    if done is None:
        with pytest.raises(UnknownFact):
            NOTICE.is_done(host.look())
    outcome = applying.apply(Plan("install", "x", (NOTICE,)), host, Quiet())
    assert outcome.reboot is (done is not True), "what is unknown is no reason to leave it out"


OLD, NEW = "1:6.8.5.60200-2009582.22.04", "1:6.8.5.60204-2065830.22.04"
DRIVER = ("amdgpu-dkms", "amdgpu-dkms-firmware")
UPGRADE = (
    RemovePackages("old-driver", "Remove the driver 6.2.0", manager="apt", names=DRIVER),
    InstallPackages("driver", "Install the driver", manager="apt", wishes=(Wish("amdgpu-dkms", release="6.2.4"),)),
)


def with_driver() -> FakeMachine:
    host = bare_ubuntu()
    for name in DRIVER:
        host.packages[name] = (OLD, "installed")
    host.repositories[""] |= {"amdgpu-dkms": (NEW, ("amdgpu-dkms-firmware",)), "amdgpu-dkms-firmware": (NEW, ())}
    return host


def test_what_a_later_step_brings_back_is_gone_all_the_same() -> None:
    host = with_driver()
    assert applying.apply(Plan("install", "x", UPGRADE), host, Quiet()).status == "done"
    assert host.packages["amdgpu-dkms-firmware"] == (NEW, "installed")
    assert verify.verify(None, host).holds
    del host.packages["amdgpu-dkms"]
    assert verify.verify(None, host).open_steps == ("Install the driver",)


def test_what_comes_back_by_another_hand_is_not() -> None:
    host = with_driver()
    assert applying.apply(Plan("install", "x", UPGRADE[:1]), host, Quiet()).status == "done"
    assert verify.verify(None, host).holds
    host.packages["amdgpu-dkms"] = (OLD, "installed")
    assert verify.verify(None, host).open_steps == ("Remove the driver 6.2.0",)


class Asked(FakeMachine):
    """Keeps what the rehearsal asks, and the package database that apt is shown."""

    asked: tuple[tuple[str, ...], ...] = ()
    shown = b""
    takes_too = ""

    def _program(self, words: tuple[str, ...]) -> tuple[int, str]:
        if words[0] == "apt-get" and ("install" in words or "purge" in words):
            self.asked = (*self.asked, words)
            if "purge" in words:
                return 0, f"Purg amdgpu-dkms [x]\n{self.takes_too}"
            self.shown = self.files[f"{rehearsal.FOLDER}/status"].data
            return 0, ""
        return super()._program(words)


def asked(takes_too: str = "") -> Asked:
    base = with_driver()
    host = Asked(base.files, base.folders, base.packages, base.repositories)
    status = "".join(f"Package: {name}\nStatus: install ok installed\n\n" for name in (*DRIVER, "dkms"))
    host.files["/var/lib/dpkg/status"] = File(status.encode())
    host.takes_too = takes_too
    return host


def test_removing_and_installing_are_rehearsed_one_after_the_other() -> None:
    host = asked()
    assert rehearsal.rehearse(Plan("install", "x", UPGRADE), host, "/log") == ()
    removal, installation = host.asked
    assert removal[-2:] == DRIVER and "-s" in removal
    assert installation[-2:] == ("install", "amdgpu-dkms"), "no word forbids what the new driver needs"
    assert host.shown == b"Package: dkms\nStatus: install ok installed\n\n"


def test_what_goes_with_the_old_driver_is_told() -> None:
    found = rehearsal.rehearse(Plan("install", "x", UPGRADE), asked("Purg my-gpu-tools [1]\n"), "/log")
    assert [refusal.code for refusal in found] == ["removals"] and "my-gpu-tools" in found[0].reason
