"""What identifies people and machines goes; what a check judges by stays."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor.host import Command, User
from rocmdoctor.host.recorded import open_snapshot
from rocmdoctor.host.recorder import Recorder
from rocmdoctor.host.redaction import Redactor, redact_text
from tests.host.recorded_hosts import recorded

ALICE = User("alice", 1000, 1000, frozenset({1000}), frozenset({1000}))


def redactor() -> Redactor:
    return Redactor(ALICE, ["bob", "ubuntu"], ["fornax.example.org", "fornax"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # credentials
        ("deb https://u:s3cret@repo.radeon.com/rocm jammy", "deb https://redacted@repo.radeon.com/rocm jammy"),
        ("https://tok3n@host/x", "https://redacted@host/x"),
        ("https://x/y?a=1&token=abc&b=2", "https://x/y?a=1&token=redacted&b=2"),
        ("[r]\npassword = hunter2\nenabled=1\n", "[r]\npassword = redacted\nenabled=1\n"),
        ("proxy_username=joe", "proxy_username=redacted"),
        # UUIDs
        ("root=UUID=3f2504e0-4f89-11d3-9a0c-0305e82c3301 ro", "root=UUID=00000000-0000-4000-8000-000000000001 ro"),
        ("root=UUID=1A2B-3C4D ro", "root=UUID=0000-0001 ro"),
        ("root=PARTUUID=deadbeef-02", "root=PARTUUID=0000-0001"),
        ("SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"),
        ("systemd.machine_id=0123456789abcdef0123456789abcdef", "systemd.machine_id=" + "0" * 31 + "1"),
        # addresses
        ("eth0: link 3c:ec:ef:01:02:03 up", "eth0: link 02:00:00:00:00:01 up"),
        ("from 10.1.2.3 to 10.1.2.4:443, not 127.0.0.1", "from 192.0.2.1 to 192.0.2.2:443, not 127.0.0.1"),
        ("http://172.16.0.9/rocm", "http://192.0.2.1/rocm"),
        ("addr fe80::3eec:efff:fe01:203 and 2001:4860:4860::8888.", "addr 2001:db8::1 and 2001:db8::2."),
        # people
        ("/home/alice/venv:/home/bob/x:/home/carol", "/home/user1/venv:/home/user2/x:/home/user4"),
        ("/scratch/alice/venv", "/scratch/user1/venv"),
        ("alice ran it; alicex did not", "user1 ran it; alicex did not"),
        ("systemd[1]: Hostname set to <fornax>.", "systemd[1]: Hostname set to <host1>."),
        ("fornax.example.org fornax", "host1 host1"),
        # serial numbers
        ("unique_id 9223372036854775807", "unique_id 1152921504606846977"),
        ("hive_id 0\nunique_id 0", "hive_id 0\nunique_id 0"),
        ("  Uuid:                    GPU-7fffffffffffffff", "  Uuid:                    GPU-1000000000000001"),
        ("  Uuid:                    CPU-XX", "  Uuid:                    CPU-XX"),
        ('"asic_serial": "0x7FFFFFFFFFFFFFFF"', '"asic_serial": "0x1000000000000001"'),
        ("GPU[0]\t\t: Serial Number: 692221000123", "GPU[0]\t\t: Serial Number: 1152921504606846977"),
        ("GPU[0]\t\t: Unique ID: N/A", "GPU[0]\t\t: Unique ID: N/A"),
        ("usb 1-1: SerialNumber: A1B2C3XYZ", "usb 1-1: SerialNumber: serial-1"),
        ("https://apt.corp.lan/rocm and https://repo.radeon.com", "https://host1.example/rocm and https://repo.radeon.com"),
    ],
)
def test_replaced(text: str, wanted: str) -> None:
    assert redactor().text(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "ID=ubuntu",
        "the ubuntu kernel on amd64",
        "amdgpu 0000:03:00.0: amdgpu: VRAM: 24560M",
        "[    4.123456] [drm] initialized kernel modesetting (IP DISCOVERY 0x1002:0x744C 0x1DA2:0x471E 0xC8).",
        "Linux version 6.8.0-45-generic (buildd@lcy02-amd64-080)",
        "amdgpu/6.8.5-2041575.22.04, 6.8.0-45-generic, x86_64: installed",
        "version: 6.16.13.0",
        "firmware version 4.19.0.5, driver 30.10.2.0",
        "libamdhip64.so.6.2.60200 rocm-6.2.0.1",
        "deb https://repo.radeon.com/amdgpu/6.4.2.1/ubuntu noble main",
        "+rocm6.2 1:6.16.13.30300200-2278356.24.04",
        "signature: 2C:60:11:22:33:44:55:66:77:88:99:AA",
        "12:00:00 2024-08-02 std::string a::b ff:ff:ff:ff:ff:ff",
        "serial8250: ttyS0 at I/O 0x3f8",
        "gfx_target_version 110000\nvendor_id 4098\ndevice_id 29772\nlocation_id 768",
        "/opt/rocm-6.2.0/lib/libhsa-runtime64.so.1",
        "255.255.255.255 0.0.0.0",
    ],
)
def test_kept(text: str) -> None:
    assert redactor().text(text) == text


def test_the_same_original_has_the_same_replacement() -> None:
    r = redactor()
    assert r.text("a 10.1.2.3") == r.text("a 10.1.2.3") != r.text("a 10.1.2.4")
    # One number, in decimal by KFD, in hexadecimal by sysfs and as a UUID by rocminfo.
    assert r.text("unique_id 11529215046068469760") == f"unique_id {(1 << 60) + 1}"
    assert r.content("/sys/class/drm/card0/device/unique_id", b"a000000000000000\n") == b"1000000000000001\n"
    assert r.text("Uuid: GPU-a000000000000000") == "Uuid: GPU-1000000000000001"


def test_users_who_have_the_names_of_replacements_are_replaced_too() -> None:
    r = Redactor(ALICE, ["user1"])
    assert r.text("/home/user1/x /home/alice/x") == "/home/user2/x /home/user1/x"
    assert Redactor(User("root", 0, 0, frozenset(), frozenset())).text("/root/x owner root") == "/root/x owner root"


def test_a_user_with_the_name_of_a_word_is_replaced_in_paths_only() -> None:
    r = Redactor(User("ubuntu", 1000, 1000, frozenset(), frozenset()))
    assert r.text("ID=ubuntu /home/ubuntu/venv") == "ID=ubuntu /home/user1/venv"
    assert r.user_name("ubuntu") == "user1"


PACKAGE_FILES = [
    "/var/lib/dpkg/status",
    "/etc/os-release",
    "/opt/rocm-6.2.0/.info/version",
    "/home/user1/venv/lib/python3.12/site-packages/torch-2.5.1.dist-info/METADATA",
    "/home/user1/venv/lib/python3.12/site-packages/torch-2.5.1.dist-info/RECORD",
    "/home/user1/venv/lib/python3.12/site-packages/torch/version.py",
    "/proc/modules",
]


@pytest.mark.parametrize("path", PACKAGE_FILES)
def test_package_data_is_left_alone(path: str) -> None:
    data = b"Version: 10.1.2.3\nMaintainer: a <alice@fornax>\nHomepage: https://u:p@x\n"
    assert redactor().content(path, data) == data


def test_files() -> None:
    r = redactor()
    assert r.content("/etc/hostname", b"fornax\n") == b"host1\n"
    assert r.content("/etc/apt/keyrings/rocm.gpg", b"\x99\0alice") == b"\x99\0alice"
    assert r.content("/etc/x.conf", b"\xff alice 10.0.0.1\n") == b"\xff user1 192.0.2.1\n"
    assert r.content("/usr/src/x.conf", b"alice 10.0.0.1\n") == b"user1 10.0.0.1\n"
    passwd = b"alice:x:1000:1000:Alice A.,,,:/home/alice:/bin/bash\ndaemon:x:1:1:daemon:/:/bin/sh\n"
    assert r.content("/etc/passwd", passwd) == b"user1:x:1000:1000::/home/user1:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n"
    assert r.content("/etc/group", b"render:x:109:alice,bob\nubuntu:x:5:\n") == b"render:x:109:user1,user2\nuser3:x:5:\n"
    assert r.path("/home/alice/3f2504e0-4f89-11d3-9a0c-0305e82c3301") == "/home/user1/00000000-0000-4000-8000-000000000001"


def test_environment() -> None:
    env = {
        "HOME": "/home/alice",
        "USER": "alice",
        "SUDO_USER": "bob",
        "HSA_OVERRIDE_GFX_VERSION": "",
        "ROCR_VISIBLE_DEVICES": "0,1",
        "https_proxy": "http://joe:pw@proxy.corp.com:3128/",
        "HTTP_PROXY": "joe:pw@10.0.0.1:8080",
        "no_proxy": "localhost,127.0.0.1,.corp.com,10.9.8.7,*",
        "SLURM_JOB_NODELIST": "nova[1-4]",
        "SLURM_JOB_ID": "77",
        "PIP_INDEX_URL": "https://joe:pw@wheels.bigcorp.com/simple",
        "PIP_EXTRA_INDEX_URL": "https://wheels.bigcorp.com:8443/a/whl/rocm6.2 http://10.9.8.7/simple",
        "UV_FIND_LINKS": "/srv/wheels",
        "PIP_TRUSTED_HOST": "wheels.bigcorp.com localhost",
        "PIP_NO_CACHE_DIR": "1",
        "CUDA_VISIBLE_DEVICES": "GPU-7fffffffffffffff",
    }
    assert redactor().environment(env) == {
        **env,
        "HOME": "/home/user1",
        "USER": "user1",
        "SUDO_USER": "user2",
        "https_proxy": "http://host1.example:3128/",
        "HTTP_PROXY": "192.0.2.1:8080",
        "no_proxy": "localhost,127.0.0.1,.host2.example,192.0.2.2,*",
        "SLURM_JOB_NODELIST": "host2",
        "PIP_INDEX_URL": "https://redacted@host3.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://host3.example:8443/a/whl/rocm6.2 http://192.0.2.2/simple",
        "UV_FIND_LINKS": "/srv/wheels",
        "PIP_TRUSTED_HOST": "host3.example localhost",
        "PIP_NO_CACHE_DIR": "1",
        "CUDA_VISIBLE_DEVICES": "GPU-1000000000000001",
    }


def test_commands() -> None:
    r = redactor()
    log = Command(("journalctl", "-k"), "/usr/bin/journalctl", 0, "Nov 30 12:00:00 vega kernel: Vega 20 at 10.0.0.1\n", "")
    assert r.command(log).stdout == "Nov 30 12:00:00 host2 kernel: Vega 20 at 192.0.2.1\n"
    agents = Command(("rocminfo",), "/opt/rocm/bin/rocminfo", 1, 'ubuntu is not member of "render" group\n', "")
    assert r.command(agents).stdout == 'user3 is not member of "render" group\n'
    rpm = Command(("rpm", "-qa"), "/usr/bin/rpm", 0, "rocm-core\t0\t6.2.0.60200\t66.el9\talice 10.0.0.1\n", "")
    assert r.command(rpm) == rpm
    python = Command(("/home/alice/venv/bin/python", "-c", "x"), "/home/alice/venv/bin/python", 1, "", "File /home/alice/x.py")
    redacted = r.command(python)
    assert redacted.argv[0] == redacted.program == "/home/user1/venv/bin/python" and redacted.stderr == "File /home/user1/x.py"


def test_text_of_an_unknown_host() -> None:
    assert redact_text("see /home/dave, 10.0.0.1, https://a:b@c/") == "see /home/user1, 192.0.2.1, https://redacted@c/"


def test_a_written_snapshot_names_nobody(tmp_path: Path) -> None:
    alice = {"name": "alice", "uid": 1000, "gid": 1000, "groups": [1000], "database_groups": [1000], "sudo_user": "bob"}
    env = {"HOME": "/home/alice", "VIRTUAL_ENV": "/home/alice/venv", "PATH": "/home/alice/venv/bin:/usr/bin"}
    log = {"argv": ["dmesg"], "program": "/bin/dmesg", "rc": 0, "stdout": "<fornax> alice carol 3c:ec:ef:01:02:03", "stderr": ""}
    host = recorded(
        {
            "/home/alice/venv/pyvenv.cfg": "home = /usr/bin\ncommand = /usr/bin/python3 -m venv /home/alice/venv\n",
            "/proc/sys/kernel/hostname": "fornax\n",
            "/proc/cmdline": "root=UUID=3f2504e0-4f89-11d3-9a0c-0305e82c3301 ip=10.1.2.3::\n",
            "/etc/passwd": "carol:x:1002:1002:Carol:/home/carol:/bin/sh\n",
            "/opt/carol.conf": "carol",
        },
        {"/home/alice/current": {"type": "link", "target": "/home/alice/venv"}},
        [log],
        account=alice,
        env=env,
        groups={"alice": 1000, "render": 109},
        unknown=["/home/bob/**"],
    )
    recorder = Recorder(host)
    for path in ("/home/alice/current/pyvenv.cfg", "/opt/carol.conf", "/home/bob/x"):
        try:
            recorder.read(path)
        except Exception:
            continue
    recorder.write(tmp_path / "s")
    secrets = (b"alice", b"bob", b"carol", b"fornax", b"3f2504e0", b"10.1.2.3", b"3c:ec:ef")
    for written in tmp_path.rglob("*"):
        assert not any(s.decode() in written.name for s in secrets), written
        assert written.is_dir() or not any(s in written.read_bytes() for s in secrets), written
    replay = open_snapshot(tmp_path / "s")
    assert replay.user.name == "user1" and replay.user.sudo_user == "user2" and replay.groups == {"user1": 1000, "render": 109}
    assert replay.read(f"{replay.env['VIRTUAL_ENV']}/pyvenv.cfg") == replay.read("/home/user1/current/pyvenv.cfg") is not None


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    r = redactor()
    assert r.text(text) == r.text(text)
    r.path(text)
    r.environment({"http_proxy": text, "no_proxy": text, "X": text, "SLURM_HOST": text})
    r.content("/etc/passwd", text.encode("utf-8", "surrogatepass"))


pieces = st.sampled_from([
    *("/home/alice/", "alice", " ", "\n", ":", "=", "fornax", "10.1.2.3", "unique_id ", "123456789", "https://", "u:p@", "x.y"),
    *("3c:ec:ef:01:02:03", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "fe80::1:2:3", '"serial": "', '"', ","),
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=12).map("".join))
def test_home_folders_never_survive(text: str) -> None:
    assert "/home/alice/" not in redactor().text(f" {text} /home/alice/x").rsplit(" ", 1)[1]


@pytest.mark.parametrize(
    "text",
    [
        *("a" * 500_000, "a." * 250_000, "1." * 250_000, ":" * 300_000, "0:" * 200_000, "serial " * 70_000, "/home/" * 80_000),
        *("x://" * 100_000, "\n" * 300_000, " " * 300_000, "a@" * 200_000, "-0" * 200_000, "x://" + "a." * 200_000),
        *("token" * 80_000, "2024-01-01T" * 40_000, "unique_id" + " " * 300_000, "/home/alice" * 40_000),
    ],
    ids=lambda text: str(text[:6]),
)
def test_time_grows_with_the_length_only(text: str) -> None:
    start = time.monotonic()
    redactor().text(text)
    redactor().command(Command(("journalctl",), "x", 0, text, ""))
    assert time.monotonic() - start < 8
