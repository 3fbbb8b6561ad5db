"""Matrix instructions: WMMA of RDNA3 and RDNA4, MFMA of CDNA.

Layouts (ISA guides, "WMMA" and "Matrix Arithmetic Instructions"; lanes l, element e, register i):
- RDNA3, wave32, 16x16x16: A lane l row l%16, all k; B lane l column l%16, all k (both repeated in lanes 16-31);
  C and D: column l%16, register i row 2i + l/16.
- RDNA4: A and B lane l row (column) l%16, k 8(l/16)+e; C and D: column l%16, register i row i + 8(l/16).
- MFMA MxMxK: lane t row (column) t%M, k (K M/64)(t/M)+e; C and D: column t%M, register i row
  4(t/M) + i%4 + (256/M)(i/4).

Products and their sum are formed in float64 and rounded once to the result type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specgen.devices.amdgpu_emulator.emitter import Emitter, Unsupported
from specgen.devices.amdgpu_emulator.instruction import VECTOR, Instruction
from specgen.devices.amdgpu_emulator.numeric import bf16_to_f32

Array = NDArray[Any]

_NAME: Final = re.compile(r"v_(wmma|mfma)_(f32|i32)_(\d+)x(\d+)x(\d+)_(f16|bf16|i8|iu8|f32|bf16_1k)$")


@dataclass(frozen=True)
class Shape:
    """One matrix operation: rows = columns = `side`, `depth` products, input type, layout family."""

    family: str
    side: int
    depth: int
    kind: str
    signed: tuple[bool, bool] = (True, True)


def _unpack(registers: list[Array], kind: str, signed: bool) -> Array:
    """Elements of a fragment as float64 [waves, lanes, elements]."""
    words = np.ascontiguousarray(np.stack(registers, -1))
    if kind == "f16":
        return words.view(np.float16).astype(np.float64)
    if kind == "bf16":
        return bf16_to_f32(words.view(np.uint16)).astype(np.float64)
    if kind == "f32":
        return words.view(np.float32).astype(np.float64)
    return words.view(np.int8 if signed else np.uint8).astype(np.float64)


def _operand(shape: Shape, registers: list[Array], signed: bool) -> Array:
    """A (or B transposed) as [waves, side, depth]."""
    parts = _unpack(registers, shape.kind, signed)
    if shape.family == "rdna3":
        return parts[:, : shape.side]
    waves, lanes, count = parts.shape
    blocks = lanes // shape.side
    ordered = parts.reshape(waves, blocks, shape.side, count).transpose(0, 2, 1, 3)
    return ordered.reshape(waves, shape.side, blocks * count)


def result_rows(shape: Shape, lanes: int, registers: int) -> tuple[Array, Array]:
    """Row [registers, lanes] and column [lanes] that each register of a lane holds."""
    lane, at = np.arange(lanes), np.arange(registers)[:, None]
    block = lane // shape.side
    if shape.family == "rdna3":
        rows = 2 * at + block
    elif shape.family == "rdna4":
        rows = at + 8 * block
    else:
        rows = 4 * block + at % 4 + (256 // shape.side) * (at // 4)
    return rows, lane % shape.side


def multiply(shape: Shape, a: list[Array], b: list[Array], c: Any, out: list[Array]) -> None:
    """`out = a b + c` for every wave; `c` is a list of registers or one number."""
    left, right = _operand(shape, a, shape.signed[0]), _operand(shape, b, shape.signed[1])
    product = np.matmul(left, right.transpose(0, 2, 1))
    rows, columns = result_rows(shape, out[0].shape[1], len(out))
    integer = shape.kind in ("i8", "iu8")
    for at, target in enumerate(out):
        total = product[:, rows[at], columns]
        addend = c[at].view(np.int32 if integer else np.float32) if isinstance(c, list) else c
        total = total + addend
        if integer:
            target[...] = total.astype(np.int64).astype(np.uint32)
        else:
            target[...] = total.astype(np.float32).view(np.uint32)


def repeated(registers: list[Array]) -> bool:
    """Whether lanes 16-31 repeat lanes 0-15, as RDNA3's WMMA requires."""
    return all((register[:, :16] == register[:, 16:]).all() for register in registers)


def transpose_read(words: Array) -> Array:
    """`ds_read_b64_tr_b16`: words [waves, lanes, 2] read by each lane, exchanged within blocks of 16 lanes.

    Lane t's element e comes from lane 4e + (t%16)/4 of its block, column t%4.
    """
    waves, lanes, _ = words.shape
    halves = np.ascontiguousarray(words).view(np.uint16).reshape(waves, lanes // 16, 16, 4)
    t, e = np.arange(16)[:, None], np.arange(4)[None, :]
    moved = halves[:, :, 4 * e + t // 4, np.broadcast_to(t % 4, (16, 4))]
    return np.ascontiguousarray(moved).reshape(waves, lanes, 4).view(np.uint32)


def shape_of(inst: Instruction, lanes: int) -> Shape:
    """What a matrix instruction computes; raises `Unsupported` for forms that are not executed."""
    match = _NAME.match(inst.name)
    if match is None:
        raise Unsupported("matrix operation")
    rows, columns, depth = (int(match[k]) for k in (3, 4, 5))
    kind = match[6].removesuffix("_1k")
    if rows != columns or rows not in (16, 32):
        raise Unsupported("matrix shape")
    if match[1] == "wmma":
        if lanes != 32:
            raise Unsupported("WMMA in wave64")
        if inst.get("opsel") & 4 or inst.get("neg_hi"):
            raise Unsupported("matrix operand modifier")
        if kind == "iu8":
            flags = inst.get("neg")
            if inst.get("clmp"):
                raise Unsupported("clamped matrix result")
            return Shape(inst.arch.name, 16, depth, "i8", (bool(flags & 1), bool(flags & 2)))
        if inst.get("neg"):
            raise Unsupported("matrix operand modifier")
        return Shape(inst.arch.name, 16, depth, kind)
    if inst.get("cbsz") or inst.get("abid") or inst.get("blgp"):
        raise Unsupported("matrix broadcast modifier")
    per_lane = rows * depth // 64
    if per_lane < 1 or (kind == "f32" and per_lane != 1):
        raise Unsupported("matrix shape")
    return Shape("cdna", rows, depth, kind)


def emit_matrix(em: Emitter, inst: Instruction) -> None:
    """Emit one WMMA or MFMA."""
    shape = shape_of(inst, em.lanes)

    def registers(name: str, count: int) -> list[str]:
        return [em.vector(inst.fields[name] + k) for k in range(count)]

    per_lane = shape.depth if shape.family == "rdna3" else shape.side * shape.depth // em.lanes
    size = {"f16": 2, "bf16": 2, "i8": 1, "f32": 4}[shape.kind]
    words = per_lane * size // 4
    results = shape.side * shape.side // em.lanes
    a, b = registers("src0", words), registers("src1", words)
    for names in (a, b) if shape.family == "rdna3" else ():
        em.emit(
            f"if not repeated([{', '.join(names)}]): st.reporter.unsupported({em.site()}, 'unrepeated WMMA operand')"
        )
    code = inst.fields["src2"]
    if code >= VECTOR:
        c = "[" + ", ".join(registers("src2", results)) + "]"
    else:
        kind = "i32" if shape.kind == "i8" else "f32"
        c = f"{em.source(code, 32, inst, kind).code}.view({kind})"
    out = [em.vector(inst.fields["vdst"] + k, write=True) for k in range(results)]
    name = em.constant(shape, "shape")
    em.emit(f"multiply({name}, [{', '.join(a)}], [{', '.join(b)}], {c}, [{', '.join(out)}])")
