"""Checks as a suite states them, and the arguments and expectations of one case."""

from __future__ import annotations

import ast
import importlib.util
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from specgen.checks import compare, formula
from specgen.checks.buffers import Contents, in_memory_order
from specgen.checks.dtypes import TYPES, ElementType, exact, poison, stored
from specgen.checks.formula import Scope, Target
from specgen.checks.values import FormulaError
from specgen.diagnostics import DiagnosticError, Span
from specgen.expressions import evaluate_formula, nodes, parse_expression

MOST_BYTES = 1 << 40
"""Of one buffer of a case: beyond any host, so that a size that is no size is told before memory is asked for."""

Row = Mapping[str, Any]
"""Values of one case by name: arguments, params, policies and free names."""


@dataclass(frozen=True)
class Reference:
    """A Python function of a file in the suite's `references` folder; it gets the case, returns arrays by name."""

    file: str
    function: str


@dataclass(frozen=True)
class Check:
    """A check of a spec, or one derived from its schedule (`expect` None: `serial` is the reference).

    The cases are every row of `rows` times the product of `each`. `given` makes arguments, in order; `backing` says
    how many elements of a buffer exist; `compare` is one word or `{"atol": ..., "rtol": ...}`, None for the default.
    """

    name: str
    given: Mapping[str, str | Reference] = field(default_factory=dict)
    expect: Mapping[str, str] | Reference | None = None
    each: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    rows: Sequence[Row] = ({},)
    backing: Mapping[str, str] = field(default_factory=dict)
    compare: str | Mapping[str, float] | None = None

    def cases(self) -> list[dict[str, Any]]:
        """Every case, in order."""
        products = itertools.product(*self.each.values())
        return [{**row, **dict(zip(self.each, values, strict=True))} for values in products for row in self.rows]

    def needs_oracle(self) -> bool:
        """Whether Python of the spec's folder takes part."""
        return isinstance(self.expect, Reference) or any(isinstance(g, Reference) for g in self.given.values())


@dataclass(frozen=True)
class Scalar:
    """A scalar argument."""

    name: str
    type: ElementType


@dataclass(frozen=True)
class Buffer:
    """A buffer argument; `shape` holds formulas over scalar arguments, in declared order."""

    name: str
    type: ElementType
    access: str
    axes: tuple[str, ...]
    shape: tuple[str, ...]
    order: tuple[int, ...]

    @property
    def written(self) -> bool:
        """Whether the kernel may store to it."""
        return self.access != "read"


@dataclass(frozen=True)
class Signature:
    """The arguments of a kernel, and the params and defines that formulas may name."""

    scalars: Mapping[str, Scalar]
    buffers: Mapping[str, Buffer]
    constants: Mapping[str, Any]
    words: frozenset[str] = frozenset()
    references: Path | None = None

    @staticmethod
    def of(
        rows: Sequence[Mapping[str, Any]], constants: Row, words: Sequence[str] = (), references: Path | None = None
    ) -> Signature:
        """From the `args` rows of a manifest."""
        scalars = {r["name"]: Scalar(r["name"], TYPES[r["type"]]) for r in rows if r["kind"] == "scalar"}
        buffers = {
            r["name"]: Buffer(
                r["name"],
                TYPES[r["type"]],
                r["access"],
                tuple(r["axes"]),
                tuple(str(s) for s in r["shape"]),
                tuple(r.get("order", range(len(r["shape"])))),
            )
            for r in rows
            if r["kind"] == "buffer"
        }
        return Signature(scalars, buffers, constants, frozenset(words), references)


@dataclass(frozen=True)
class Inputs:
    """What a case launches with: scalars (as formulas see them) and the contents of buffers that are given."""

    case: Row
    scalars: Mapping[str, Any]
    given: Mapping[str, Contents]
    shapes: Mapping[str, tuple[int, ...]]
    backed: Mapping[str, int]

    def before(self, signature: Signature, ordinal: int) -> dict[str, Contents]:
        """Every buffer as variant `ordinal` gets it: outputs that nothing gives hold that variant's poison."""
        result = dict(self.given)
        for name, buffer in signature.buffers.items():
            if name not in result:
                flat = np.full(self.backed[name], poison(buffer.type, ordinal), buffer.type.dtype)
                result[name] = _contents(buffer, self.shapes[name], flat)
        return {name: result[name] for name in signature.buffers}

    def arguments(self, signature: Signature, before: Mapping[str, Contents]) -> dict[str, Any]:
        """As a device takes them."""
        scalars = {n: s.type.dtype.type(self.scalars[n]) for n, s in signature.scalars.items()}
        return {**scalars, **{name: contents.flat for name, contents in before.items()}}


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The tree of a formula. Raises `FormulaError` for text that is none."""
    try:
        return parse_expression(text, Span("<formula>", 1, 1, 1, len(text) + 1), formula=True).tree
    except DiagnosticError as error:
        raise FormulaError(error.diagnostics[0].message) from error


def word(value: Any) -> Any:
    """A `given` of a param or policy as its value: a number, a boolean or a word."""
    if not isinstance(value, str):
        return value
    return formula.scalar(parsed(value), Scope({}, frozenset({value})))


def _contents(buffer: Buffer, shape: tuple[int, ...], flat: Any) -> Contents:
    return Contents(buffer.name, buffer.type, buffer.axes, shape, buffer.order, flat)


def prepare(signature: Signature, check: Check, case: Row) -> Inputs:
    """Scalars, shapes and given contents of a case. Raises `FormulaError` with the argument's name in front."""
    names: dict[str, Any] = {**signature.constants, **case}
    scalars: dict[str, Any] = {}
    for name, scalar in signature.scalars.items():
        if name in case:
            names[name] = scalars[name] = _as_scalar(scalar, case[name])
    for name, text in check.given.items():
        if name in signature.scalars:
            value = formula.scalar(parsed(str(text)), Scope(names, signature.words))
            names[name] = scalars[name] = _as_scalar(signature.scalars[name], value)
    missing = [name for name in signature.scalars if name not in scalars]
    if missing:
        raise FormulaError(f"the check says nothing about `{missing[0]}`")
    known = {**signature.constants, **scalars}
    shapes = {name: _shape(buffer, known) for name, buffer in signature.buffers.items()}
    backed = {n: _backed(check, signature, names, n, prod(shape)) for n, shape in shapes.items()}
    for name, count in backed.items():
        if count * signature.buffers[name].type.dtype.itemsize > MOST_BYTES:
            raise FormulaError(f"backing of `{name}`: {count} elements of `{name}` are more than a machine holds")
    given: dict[str, Contents] = {}
    for name, content in check.given.items():
        if name in signature.buffers:
            buffer = signature.buffers[name]
            try:
                flat = _given(signature, check, content, buffer, shapes[name], backed[name], names, given)
            except FormulaError as error:
                raise FormulaError(f"given `{name}`: {error.message}", error.node) from error
            given[name] = _contents(buffer, shapes[name], flat)
    return Inputs(case, scalars, given, shapes, backed)


def _shape(buffer: Buffer, names: Row) -> tuple[int, ...]:
    try:
        shape = tuple(int(evaluate_formula(text, names)) for text in buffer.shape)
    except (DiagnosticError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise FormulaError(f"the shape of `{buffer.name}` has no value: {error}") from error
    if any(extent < 0 for extent in shape):
        raise FormulaError(f"the shape of `{buffer.name}` is negative: {shape}")
    return shape


def _as_scalar(scalar: Scalar, value: Any) -> Any:
    if isinstance(value, str):
        raise FormulaError(f"`{scalar.name}` is a number, not the word `{value}`")
    return exact(stored(np.asarray(value), scalar.type)).item()


def _backed(check: Check, signature: Signature, names: Row, name: str, size: int) -> int:
    if name not in check.backing:
        return size
    count = formula.scalar(parsed(check.backing[name]), Scope(names, signature.words))
    if not isinstance(count, int) or not 0 <= count <= size:
        raise FormulaError(f"backing of `{name}`: {count} is outside of 0 to {size} elements")
    return count


def _given(
    signature: Signature,
    check: Check,
    content: str | Reference,
    buffer: Buffer,
    shape: tuple[int, ...],
    backed: int,
    names: Row,
    given: Mapping[str, Contents],
) -> Any:
    if isinstance(content, Reference):
        made = call_reference(signature, content, {**names, **_arrays(given)})
        array = stored(exact(np.asarray(made[buffer.name])), buffer.type).reshape(shape)
        return in_memory_order(array, buffer.order)[:backed]
    target = Target(buffer.type, buffer.axes, shape, rows=_rows(buffer, shape, backed))
    values = formula.evaluate(parsed(content), Scope(names, signature.words, given), target)
    return in_memory_order(stored(values, buffer.type), buffer.order)[:backed]


def _rows(buffer: Buffer, shape: tuple[int, ...], backed: int) -> int | None:
    """Rows of the first axis that hold what is backed, where that axis is the slowest in memory."""
    plain = tuple(buffer.order) == tuple(range(len(shape)))
    return -(-backed // max(prod(shape[1:]), 1)) if plain and shape else None


def _arrays(given: Mapping[str, Contents]) -> dict[str, Any]:
    """Fully backed buffers in their shape, others flat: what an oracle gets."""
    return {n: c.shaped() if len(c.flat) == prod(c.shape) else c.flat for n, c in given.items()}


@dataclass(frozen=True)
class Expectation:
    """What a buffer must hold (stored elements in memory order) and within what."""

    contents: Any
    tolerance: compare.Tolerance


def expectations(
    signature: Signature, check: Check, inputs: Inputs, before: Mapping[str, Contents], after: Mapping[str, Any]
) -> dict[str, Expectation]:
    """What the buffers must hold after a run that started with `before` and left the flat arrays `after`.

    Formulas read what was given of read buffers and what the run left of written ones. Raises `FormulaError`.
    """
    if check.expect is None:
        return {}
    names = {**signature.constants, **inputs.case, **inputs.scalars}
    if isinstance(check.expect, Reference):
        made = call_reference(signature, check.expect, {**names, **_arrays(inputs.given)})
        return _from_reference(signature, check, inputs, made)
    left = {n: _contents(signature.buffers[n], c.shape, after.get(n, c.flat)) for n, c in before.items()}
    result = {}
    for name, text in check.expect.items():
        buffer, contents = signature.buffers[name], before[name]
        kept = exact(contents.shaped()) if len(contents.flat) == prod(contents.shape) else None
        rows = _rows(buffer, contents.shape, inputs.backed[name])
        target = Target(buffer.type, buffer.axes, contents.shape, kept, rows)
        try:
            result[name] = _expected(
                signature, check, parsed(text), Scope(names, signature.words, left), target, buffer
            )
        except FormulaError as error:
            raise FormulaError(f"expect `{name}`: {error.message}", error.node) from error
    return {n: _cut(e, inputs.backed[n]) for n, e in result.items()}


def depends_on_run(signature: Signature, check: Check) -> bool:
    """Whether the expectation reads `kept` or a written buffer, and so differs from run to run."""
    if not isinstance(check.expect, Mapping):
        return False
    written = {name for name, buffer in signature.buffers.items() if buffer.written}
    names = {n.id for text in check.expect.values() for n in nodes(parsed(text)) if isinstance(n, ast.Name)}
    return bool(names & (written | {"kept"}))


def kind_of(check: Check, type_: ElementType) -> str:
    """How contents of this type are compared: exact, bitwise, derived or close."""
    if isinstance(check.compare, Mapping):
        return compare.CLOSE
    if check.compare in (None, compare.DERIVED):
        return compare.DERIVED if type_.is_float else compare.EXACT
    return str(check.compare)


def _expected(
    signature: Signature, check: Check, tree: ast.expr, scope: Scope, target: Target, buffer: Buffer
) -> Expectation:
    flat = in_memory_order(stored(formula.evaluate(tree, scope, target), buffer.type), buffer.order)
    kind = kind_of(check, buffer.type)
    if kind == compare.DERIVED:
        sizes, terms = formula.magnitude(tree, scope, target)
        return Expectation(
            flat, compare.derived_tolerance(exact(flat), in_memory_order(sizes, buffer.order), terms, buffer.type)
        )
    return Expectation(flat, _tolerance(check, kind, flat))


def _tolerance(check: Check, kind: str, flat: Any) -> compare.Tolerance:
    if kind == compare.CLOSE:
        assert isinstance(check.compare, Mapping)
        return compare.close_tolerance(exact(flat), float(check.compare["atol"]), float(check.compare["rtol"]))
    return compare.bitwise_tolerance() if kind == compare.BITWISE else compare.exact_tolerance()


def _cut(expectation: Expectation, count: int) -> Expectation:
    tolerance = expectation.tolerance
    bound = None if tolerance.bound is None else tolerance.bound[:count]
    return Expectation(expectation.contents[:count], compare.Tolerance(tolerance.kind, tolerance.text, bound))


def _from_reference(
    signature: Signature, check: Check, inputs: Inputs, made: Mapping[str, Any]
) -> dict[str, Expectation]:
    result = {}
    for name, buffer in signature.buffers.items():
        if name not in made or not buffer.written:
            continue
        shape = inputs.shapes[name]
        array = stored(exact(np.asarray(made[name])).reshape(shape), buffer.type)
        flat = in_memory_order(array, buffer.order)
        bound = made.get(f"{name}.tolerance")
        kind = kind_of(check, buffer.type)
        if bound is not None:
            spread = in_memory_order(np.broadcast_to(np.asarray(bound, np.float64), shape), buffer.order)
            tolerance = compare.Tolerance(
                compare.DERIVED, f"the reference's own bound, at most {spread.max():.3g}", spread
            )
        elif kind == compare.DERIVED:
            # Without a formula there is nothing to count: a few roundings of the result.
            u = max(buffer.type.accumulator_roundoff, buffer.type.roundoff)
            tolerance = compare.close_tolerance(exact(flat), 0.0, 8 * u)
        else:
            tolerance = _tolerance(check, kind, flat)
        result[name] = _cut(Expectation(flat, tolerance), inputs.backed[name])
    if not result:
        raise FormulaError("the reference returns no written buffer")
    return result


def call_reference(signature: Signature, reference: Reference, case: Row) -> Mapping[str, Any]:
    """Run a reference on a case. Raises `FormulaError` when there is no such function or it returns no mapping."""
    function = _function(signature.references, reference)
    made = function(dict(case))
    if not isinstance(made, Mapping):
        raise FormulaError(f"{reference.file}:{reference.function} returns no mapping of arrays")
    return made


@lru_cache(maxsize=64)
def _function(folder: Path | None, reference: Reference) -> Callable[..., Any]:
    path = None if folder is None else folder / reference.file
    if path is None or not path.is_file():
        raise FormulaError(f"the reference {reference.file} is not in the suite's folder")
    module_spec = importlib.util.spec_from_file_location(f"specgen_reference_{path.stem}", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    function = getattr(module, reference.function, None)
    if not callable(function):
        raise FormulaError(f"{reference.file} has no function {reference.function}")
    return function
