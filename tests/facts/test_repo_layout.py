from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import repo_layout

R = "https://repo.radeon.com"


@pytest.mark.parametrize(
    ("url", "product", "release"),
    [
        (f"{R}/rocm/apt/6.2", "rocm", "6.2"),
        (f"{R}/rocm/apt/6.2/", "rocm", "6.2"),
        (f"{R}/rocm/apt/10.0.1", "rocm", "10.0.1"),
        (f"{R}/rocm/apt/latest", "rocm", "latest"),
        (f"{R}/rocm/apt/debian", "rocm", None),
        ("http://repo.radeon.com/rocm/apt/debian/", "rocm", None),
        (f"{R}/rocm/apt/6.4_rc1", "rocm", None),
        (f"{R}/rocm/rhel9/6.1/main", "rocm", "6.1"),
        (f"{R}/rocm/el9/6.2.2/main", "rocm", "6.2.2"),
        (f"{R}/rocm/el10/7.0/main", "rocm", "7.0"),
        (f"{R}/rocm/zyp/6.2/main", "rocm", "6.2"),
        (f"{R}/rocm/yum/5.4/main", "rocm", "5.4"),
        (f"{R}/rocm/centos8/4.3.1/main", "rocm", "4.3.1"),
        (f"{R}/rocm/azurelinux3/7.0.2/main/", "rocm", "7.0.2"),
        (f"{R}/amdgpu/30.10.2/ubuntu", "amdgpu", "30.10.2"),
        (f"{R}/amdgpu/latest/ubuntu", "amdgpu", "latest"),
        (f"{R}/amdgpu/6.4.2.1/ubuntu", "amdgpu", "6.4.2.1"),
        (f"{R}/amdgpu/6.2/rhel/9.4/main/x86_64", "amdgpu", "6.2"),
        (f"{R}/amdgpu/6.2/el/$amdgpudistro/main/x86_64/", "amdgpu", "6.2"),
        (f"{R}/amdgpu/6.2/sle/15.6/main/x86_64", "amdgpu", "6.2"),
        (f"{R}/amdgpu/7.2", "amdgpu", "7.2"),
        (f"{R}/graphics/7.2/ubuntu", "graphics", "7.2"),
        (f"{R}/rotm/apt/6.0.2", None, None),
        (f"{R}/amdgpu-install/6.2/ubuntu", None, None),
        (R, None, None),
        ("https://repo.amd.com/rocm/packages-multi-arch/ubuntu2404", "amdrocm", None),
        ("https://repo.amd.com/rocm/packages/rhel9/x86_64", "amdrocm", None),
        ("https://stable.repo.amd.com/rocm/core/packages/ubuntu2404/", "amdrocm", None),
        ("https://rocm.nightlies.amd.com/deb/20260101-1/", "amdrocm", None),
        ("https://repo.amd.com/other", None, None),
    ],
)
def test_amds_own_urls(url: str, product: str | None, release: str | None) -> None:
    assert repo_layout.is_amd(url)
    assert repo_layout.product(url) == product
    assert repo_layout.release(url) == release


@pytest.mark.parametrize(
    ("url", "product", "release"),
    [
        ("https://mirror.example.org/rocm/apt/6.2", "rocm", "6.2"),
        ("https://artifactory.example.org/artifactory/amd/rocm/el9/6.2.2/main", "rocm", "6.2.2"),
        ("http://10.0.0.1:8080/amdgpu/30.10.2/ubuntu", "amdgpu", "30.10.2"),
        ("http://user:secret@mirror.example.org/amdgpu/6.2/rhel/9.4/main/x86_64", "amdgpu", "6.2"),
        ("file:///srv/mirror/graphics/7.2/ubuntu", "graphics", "7.2"),
        ("mirror+https://mirror.example.org/rocm/apt/6.2", "rocm", "6.2"),
        ("https://mirror.example.org/rocm/core/packages/ubuntu2404", "amdrocm", None),
    ],
)
def test_mirrors_by_their_layout(url: str, product: str, release: str | None) -> None:
    assert repo_layout.is_amd(url)
    assert (repo_layout.product(url), repo_layout.release(url)) == (product, release)


@pytest.mark.parametrize(
    "url",
    [
        "http://archive.ubuntu.com/ubuntu",
        "https://mirror.example.org/rpms/rocm/",
        "https://mirror.example.org/rpms/amdgpu-drivers/",
        "https://example.org/graphics/fonts/ubuntu",
        "https://example.org/graphics/7.2/vector",
        "https://repo.radeon.com.example.org/ubuntu",
        "https://notamd.com/",
        "https://example.org/?u=https://repo.radeon.com/",
        "cdrom:[Ubuntu 24.04]/",
        "repo.radeon.com/rocm",
        "",
    ],
)
def test_other_urls(url: str) -> None:
    assert not repo_layout.is_amd(url)
    assert repo_layout.product(url) is None


def test_credentials() -> None:
    text = "deb https://me:secret@mirror.example.org/rocm/apt/6.2 jammy main # http://token@x/y"
    assert repo_layout.without_credentials(text) == "deb https://mirror.example.org/rocm/apt/6.2 jammy main # http://x/y"


@given(st.text(max_size=100) | st.text(max_size=60).map(lambda tail: f"https://repo.radeon.com/{tail}"))
def test_no_url_breaks_it(url: str) -> None:
    assert repo_layout.is_amd(url) or repo_layout.product(url) is None
    assert repo_layout.product(url) is not None or repo_layout.release(url) is None
