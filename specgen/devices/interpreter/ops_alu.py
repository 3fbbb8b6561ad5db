"""Steps of element-wise arithmetic, comparisons, conversions and ids."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects.arith import CmpfOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, StringAttr
from xdsl.dialects.gpu import BlockIdOp, ThreadIdOp
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from specgen.devices.interpreter import numerics
from specgen.devices.interpreter.frame import Frame, at
from specgen.devices.interpreter.program import Compiler, Env, Step, dtype_of, lanes_of, where

Function = Callable[..., Any]
Choice = Callable[[np.dtype[Any]], Function]
"""The function for an element type."""


def _unsigned_binary(function: Function) -> Function:
    def wrapped(a: Any, b: Any) -> Any:
        return np.asarray(function(numerics.unsigned(a), numerics.unsigned(b))).view(a.dtype)

    return wrapped


def _integer(function: Function, on_bool: Function | None = None) -> Choice:
    """A signed operation; `on_bool` is its form on i1, whose arithmetic is modulo 2."""

    def choose(dtype: np.dtype[Any]) -> Function:
        if dtype == numerics.BOOL:
            return on_bool or _via_bytes(function)
        return function

    return choose


def _via_bytes(function: Function) -> Function:
    """A signed i1 is 0 or -1: compute in i8 and keep the low bit."""

    def wrapped(*operands: Any) -> Any:
        return (function(*(-x.astype(np.int8) for x in operands)) & 1).astype(np.bool_)

    return wrapped


def _float(function: Function) -> Choice:
    return lambda dtype: numerics.via_f32(function) if dtype in numerics.NARROW_FLOATS else function


def _transcendental(function: Function) -> Choice:
    return lambda dtype: function if dtype == numerics.F64 else numerics.via_f64(function)


def _same(function: Function) -> Choice:
    return lambda dtype: function


ELEMENTWISE: Mapping[str, Choice] = {
    "arith.addi": _integer(operator.add, operator.xor),
    "arith.subi": _integer(operator.sub, operator.xor),
    "arith.muli": _integer(operator.mul, operator.and_),
    "arith.andi": _same(operator.and_),
    "arith.ori": _same(operator.or_),
    "arith.xori": _same(operator.xor),
    "arith.minsi": _integer(np.minimum, operator.or_),
    "arith.maxsi": _integer(np.maximum, operator.and_),
    "arith.minui": _same(_unsigned_binary(np.minimum)),
    "arith.maxui": _same(_unsigned_binary(np.maximum)),
    "arith.shli": _integer(numerics.shift("shli")),
    "arith.shrui": _integer(numerics.shift("shrui")),
    "arith.shrsi": _integer(numerics.shift("shrsi")),
    "arith.addf": _float(operator.add),
    "arith.subf": _float(operator.sub),
    "arith.mulf": _float(operator.mul),
    "arith.divf": _float(np.divide),
    "arith.negf": _same(np.negative),
    "arith.minnumf": _same(numerics.minnum),
    "arith.maxnumf": _same(numerics.maxnum),
    "arith.select": lambda dtype: np.where,
    "math.absf": _same(np.abs),
    "math.absi": _integer(np.abs),
    "math.ceil": _float(np.ceil),
    "math.floor": _float(np.floor),
    "math.trunc": _float(np.trunc),
    "math.roundeven": _float(np.rint),
    "math.sqrt": _float(np.sqrt),
    "math.fma": _same(numerics.fma),
    "math.rsqrt": _transcendental(lambda x: 1.0 / np.sqrt(x)),
    "math.exp": _transcendental(np.exp),
    "math.exp2": _transcendental(np.exp2),
    "math.log": _transcendental(np.log),
    "math.log2": _transcendental(np.log2),
    "math.sin": _transcendental(np.sin),
    "math.cos": _transcendental(np.cos),
    "math.tanh": _transcendental(np.tanh),
    "math.erf": _transcendental(numerics.erf64),
    "math.ctpop": _same(lambda x: np.bitwise_count(numerics.unsigned(x)).astype(x.dtype)),
    "math.ctlz": _same(numerics.leading_zeros),
    "math.cttz": _same(numerics.trailing_zeros),
}
"""Pure element-wise ops whose operands and result share one type."""

DIVISIONS: Mapping[str, Function] = {
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": numerics.ceil_div,
    "arith.divui": _unsigned_binary(operator.floordiv),
    "arith.ceildivui": _unsigned_binary(numerics.ceil_div),
    "arith.remsi": np.fmod,
    "arith.remui": _unsigned_binary(operator.mod),
    "motif.floorremsi": np.remainder,
}
"""Integer divisions and remainders; a zero divisor is a finding and gives 0."""


def _step(function: Function, result: int, operands: tuple[int, ...]) -> Step:
    if len(operands) == 1:
        (only,) = operands

        def unary(env: Env, frame: Frame) -> None:
            env[result] = function(env[only])

        return unary
    if len(operands) == 2:
        left, right = operands

        def binary(env: Env, frame: Frame) -> None:
            env[result] = function(env[left], env[right])

        return binary
    first, second, third = operands

    def ternary(env: Env, frame: Frame) -> None:
        env[result] = function(env[first], env[second], env[third])

    return ternary


def _elementwise(op: Operation, compiler: Compiler) -> Step:
    function = ELEMENTWISE[op.name](dtype_of(op.operands[-1].type))
    if isinstance(op.results[0].type, IndexType) and op.name in _OVERFLOWS:
        return _checked_index(op, compiler)
    return _step(function, compiler.slot(op.results[0]), compiler.slots(op.operands))


def _sum_overflow(a: Any, b: Any, r: Any) -> Any:
    if b.ndim == 0:
        return r < a if b >= 0 else r > a
    return ((a ^ r) & (b ^ r)) < 0


def _difference_overflow(a: Any, b: Any, r: Any) -> Any:
    if b.ndim == 0:
        return r > a if b >= 0 else r < a
    return ((a ^ b) & (a ^ r)) < 0


def _product_overflow(a: Any, b: Any, r: Any) -> Any:
    """Exact where the product of the largest sizes reaches 2**63, false elsewhere."""
    if a.size and b.size and _largest(a) * _largest(b) < 2**63:
        return np.False_
    exact = np.multiply(np.asarray(a).astype(object), np.asarray(b).astype(object))
    return np.asarray(exact != np.asarray(r).astype(object)).astype(bool)


def _largest(x: Any) -> int:
    return max(int(x.max()), -int(x.min()))


_OVERFLOWS: Mapping[str, tuple[Function, Function, str]] = {
    "arith.addi": (operator.add, _sum_overflow, "+"),
    "arith.subi": (operator.sub, _difference_overflow, "-"),
    "arith.muli": (operator.mul, _product_overflow, "*"),
}


def _checked_index(op: Operation, compiler: Compiler) -> Step:
    """`index` arithmetic: overflow is a finding."""
    function, overflows, sign = _OVERFLOWS[op.name]
    result, (left, right), place = compiler.slot(op.results[0]), compiler.slots(op.operands), where(op)

    def step(env: Env, frame: Frame) -> None:
        a, b = env[left], env[right]
        value = function(a, b)
        env[result] = value
        bad = overflows(a, b, value)
        if np.count_nonzero(bad):
            frame.report("index-overflow", place, bad, lambda p: f"{at(a, p)} {sign} {at(b, p)} leaves 64 bits")

    return step


def _shift(op: Operation, compiler: Compiler) -> Step:
    """A shift; an amount outside [0, width) is a finding."""
    dtype = dtype_of(op.results[0].type)
    function = ELEMENTWISE[op.name](dtype)
    result, (left, right), place = compiler.slot(op.results[0]), compiler.slots(op.operands), where(op)
    width = 8 * dtype.itemsize if dtype != numerics.BOOL else 1

    def step(env: Env, frame: Frame) -> None:
        a, b = env[left], env[right]
        env[result] = function(a, b)
        bad = numerics.unsigned(b) >= width
        if np.count_nonzero(bad):
            frame.report("shift-range", place, bad, lambda p: f"shift by {at(b, p)}, the width is {width}")

    return step


def _division(op: Operation, compiler: Compiler) -> Step:
    function = DIVISIONS[op.name]
    result, (left, right), place = compiler.slot(op.results[0]), compiler.slots(op.operands), where(op)
    zero = dtype_of(op.results[0].type).type(0)

    def step(env: Env, frame: Frame) -> None:
        a, b = env[left], env[right]
        bad = b == 0
        if np.count_nonzero(bad):
            frame.report("division-by-zero", place, bad, lambda p: f"{at(a, p)} divided by 0")
            env[result] = np.where(bad, zero, function(a, np.where(bad, b.dtype.type(1), b)))
        else:
            env[result] = function(a, b)

    return step


def _constant(op: Operation, compiler: Compiler) -> None:
    assert isinstance(op, ConstantOp)
    compiler.constants[compiler.slot(op.result)] = constant_value(op)


def constant_value(op: ConstantOp) -> Any:
    """The value of a constant: a numpy scalar, or `[n, 1, 1]` for a vector."""
    dtype, attribute = dtype_of(op.result.type), op.value
    if isinstance(attribute, IntegerAttr):
        return _integers([attribute.value.data], dtype)[0]
    if isa(attribute, FloatAttr):
        return numerics.narrow(np.float64(attribute.value.data), dtype)
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    values = list(attribute.get_values())
    count = lanes_of(op.result.type) or 1
    values = values * count if len(values) == 1 else values
    flat = (
        numerics.narrow(np.array(values, np.float64), dtype) if numerics.is_float(dtype) else _integers(values, dtype)
    )
    return flat.reshape(-1, 1, 1)


def _integers(values: list[Any], dtype: np.dtype[Any]) -> Any:
    if dtype == numerics.BOOL:
        return np.array([bool(v & 1) for v in values])
    bits = 8 * dtype.itemsize
    return np.array([int(v) % 2**bits for v in values], f"u{dtype.itemsize}").view(dtype)


CMPI: tuple[tuple[Function, bool], ...] = (
    (operator.eq, False),
    (operator.ne, False),
    (operator.lt, False),
    (operator.le, False),
    (operator.gt, False),
    (operator.ge, False),
    (operator.lt, True),
    (operator.le, True),
    (operator.gt, True),
    (operator.ge, True),
)
"""By predicate number: the comparison and whether it is unsigned."""

CMPF: tuple[Function, ...] = (
    lambda a, b: (a != a) & (a == a) & (b == b),
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: (a == a) & (b == b),
    lambda a, b: ~((a < b) | (a > b)),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    operator.ne,
    lambda a, b: (a != a) | (b != b),
    lambda a, b: (a == a) | (a != a) | (b == b),
)
"""By predicate number of MLIR: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true."""


def _compare_integers(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, CmpiOp)
    function, is_unsigned = CMPI[op.predicate.value.data]
    if dtype_of(op.lhs.type) == numerics.BOOL and not is_unsigned:
        # A signed i1 orders true (-1) before false (0).
        signed = function
        function = lambda a, b: signed(b, a)  # noqa: E731
    if is_unsigned:
        plain = function
        function = lambda a, b: plain(numerics.unsigned(a), numerics.unsigned(b))  # noqa: E731
    return _step(function, compiler.slot(op.results[0]), compiler.slots(op.operands))


def _compare_floats(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, CmpfOp)
    return _step(CMPF[op.predicate.value.data], compiler.slot(op.results[0]), compiler.slots(op.operands))


def _convert(op: Operation, compiler: Compiler) -> Step:
    source, target = dtype_of(op.operands[0].type), dtype_of(op.results[0].type)
    return _step(conversion(op, source, target), compiler.slot(op.results[0]), compiler.slots(op.operands))


def conversion(op: Operation, source: np.dtype[Any], target: np.dtype[Any]) -> Function:
    """The function of a conversion op."""
    name = op.name
    if name in ("arith.sitofp", "arith.uitofp"):
        return lambda x: numerics.int_to_float(x, target, name == "arith.sitofp")
    if name == "arith.truncf":
        rounding = op.attributes.get("motif.rounding")
        to_zero = isinstance(rounding, StringAttr) and rounding.data == "zero"
        return lambda x: (numerics.narrow_to_zero if to_zero else numerics.narrow)(x, target)
    if name == "motif.fptoi":
        return lambda x: numerics.float_to_int(x, target, "signed" in op.properties)
    if name == "arith.bitcast":
        return lambda x: x.view(target)
    if target == numerics.BOOL:
        return lambda x: (x & 1).astype(np.bool_)
    if source == numerics.BOOL:
        # Sign extension of i1 true is -1; index_cast sign-extends.
        if name == "arith.extui":
            return lambda x: x.astype(target)
        return lambda x: -x.astype(target)
    if name == "arith.extui":
        return lambda x: numerics.unsigned(x).astype(target)
    return lambda x: x.astype(target)


def _thread_id(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, ThreadIdOp)
    x, y, z = compiler.workgroup_size
    linear = np.arange(x * y * z, dtype=np.int64)[None, :]
    axes = {"x": (linear % x, x), "y": (linear // x % y, y), "z": (linear // (x * y), z)}
    values, extent = axes[op.dimension.data.value]
    return _fixed(compiler.slot(op.result), np.int64(0) if extent == 1 else values)


def _fixed(result: int, value: Any) -> Step:
    def step(env: Env, frame: Frame) -> None:
        env[result] = value

    return step


def _block_id(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, BlockIdOp)
    result, axis = compiler.slot(op.result), "xyz".index(op.dimension.data.value)

    def step(env: Env, frame: Frame) -> None:
        ids = frame.block_of[:, axis]
        env[result] = ids[0] if frame.rows == 1 else ids[:, None]

    return step


def _lane_id(op: Operation, compiler: Compiler) -> Step:
    size = compiler.need_subgroups(op)
    x, y, z = compiler.workgroup_size
    linear = np.arange(x * y * z, dtype=np.int64)[None, :]
    return _fixed(compiler.slot(op.results[0]), linear % size if op.name == "gpu.lane_id" else linear // size)


HANDLERS: dict[str, Callable[[Operation, Compiler], Step | None]] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(("arith.shli", "arith.shrui", "arith.shrsi"), _shift),
    **dict.fromkeys(DIVISIONS, _division),
    "arith.constant": _constant,
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    **dict.fromkeys(
        (
            "arith.bitcast",
            "arith.index_cast",
            "arith.sitofp",
            "arith.uitofp",
            "arith.extf",
            "arith.truncf",
            "arith.trunci",
            "arith.extsi",
            "arith.extui",
            "motif.fptoi",
        ),
        _convert,
    ),
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _block_id,
    "gpu.lane_id": _lane_id,
    "gpu.subgroup_id": _lane_id,
}
