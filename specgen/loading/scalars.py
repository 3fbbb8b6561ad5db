"""What a plain YAML scalar is, by the 1.2 core rules; shared limits of numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_SPECIAL = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")

SMALLEST_INTEGER = -(1 << 63)
LARGEST_INTEGER = (1 << 64) - 1
"""Integers of a document are those of i64 and u64 together."""


@dataclass(frozen=True)
class Refused:
    """Why a scalar is refused, and the way out."""

    message: str
    hint: str


def resolve(text: str) -> str | int | float | bool | Refused | None:
    """The value of a plain scalar: null, boolean, integer, float or else the text itself."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text[0] not in "+-.0123456789":
        return text
    if _DECIMAL.fullmatch(text) or _FLOAT.fullmatch(text):
        if _LEADING_ZERO.match(text):
            bare = text.lstrip("+-").lstrip("0") or "0"
            bare = "0" + bare if bare.startswith((".", "e", "E")) else bare
            return Refused(
                f"`{text}` has a leading zero: some readers take it as octal.",
                f"Write `{bare}` if it is decimal, `0o{bare}` if it is octal.",
            )
        return integer(text, 10) if _DECIMAL.fullmatch(text) else floating(text)
    if _OCTAL.fullmatch(text):
        return integer(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return integer(text[2:], 16)
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _DATE.fullmatch(text):
        return Refused(f"`{_short(text)}` looks like a date; specs have none.", "Quote it if it is text.")
    return text


def integer(digits: str, base: int) -> int | Refused:
    """The integer, if it is one of 64 bits."""
    # A long run of digits is refused unread: converting it would cost quadratic time.
    value = int(digits, base) if len(digits) <= 40 else LARGEST_INTEGER + 1
    return checked_integer(value, digits)


def checked_integer(value: int, digits: str) -> int | Refused:
    """The value itself when it is one of 64 bits."""
    if SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
        return value
    return Refused(f"the integer `{_short(digits)}` does not fit in 64 bits.", "Use a float if it may be rounded.")


def floating(text: str) -> float | Refused:
    """The float64 nearest to the text; one that overflows is refused."""
    value = float(text)
    if math.isinf(value):
        return Refused(f"`{_short(text)}` is too large for a float64.", "Write `inf` if infinity is meant.")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
