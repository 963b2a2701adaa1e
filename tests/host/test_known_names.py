"""What a host tells of its people and its own name is left out of texts about it."""

from __future__ import annotations

import pytest

from rocmdoctor.host.known_names import redactor_of
from rocmdoctor.host.recorded import RecordedHost

USER = {"name": "ann", "uid": 1000, "gid": 1000, "groups": [1000], "database_groups": [1000], "sudo_user": "bea"}
PASSWD = (
    "root:x:0:0:root:/root:/bin/bash\n"
    "postfix:x:101:101::/var/spool/postfix:/bin/false\n"
    "carl:x:1001:1001:Carl:/home/carl:/bin/bash\n"
    "nobody:x:65534:65534::/nonexistent:/bin/false\n"
    "broken\n"
    "huge:x:" + "9" * 5000 + ":1::/:\n"
)


def host(**files: str) -> RecordedHost:
    return RecordedHost({"user": USER}, {"/etc/passwd": PASSWD, "/etc/hostname": "hephaistos.lab.example\n", **files})


@pytest.mark.parametrize("name", ["ann", "bea", "carl", "hephaistos", "hephaistos.lab.example"])
def test_names_are_replaced(name: str) -> None:
    assert name not in redactor_of(host()).text(f"the word {name} is replaced")


@pytest.mark.parametrize("name", ["root", "postfix", "nobody", "render", "amdgpu"])
def test_other_names_stay(name: str) -> None:
    assert redactor_of(host()).text(f"the word {name} stays") == f"the word {name} stays"


def test_the_kernels_host_name_counts_too() -> None:
    files = {"/proc/sys/kernel/hostname": "node-seventeen\n"}
    assert "node-seventeen" not in redactor_of(host(**files)).text("on node-seventeen: amdgpu")


def test_an_unknown_host_is_redacted_by_form() -> None:
    unknown = RecordedHost({"user": USER, "unknown": ["/etc/**", "/proc/**"]})
    assert redactor_of(unknown).text("ann at 192.168.7.8 in /home/dora") == "user1 at 192.0.2.1 in /home/user3"
