from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.apt_sources import parse_deb822, parse_list, parse_preferences, stanzas
from rocmdoctor.facts.repos import Pin

PATH = "/etc/apt/sources.list.d/rocm.list"
SHADOWED = ("rocminfo", "hipcc", "rocm-cmake", "rocm-device-libs")
ROCM = "deb [arch=amd64,i386 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.2 noble main proprietary"


def test_a_line_with_options() -> None:
    (source,) = parse_list(PATH, f"# ROCm\n\n{ROCM}\n")
    assert (source.kind, source.file, source.line, source.text) == ("apt", PATH, 3, ROCM)
    assert source.uris == ("https://repo.radeon.com/rocm/apt/6.2",)
    assert source.suites == ("noble",)
    assert source.components == ("main", "proprietary")
    assert source.architectures == ("amd64", "i386")
    assert source.signed_by == ("/etc/apt/keyrings/rocm.gpg",)
    assert source.types == ("deb",)
    assert source.enabled and not source.trusted
    assert (source.is_amd, source.product, source.release) == (True, "rocm", "6.2")


@pytest.mark.parametrize(
    ("line", "uri", "suite", "components"),
    [
        ("deb http://a/ x main", "http://a/", "x", ("main",)),
        ("deb http://a/ ./", "http://a/", "./", ()),
        ("  deb\thttp://a/\tx  main # comment", "http://a/", "x", ("main",)),
        ("deb [ arch=amd64 ] http://a/ x main", "http://a/", "x", ("main",)),
        ("deb [arch=amd64]http://a/ x main", "http://a/", "x", ("main",)),
        ('deb [signed-by="/a b.gpg"] http://a/ x main', "http://a/", "x", ("main",)),
        ("deb [option=a#b] http://a/ x main", "http://a/", "x", ("main",)),
        ("deb cdrom:[Ubuntu 24.04 _Noble Numbat_]/ noble main", "cdrom:[Ubuntu 24.04 _Noble Numbat_]/", "noble", ("main",)),
        ('deb "http://a/" x', "http://a/", "x", ()),
    ],
)
def test_forms_of_a_line(line: str, uri: str, suite: str, components: tuple[str, ...]) -> None:
    (source,) = parse_list(PATH, line)
    assert (source.uris, source.suites, source.components) == ((uri,), (suite,), components)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# deb http://a/ x",
        "#deb http://a/ x",
        "deb",
        "deb http://a/",
        "deb [a=b] http://a/",
        "rpm http://a/ x",
        "debs a b c",
        "deb [a http://a/",
    ],
)
def test_lines_that_apt_does_not_take(line: str) -> None:
    assert parse_list(PATH, line) == []


def test_options() -> None:
    (source,) = parse_list(PATH, "deb [trusted=yes arch+=arm64 Signed-By=/a.gpg,ABCDEF] http://a/ x main")
    assert source.trusted
    assert source.signed_by == ("/a.gpg", "ABCDEF")
    assert source.architectures == ("arm64",)
    (other,) = parse_list(PATH, "deb [trusted=no] http://a/ x main")
    assert not other.trusted


def test_source_packages_are_kept_apart() -> None:
    deb, src = parse_list(PATH, "deb http://a/ x\ndeb-src http://a/ x\n")
    assert (deb.types, src.types) == (("deb",), ("deb-src",))


def test_credentials_are_nowhere() -> None:
    (source,) = parse_list(PATH, "deb https://me:secret@repo.radeon.com/rocm/apt/6.2 noble main")
    assert "secret" not in repr(source) and source.is_amd


@given(st.text(alphabet='deb-src [=]"\\#ahttp:/., \n', max_size=120) | st.text(max_size=100))
def test_no_list_breaks_it(text: str) -> None:
    for source in parse_list(PATH, text):
        assert source.uris and source.suites


def test_hostile_lines_are_read_in_no_time() -> None:
    parse_list(PATH, "deb " + "[" * 250_000)
    parse_list(PATH, ("deb " + "[" * 1900 + "\n") * 130)
    parse_list(PATH, ("deb " + '"' * 1900 + "\n") * 130)


SOURCES = """\
# a comment
X-Repo-Id: amdrocm-stable
Types: deb
URIs: https://stable.repo.amd.com/rocm/core/packages/ubuntu2404/
Suites: stable
Components: main
Architectures: amd64
Signed-By: /etc/apt/keyrings/amdrocm.gpg
Enabled: yes

Types: deb deb-src
URIs: http://archive.ubuntu.com/ubuntu
 https://me:secret@mirror.example.org/ubuntu
Suites: noble noble-updates
# in between
Components: main
 universe
enabled: no
Trusted: yes
"""


def test_deb822() -> None:
    (amd, ubuntu), keyrings = parse_deb822("/etc/apt/sources.list.d/amdrocm-stable.sources", SOURCES)
    assert keyrings == []
    assert (amd.line, amd.types, amd.suites, amd.components, amd.architectures) == (
        2,
        ("deb",),
        ("stable",),
        ("main",),
        ("amd64",),
    )
    assert amd.signed_by == ("/etc/apt/keyrings/amdrocm.gpg",)
    assert (amd.enabled, amd.trusted, amd.product, amd.release) == (True, False, "amdrocm", None)
    assert amd.text == (
        "Types: deb URIs: https://stable.repo.amd.com/rocm/core/packages/ubuntu2404/ Suites: stable Components: main"
    )
    assert ubuntu.line == 11
    assert ubuntu.uris == ("http://archive.ubuntu.com/ubuntu", "https://mirror.example.org/ubuntu")
    assert ubuntu.suites == ("noble", "noble-updates")
    assert ubuntu.components == ("main", "universe")
    assert (ubuntu.enabled, ubuntu.trusted, ubuntu.types) == (False, True, ("deb", "deb-src"))
    assert "secret" not in repr(ubuntu)


def test_a_key_in_the_stanza() -> None:
    text = """Types: deb
URIs: https://repo.radeon.com/rocm/apt/6.2
Suites: noble
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEZ
 -----END PGP PUBLIC KEY BLOCK-----
"""
    (source,), (keyring,) = parse_deb822("/etc/apt/sources.list.d/a.sources", text)
    assert source.signed_by == (keyring.path,) == ("/etc/apt/sources.list.d/a.sources:1",)
    assert keyring.armored and keyring.keys == ()
    assert "BEGIN" not in source.text


@pytest.mark.parametrize("missing", ["Types", "URIs", "Suites"])
def test_stanzas_without_what_they_need(missing: str) -> None:
    text = "\n".join(line for line in SOURCES.splitlines() if not line.startswith(missing))
    assert parse_deb822("x.sources", text) == ([], [])


@given(st.text(alphabet="TypesURIuit: deb\n.#-", max_size=150) | st.text(max_size=100))
def test_no_sources_file_breaks_it(text: str) -> None:
    for source in parse_deb822("x.sources", text)[0]:
        assert source.uris and source.suites


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["Types", "URIs", "Suites", "Components", "Signed-By", "X-A"]),
            st.lists(st.text(alphabet="ab:/.-", min_size=1, max_size=6), min_size=1, max_size=3).map(" ".join),
            min_size=1,
        ),
        max_size=4,
    )
)
def test_stanzas_are_those_of_python_debian(written: list[dict[str, str]]) -> None:
    deb822 = pytest.importorskip("debian.deb822")
    text = "\n\n".join("\n".join(f"{key}: {value}" for key, value in stanza.items()) for stanza in written)
    theirs = [dict(p) for p in deb822.Deb822.iter_paragraphs(text.splitlines(), use_apt_pkg=False)]
    ours = [{key: " ".join(lines) for key, lines in fields.items()} for _, fields in stanzas(text)]
    assert ours == [{key.lower(): value for key, value in p.items()} for p in theirs]


PREFERENCES = """\
Explanation: AMD's packages go first
Package: *
Pin: release o=repo.radeon.com
Pin-Priority: 600

Package: rocm* hip*
 rocminfo
Pin: origin "repo.radeon.com"
Pin-Priority: nonsense

Package: only-this
Pin-Priority: 5
"""


def test_preferences() -> None:
    first, second = parse_preferences("/etc/apt/preferences.d/rocm-pin-600", PREFERENCES)
    assert first == Pin("/etc/apt/preferences.d/rocm-pin-600", ("*",), "release o=repo.radeon.com", 600)
    assert second.packages == ("rocm*", "hip*", "rocminfo")
    assert second.priority is None


@pytest.mark.parametrize(
    ("packages", "pin", "covers"),
    [
        ("*", "release o=repo.radeon.com", True),
        ("*", "release a=jammy, o=repo.radeon.com", True),
        ("*", 'release o="repo.radeon.com"', True),
        ("*", "release o=repo.radeon.*", True),
        ("*", 'origin "repo.radeon.com"', True),
        ("*", "origin repo.radeon.com", True),
        ("rocm* hip*", "release o=repo.radeon.com", True),
        ("rocminfo", "release o=repo.radeon.com", False),
        ("nvidia-*", "release o=repo.radeon.com", False),
        ("*", "release o=Ubuntu", False),
        ("*", "release o=AMD ROCm", False),
        ("*", "release a=jammy", False),
        ("*", 'origin ""', False),
        ("*", "origin mirror.example.org", False),
        ("*", "version 6.2*", False),
        ("*", "release", False),
    ],
)
def test_pins_that_cover_amds_packages(packages: str, pin: str, covers: bool) -> None:
    (found,) = parse_preferences("p", f"Package: {packages}\nPin: {pin}\nPin-Priority: 600\n")
    assert found.covers(SHADOWED) is covers


@pytest.mark.parametrize(
    ("text", "priority"), [("600", 600), ("-1", -1), ("1001", 1001), ("", None), ("9" * 40, None), ("6OO", None)]
)
def test_priorities(text: str, priority: int | None) -> None:
    (found,) = parse_preferences("p", f"Package: *\nPin: origin x\nPin-Priority: {text}")
    assert found.priority == priority


@given(st.text(alphabet="Package: Pin-riorty*\n,=o", max_size=150) | st.text(max_size=100))
def test_no_preferences_break_it(text: str) -> None:
    for pin in parse_preferences("p", text):
        assert pin.covers(SHADOWED) in (True, False)
