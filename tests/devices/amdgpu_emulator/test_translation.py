"""The pseudocode translator on small bodies, and the table of executed operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specgen.devices.amdgpu_emulator import optable_doc
from specgen.devices.amdgpu_emulator.pseudocode import Untranslatable, parse
from specgen.devices.amdgpu_emulator.runtime import namespace
from specgen.devices.amdgpu_emulator.translate import Translator
from specgen.devices.amdgpu_emulator.values import Value


def evaluate(text: str, s0: list[int], s1: list[int]) -> dict[str, Any]:
    """Run a body on 32-bit operands; outputs by name."""
    operands = {"S0": Value("a", "u32"), "S1": Value("b", "u32"), "D0": Value("d", "u32"), "SCC": Value("scc", "u1")}
    result = Translator(operands.get, {"WAVE32": True}, "u32").run(parse(text))
    names = dict(namespace(32))
    names.update(a=np.array([s0], np.uint32), b=np.array([s1], np.uint32), scc=np.array([[True]]))
    names["d"] = np.full((1, len(s0)), 0xAAAABBBB, np.uint32)
    exec("\n".join(result.lines), names)
    return {
        name: np.broadcast_to(eval(value.code, names), (1, len(s0)))[0].tolist()
        for name, value in result.outputs.items()
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D0.u32 = S0.u32 + S1.u32", [5, 0, 0x80000003]),
        ("if S0.i32 < S1.i32 then D0.u32 = 1U elsif S0.u32 == 2U then D0.u32 = 7U else D0.u32 = 9U endif", [1, 1, 7]),
        ("if S0.u32 == 2U then D0.u32 = 1U endif", [1, 0xAAAABBBB, 1]),
        ("D0.u32 = S0.u32[3 : 1].u32", [1, 7, 1]),
        ("D0[15 : 0].u16 = S0[15 : 0].u16", [0xAAAA0002, 0xAAAAFFFF, 0xAAAA0002]),
        ("D0.u32 = { S0[15 : 0].u16, S1[31 : 16].u16 }", [0x20000, 0xFFFF0000, 0x28000]),
        ("tmp = 0U; for i in 0 : 3 do tmp += S0.u32[i] == 1'1U ? 2U : 0U endfor; D0.u32 = tmp", [2, 8, 2]),
        ("F = lambda(x, y) ( x > y ? x - y : y - x); D0.u32 = 32'U(F(S0.u32, S1.u32))", [1, 0xFFFFFFFE, 0x7FFFFFFF]),
        ("D0.i32 = 32'I(signext(S0.i8)) >> 1U", [1, 0xFFFFFFFF, 1]),
        ("D0.u32 = S0.u32; SCC = D0.u32 != 2U", [2, 0xFFFFFFFF, 2]),
        ("D0.i32 = -S0.i32", [0xFFFFFFFE, 1, 0xFFFFFFFE]),
        ("D0.u32 = ~S0.u32 ^ S1.u32", [0xFFFFFFFE, 1, 0x7FFFFFFC]),
        ("D0.u32 = 32'U(64'U(S0.u32) * 64'U(S1.u32) >> 32U)", [0, 0, 1]),
        ("tmp = S0.u32; tmp += 3U; tmp &= 6U; D0.u32 = tmp", [4, 2, 4]),
    ],
)
def test_bodies(text: str, expected: list[int]) -> None:
    got = evaluate(text, [2, 0xFFFFFFFF, 2], [3, 1, 0x80000001])["D0"]
    assert [int(value) & 0xFFFFFFFF for value in got] == expected


@pytest.mark.parametrize(
    "text",
    [
        "PC = S0.u64",
        "VGPR[0][1] = S0.u32",
        "D0.u32 = unknown_function(S0.u32)",
        "D0.u32 = NEVER_HEARD",
        "D0.u32 = S0.u32 +",
        "while S0.u32 do endwhile",
        "D0.u32[S0.u32] = 1'1U",
        "for i in 0 : 3 do if S0.u32[i] then break endif endfor",
        "D0.fp6 = S0.u32",
    ],
)
def test_what_is_outside_the_language_is_refused(text: str) -> None:
    """Never a silent skip: the instruction would be executed wrongly."""
    operands = {"S0": Value("a", "u32"), "S1": Value("b", "u32"), "D0": Value("d", "u32")}
    with pytest.raises(Untranslatable):
        Translator(operands.get, {}, "u32").run(parse(text))


def test_table_of_operations() -> None:
    table = optable_doc.table()
    assert set(table) == {"cdna", "rdna3", "rdna4"}
    assert all(len(rows) > 900 for rows in table.values())
    assert table["rdna3"]["v_add_f32"] == "vendor pseudocode"
    assert table["rdna3"]["v_min_f32"] == "vendor pseudocode, replaced"
    assert table["cdna"]["ds_bpermute_b32"] == "by hand: lanes"
    assert table["rdna4"]["s_barrier_wait"] == "barrier"
    assert "s_setpc_b64" not in table["rdna3"]
    assert "s_setreg_b32" not in table["cdna"]
    page = optable_doc.markdown()
    assert "| operation | cdna | rdna3 | rdna4 | test | in artifacts |" in page
    assert "| `s_barrier_wait` |  |  | barrier | control | rdna4 |" in page
