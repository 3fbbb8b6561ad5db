"""The ops that the IR may hold: one row an op, the table that every consumer has to cover.

Each consumer (interpreter, AMDGPU and SPIR-V lowering, facts) has a table of its own that is keyed by these
names; a test of that part compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OpClass = Literal["alu", "memory", "control", "collective", "sync", "meta"]


@dataclass(frozen=True)
class OpRow:
    """What is known of an op by its name alone.

    `pure`: the result depends on the operands only and the op may be copied, moved or dropped. `convergent`: the
    set of work-items that execute it together is part of its meaning.
    """

    name: str
    cls: OpClass
    pure: bool = False
    reads: bool = False
    writes: bool = False
    convergent: bool = False


def _pure(dialect: str, names: str) -> list[OpRow]:
    return [OpRow(f"{dialect}.{name}", "alu", pure=True) for name in names.split()]


_ROWS = [
    *_pure("arith", "constant addi subi muli floordivsi ceildivsi ceildivui divui remui remsi"),
    *_pure("arith", "minsi maxsi minui maxui addf subf mulf divf negf cmpi cmpf select andi ori xori"),
    *_pure("arith", "shli shrui shrsi minnumf maxnumf bitcast index_cast sitofp uitofp extf truncf trunci extsi extui"),
    *_pure("math", "absf absi ceil floor trunc roundeven fma sqrt rsqrt exp exp2 log log2 sin cos tanh erf"),
    *_pure("math", "ctpop ctlz cttz"),
    *_pure("vector", "broadcast extract insert bitcast shuffle from_elements"),
    *_pure("motif", "floorremsi fptoi"),
    *_pure("gpu", "thread_id block_id lane_id subgroup_id"),
    OpRow("memref.alloc", "memory"),
    OpRow("memref.load", "memory", reads=True),
    OpRow("memref.store", "memory", writes=True),
    OpRow("memref.atomic_rmw", "memory", reads=True, writes=True),
    OpRow("vector.load", "memory", reads=True),
    OpRow("vector.store", "memory", writes=True),
    OpRow("vector.maskedload", "memory", reads=True),
    OpRow("vector.maskedstore", "memory", writes=True),
    OpRow("scf.for", "control"),
    OpRow("scf.if", "control"),
    OpRow("scf.while", "control"),
    OpRow("scf.yield", "control"),
    OpRow("scf.condition", "control"),
    OpRow("func.return", "control"),
    OpRow("motif.subgroup_reduce", "collective", convergent=True),
    OpRow("motif.subgroup_broadcast", "collective", convergent=True),
    OpRow("motif.subgroup_shuffle", "collective", convergent=True),
    OpRow("motif.subgroup_shuffle_xor", "collective", convergent=True),
    OpRow("motif.subgroup_scan", "collective", convergent=True),
    OpRow("motif.workgroup_reduce", "collective", convergent=True),
    OpRow("gpu.barrier", "sync", convergent=True),
    OpRow("motif.arrive", "sync", convergent=True),
    OpRow("motif.wait", "sync", convergent=True),
    OpRow("motif.fence", "sync"),
    OpRow("motif.assume", "meta"),
    OpRow("motif.check", "meta"),
    OpRow("motif.ahead", "meta"),
    OpRow("motif.extents", "meta"),
    OpRow("motif.window", "meta"),
]

OPS: dict[str, OpRow] = {row.name: row for row in _ROWS}
"""Rows by op name."""
