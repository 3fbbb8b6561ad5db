"""Types and values of translated pseudocode, and the functions that it may call.

A value is Python source text with a type: `u8 ... u64`, `i8 ... i64`, `f16 f32 f64`, `bf16` (held in uint16),
`u1` (a boolean array) and `mask` (one boolean a lane, of a lane-mask register).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from specgen.devices.amdgpu_emulator.pseudocode import Untranslatable

WIDTH: Final[Mapping[str, int]] = {
    "u1": 1, "u8": 8, "i8": 8, "u16": 16, "i16": 16, "f16": 16, "bf16": 16,
    "u32": 32, "i32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64,
}  # fmt: skip

_PLAIN: Final = {"b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64"}

SAME_TYPE: Final = {
    "sqrt": "sqrt", "floor": "np.floor", "trunc": "np.trunc", "ceil": "np.ceil", "abs": "np.abs", "log2": "log2",
    "fract": "fract", "mantissa": "mantissa", "exp2": "exp2", "rint": "rint", "rsqrt": "rsqrt", "tanh": "tanh",
    "reciprocal": "reciprocal", "sin_turns": "sin_turns", "cos_turns": "cos_turns", "cvtToQuietNAN": "quiet",
    "reverse_bits": "reverse_bits",
    "min_ieee": "min_ieee", "max_ieee": "max_ieee", "min_num": "min_num", "max_num": "max_num",
    "minimum": "minimum", "maximum": "maximum", "median_ieee": "median_ieee", "median_num": "median_num",
    "int_min": "np.minimum", "int_max": "np.maximum", "division_fixup": "division_fixup",
}  # fmt: skip
"""Functions whose result has the type of their first argument, and their numpy text."""

FIXED_TYPE: Final = {
    "isNAN": ("np.isnan", "u1"), "isQuietNAN": ("np.isnan", "u1"), "isSignalNAN": ("is_signaling", "u1"),
    "sign": ("np.signbit", "u1"), "exponent": ("exponent", "i32"), "frexp_exponent": ("frexp_exponent", "i32"),
    "popcount": ("popcount", "u32"), "clz": ("count_leading_zeros", "i32"), "ctz": ("count_trailing_zeros", "i32"),
    "cls": ("count_leading_signs", "i32"), "byte_permute": ("byte_permute", "u32"),
    "pack_rtz": ("f32_to_f16_pair", "u32"),
    "float_class": ("float_class", "u1"), "f32_to_snorm": ("to_snorm16", "i16"), "f32_to_unorm": ("to_unorm16", "u16"),
    "f16_to_snorm": ("to_snorm16", "i16"), "f16_to_unorm": ("to_unorm16", "u16"), "popcount64": ("popcount", "u32"),
}  # fmt: skip
"""Functions with a result type of their own."""

UFUNC: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply_words",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
}


STATE: Final = frozenset(
    "PC M0 MODE STATUS TRAPSTS VGPR SGPR MEM LDS S0 S1 S2 D1 DATA PRIV SCRATCH "
    "HW_REGISTERS WAVE_STATUS WAVE_MODE".split()
)
"""Names that an instruction may assign to and that are no results here: such instructions are done by hand."""


@dataclass(frozen=True)
class Value:
    """Source text of a value. `const` is set for numbers known now; `ufunc` names the numpy function and operands
    that `code` applies, so that a store can let it write in place."""

    code: str
    type: str
    const: int | float | bool | None = None
    ufunc: tuple[str, str, str] | None = None


@dataclass
class Result:
    """Statements to run and the outputs: `D0`, `SCC`, `EXEC`, `VCC` values and `@D0`, `@VCC`, `@EXEC` lane masks."""

    lines: list[str]
    outputs: dict[str, Value]


def is_float(kind: str) -> bool:
    return kind in ("f16", "f32", "f64")


def wrap(value: int | float | bool, kind: str) -> int | float | bool:
    """The number that a constant becomes in a type: whole numbers wrap, others stay."""
    if is_float(kind) or kind == "u1" or isinstance(value, float):
        return value
    number = int(value) & ((1 << WIDTH[kind]) - 1)
    return number - (1 << WIDTH[kind]) if kind[0] == "i" and number >> (WIDTH[kind] - 1) else number


def normal_type(name: str) -> str:
    """A type of the pseudocode as one of ours; odd integer widths become the next machine width."""
    name = _PLAIN.get(name, name)
    if name[0] in "ui" and name[1:].isdigit() and name not in WIDTH and int(name[1:]) <= 64:
        return name[0] + ("32" if int(name[1:]) < 32 else "64")
    if name not in WIDTH:
        raise Untranslatable(f"type {name}")
    return name


def fold(op: str, a: int | float | bool, b: int | float | bool) -> int | float | bool:
    """A binary operator of the pseudocode on two known numbers."""
    floating = isinstance(a, float) or isinstance(b, float)
    operations: dict[str, Callable[[], int | float | bool]] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "%": lambda: int(a) % int(b),
        "/": lambda: a / b if floating else int(a) // int(b), "&": lambda: int(a) & int(b),
        "|": lambda: int(a) | int(b), "^": lambda: int(a) ^ int(b), "<<": lambda: int(a) << int(b),
        ">>": lambda: int(a) >> int(b), "**": lambda: float(a) ** b, "==": lambda: a == b, "!=": lambda: a != b,
        "<>": lambda: a < b or a > b, "<": lambda: a < b, ">": lambda: a > b, "<=": lambda: a <= b,
        ">=": lambda: a >= b, "&&": lambda: bool(a) and bool(b), "||": lambda: bool(a) or bool(b),
    }  # fmt: skip
    return operations[op]()


def float_of_bits(bits: int, kind: str) -> float:
    """The number that these bits are in a floating type."""
    width = WIDTH[kind]
    raw = (bits & ((1 << width) - 1)).to_bytes(width // 8, "little")
    return float(struct.unpack({16: "<e", 32: "<f", 64: "<d"}[width], raw)[0])


def literal(value: int | float | bool, kind: str) -> str:
    if is_float(kind):
        number = float(value)
        text = repr(number) if abs(number) < float("inf") and number == number else f"float('{number}')"
        return f"{kind}({text})"
    if kind == "u1":
        return repr(bool(value))
    if kind == "bf16":
        raise Untranslatable("bf16 literal")
    number = int(value) & ((1 << WIDTH[kind]) - 1)
    if kind[0] == "i" and number >> (WIDTH[kind] - 1):
        number -= 1 << WIDTH[kind]
    return f"{kind}({number})"
