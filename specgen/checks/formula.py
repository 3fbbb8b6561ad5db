"""Evaluation of check formulas: a walk over the whitelisted syntax tree, vectorised over the axes of a buffer.

Nothing is evaluated as Python. Axes and the counters of generators are arrays that broadcast against each other, so
a part of a formula costs as much as the axes that it names. Conditionals, `and`, `or` and generator conditions are
lazy for each element: where a branch is not chosen its subscripts may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from specgen.checks import generators, values
from specgen.checks.buffers import Contents
from specgen.checks.domains import Bounded, Plain
from specgen.checks.dtypes import TYPES, ElementType
from specgen.checks.frames import Frame, Scope, Target, frame_of
from specgen.checks.values import FUNCTIONS, FormulaError, Value, Vector
from specgen.expressions import nodes, range_count

__all__ = ["FormulaError", "Scope", "Target", "evaluate", "magnitude", "scalar"]

ELEMENTS_AT_ONCE = 1 << 20
"""Elements of an intermediate array of a generator; more are computed in blocks."""
MOST_ITERATIONS = 1 << 24
"""Of one generator; a reference that needs more is written in closed form or as a Python reference."""
RESERVED = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def evaluate(tree: ast.expr, scope: Scope, target: Target) -> Any:
    """The contents that a formula gives, before rounding: an array of the target's shape (int64, object, float64).

    Raises `FormulaError`.
    """
    frame = frame_of(target)
    if 0 in frame.shape:
        return np.zeros(frame.shape, np.int64)  # nothing is evaluated for no element
    with np.errstate(all="ignore"):
        value = _Evaluator(Plain(), scope, target).value(tree, frame)
    if isinstance(value, (str, Vector)):
        raise FormulaError("a number for each element is expected", tree)
    return np.broadcast_to(np.asarray(values.sized(value)), frame.shape)


def magnitude(tree: ast.expr, scope: Scope, target: Target) -> tuple[Any, int]:
    """The sizes and the count of terms of a formula, for the bound of `derived` (see `domains`)."""
    frame = frame_of(target)
    if 0 in frame.shape:
        return np.zeros(frame.shape), 0
    domain = Bounded(target.type.accumulator_roundoff)
    with np.errstate(all="ignore"):
        value = domain.lift(_Evaluator(domain, scope, target).value(tree, frame))
    return np.broadcast_to(np.asarray(value.size, np.float64), frame.shape), value.terms


def scalar(tree: ast.expr, scope: Scope) -> Any:
    """The number or word that a formula without axes gives. Raises `FormulaError`."""
    with np.errstate(all="ignore"):
        value = _Evaluator(Plain(), scope, None).value(tree, Frame((), {}))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (np.ndarray, Vector)):
        raise FormulaError("a single number is expected", tree)
    return value


class _Evaluator:
    def __init__(self, domain: Any, scope: Scope, target: Target | None) -> None:
        self.domain, self.scope, self.target = domain, scope, target
        self.used: dict[int, frozenset[str]] = {}
        self.streams: dict[int, Any] = {}

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """The value of a part; `FormulaError` names the innermost part that has none."""
        try:
            return _NODES[type(node)](self, node, frame)
        except FormulaError as error:
            if error.node is None:
                error.node = node
            raise
        except KeyError:
            raise FormulaError("this is not part of a formula", node) from None
        except (ArithmeticError, TypeError, ValueError, MemoryError) as error:
            raise FormulaError(f"this has no value: {error}", node) from error

    def number(self, node: ast.expr, frame: Frame) -> Value:
        """The plain value of a part."""
        return self.domain.plain(self.value(node, frame))

    def integers(self, node: ast.expr, frame: Frame) -> Value:
        try:
            return values.integers(self.number(node, frame))
        except FormulaError as error:
            error.node = error.node or node
            raise

    def names_in(self, node: ast.AST) -> frozenset[str]:
        """Names that a part depends on; `uniform` depends on the element's number."""
        key = id(node)
        if key not in self.used:
            found = {n.id for n in nodes(node) if isinstance(n, ast.Name)}
            self.used[key] = frozenset(found | {"flat"} if "uniform" in found else found)
        return self.used[key]

    def type_named(self, node: ast.expr, frame: Frame) -> ElementType:
        """The type that a part names, by itself or through a param whose choices are types."""
        if isinstance(node, ast.Name):
            word = frame.names.get(node.id, self.scope.names.get(node.id, node.id))
            if isinstance(word, str) and word in TYPES:
                return TYPES[word]
        raise FormulaError("a type is expected here", node)

    # Leaves

    def constant(self, node: ast.Constant, frame: Frame) -> Value:
        return self.domain.lift(node.value)

    def name(self, node: ast.Name, frame: Frame) -> Value:
        name = node.id
        for known in (RESERVED, frame.names, self.scope.names):
            if name in known:
                return self.domain.lift(known[name])
        if name in self.scope.words:
            return name
        if name == "kept":
            raise FormulaError("`kept` has a meaning only in `expect`", node)
        if name in self.scope.buffers:
            raise FormulaError(f"`{name}` is a buffer: give it subscripts", node)
        raise FormulaError(f"no axis, case name, argument or param `{name}` here", node)

    def subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id not in frame.names:
            return self.element(node, node.value.id, frame)
        vector = self.value(node.value, frame)
        if not isinstance(vector, Vector):
            raise FormulaError("only buffers and vectors have subscripts", node)
        place = self.integers(node.slice, frame)
        if np.any(np.asarray(place) < 0) or np.any(np.asarray(place) >= len(vector.elements)):
            raise FormulaError(f"this vector has {len(vector.elements)} elements", node)
        return self.domain.pick(place, vector.elements)

    def element(self, node: ast.Subscript, name: str, frame: Frame) -> Value:
        buffer = self.scope.buffers.get(name)
        if buffer is None:
            raise FormulaError(f"no buffer `{name}` whose contents are known here", node)
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        for at, part in enumerate(parts):
            if isinstance(part, ast.Slice):
                return self.slice(node, buffer, parts, at, frame)
        return self.domain.lift(buffer.read([self.integers(p, frame) for p in parts]))

    def slice(self, node: ast.Subscript, buffer: Contents, parts: list[Any], at: int, frame: Frame) -> Vector:
        part = parts[at]
        count = range_count(part)
        first = 0 if part.lower is None else self.integers(part.lower, frame)
        length = buffer.shape[at] if count is None else self.integers(count, frame)
        if any(isinstance(p, ast.Slice) for p in parts[at + 1 :]) or isinstance(length, np.ndarray):
            raise FormulaError("a formula reads one range at a time, of a fixed length", node)
        index = [None if isinstance(p, ast.Slice) else self.integers(p, frame) for p in parts]
        elements = []
        for offset in range(length):
            index[at] = values.binary(ast.Add, first, offset)
            elements.append(self.domain.lift(buffer.read(index)))
        return Vector(tuple(elements))

    # Operators

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        left, right = self.value(node.left, frame), self.value(node.right, frame)
        return self.domain.binary(type(node.op), left, right)

    def unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        return self.domain.unary(type(node.op), self.value(node.operand, frame))

    def compare(self, node: ast.Compare, frame: Frame) -> Value:
        chain = [self.number(part, frame) for part in (node.left, *node.comparators)]
        rows = zip(node.ops, chain, chain[1:], strict=False)
        return self.domain.lift(reduce(np.logical_and, [values.compare(type(op), a, b) for op, a, b in rows]))

    def boolean(self, node: ast.BoolOp, frame: Frame) -> Value:
        """Left to right; a part is evaluated only where the parts before it leave the result open."""
        frame = frame.restricted(self.names_in(node))
        decided = isinstance(node.op, ast.Or)
        result: Any = not decided
        for part in node.values:
            open_ = np.broadcast_to(np.asarray(result) != decided, frame.shape)
            if not open_.any():
                break
            if open_.all():
                result = np.asarray(self.number(part, frame)).astype(bool)
                continue
            inner = np.asarray(self.number(part, frame.chosen(open_))).astype(bool)
            result = values.merge(frame.shape, open_, inner, decided)
        return self.domain.lift(bool(result) if np.ndim(result) == 0 else result)

    def conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        test = np.asarray(self.number(node.test, frame)).astype(bool)
        if test.ndim == 0:
            return self.value(node.body if test else node.orelse, frame)
        frame = frame.restricted(self.names_in(node))
        mask = np.broadcast_to(test, frame.shape)
        if mask.all():
            return self.value(node.body, frame)
        if not mask.any():
            return self.value(node.orelse, frame)
        chosen = self.value(node.body, frame.chosen(mask))
        other = self.value(node.orelse, frame.chosen(~mask))
        return self.domain.merge(frame.shape, mask, chosen, other)

    # Calls

    def call(self, node: ast.Call, frame: Frame) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _REDUCTIONS and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self.generator(name, node, node.args[0], frame)
        if node.keywords:
            raise FormulaError("formulas have no named arguments", node)
        if name in TYPES:
            return self.domain.convert(name, self.value(_arguments(node, 1)[0], frame))
        if name in FUNCTIONS:
            return self.domain.function(name, self.value(_arguments(node, 1)[0], frame))
        if name in _SPECIAL:
            return _SPECIAL[name](self, node, frame)
        raise FormulaError(f"formulas have no function `{ast.unparse(node.func)}`", node)

    def extreme(self, node: ast.Call, frame: Frame) -> Value:
        """`min` and `max` of two or more, or of a vector."""
        combine = self.domain.least if node.func.id == "min" else self.domain.greatest  # type: ignore[attr-defined]
        return reduce(combine, self.operands(node, frame))

    def operands(self, node: ast.Call, frame: Frame) -> list[Value]:
        parts = [self.value(a, frame) for a in node.args]
        if len(parts) == 1 and isinstance(parts[0], Vector):
            return list(parts[0].elements)
        if len(parts) < 2:
            raise FormulaError("two or more values, a vector or a generator are expected", node)
        return parts

    def vector_sum(self, node: ast.Call, frame: Frame) -> Value:
        vector = self.value(_arguments(node, 1)[0], frame)
        if not isinstance(vector, Vector):
            raise FormulaError("`sum` adds a vector or a generator", node)
        return reduce(lambda a, b: self.domain.binary(ast.Add, a, b), vector.elements)

    def dot(self, node: ast.Call, frame: Frame) -> Value:
        a, b = (self.value(x, frame) for x in _arguments(node, 2))
        products = self.domain.binary(ast.Mult, a, b)
        if not isinstance(products, Vector):
            raise FormulaError("`dot` takes two vectors", node)
        return reduce(lambda x, y: self.domain.binary(ast.Add, x, y), products.elements)

    def absolute(self, node: ast.Call, frame: Frame) -> Value:
        return self.domain.absolute(self.value(_arguments(node, 1)[0], frame))

    def clamp(self, node: ast.Call, frame: Frame) -> Value:
        x, lo, hi = (self.value(a, frame) for a in _arguments(node, 3))
        return self.domain.greatest(self.domain.least(x, hi), lo)

    def fma(self, node: ast.Call, frame: Frame) -> Value:
        a, b, c = (self.value(x, frame) for x in _arguments(node, 3))
        return self.domain.binary(ast.Add, self.domain.binary(ast.Mult, a, b), c)

    def ceil_div(self, node: ast.Call, frame: Frame) -> Value:
        return self.domain.lift(values.ceil_div(*(self.integers(a, frame) for a in _arguments(node, 2))))

    def round_up(self, node: ast.Call, frame: Frame) -> Value:
        return self.domain.lift(values.round_up(*(self.integers(a, frame) for a in _arguments(node, 2))))

    def size(self, node: ast.Call, frame: Frame) -> Value:
        return self.domain.lift(self.type_named(_arguments(node, 1)[0], frame).dtype.itemsize)

    def bits(self, node: ast.Call, frame: Frame) -> Value:
        x, target = _arguments(node, 2)
        return self.domain.lift(values.bits(self.number(x, frame), self.type_of(x), self.type_named(target, frame)))

    def unpack(self, node: ast.Call, frame: Frame) -> Value:
        x, form = _arguments(node, 2)
        name = form.id if isinstance(form, ast.Name) else ""
        if name not in ("i4", "u4", "i8", "u8"):
            raise FormulaError("`unpack` takes i4, u4, i8 or u8", form)
        width = 8 * self.type_of(x).dtype.itemsize
        return self.domain.lift(values.unpack(self.integers(x, frame), name, width))

    def type_of(self, node: ast.expr) -> ElementType:
        """The type whose bits a part has: of the buffer that it reads, or of the type call that it is."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            buffer = self.scope.buffers.get(node.value.id)
            if buffer is not None:
                return buffer.type
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TYPES:
            return TYPES[node.func.id]
        raise FormulaError("bits need a type: an element of a buffer or a call such as `i32(x)`", node)

    def pick(self, node: ast.Call, frame: Frame) -> Value:
        if len(node.args) < 2:
            raise FormulaError("`pick(i, a, b, ...)` takes a number and the entries", node)
        place = self.integers(node.args[0], frame)
        return self.domain.pick(place, [self.value(a, frame) for a in node.args[1:]])

    def uniform(self, node: ast.Call, frame: Frame) -> Value:
        lower, upper, seed = (self.number(a, frame) for a in _arguments(node, 3))
        if self.target is None:
            raise FormulaError("`uniform` gives the elements of a buffer", node)
        if not isinstance(seed, int):
            raise FormulaError("the seed of `uniform` is one integer", node.args[2])
        if not np.all(np.asarray(lower) <= np.asarray(upper)):
            raise FormulaError("`uniform` takes the lower end first", node)
        drawn = self.stream(seed)[np.asarray(frame.names["flat"])]
        if self.target.type.is_float:
            return self.domain.lift(generators.uniform_floats(drawn, lower, upper))
        if not isinstance(lower, int) or not isinstance(upper, int):
            raise FormulaError("`uniform` of integers takes two integers", node)
        return self.domain.lift(generators.uniform_integers(drawn, lower, upper))

    def stream(self, seed: int) -> Any:
        if seed not in self.streams:
            assert self.target is not None
            shape = self.target.shape
            rows = shape[0] if self.target.rows is None or not shape else min(self.target.rows, shape[0])
            self.streams[seed] = generators.draws(seed, prod(shape[1:]) * rows if shape else 1)
        return self.streams[seed]

    # Generators

    def generator(self, name: str, call: ast.Call, node: ast.GeneratorExp, frame: Frame) -> Value:
        frame = frame.restricted(self.names_in(node))
        counters = {g.target.id for g in node.generators}  # type: ignore[attr-defined]
        for counter in counters:
            if counter in frame.names or counter in self.scope.names:
                raise FormulaError(f"`{counter}` already has a meaning here", node)
        return self.over(name, node.elt, node.generators, frame)

    def over(self, name: str, elt: ast.expr, parts: Sequence[ast.comprehension], frame: Frame) -> Value:
        if not parts:
            value = self.value(elt, frame)
            return value if name in ("sum", "max", "min") else self.domain.plain(value)
        part, rest = parts[0], parts[1:]
        result: Value = None
        seen = 0
        for block, mask in self.blocks(part, frame):
            if mask is None:
                value = self.over(name, elt, rest, block)
            else:
                value = self.over(name, elt, rest, block.chosen(mask))
                value = self.domain.merge(block.shape, mask, value, _IDENTITY[name])
            count = block.shape[0]
            folded = self.fold(name, value, count, len(block.shape))
            if result is None:
                result = folded
            elif name == "sum":
                result = self.domain.joined(result, seen, folded, count)
            else:
                result = self.combine(name, result, folded)
            seen += count
        return self.domain.lift(_IDENTITY[name]) if result is None else result

    def fold(self, name: str, value: Value, count: int, depth: int) -> Value:
        if name == "sum":
            return self.domain.total(value, count, depth)
        if name in ("max", "min"):
            return self.domain.extreme(name, value, count, depth)
        array = np.asarray(value).astype(bool)
        if array.ndim < depth:
            return array
        return array.any(axis=0) if name == "any" else array.all(axis=0)

    def combine(self, name: str, a: Value, b: Value) -> Value:
        if name in ("max", "min"):
            return self.domain.greatest(a, b) if name == "max" else self.domain.least(a, b)
        return np.logical_or(a, b) if name == "any" else np.logical_and(a, b)

    def blocks(self, part: ast.comprehension, frame: Frame) -> Iterator[tuple[Frame, Any]]:
        """Frames that together run over a generator's range, each with the mask of what is really in it."""
        call = part.iter
        assert isinstance(call, ast.Call)
        assert isinstance(part.target, ast.Name)
        bounds = [self.integers(a, frame) for a in call.args]
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else 1
        if isinstance(step, np.ndarray) or step < 1 or (isinstance(start, np.ndarray) and step != 1):
            raise FormulaError("the step of a generator's range is a positive number", call)
        ragged = isinstance(start, np.ndarray) or isinstance(stop, np.ndarray)
        if np.size(start) == 0 or np.size(stop) == 0:
            return
        first, last = int(np.min(start)), int(np.max(stop))
        if (last - first) // step > MOST_ITERATIONS:
            raise FormulaError(f"a generator runs at most {MOST_ITERATIONS} times", call)
        at_once = max(1, ELEMENTS_AT_ONCE // max(prod(frame.shape), 1))
        for begin in range(first, last, step * at_once):
            counter = np.arange(begin, min(last, begin + step * at_once), step)
            block = frame.extended(part.target.id, counter)
            mask: Any = None
            if ragged:
                column = block.names[part.target.id]
                mask = np.broadcast_to((column >= start) & (column < stop), block.shape)
            for condition in part.ifs:
                mask = self.narrowed(condition, block, mask)
            if mask is None or mask.any():
                yield block, mask

    def narrowed(self, condition: ast.expr, block: Frame, mask: Any) -> Any:
        if mask is None:
            return np.broadcast_to(np.asarray(self.number(condition, block)).astype(bool), block.shape)
        if not mask.any():
            return mask
        inner = np.asarray(self.number(condition, block.chosen(mask))).astype(bool)
        return values.merge(block.shape, mask, inner, False)


_REDUCTIONS = ("sum", "max", "min", "any", "all")
_IDENTITY: dict[str, Value] = {"sum": 0, "max": -np.inf, "min": np.inf, "any": False, "all": True}
"""What a reduction over nothing gives."""


def _arguments(node: ast.Call, count: int) -> list[ast.expr]:
    if len(node.args) != count:
        plural = "" if count == 1 else "s"
        raise FormulaError(f"`{ast.unparse(node.func)}` takes {count} argument{plural}", node)
    return node.args


_NODES: dict[type, Callable[[_Evaluator, Any, Frame], Value]] = {
    ast.Constant: _Evaluator.constant,
    ast.Name: _Evaluator.name,
    ast.Subscript: _Evaluator.subscript,
    ast.BinOp: _Evaluator.binary,
    ast.UnaryOp: _Evaluator.unary,
    ast.Compare: _Evaluator.compare,
    ast.BoolOp: _Evaluator.boolean,
    ast.IfExp: _Evaluator.conditional,
    ast.Call: _Evaluator.call,
}
_SPECIAL: dict[str, Callable[[_Evaluator, ast.Call, Frame], Value]] = {
    "abs": _Evaluator.absolute,
    "min": _Evaluator.extreme,
    "max": _Evaluator.extreme,
    "sum": _Evaluator.vector_sum,
    "dot": _Evaluator.dot,
    "clamp": _Evaluator.clamp,
    "fma": _Evaluator.fma,
    "ceil_div": _Evaluator.ceil_div,
    "round_up": _Evaluator.round_up,
    "size": _Evaluator.size,
    "bits": _Evaluator.bits,
    "unpack": _Evaluator.unpack,
    "pick": _Evaluator.pick,
    "uniform": _Evaluator.uniform,
}
FUNCTION_NAMES = frozenset((*_REDUCTIONS, *_SPECIAL, *FUNCTIONS))
"""Every function that formulas have (types convert, too)."""
