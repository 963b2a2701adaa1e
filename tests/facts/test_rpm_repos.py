from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.rpm_repos import parse

PATH = "/etc/yum.repos.d/rocm.repo"
REPO = """\
# AMD
[ROCm-6.2.2]
name=ROCm6.2.2
baseurl=https://me:secret@repo.radeon.com/rocm/el9/6.2.2/main
enabled=1
priority=50
gpgcheck=1
gpgkey=https://repo.radeon.com/rocm/rocm.gpg.key

[amdgpu]
name = 100% amdgpu %(name)s
baseurl = https://repo.radeon.com/amdgpu/6.2/el/$releasever/main/$basearch/
enabled = 0
gpgcheck = no

[fedora]
name=Fedora $releasever - $basearch
metalink=https://mirrors.example.org/metalink?repo=fedora-$releasever&arch=$basearch

[main]
gpgcheck=1
"""


def test_sections() -> None:
    rocm, amdgpu, fedora = parse(PATH, REPO)
    assert (rocm.kind, rocm.id, rocm.file, rocm.line) == ("yum", "ROCm-6.2.2", PATH, 2)
    assert rocm.uris == ("https://repo.radeon.com/rocm/el9/6.2.2/main",)
    assert rocm.text == "[ROCm-6.2.2] baseurl=https://repo.radeon.com/rocm/el9/6.2.2/main"
    assert rocm.gpgkey == ("https://repo.radeon.com/rocm/rocm.gpg.key",)
    assert (rocm.enabled, rocm.gpgcheck, rocm.priority) == (True, True, 50)
    assert (rocm.product, rocm.release) == ("rocm", "6.2.2")
    assert amdgpu.uris == ("https://repo.radeon.com/amdgpu/6.2/el/$releasever/main/$basearch/",)
    assert (amdgpu.enabled, amdgpu.gpgcheck, amdgpu.priority, amdgpu.line) == (False, False, None, 10)
    assert (fedora.enabled, fedora.gpgcheck, fedora.is_amd) == (True, None, False)
    assert fedora.text.startswith("[fedora] metalink=")
    assert "secret" not in repr(rocm)


def test_zypper() -> None:
    (source,) = parse("/etc/zypp/repos.d/rocm.repo", "[r]\nbaseurl=https://repo.radeon.com/rocm/zyp/6.2/main\nenabled=1\n")
    assert (source.kind, source.release) == ("zypp", "6.2")


def test_several_urls_and_repeated_sections() -> None:
    text = (
        "\ufeff[a]\nbaseurl=http://a/\n  http://b/, http://c/\ngpgkey=file:///k1 file:///k2\n[a]\nenabled=false\nenabled=true\n"
    )
    (source,) = parse(PATH, text)
    assert source.uris == ("http://a/", "http://b/", "http://c/")
    assert source.gpgkey == ("file:///k1", "file:///k2")
    assert source.enabled and source.line == 1


@pytest.mark.parametrize("text", ["name=x\n", "<html>\n<body>404</body>", "\x00\x01", "[a]\nnot an assignment\n"])
def test_what_is_no_repo_file(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a \.repo file"):
        parse(PATH, text)


def test_empty_and_default_sections() -> None:
    assert parse(PATH, "") == []
    (source,) = parse(PATH, "[DEFAULT]\nbaseurl=http://a/\n")
    assert source.id == "DEFAULT"


@given(st.text(alphabet="[]ab=:%$\n #;1", max_size=120) | st.text(max_size=100))
def test_no_repo_file_breaks_it(text: str) -> None:
    try:
        for source in parse(PATH, text):
            assert source.id
    except ValueError:
        pass
