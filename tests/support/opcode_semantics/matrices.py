"""Matrix multiply-accumulate: products of small integers, exact in every format, against Python's own sums.

Layouts (ISA documents, "WMMA" and "MFMA"; lane l, element e, register i): RDNA3 A lane l row l%16 and all k, repeated in
lanes 16-31, C and D register i row 2i + l/16; RDNA4 A lane l row l%16, k 8(l/16) + e, C and D register i row
i + 8(l/16); MFMA M x M x K lane l row l%M, k (KM/64)(l/M) + e, C and D register i row 4(l/M) + i%4 + (256/M)(i/4).
B is laid out like A with columns for rows; the column of C and D is l%M.
"""

# ruff: noqa: E501 (rows of a table, and their short meanings)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

from opcode_semantics.patterns import LANES
from opcode_semantics.rows import CDNA, RDNA3, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

DTYPES: Final[dict[str, Any]] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "u8": np.uint8,
    "f32": np.float32,
}
FIRST_A, FIRST_B, FIRST_C, FIRST_D = 64, 72, 80, 100


@dataclass(frozen=True)
class Matrix:
    """`kinds` are the element types of A and B; `layout` the family; the result is f32, or i32 for bytes."""

    name: str
    layout: str
    side: int
    depth: int
    kinds: tuple[str, str]
    modifier: str = ""
    encoded: int = 0
    """Opcode of a VOP3P-MAI that the assembler does not know."""

    @property
    def lanes(self) -> int:
        return 64 if self.layout == CDNA else 32

    @property
    def per_lane(self) -> int:
        return self.depth if self.layout == RDNA3 else self.side * self.depth // self.lanes

    @property
    def words(self) -> int:
        return self.per_lane * np.dtype(DTYPES[self.kinds[0]]).itemsize // 4

    @property
    def results(self) -> int:
        return self.side * self.side // self.lanes

    @property
    def whole(self) -> bool:
        return self.kinds[0] in ("i8", "u8")


MATRICES: Final = (
    *(Matrix(f"v_wmma_f32_16x16x16_{k}", arch, 16, 16, (k, k)) for k in ("f16", "bf16") for arch in (RDNA3, RDNA4)),
    *(
        Matrix("v_wmma_i32_16x16x16_iu8", arch, 16, 16, (("i8" if a else "u8"), ("i8" if b else "u8")), f" neg_lo:[{a},{b},0]")
        for a, b in ((0, 0), (1, 0), (0, 1), (1, 1))
        for arch in (RDNA3, RDNA4)
    ),
    *(Matrix(f"v_mfma_f32_{m}x{m}x{k}_{t}", CDNA, m, k, (t, t)) for m, k in ((16, 16), (32, 8)) for t in ("f16", "bf16")),
    Matrix("v_mfma_f32_16x16x4_f32", CDNA, 16, 4, ("f32", "f32")),
    Matrix("v_mfma_f32_32x32x2_f32", CDNA, 32, 2, ("f32", "f32")),
    Matrix("v_mfma_i32_16x16x32_i8", CDNA, 16, 32, ("i8", "i8")),
    Matrix("v_mfma_i32_32x32x16_i8", CDNA, 32, 16, ("i8", "i8")),
    Matrix("v_mfma_f32_16x16x32_f16", CDNA, 16, 32, ("f16", "f16"), encoded=0x54),
    Matrix("v_mfma_f32_32x32x16_f16", CDNA, 32, 16, ("f16", "f16"), encoded=0x55),
    Matrix("v_mfma_f32_16x16x32_bf16", CDNA, 16, 32, ("bf16", "bf16"), encoded=0x35),
    Matrix("v_mfma_f32_32x32x16_bf16", CDNA, 32, 16, ("bf16", "bf16"), encoded=0x37),
    Matrix("v_mfma_i32_16x16x64_i8", CDNA, 16, 64, ("i8", "i8"), encoded=0x36),
    Matrix("v_mfma_i32_32x32x32_i8", CDNA, 32, 32, ("i8", "i8"), encoded=0x38),
)  # fmt: skip


def fragment_at(m: Matrix, lane: int, element: int) -> tuple[int, int]:
    """Row (of A; column of B) and k of an element of a lane."""
    if m.layout == RDNA3:
        return lane % 16, element
    return lane % m.side, m.per_lane * (lane // m.side) + element


def result_at(m: Matrix, lane: int, register: int) -> tuple[int, int]:
    column, block = lane % m.side, lane // m.side
    if m.layout == RDNA3:
        return 2 * register + block, column
    if m.layout == RDNA4:
        return register + 8 * block, column
    return 4 * block + register % 4 + 256 // m.side * (register // 4), column


def numbers(m: Matrix) -> tuple[Words, Words, Words]:
    """A, B and C: whole numbers whose products and sums every format holds exactly."""
    rng = np.random.default_rng(len(m.name) + m.depth + m.side)
    limit = {"i8": (-128, 128), "u8": (0, 256)}
    low_a, high_a = limit.get(m.kinds[0], (-8, 9))
    low_b, high_b = limit.get(m.kinds[1], (-8, 9))
    a, b = rng.integers(low_a, high_a, (m.side, m.depth)), rng.integers(low_b, high_b, (m.depth, m.side))
    return a, b, rng.integers(-50, 50, (m.side, m.side))


def fragments(m: Matrix) -> tuple[Words, Words, Words]:
    """Words [registers, lanes of a wave] of A, B and C."""
    a, b, c = numbers(m)
    lanes, each = range(m.lanes), range(m.per_lane)
    held_a = np.array([[a[fragment_at(m, lane, e)] for e in each] for lane in lanes]).astype(DTYPES[m.kinds[0]])
    held_b = np.array([[b[fragment_at(m, lane, e)[::-1]] for e in each] for lane in lanes]).astype(DTYPES[m.kinds[1]])
    held_c = np.array([[c[result_at(m, lane, i)] for i in range(m.results)] for lane in lanes])
    held_c = held_c.astype(np.int32 if m.whole else np.float32)
    return tuple(np.ascontiguousarray(np.ascontiguousarray(h).view(np.uint32).T) for h in (held_a, held_b, held_c))  # type: ignore[return-value]


def product(m: Matrix, with_c: bool) -> Words:
    """Words [registers, lanes] of D."""
    a, b, c = numbers(m)
    total = [
        [
            sum(int(a[i, k]) * int(b[k, j]) for k in range(m.depth)) + (int(c[i, j]) if with_c else 0)
            for j in range(m.side)
        ]
        for i in range(m.side)
    ]
    held = np.array(
        [[total[r][col] for r, col in (result_at(m, lane, i) for i in range(m.results))] for lane in range(m.lanes)]
    )
    return np.ascontiguousarray(held.astype(np.int32 if m.whole else np.float32).view(np.uint32).T)


def span(first: int, count: int, letter: str = "v") -> str:
    return f"{letter}[{first}:{first + count - 1}]" if count > 1 else f"{letter}{first}"


def instruction(m: Matrix, c: int | None) -> str:
    """The instruction with C in registers, or the constant 0."""
    if m.encoded:
        source = 256 + c if c is not None else 128
        return f".long {0xD3800000 | m.encoded << 16 | FIRST_D:#x}, {256 + FIRST_A | (256 + FIRST_B) << 9 | source << 18:#x}"
    addend = span(c, m.results) if c is not None else "0"
    return f"{{0}} {span(FIRST_D, m.results)}, {span(FIRST_A, m.words)}, {span(FIRST_B, m.words)}, {addend}{m.modifier}"


def _snippets(m: Matrix) -> list[Snippet]:
    held = fragments(m)

    def inputs() -> dict[int, Words]:
        starts = (FIRST_A, FIRST_B, FIRST_C)
        return {first + k: row for first, rows in zip(starts, held, strict=True) for k, row in enumerate(rows)}

    def result(with_c: bool) -> Callable[[State], tuple[Words, ...]]:
        return lambda s: tuple(np.tile(row, LANES // m.lanes) for row in product(m, with_c))

    pause = "s_nop 15\n" * 2  # a result of several passes: the compiler leaves such gaps
    made = [
        Snippet(
            m.name,
            f"{instruction(m, c)}\n{pause}",
            result(c is not None),
            archs=(m.layout,),
            first=FIRST_D,
            inputs=inputs,
        )
        for c in (FIRST_C, None)
    ]
    if m.layout == CDNA and not m.encoded:
        made.append(_accumulated(m, inputs, result(True), pause))
    return made


def _accumulated(m: Matrix, inputs: Any, result: Any, pause: str) -> Snippet:
    """C and D in accumulation registers, filled and emptied by moves."""
    count = range(m.results)
    fill = "\n".join(f"v_accvgpr_write_b32 a{8 + k}, v{FIRST_C + k}" for k in count)
    moved = "\n".join(f"v_accvgpr_mov_b32 a{32 + k}, a{8 + k}" for k in count)
    empty = "\n".join(f"v_accvgpr_read_b32 v{FIRST_D + k}, a{32 + k}" for k in count)
    c = span(32, m.results, "a")
    text = f"{fill}\n{moved}\ns_nop 1\n{{0}} {c}, {span(FIRST_A, m.words)}, {span(FIRST_B, m.words)}, {c}\n{pause}\n{empty}"
    names = f"{m.name};v_accvgpr_write;v_accvgpr_mov_b32;v_accvgpr_read"
    return Snippet(names, text, result, archs=(CDNA,), first=FIRST_D, inputs=inputs)


def snippets() -> list[Snippet]:
    return [piece for m in MATRICES for piece in _snippets(m)]
