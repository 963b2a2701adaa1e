"""os-release identities and AMD's distribution behind them."""

from __future__ import annotations

import pytest

from rocmdoctor.matrix import Matrix, Verdict
from rocmdoctor.matrix.products import any_listed, same_product, tokens


@pytest.mark.parametrize(
    ("identity", "wanted"),
    [
        (("ubuntu", "22.04", ("debian",), "jammy"), ("ubuntu", "22.04", True, "apt")),
        (("ubuntu", "25.10", ("debian",), "questing"), ("ubuntu", "25.10", True, "apt")),
        (("debian", "12", (), None, "bookworm"), ("debian", "12", True, "apt")),
        (("linuxmint", "22.1", ("ubuntu", "debian"), "noble"), ("ubuntu", "24.04", False, "apt")),
        (("linuxmint", "21.3", ("ubuntu",), None), ("ubuntu", "22.04", False, "apt")),
        (("pop", "22.04", ("ubuntu", "debian"), "jammy"), ("ubuntu", "22.04", False, "apt")),
        (("neon", "24.04", ("ubuntu", "debian"), "noble"), ("ubuntu", "24.04", False, "apt")),
        (("tuxedo", "24.04", ("ubuntu", "debian"), "noble"), ("ubuntu", "24.04", False, "apt")),
        (("unheard-of", "1", ("ubuntu",), "jammy"), ("ubuntu", "22.04", False, "apt")),
        (("rhel", "9.4", ("fedora",)), ("rhel", "9.4", True, "dnf")),
        (("rocky", "9.4", ("rhel", "centos", "fedora")), ("rocky", "9.4", True, "dnf")),
        (("rocky", "8.10", ("rhel", "centos", "fedora")), ("rhel", "8.10", False, "dnf")),
        (("almalinux", "9.4", ("rhel", "centos", "fedora")), ("rhel", "9.4", False, "dnf")),
        (("ol", "9.5", ("fedora",)), ("ol", "9.5", True, "dnf")),
        (("centos", "7", ("rhel", "fedora")), ("centos", "7", True, "dnf")),
        (("centos", "9", ("rhel", "fedora")), ("rhel", "9", False, "dnf")),
        (("sles", "15.6", ("suse",)), ("sles", "15.6", True, "zypper")),
        (("opensuse-leap", "15.6", ("suse", "opensuse")), ("sles", "15.6", False, "zypper")),
        (("azurelinux", "3.0", ("mariner",)), ("azurelinux", "3.0", True, "tdnf")),
        (("arch", None), None),
        (("fedora", "41"), None),
        (("amzn", "2023", ("fedora",)), None),
        (("opensuse-tumbleweed", "20261101", ("opensuse", "suse")), None),
        (("linux", None), None),
    ],
)
def test_base(matrix: Matrix, identity: tuple[object, ...], wanted: tuple[object, ...] | None) -> None:
    base = matrix.base_os(*identity)  # type: ignore[arg-type]
    assert (base and (base.id, base.version, base.exact, base.package_manager)) == wanted


@pytest.mark.parametrize(
    ("system", "suite"),
    [(("ubuntu", "22.04"), "jammy"), (("ubuntu", "24.04.3"), "noble"), (("debian", "12"), "jammy"), (("debian", "13"), "noble")],
)
def test_suites(matrix: Matrix, system: tuple[str, str], suite: str) -> None:
    assert matrix.apt_suite(*system) == suite
    assert matrix.apt_suite("rhel", "9.4") is None and matrix.apt_suite("arch", "") is None


def test_enterprise_linux(matrix: Matrix) -> None:
    assert {"rhel", "ol", "rocky", "almalinux", "centos"} <= matrix.el_ids
    assert "sles" not in matrix.el_ids


def test_a_derivative_without_rows_is_told_its_nearest(matrix: Matrix) -> None:
    """Rocky got rows with 7.0.0. Before, its kernel is judged by RHEL's rows, its place on the list is not."""
    answer = matrix.os("6.4.1", "rocky", "9.6")
    assert answer.verdict is Verdict.UNSUPPORTED and "RHEL 9.6" in answer.reason
    assert matrix.kernel("6.4.1", "rocky", "9.6", "5.14.0-570.17.1.el9_6.x86_64").verdict is Verdict.SUPPORTED
    assert matrix.os("7.0.0", "rocky", "9.6", product="AMD Instinct MI300X", gfx="gfx942").verdict is Verdict.SUPPORTED


def test_centos_stream_has_no_minor_release(matrix: Matrix) -> None:
    answer = matrix.os("7.2.0", "rhel", "9")
    assert answer.verdict is Verdict.UNKNOWN and "minor" in answer.reason


@pytest.mark.parametrize(
    ("board", "listed", "same"),
    [
        ("AMD Instinct MI300X", "Instinct MI300X", True),
        ("AMD Instinct MI300X", "MI300X", True),
        ("AMD Instinct MI300X VF", "MI300X", True),
        ("AMD Instinct MI250X / MI250", "Instinct MI250", True),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XT", False),
        ("AMD Radeon RX 7900 XT", "Radeon RX 7900 XT", True),
        ("AMD Radeon Pro W7900", "Radeon PRO W7900", True),
        ("AMD Radeon Pro W7900", "Radeon PRO W7900 Dual Slot", False),
        ("AMD Radeon AI PRO R9700", "Radeon AI PRO R9700S", False),
        ("AMD Radeon Pro V620 MxGPU", "V620", True),
        ("AMD Radeon 8060S Graphics", "Radeon 8060S", True),
        ("Radeon RX 7900 XTX", "Radeon RX 7900 XTX", True),
        ("", "MI300X", False),
    ],
)
def test_products(board: str, listed: str, same: bool) -> None:
    assert same_product(board, listed) is same
    assert any_listed(board, ("nothing", listed)) is same


def test_a_name_of_filler_words_keeps_them() -> None:
    assert tokens("AMD Radeon Graphics") == ("amd", "radeon", "graphics")
