from __future__ import annotations

import pytest

from rocmdoctor.facts import repos
from rocmdoctor.facts.repos import Repositories
from rocmdoctor.host import UnknownFact
from tests.facts.distro_host import host

ROCM = "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.2 noble main\n"
AMDGPU = "deb [arch=amd64 signed-by=/usr/share/keyrings/amd.gpg] https://repo.radeon.com/amdgpu/6.2/ubuntu noble main\n"
PIN = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
LISTS = "/etc/apt/sources.list.d"


def gather(files: dict[str, bytes | str], **kwargs: object) -> Repositories:
    return repos.gather(host(files, **kwargs))  # type: ignore[arg-type]


def test_an_apt_host() -> None:
    found = gather(
        {
            "/etc/apt/sources.list": "deb http://archive.ubuntu.com/ubuntu noble main\n",
            f"{LISTS}/rocm.list": ROCM + "# deb http://x y\n",
            f"{LISTS}/amdgpu.list": AMDGPU + AMDGPU.replace("deb ", "deb-src ", 1),
            f"{LISTS}/ubuntu.sources": "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu\nSuites: noble\nComponents: main\n",
            "/etc/apt/preferences.d/rocm-pin-600": PIN,
            "/etc/apt/keyrings/rocm.gpg": b"not a key",
        }
    )
    assert [s.file.rpartition("/")[2] for s in found.sources] == [
        "sources.list",
        "amdgpu.list",
        "amdgpu.list",
        "rocm.list",
        "ubuntu.sources",
    ]
    assert [(s.product, s.release, s.types) for s in found.amd] == [("amdgpu", "6.2", ("deb",)), ("rocm", "6.2", ("deb",))]
    assert [p.covers(("rocminfo", "hipcc")) for p in found.pins] == [True]
    assert found.unreadable == ()
    keyring = found.keyring("/etc/apt/keyrings/rocm.gpg")
    assert keyring is not None and keyring.keys == () and not keyring.armored
    assert found.keyring("/usr/share/keyrings/amd.gpg") is None  # named, and not there


def test_disabled_sources_are_kept_and_not_in_force() -> None:
    text = "Types: deb\nURIs: https://repo.radeon.com/rocm/apt/6.2\nSuites: noble\nComponents: main\nEnabled: no\n"
    found = gather({f"{LISTS}/rocm.sources": text})
    assert len(found.sources) == 1 and found.amd == ()


def test_files_that_apt_does_not_read() -> None:
    names = ["rocm.list.save", "rocm.list.distUpgrade", "rocm.disabled", "rocm", "rocm list.list", ".list", "rocm.list~"]
    assert gather({f"{LISTS}/{name}": ROCM for name in names}).sources == ()
    pins = {f"/etc/apt/preferences.d/{name}": PIN for name in ("rocm.disabled", "rocm.pref.save", "rocm pin")}
    assert gather(pins).pins == ()  # type: ignore[arg-type]


def test_files_that_apt_reads() -> None:
    assert len(gather({f"{LISTS}/rocm.list.list": ROCM}).sources) == 1
    pins = {
        "/etc/apt/preferences": PIN,
        "/etc/apt/preferences.d/rocm-pin-600": PIN,
        "/etc/apt/preferences.d/amd_gpu.pref": PIN,
    }
    assert len(gather(pins).pins) == 3  # type: ignore[arg-type]


def test_keyrings() -> None:
    files: dict[str, bytes | str] = {
        "/etc/apt/trusted.gpg": b"x",
        "/etc/apt/trusted.gpg.d/a.gpg": b"x",
        "/etc/apt/trusted.gpg.d/b.asc": b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        "/etc/apt/trusted.gpg.d/c.gpg~": b"x",
        "/etc/apt/keyrings/d.gpg": b"",  # recorded as a placeholder
        "/usr/share/keyrings/amd.gpg": b"x",
        "/usr/share/keyrings/other.gpg": b"x",
        f"{LISTS}/amdgpu.list": AMDGPU,
        f"{LISTS}/print.list": AMDGPU.replace("/usr/share/keyrings/amd.gpg", "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"),
    }
    found = gather(files)
    assert [(k.path, k.keys, k.armored) for k in found.keyrings] == [
        ("/etc/apt/trusted.gpg", (), False),
        ("/etc/apt/trusted.gpg.d/a.gpg", (), False),
        ("/etc/apt/trusted.gpg.d/b.asc", (), True),
        ("/etc/apt/keyrings/d.gpg", None, False),
        ("/usr/share/keyrings/amd.gpg", (), False),
    ]


def test_a_key_written_into_the_stanza_is_a_keyring_too() -> None:
    text = (
        "Types: deb\nURIs: https://repo.radeon.com/rocm/apt/6.2\nSuites: noble\nSigned-By:\n"
        " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n AAAA\n -----END PGP PUBLIC KEY BLOCK-----\n"
    )
    found = gather({f"{LISTS}/rocm.sources": text})
    (source,) = found.amd
    keyring = found.keyring(source.signed_by[0])
    assert keyring is not None and keyring.armored


def test_a_dnf_host() -> None:
    found = gather(
        {
            "/etc/yum.repos.d/rocm.repo": "[rocm]\nbaseurl=https://repo.radeon.com/rocm/el9/6.2/main\ngpgcheck=1\n",
            "/etc/yum.repos.d/broken.repo": "<html>",
            "/etc/yum.repos.d/rocm.repo.rpmsave": "[x]\nbaseurl=http://x/\n",
            "/etc/zypp/repos.d/amd.repo": "[amdgpu]\nbaseurl=https://repo.radeon.com/amdgpu/6.2/sle/15.6/main/x86_64\n",
        }
    )
    assert [(s.kind, s.product, s.gpgcheck) for s in found.amd] == [("yum", "rocm", True), ("zypp", "amdgpu", None)]
    assert found.unreadable == ("/etc/yum.repos.d/broken.repo",)


def test_a_host_without_repositories() -> None:
    assert gather({}) == Repositories(())


def test_an_unreadable_file_of_amds_is_unknown() -> None:
    files: dict[str, bytes | str] = {f"{LISTS}/esm.list": "deb http://a/ x main\n", f"{LISTS}/ok.list": "deb http://b/ x main\n"}
    found = gather(files, unknown=[f"{LISTS}/esm.list"])
    assert [s.uris for s in found.sources] == [("http://b/",)]
    assert found.unreadable == (f"{LISTS}/esm.list",)
    for name in ("rocm.list", "amdgpu.list", "amdrocm-stable.sources", "repo.radeon.com.list"):
        with pytest.raises(UnknownFact):
            gather({f"{LISTS}/{name}": ROCM}, unknown=[f"{LISTS}/{name}"])
    with pytest.raises(UnknownFact):
        gather({}, unknown=["/etc/apt/**"])


def test_folders_of_the_other_family_may_be_unknown() -> None:
    files: dict[str, bytes | str] = {f"{LISTS}/rocm.list": ROCM}
    captured = ["/etc/apt/sources.list", f"{LISTS}/*", "/etc/apt/preferences.d/*", "/etc/apt/keyrings/*"]
    assert len(gather(files, captured=captured).amd) == 1
    with pytest.raises(UnknownFact):
        gather({}, captured=captured)


def test_more_sources_than_any_host_has() -> None:
    assert len(gather({f"{LISTS}/a.list": "deb http://a/ x\n" * 10_000}).sources) == 2000
