"""From an instance to MLIR text: Jinja templates print the typed operations, one macro a construct.

Whatever enters a template passes a filter that admits identifiers, integers, types or quoted text and nothing else.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specgen.binding.instance import Attribute, BufferParam, Elements, Entry, Instance, Op, Operand, Param, TypeText
from specgen.diagnostics import Span
from specgen.remembered import keep

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OPERATION = re.compile(r"[a-z]+(\.[a-z_0-9]+)+\Z")
_KEY = re.compile(r"[a-z_]+(\.[a-z_]+)*\Z")
_TYPE = re.compile(
    r"(index|[if](1|8|16|32|64)|bf16|vector<\d+x(index|[if](1|8|16|32|64)|bf16)>"
    r"|memref<((\d+|\?)x)*([if](8|16|32|64)|bf16)(, \d+ : i32)?>)\Z"
)

_ELEMENTWISE = (
    "addi subi muli floordivsi ceildivsi ceildivui divui remui remsi minsi maxsi minui maxui addf subf mulf divf negf "
    "andi ori xori shli shrui shrsi minnumf maxnumf"
).split()
_MATH = (
    "absf absi ceil floor trunc roundeven fma sqrt rsqrt exp exp2 log log2 sin cos tanh erf ctpop ctlz cttz"
).split()
_CASTS = "bitcast index_cast sitofp uitofp extf truncf trunci extsi extui".split()
FORMS: dict[str, str] = {
    **{f"arith.{n}": "elementwise" for n in _ELEMENTWISE},
    **{f"math.{n}": "elementwise" for n in _MATH},
    **{f"arith.{n}": "cast" for n in _CASTS},
    "arith.constant": "constant",
    "arith.select": "select",
    "arith.cmpi": "compare",
    "arith.cmpf": "compare",
    "vector.broadcast": "cast",
    "vector.bitcast": "cast",
    "vector.extract": "extract",
    "vector.shuffle": "shuffle",
    "vector.load": "vector_load",
    "vector.store": "vector_store",
    "vector.maskedload": "masked_load",
    "vector.maskedstore": "masked_store",
    "memref.load": "load",
    "memref.store": "store",
    "memref.alloc": "alloc",
    "gpu.thread_id": "identity",
    "gpu.block_id": "identity",
    "scf.for": "for",
    "scf.if": "if",
    "scf.yield": "yield",
    "func.return": "yield",
}
"""Operation -> macro; every other operation is printed in generic syntax."""


def expand(instance: Instance) -> str:
    """The module of an instance as MLIR text, one function an entry, with a location on every operation."""
    return _environment().get_template("module.mlir.j2").render(instance=instance)


@functools.cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    from specgen.template_code import TemplateCode

    # The output is MLIR, not a page: quoting is the filters' task.
    environment = SandboxedEnvironment(
        loader=PackageLoader("specgen", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        bytecode_cache=TemplateCode(),
    )
    environment.filters.update(_FILTERS)
    return environment


# --- filters: what a hole may be -------------------------------------------------------------------------------------


def _matched(pattern: re.Pattern[str], text: object, what: str) -> str:
    if not isinstance(text, str) or not pattern.match(text):
        raise ValueError(f"not {what}: {text!r}")
    return text


def identifier(text: object) -> str:
    """A name as it is; anything else raises `ValueError`."""
    return _matched(_IDENTIFIER, text, "an identifier")


def operation(text: object) -> str:
    """An operation's name."""
    return _matched(_OPERATION, text, "an operation")


def type_text(text: object) -> str:
    """An IR type."""
    return _matched(_TYPE, text, "an IR type")


def integer(number: object) -> str:
    """A decimal integer."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(f"not an integer: {number!r}")
    return str(number)


def integers(numbers: tuple[int, ...]) -> str:
    """Integers with commas."""
    return ", ".join(integer(n) for n in numbers)


@functools.lru_cache(256)
def quoted(text: str) -> str:
    """Free text as an MLIR string: printable ASCII, the rest as hexadecimal escapes."""
    plain = (chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in text.encode())
    return '"' + "".join(plain) + '"'


_HOLE = re.compile(r"%hole([0-9]+)hole\b")
_MOST = 4096
"""How many kinds of lines are remembered; a full memory starts afresh."""
_lines: dict[tuple[object, ...], tuple[str, ...]] = {}
"""Texts between names, alternating with the names' places among results and operands."""


def line(op: Op, macro: Callable[[Op, int], str]) -> str:
    """What a macro prints for an operation without regions, printed once for all that differ in names only."""
    values = (*op.results, *op.operands)
    given = (*op.attributes, *op.extra)
    # Kinds of values beside the values, for 1 is True in a key.
    key = (
        op.name,
        len(op.results),
        *[v.type for v in values],
        len(op.attributes),
        *given,
        *[type(v) for _, v in given],
    )
    pieces = _lines.get(key)
    if pieces is None:
        if any("%hole" in repr(value) for _, value in given):
            return macro(op, 0)
        holes = [Operand(f"hole{number}hole", value.type) for number, value in enumerate(values)]
        count = len(op.results)
        shown = macro(replace(op, results=tuple(holes[:count]), operands=tuple(holes[count:])), 0)
        pieces = keep(_lines, key, tuple(_HOLE.split(shown)), _MOST)
    parts = list(pieces)
    parts[1::2] = ["%" + identifier(values[int(place)].name) for place in pieces[1::2]]
    return "".join(parts)


def names(operands: tuple[Operand, ...]) -> str:
    """`%a, %b`."""
    return ", ".join("%" + identifier(o.name) for o in operands)


def flags(words: tuple[str, ...]) -> str:
    """Words with commas."""
    return ",".join(identifier(w) for w in words)


def location(span: Span) -> str:
    """`loc("file":line:column)`."""
    return f"loc({quoted(span.file)}:{integer(span.line)}:{integer(span.column)})"


def attribute(value: Attribute) -> str:
    """An attribute's value; unit attributes are printed by `dictionary`."""
    match value:
        case TypeText():
            return type_text(value.text)
        case int():
            return f"{integer(value)} : i64"
        case str():
            return quoted(value)
        case tuple() if value and all(isinstance(v, str) for v in value):
            return "[" + ", ".join(quoted(str(v)) for v in value) + "]"
        case tuple():
            return f"array<i64: {integers(value)}>" if value else "[]"  # type: ignore[arg-type]
        case _:
            raise ValueError(f"no attribute: {value!r}")


def dictionary(items: tuple[tuple[str, Attribute], ...]) -> str:
    """`{key = value, unit}`."""
    parts = (_matched(_KEY, k, "a key") + ("" if v is True else f" = {attribute(v)}") for k, v in items)
    return "{" + ", ".join(parts) + "}"


def form(op: Op) -> str:
    """The macro that prints an operation."""
    return FORMS.get(op.name, "generic")


# --- constants -------------------------------------------------------------------------------------------------------

_FLOAT_BITS = {"f64": ("<d", "<Q", 16), "f32": ("<f", "<I", 8), "f16": ("<e", "<H", 4)}


def number_text(value: int | float | bool, type_: str) -> str:
    """A number as MLIR writes it: decimal where that is exact, bits for infinities and NaN."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return _float_bits(value, type_)
    text = repr(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text


def _float_bits(value: float, type_: str) -> str:
    if type_ == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        return f"0x{bits >> 16:04X}"
    packing, unpacking, digits = _FLOAT_BITS[type_]
    (bits,) = struct.unpack(unpacking, struct.pack(packing, value))
    return f"0x{bits:0{digits}X}"


def literal(op: Op) -> str:
    """A constant's value and type."""
    elements, type_ = op.attribute("value"), type_text(op.results[0].type)
    assert isinstance(elements, Elements)
    inner = type_[type_.index("x") + 1 : -1] if type_.startswith("vector") else type_
    values = [number_text(v, inner) for v in elements.values]
    if inner == type_:
        return values[0] if type_ == "i1" else f"{values[0]} : {type_}"
    return f"dense<{values[0] if len(values) == 1 else '[' + ', '.join(values) + ']'}> : {type_}"


# --- attributes of functions and arguments ---------------------------------------------------------------------------


def argument_attributes(arg: Param) -> str:
    """What the ABI says of an argument."""
    items: list[tuple[str, Any]] = [("motif.name", arg.name)]
    if not isinstance(arg, BufferParam):
        if arg.range is not None and isinstance(arg.range[0], int):
            items.append(("motif.range", arg.range))
        if arg.multiple_of is not None:
            items.append(("motif.multiple_of", arg.multiple_of))
        if arg.type.startswith("u"):
            items.append(("motif.unsigned", True))
        return dictionary(tuple(items))
    items += [("motif.access", arg.access), ("motif.align", arg.align)]
    if arg.range is not None and isinstance(arg.range[0], int):
        items.append(("motif.range", arg.range))
    items.append(("motif.axes", tuple(arg.axes[i] for i in arg.order)))
    if arg.noalias:
        items.append(("motif.noalias", True))
    if arg.unsigned:
        items.append(("motif.unsigned", True))
    return dictionary(tuple(items))


def function_attributes(entry: Entry, instance: Instance) -> str:
    """What a kernel says of itself."""
    items: list[tuple[str, Any]] = [
        ("motif.kernel", True),
        ("motif.entry", entry.name),
        ("motif.workgroup_size", entry.workgroup_size),
    ]
    if instance.subgroup_size is not None:
        items.append(("motif.subgroup_size", instance.subgroup_size))
    text = dictionary(tuple(items))[:-1] + ", motif.policies = " + _policies(entry)
    more: list[tuple[str, Any]] = []
    if instance.math:
        more.append(("motif.math", instance.math))
    if instance.registers is not None:
        more.append(("motif.registers", instance.registers))
    return text + (", " + dictionary(tuple(more))[1:] if more else "}")


def _policies(entry: Entry) -> str:
    parts = []
    for name, value in entry.policies:
        if isinstance(value, bool):
            shown = "1 : i64" if value else "0 : i64"
        elif isinstance(value, float):
            shown = quoted(repr(value))
        else:
            shown = attribute(value)
        parts.append(f"{identifier(name)} = {shown}")
    return "{" + ", ".join(parts) + "}"


_FILTERS: dict[str, Any] = {
    "identifier": identifier,
    "operation": operation,
    "type": type_text,
    "integer": integer,
    "integers": integers,
    "names": names,
    "flags": flags,
    "location": location,
    "dictionary": dictionary,
    "form": form,
    "line": line,
    "literal": literal,
    "argument_attributes": argument_attributes,
    "function_attributes": function_attributes,
}
