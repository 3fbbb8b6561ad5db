"""How many arguments a target takes: Vulkan promises 128 bytes of push constants, AMDGPU has no such limit."""

from __future__ import annotations

from typing import cast

import pytest
from binding_helpers import kernel, told

from specgen import stages, targets
from specgen.binding import bind
from specgen.validate import validate_spec

LAUNCH = "launch:\n  workgroup_size: {lane: 32}\n"
BODY = "- store:\n    out[lane]: f32(0)\n"


def args(buffers: int, scalars: tuple[str, ...] = ()) -> str:
    """`buffers` buffers, the stored one among them, then scalars of these types."""
    lines = [f"  b{n}: {{buffer: f32, shape: {{lane: 32}}}}\n" for n in range(buffers - 1)]
    lines += ["  out: {buffer: f32, shape: {lane: 32}, access: write}\n"]
    lines += [f"  s{n}: {{type: {kind}}}\n" for n, kind in enumerate(scalars)]
    return "args:\n" + "".join(lines) + LAUNCH


@pytest.mark.parametrize(
    ("buffers", "scalars", "size"),
    [
        (16, (), None),
        (17, (), 136),
        (15, ("index",), None),
        (15, ("f32", "i8", "i16"), None),
        (15, ("i8", "index"), 136),
        (16, ("bool",), 129),
    ],
)
def test_vulkan_takes_128_bytes(buffers: int, scalars: tuple[str, ...], size: int | None) -> None:
    spec = kernel(BODY, args=args(buffers, scalars))
    assert bind(spec, targets.load("gfx1151")).diagnostics == ()
    bound = bind(spec, targets.load("vulkan1.3"))
    assert bound.refused == (size is not None)
    if size is None:
        assert bound.instance is not None
    else:
        (line,) = told(bound.diagnostics)
        assert f"SG-LAUNCH the arguments up to here take {size} bytes; `vulkan1.3` is sure to pass 128." in line


def test_the_other_targets_are_built_all_the_same() -> None:
    spec = kernel(BODY, args=args(17))
    found, status = validate_spec(spec, until="typed")
    assert (found, status) == ((), "ok")
    bound = stages.bind_targets(spec, ("gfx1151", "gfx1100", "vulkan1.3-sg32"))
    assert [cast(bool, b.refused) for b in bound.values()] == [False, False, True]
