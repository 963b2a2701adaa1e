"""Override and visibility variables, and the files that set them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import environment
from rocmdoctor.facts.environment import CUDA, HIP, ORDINAL, OVERRIDE, ROCR, Visible
from tests.facts.small_host import small_host


@pytest.mark.parametrize(
    ("value", "gfx"),
    [
        ("10.3.0", "gfx1030"),
        ("9.0.10", "gfx90a"),
        ("9.0.12", "gfx90c"),
        ("11.0.2", "gfx1102"),
        ("12.0.1", "gfx1201"),
        ("9.4.2", "gfx942"),
        (" 11. 0. 0", "gfx1100"),
        ("63.255.255", "gfx63ffff"),
        ("", None),
        (" ", None),
        ("gfx1103", None),
        ("11.0", None),
        ("11.0.0 ", None),
        ("11.0.0.0", None),
        ("9.0.a", None),
        ("64.0.0", None),
        ("11.256.0", None),
        ("11.0.256", None),
        ("-1.0.0", None),
        ("9" * 50 + ".0.0", None),
    ],
)
def test_override_values(value: str, gfx: str | None) -> None:
    """As libhsakmt reads them: sscanf, and nothing may follow."""
    assert environment.parse_override(value) == gfx


@pytest.mark.parametrize("gfx", ["gfx803", "gfx906", "gfx90a", "gfx90c", "gfx942", "gfx1030", "gfx1103", "gfx1151", "gfx1201"])
def test_a_target_and_its_value_belong_together(gfx: str) -> None:
    value = environment.override_value(gfx)
    assert value is not None
    assert environment.parse_override(value) == gfx


@pytest.mark.parametrize("text", ["", "gfx", "gfx11-generic", "gfx110X", "10.3.0"])
def test_what_is_no_target_has_no_value(text: str) -> None:
    assert environment.override_value(text) is None


def test_overrides_of_one_node_win_over_the_global_one() -> None:
    env = environment.parse({OVERRIDE: "10.3.0", f"{OVERRIDE}_2": "11.0.0", f"{OVERRIDE}_x": "1.1.1", "HSA_XNACK": "1"})
    assert [(o.variable, o.node, o.gfx) for o in env.overrides] == [(OVERRIDE, None, "gfx1030"), (f"{OVERRIDE}_2", 2, "gfx1100")]
    assert env.override and env.override.gfx == "gfx1030"
    for node, gfx in ((1, "gfx1030"), (2, "gfx1100"), (None, "gfx1030")):
        hit = env.override_for(node)
        assert hit and hit.gfx == gfx


def test_set_but_empty_is_not_unset() -> None:
    assert environment.parse({}).override is None
    empty = environment.parse({OVERRIDE: ""}).override
    assert empty and empty.empty and not empty.valid
    wrong = environment.parse({OVERRIDE: "gfx1103"}).override
    assert wrong and not wrong.empty and not wrong.valid


@pytest.mark.parametrize(
    ("env", "total", "expected"),
    [
        ({}, 4, Visible(4, None)),
        ({ROCR: "0"}, 4, Visible(1, None)),
        ({ROCR: "0,2"}, 4, Visible(2, None)),
        ({ROCR: " 0 , 2 "}, 4, Visible(2, None)),
        ({ROCR: ""}, 4, Visible(0, ROCR)),
        ({ROCR: "9"}, 4, Visible(0, ROCR, ((ROCR, "9"),))),
        ({ROCR: "0,9,1"}, 4, Visible(1, None, ((ROCR, "9"),))),
        ({ROCR: "0,0,1"}, 4, Visible(1, None, ((ROCR, "0"),))),
        ({ROCR: "0x1"}, 4, Visible(1, None)),
        ({ROCR: "010"}, 9, Visible(1, None)),
        ({ROCR: "-1"}, 4, Visible(0, ROCR, ((ROCR, "-1"),))),
        ({ROCR: "none"}, 4, Visible(0, ROCR, ((ROCR, "none"),))),
        ({ROCR: "0,1,2,3,4,5"}, 4, Visible(4, None)),
        ({HIP: "1"}, 4, Visible(1, None)),
        ({HIP: "0,1,"}, 4, Visible(2, None)),
        ({HIP: "0,0,1"}, 4, Visible(2, None)),
        ({HIP: '"0,1"'}, 4, Visible(2, None)),
        ({HIP: ""}, 4, Visible(0, HIP)),
        ({HIP: "-1"}, 4, Visible(0, HIP, ((HIP, "-1"),))),
        ({HIP: "0, 1"}, 4, Visible(1, None, ((HIP, " 1"),))),
        ({HIP: "01"}, 4, Visible(0, HIP, ((HIP, "01"),))),
        ({HIP: "NoDevFiles"}, 4, Visible(0, HIP, ((HIP, "NoDevFiles"),))),
        ({CUDA: "0"}, 4, Visible(1, None)),
        ({CUDA: ""}, 4, Visible(0, CUDA)),
        ({HIP: "0,1", CUDA: ""}, 4, Visible(2, None)),
        ({ORDINAL: "2"}, 4, Visible(1, None)),
        ({ROCR: "2,3", HIP: "0,1"}, 4, Visible(2, None)),
        ({ROCR: "2,3", HIP: "2,3"}, 4, Visible(0, HIP, ((HIP, "2"),))),
        ({ROCR: "2,3", HIP: "1,2"}, 4, Visible(1, None, ((HIP, "2"),))),
        ({ROCR: "1", HIP: "0", ORDINAL: "1"}, 4, Visible(0, ORDINAL, ((ORDINAL, "1"),))),
        ({ROCR: "GPU-0123456789abcdef"}, 4, Visible(1, None)),
        ({ROCR: "GPU-a,GPU-b"}, 4, Visible(2, None)),
        ({HIP: "GPU-a,GPU-a"}, 4, Visible(1, None)),
        ({ROCR: "GPU-a,0"}, 1, Visible(1, None)),
        ({HIP: "0"}, 0, Visible(0, None, ((HIP, "0"),))),
    ],
)  # fmt: skip
def test_what_the_visibility_variables_leave(env: dict[str, str], total: int, expected: Visible) -> None:
    visibility = environment.parse(env).visibility
    assert visibility.visible(total) == expected
    assert visibility.visible_count(total) == (expected.number, expected.hidden_by)


def test_uuids_are_looked_up_where_they_are_known() -> None:
    uuids = ("GPU-00000000000000AA", "GPU-00000000000000bb", "")
    visibility = environment.parse({ROCR: "GPU-00000000000000bb"}).visibility
    assert visibility.visible(3, uuids) == Visible(1, None)
    assert environment.parse({ROCR: "GPU-cc"}).visibility.visible(3, uuids) == Visible(0, ROCR, ((ROCR, "GPU-cc"),))
    # A prefix that two GPUs share names none.
    assert environment.parse({ROCR: "GPU-0000"}).visibility.visible(3, uuids).number == 0


def test_masks_say_what_is_set_and_what_is_ignored() -> None:
    visibility = environment.parse({HIP: "1,x", CUDA: "0"}).visibility
    assert [m.variable for m in visibility.masks] == [HIP]
    assert visibility.ignored and visibility.ignored.variable == CUDA
    mask = visibility.get(HIP)
    assert mask and mask.indexes == (1,)
    assert visibility.get(ROCR) is None


VALUE = st.one_of(
    st.text(max_size=20), st.lists(st.sampled_from(["0", "1", "7", "-1", "GPU-a", "", " 1", "x"]), max_size=6).map(",".join)
)


@given(st.dictionaries(st.sampled_from([ROCR, HIP, CUDA, ORDINAL, OVERRIDE, f"{OVERRIDE}_1"]), VALUE), st.integers(0, 16))
def test_any_value_leaves_between_none_and_all(env: dict[str, str], total: int) -> None:
    left = environment.parse(env).visibility.visible(total)
    assert 0 <= left.number <= total
    assert (left.hidden_by is not None) == (left.number == 0 and total > 0)


@given(st.text())
def test_any_override_text_is_read(value: str) -> None:
    gfx = environment.parse_override(value)
    assert gfx is None or gfx.startswith("gfx")


HOME = "/home/user1"
FILES = {
    f"{HOME}/.bashrc": (
        "# export HSA_OVERRIDE_GFX_VERSION=9.0.0\n"
        "alias llm='HSA_OVERRIDE_GFX_VERSION=11.0.0 llama'\n"
        "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
        'if [ -d /opt/rocm ]; then export LD_LIBRARY_PATH="/opt/rocm/lib:$LD_LIBRARY_PATH"; fi\n'
        "HSA_OVERRIDE_GFX_VERSION=9.9.9 python main.py\n"
        "MY_HSA_OVERRIDE_GFX_VERSION=1\n"
    ),
    f"{HOME}/.profile": "HIP_VISIBLE_DEVICES=0\nexport PATH HIP_VISIBLE_DEVICES\n",
    f"{HOME}/.zshrc": "export ROCR_VISIBLE_DEVICES='' HIP_VISIBLE_DEVICES=1 # two\n",
    f"{HOME}/.config/fish/config.fish": "set -gx HSA_OVERRIDE_GFX_VERSION 11.0.0\n",
    f"{HOME}/.config/environment.d/gpu.conf": "GPU_DEVICE_ORDINAL=0\n",
    "/etc/environment": 'PATH="/usr/bin"\nHSA_OVERRIDE_GFX_VERSION_1="10.3.0"\n',
    "/etc/profile.d/rocm.sh": "declare -x CUDA_VISIBLE_DEVICES=0\nCUDA_VISIBLE_DEVICES=5\n",
    "/etc/systemd/system/ollama.service.d/override.conf": '[Service]\nEnvironment="A=1" "HSA_OVERRIDE_GFX_VERSION=11.0.0"\n',
    "/etc/systemd/system/other.service": "[Service]\nExecStart=env HSA_OVERRIDE_GFX_VERSION=1 x\n",
}


def test_settings_are_found_with_file_and_line() -> None:
    found = environment.gather(small_host(FILES, env={"HOME": HOME})).settings
    assert {(s.place, s.name, s.value) for s in found} == {
        (f"{HOME}/.bashrc:3", OVERRIDE, "10.3.0"),
        (f"{HOME}/.bashrc:4", "LD_LIBRARY_PATH", "/opt/rocm/lib:$LD_LIBRARY_PATH"),
        (f"{HOME}/.profile:1", HIP, "0"),
        (f"{HOME}/.zshrc:1", ROCR, ""),
        (f"{HOME}/.zshrc:1", HIP, "1"),
        (f"{HOME}/.config/fish/config.fish:1", OVERRIDE, "11.0.0"),
        (f"{HOME}/.config/environment.d/gpu.conf:1", ORDINAL, "0"),
        ("/etc/environment:2", f"{OVERRIDE}_1", "10.3.0"),
        ("/etc/profile.d/rocm.sh:1", CUDA, "0"),
        ("/etc/systemd/system/ollama.service.d/override.conf:2", OVERRIDE, "11.0.0"),
    }


def test_settings_of_one_variable() -> None:
    env = environment.gather(small_host(FILES, env={"HOME": HOME}))
    assert [s.value for s in env.set_in(OVERRIDE)] == ["11.0.0", "10.3.0", "11.0.0"]
    assert env.set_in("HSA_XNACK") == ()


def test_files_that_cannot_be_read_are_left_out() -> None:
    host = small_host(FILES, env={"HOME": HOME}, unknown=[f"{HOME}/.bashrc", "/etc/systemd/**"])
    found = environment.gather(host)
    assert f"{HOME}/.bashrc" not in {s.file for s in found.settings}
    assert "/etc/environment" in {s.file for s in found.settings}


def test_a_home_is_guessed_where_the_variable_is_missing() -> None:
    found = environment.gather(small_host({f"{HOME}/.bashrc": "export HIP_VISIBLE_DEVICES=0\n"}))
    assert [s.file for s in found.settings] == [f"{HOME}/.bashrc"]
    odd = environment.gather(small_host(env={"HOME": "/home/*[", "HIP_VISIBLE_DEVICES": "0"}))
    assert odd.settings == ()


@given(st.binary(max_size=400))
def test_any_start_up_file_is_read(content: bytes) -> None:
    environment.gather(
        small_host({f"{HOME}/.bashrc": content + b"\nexport HSA_OVERRIDE_GFX_VERSION=" + content, "/etc/environment": content})
    )


def test_hostile_start_up_files_are_bounded() -> None:
    long = "export HSA_OVERRIDE_GFX_VERSION=" + "x" * 100_000
    many = "export HSA_OVERRIDE_GFX_VERSION=1\n" * 5000
    found = environment.gather(small_host({f"{HOME}/.bashrc": long, f"{HOME}/.profile": many, f"{HOME}/.zshrc": many}))
    assert all(len(s.text) <= 400 for s in found.settings)
