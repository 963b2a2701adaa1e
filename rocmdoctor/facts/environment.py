"""Variables that steer ROCm: HSA_OVERRIDE_GFX_VERSION, the visibility variables, and where they are set (rules.md 25-27).

Sources: libhsakmt topology.c (override), ROCr amd_filter_device.cpp (ROCR_VISIBLE_DEVICES), rocclr flags.cpp and
rocdevice.cpp (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL).
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts.start_up_files import Setting, read_settings

if TYPE_CHECKING:
    from rocmdoctor.host import Host

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
ROCR, HIP, CUDA, ORDINAL = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"

_GLOBAL_OR_NODE = r"HSA_OVERRIDE_GFX_VERSION(?:_(\d{1,5}))?"
# sscanf("%u.%u.%u%c") must give exactly three: blanks may stand before a number, nothing after the last.
_VERSION = r"\s*(\d{1,9})\.\s*(\d{1,9})\.\s*(\d{1,9})"
_INDEX = r"0|[1-9]\d{0,6}"
_STRTOL = r"[+-]?(?:0[xX][0-9a-fA-F]{1,8}|\d{1,9})"


class Override(NamedTuple):
    """One override variable. `node` is a KFD node number, None for the global one. `gfx` is None for a value that the run time
    refuses ("gfx1103", "11.0", ""): it then starts with no GPU at all."""

    variable: str
    value: str
    node: int | None
    gfx: str | None

    @property
    def valid(self) -> bool:
        return self.gfx is not None

    @property
    def empty(self) -> bool:
        """Set to "": hides every GPU on many releases, and is not the same as unset (rules.md 25)."""
        return not self.value.strip()


def parse_override(value: str) -> str | None:
    """ "10.3.0" is "gfx1030", "9.0.10" is "gfx90a": decimal components, the last two printed in hexadecimal. None when invalid.

    Limits as in libhsakmt: major up to 63, minor and stepping up to 255.
    """
    found = re.fullmatch(_VERSION, value, re.ASCII)
    if not found:
        return None
    major, minor, stepping = (int(part) for part in found.groups())
    if major > 63 or minor > 255 or stepping > 255:
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def override_value(gfx: str) -> str | None:
    """The value that names a target: "gfx90a" is "9.0.10". None for what is no target."""
    found = re.fullmatch(r"gfx(\d{1,2})([0-9a-f])([0-9a-f])", gfx)
    return f"{found.group(1)}.{int(found.group(2), 16)}.{int(found.group(3), 16)}" if found else None


class Mask(NamedTuple):
    """One visibility variable that is set. `tokens` as the run time splits it; an empty value has none."""

    variable: str
    value: str
    tokens: tuple[str, ...]

    @property
    def indexes(self) -> tuple[int, ...]:
        """The tokens that are plain indexes."""
        return tuple(int(t) for t in self.tokens if re.fullmatch(_INDEX, t, re.ASCII))


class Visible(NamedTuple):
    """What the variables leave of a number of GPUs. `hidden_by`: the variable that leaves none. `cut`: (variable, token) where
    a list ends early: what stands there is out of range, repeated (ROCR) or no index, and hides from there on."""

    number: int
    hidden_by: str | None
    cut: tuple[tuple[str, str], ...] = ()


class Visibility(NamedTuple):
    """The variables that are set, in the order in which they act: ROCR, then HIP (CUDA where HIP is not set), then
    GPU_DEVICE_ORDINAL. `ignored`: CUDA_VISIBLE_DEVICES beside HIP_VISIBLE_DEVICES."""

    masks: tuple[Mask, ...]
    ignored: Mask | None = None

    def get(self, variable: str) -> Mask | None:
        return next((m for m in self.masks if m.variable == variable), None)

    def visible(self, total: int, uuids: Sequence[str] = ()) -> Visible:
        """What remains of `total` GPUs; indexes of a later variable count what the earlier ones left (rules.md 27).

        `uuids` in the run time's order ("GPU-" and 16 hexadecimal digits, or "") lets UUID tokens be looked up; without them each
        is taken to name a GPU of its own. rocclr asks GPU_DEVICE_ORDINAL for OpenCL alone, AMD's manual says HIP too: it counts.
        """
        left: list[int] = list(range(total))
        cut = []
        for mask in self.masks:
            chosen, token = _choose(mask, left, uuids)
            if token is not None:
                cut.append((mask.variable, token))
            if left and not chosen:
                return Visible(0, mask.variable, tuple(cut))
            left = chosen
        return Visible(len(left), None, tuple(cut))

    def left(self, total: int, uuids: Sequence[str] = ()) -> frozenset[int]:
        """Which of `total` GPUs (in the run time's order, from 0) remain; all of them where a UUID cannot be looked up."""
        remain = list(range(total))
        for mask in self.masks:
            remain, _ = _choose(mask, remain, uuids)
        return frozenset(range(total)) if any(g < 0 for g in remain) else frozenset(remain)

    def visible_count(self, total_gpus: int) -> tuple[int, str | None]:
        """(GPUs that remain, the variable that leaves none or None)."""
        seen = self.visible(total_gpus)
        return seen.number, seen.hidden_by


def _choose(mask: Mask, left: list[int], uuids: Sequence[str]) -> tuple[list[int], str | None]:
    """(GPUs that one variable chooses, the token that ends its list early)."""
    rocr = mask.variable == ROCR
    chosen: dict[int, None] = {}
    for token in mask.tokens[: len(left)] if rocr else mask.tokens:
        if token.upper().startswith("GPU-"):
            gpu = _by_uuid(token, left, uuids) if uuids else _unknown_uuid(token, mask, left)
        else:
            index = _index(token, rocr)
            gpu = left[index] if index is not None and 0 <= index < len(left) else None
        if gpu is None or (rocr and gpu in chosen):
            return list(chosen)[: len(left)], token
        chosen[gpu] = None
    return list(chosen)[: len(left)], None


def _index(token: str, rocr: bool) -> int | None:
    """ROCr reads indexes by strtol with base 0; rocclr wants the exact decimal form ("1", not "01" or " 1")."""
    if not rocr:
        return int(token) if re.fullmatch(_INDEX, token, re.ASCII) else None
    if not re.fullmatch(_STRTOL, token, re.ASCII):
        return None
    digits = token.lower().lstrip("+-")
    octal = len(digits) > 1 and digits.startswith("0") and set(digits) <= set("01234567")
    return int(token, 16 if digits.startswith("0x") else 8 if octal else 10)


def _by_uuid(token: str, left: list[int], uuids: Sequence[str]) -> int | None:
    """The one GPU whose UUID begins with the token."""
    found = [g for g in left if 0 <= g < len(uuids) and uuids[g] and uuids[g].upper().startswith(token.upper())]
    return found[0] if len(found) == 1 else None


def _unknown_uuid(token: str, mask: Mask, left: list[int]) -> int:
    """A stand-in below zero for the GPU of a UUID that cannot be looked up, the same for the same token."""
    return left[0] if len(left) == 1 else -1 - mask.tokens.index(token)


class Environment(NamedTuple):
    """`overrides`: the global one first, then by node. `settings`: where start-up files and units set such variables."""

    overrides: tuple[Override, ...]
    visibility: Visibility
    settings: tuple[Setting, ...] = ()

    @property
    def override(self) -> Override | None:
        """The global HSA_OVERRIDE_GFX_VERSION, None when unset."""
        return next((o for o in self.overrides if o.node is None), None)

    def override_for(self, node: int | None) -> Override | None:
        """The override that hits a KFD node: its own wins over the global one."""
        own = next((o for o in self.overrides if o.node is not None and o.node == node), None)
        return own or self.override

    def set_in(self, variable: str) -> tuple[Setting, ...]:
        """Where the variable is set for coming sessions."""
        return tuple(s for s in self.settings if s.name == variable)


def _mask(env: Mapping[str, str], variable: str) -> Mask | None:
    value = env.get(variable)
    if value is None:
        return None
    if variable == ROCR:  # blanks around a token do not matter, an empty one ends the list
        tokens = tuple(t.strip() for t in value.split(",")) if value else ()
    else:
        inner = value.strip(" ")
        if len(inner) > 1 and inner[0] == inner[-1] == '"':
            value = inner[1:-1]
        # rocclr makes " " of an empty value: one token that is no index. A comma at the end adds nothing.
        tokens = tuple(value.removesuffix(",").split(",")) if value else ()
    return Mask(variable, value, tokens[:4096])


def parse(env: Mapping[str, str], settings: tuple[Setting, ...] = ()) -> Environment:
    """Views of the variables alone; no file is read."""
    overrides = []
    for variable, value in env.items():
        named = re.fullmatch(_GLOBAL_OR_NODE, variable, re.ASCII) if variable.startswith(OVERRIDE) else None
        if named:
            node = int(named.group(1)) if named.group(1) else None
            overrides.append(Override(variable, value, node, parse_override(value)))
    overrides.sort(key=lambda o: -1 if o.node is None else o.node)
    hip, cuda = _mask(env, HIP), _mask(env, CUDA)
    masks = (_mask(env, ROCR), hip or cuda, _mask(env, ORDINAL))
    return Environment(tuple(overrides), Visibility(tuple(m for m in masks if m), cuda if hip else None), settings)


def gather(host: "Host") -> Environment:
    """The variables of the asked session, and the files that set them. Files that cannot be read are left out."""
    return parse(host.env, read_settings(host))
