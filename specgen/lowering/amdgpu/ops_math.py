"""Rows of the `math` dialect."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from specgen.lowering.amdgpu import expansions, floats, types
from specgen.lowering.amdgpu.builder import Builder, floating, integer
from specgen.lowering.amdgpu.context import Lowering, Row
from specgen.lowering.amdgpu.types import Value

OnF32 = Callable[[Builder, Value, str], Value]
"""A function of f32 (or a vector of it) under fast-math flags."""


def _intrinsic(name: str, *, f16: bool = True) -> Row:
    """An LLVM intrinsic; types for which it is not exact go through f32."""

    def row(low: Lowering, op: Operation) -> None:
        kind, flags = types.name(op.results[0].type), floats.flags(op)
        operands = [low.value(o) for o in op.operands]

        def apply(*values: Value) -> Value:
            return low.b.intrinsic(f"{name}.{types.mangled(values[0].type)}", values[0].type, *values, attributes=flags)

        if kind == "bf16" or (kind == "f16" and not f16):
            low.define(op.results[0], floats.through_f32(low.b, kind, operands, low.target.cpu, apply))
        else:
            low.define(op.results[0], apply(*operands))

    return row


def _on_f32(function: OnF32) -> Row:
    """A function that is computed in f32 and rounded to the type."""

    def row(low: Lowering, op: Operation) -> None:
        kind, flags = types.name(op.results[0].type), floats.flags(op)
        value = low.value(op.operands[0])
        result = floats.through_f32(low.b, kind, [value], low.target.cpu, lambda x: function(low.b, x, flags))
        low.define(op.results[0], result)

    return row


def _plain(name: str) -> OnF32:
    return lambda b, x, flags: b.intrinsic(f"{name}.{types.mangled(x.type)}", x.type, x, attributes=flags)


def _absf(low: Lowering, op: Operation) -> None:
    if types.name(op.results[0].type) == "bf16":
        value = low.value(op.operands[0])
        low.define(op.results[0], low.b.binary("and", value, integer(value.type, 0x7FFF)))
    else:
        _intrinsic("fabs")(low, op)


def _absi(low: Lowering, op: Operation) -> None:
    """The least value stays as it is."""
    (value,) = low.operands(op)
    absolute = low.b.intrinsic(f"abs.{types.mangled(value.type)}", value.type, value, Value("i1", "false"))
    low.define(op.results[0], absolute)


def _fma(low: Lowering, op: Operation) -> None:
    if types.name(op.results[0].type) == "bf16":
        x, y, z = (low.value(o) for o in op.operands)
        low.define(op.results[0], floats.fma_bf16(low.b, x, y, z, low.target.cpu))
    else:
        _intrinsic("fma")(low, op)


def _rsqrt(low: Lowering, op: Operation) -> None:
    if types.name(op.results[0].type) == "f64":
        value = low.value(op.operands[0])
        root = low.b.intrinsic(f"sqrt.{types.mangled(value.type)}", value.type, value)
        low.define(op.results[0], low.b.binary("fdiv", floating(value.type, 1.0), root))
    else:
        _on_f32(_rsqrt_f32)(low, op)


def _rsqrt_f32(b: Builder, x: Value, flags: str) -> Value:
    if "afn" in flags:
        return expansions.each(b, x, lambda v: b.intrinsic("amdgcn.rsq.f32", "float", v))
    return expansions.rsqrt(b, x)


LOG2_E = 1.4426950408889634
"""log2(e), by which exp becomes a power of two."""


def _exp2(b: Builder, x: Value, flags: str) -> Value:
    """`approximate` is v_exp_f32 as it is: what would be subnormal may be 0."""
    if "afn" not in flags:
        return b.intrinsic(f"exp2.{types.mangled(x.type)}", x.type, x, attributes=flags)
    return expansions.each(b, x, lambda v: b.intrinsic("amdgcn.exp2.f32", "float", v))


def _exp(b: Builder, x: Value, flags: str) -> Value:
    if "afn" not in flags:
        return b.intrinsic(f"exp.{types.mangled(x.type)}", x.type, x, attributes=flags)
    return _exp2(b, b.binary("fmul", x, floating(x.type, LOG2_E)), flags)


def _bits(name: str, *, zero_flag: bool) -> Row:
    """A count of bits; of the whole 64 for `index`. 0 has as many zeros as its type has bits."""

    def row(low: Lowering, op: Operation) -> None:
        (value,) = low.operands(op)
        if types.is_index(op.results[0].type):
            value = low.resize(value, 64)
        extra = (Value("i1", "false"),) if zero_flag else ()
        low.define(op.results[0], low.b.intrinsic(f"{name}.{types.mangled(value.type)}", value.type, value, *extra))

    return row


ROWS: dict[str, Row] = {
    "math.absf": _absf,
    "math.absi": _absi,
    "math.ceil": _intrinsic("ceil"),
    "math.floor": _intrinsic("floor"),
    "math.trunc": _intrinsic("trunc"),
    "math.roundeven": _intrinsic("roundeven"),
    "math.fma": _fma,
    "math.sqrt": _intrinsic("sqrt", f16=False),
    "math.rsqrt": _rsqrt,
    "math.exp": _on_f32(_exp),
    "math.exp2": _on_f32(_exp2),
    "math.log": _on_f32(_plain("log")),
    "math.log2": _on_f32(_plain("log2")),
    "math.sin": _on_f32(lambda b, x, flags: expansions.sine(b, x, quarter_turns=0)),
    "math.cos": _on_f32(lambda b, x, flags: expansions.sine(b, x, quarter_turns=1)),
    "math.tanh": _on_f32(lambda b, x, flags: expansions.tanh(b, x)),
    "math.erf": _on_f32(lambda b, x, flags: expansions.erf(b, x)),
    "math.ctpop": _bits("ctpop", zero_flag=False),
    "math.ctlz": _bits("ctlz", zero_flag=True),
    "math.cttz": _bits("cttz", zero_flag=True),
}
"""By op name. The functions of `_on_f32` exist for f16, bf16 and f32 (see `legality`)."""
