"""Reading SPIR-V: instructions with typed operands, and the text of a module."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from specgen.lowering.spirv._gen.tables import ENUMS, GLSL, MASKS, OPS
from specgen.lowering.spirv.builder import MAGIC

HEADER_WORDS = 5
_BY_CODE = {row.code: name for name, row in reversed(OPS.items())}
_BY_VALUE = {kind: {row.value: name for name, row in reversed(rows.items())} for kind, rows in ENUMS.items()}
_GLSL_NAMES = {number: name for name, number in GLSL.items()}
_IDS = ("IdRef", "IdScope", "IdMemorySemantics")
_PAIRS = {
    "PairIdRefIdRef": ("IdRef", "IdRef"),
    "PairIdRefLiteralInteger": ("IdRef", "LiteralInteger"),
    "PairLiteralIntegerIdRef": ("LiteralInteger", "IdRef"),
}


@dataclass(frozen=True)
class Operand:
    """A decoded operand: `value` is an id, a number, a text, or the enumerant's name of `kind`."""

    kind: str
    value: int | str


@dataclass(frozen=True)
class Decoded:
    """A decoded instruction; `type` and `result` are ids or 0."""

    name: str
    type: int
    result: int
    operands: tuple[Operand, ...]
    words: tuple[int, ...]

    def ids(self) -> list[int]:
        """Operands that are ids."""
        return [int(o.value) for o in self.operands if o.kind in _IDS]

    def first(self, kind: str) -> int | str | None:
        """The value of the first operand of a kind."""
        return next((o.value for o in self.operands if o.kind == kind), None)


def words_of(module: bytes) -> tuple[int, ...]:
    """The words of a module; raises `ValueError` when it is no little-endian SPIR-V."""
    if len(module) % 4 or len(module) < 4 * HEADER_WORDS:
        raise ValueError("not a SPIR-V module: wrong length")
    words = struct.unpack(f"<{len(module) // 4}I", module)
    if words[0] != MAGIC:
        raise ValueError("not a SPIR-V module: wrong magic number")
    return words


def read(module: bytes) -> Iterator[Decoded]:
    """The instructions in order. Raises `ValueError` for what the table does not hold."""
    words = words_of(module)
    place = HEADER_WORDS
    while place < len(words):
        count, code = words[place] >> 16, words[place] & 0xFFFF
        if count == 0 or place + count > len(words) or code not in _BY_CODE:
            raise ValueError(f"not a SPIR-V module: instruction {code} at word {place}")
        yield _decode(_BY_CODE[code], words[place + 1 : place + count])
        place += count


class _Words:
    def __init__(self, words: tuple[int, ...]) -> None:
        self.words = words
        self.place = 0

    def left(self) -> bool:
        return self.place < len(self.words)

    def take(self) -> int:
        self.place += 1
        return self.words[self.place - 1]


def _decode(name: str, words: tuple[int, ...]) -> Decoded:
    source = _Words(words)
    type_ = result = 0
    operands: list[Operand] = []
    for spelled in OPS[name].operands.split():
        kind = spelled.rstrip("?*")
        if kind == "IdResultType":
            type_ = source.take()
        elif kind == "IdResult":
            result = source.take()
        elif spelled.endswith("*"):
            while source.left():
                _operand(kind, source, operands)
        elif not spelled.endswith("?") or source.left():
            _operand(kind, source, operands)
    return Decoded(name, type_, result, tuple(operands), words)


def _operand(kind: str, source: _Words, operands: list[Operand]) -> None:
    if kind in _PAIRS:
        for part in _PAIRS[kind]:
            operands.append(Operand(part, source.take()))
    elif kind == "LiteralString":
        operands.append(Operand(kind, _string(source)))
    elif kind == "LiteralContextDependentNumber":
        value, shift = 0, 0
        while source.left():
            value |= source.take() << shift
            shift += 32
        operands.append(Operand(kind, value))
    elif kind in ENUMS:
        _enumerant(kind, source, operands)
    else:
        operands.append(Operand(kind, source.take()))


def _enumerant(kind: str, source: _Words, operands: list[Operand]) -> None:
    value, names = source.take(), _BY_VALUE[kind]
    if kind not in MASKS or value == 0:
        parts = [names.get(value, str(value))]
    else:
        parts = [names.get(1 << bit, f"{1 << bit:#x}") for bit in range(32) if value >> bit & 1]
    operands.append(Operand(kind, "|".join(parts)))
    for part in parts:
        row = ENUMS[kind].get(part)
        for parameter in row.parameters.split() if row else ():
            if source.left():
                _operand(parameter, source, operands)


def _string(source: _Words) -> str:
    data = b""
    while True:
        data += struct.pack("<I", source.take())
        if data.endswith(b"\0"):
            return data.rstrip(b"\0").decode()


def disassemble(module: bytes) -> str:
    """The module as text in the syntax of spirv-as, ids as numbers."""
    lines = ["; SPIR-V", f"; Version: 1.{words_of(module)[1] >> 8 & 0xFF}"]
    types: dict[int, Decoded] = {}
    for made in read(module):
        if made.name.startswith("OpType"):
            types[made.result] = made
        text = " ".join([made.name, *([f"%{made.type}"] if made.type else []), *_texts(made, types)])
        lines.append(f"{f'%{made.result} = ' if made.result else '':>12}{text}")
    return "\n".join(lines) + "\n"


def _texts(made: Decoded, types: dict[int, Decoded]) -> Iterator[str]:
    for o in made.operands:
        if o.kind in _IDS:
            yield f"%{o.value}"
        elif o.kind == "LiteralString":
            escaped = str(o.value).replace("\\", "\\\\").replace('"', '\\"')
            yield f'"{escaped}"'
        elif o.kind == "LiteralExtInstInteger":
            yield _GLSL_NAMES.get(int(o.value), str(o.value))
        elif o.kind == "LiteralContextDependentNumber":
            yield _number(int(o.value), types.get(made.type))
        else:
            yield str(o.value)


def _number(value: int, type_: Decoded | None) -> str:
    """A constant: integers in decimal, floats in hexadecimal form so that nothing is rounded."""
    if type_ is None or type_.name != "OpTypeFloat":
        return str(value)
    bits = int(type_.operands[0].value)
    exponent_bits = {16: 5, 32: 8, 64: 11}[bits]
    fraction_bits = bits - exponent_bits - 1
    sign = "-" if value >> (bits - 1) else ""
    exponent = value >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = value & ((1 << fraction_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    digits = -(-fraction_bits // 4)
    shown = f"{fraction << (4 * digits - fraction_bits):0{digits}x}".rstrip("0")
    if exponent == 0:
        if fraction == 0:
            return f"{sign}0x0p+0"
        top = fraction.bit_length()
        rest = (fraction << (4 * digits - top + 1)) & ((1 << (4 * digits)) - 1)
        shown = f"{rest:0{digits}x}".rstrip("0")
        return f"{sign}0x1{'.' if shown else ''}{shown}p{top - fraction_bits - bias:+d}"
    return f"{sign}0x1{'.' if shown else ''}{shown}p{exponent - bias:+d}"
