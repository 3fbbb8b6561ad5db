"""Parser of the vendor's instruction pseudocode: text to a small syntax tree.

The language is described in the "Pseudocode" sections of AMD's ISA documents. What is not part of the subset
below (statement lambdas, register arrays, memory) raises `Untranslatable`; such instructions are done by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


class Untranslatable(Exception):
    """Pseudocode outside of the subset; the message says which construct."""


class Node:
    """An expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number(Node):
    value: int | float
    type: str
    """Type that the spelling fixes, e.g. `u32` of `4U`, `f32` of `1.0F`; `i32` and `f64` of plain numbers."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A value conversion such as `64'U(x)`."""

    type: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Choice(Node):
    condition: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A reinterpretation of bits such as `S0.f32`."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class Slice(Node):
    operand: Node
    high: Node
    low: Node


@dataclass(frozen=True, slots=True)
class Index(Node):
    operand: Node
    position: Node


@dataclass(frozen=True, slots=True)
class Concat(Node):
    parts: tuple[Node, ...]


class Statement:
    """A statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """`a = b = value` has two targets."""

    targets: tuple[Node, ...]
    op: str
    value: Node


@dataclass(frozen=True, slots=True)
class If(Statement):
    arms: tuple[tuple[Node, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class For(Statement):
    variable: str
    first: Node
    last: Node
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    name: str
    type: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Lambda(Statement):
    name: str
    parameters: tuple[str, ...]
    body: Node


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<comment>//[^\n]*)
    |(?P<cast>\d+'[UIFBV](?![A-Za-z0-9]))
    |(?P<sized>\d+'(?:0x[0-9a-fA-F]+|-?\d+(?:\.\d+)?)[ULF]*)
    |(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U|L)?|\d+\.\d+(?:[eE]-?\d+)?F?|\d+(?:ULL|LL|U|L|F)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<op><<|>>|<=|>=|==|!=|<>|&&|\|\||\*\*|\+=|-=|\|=|&=|\^=|[-+*/%&|^~!<>?:=.,;()\[\]{}]))""",
    re.VERBOSE,
)

_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
"""Binary operators, loosest first."""

_CAST_LETTER: Final = {"U": "u", "I": "i", "F": "f", "B": "u", "V": "u"}


def width_type(letter: str, bits: int) -> str:
    """The type name of a cast or declaration; odd widths round up to the next machine width."""
    return _CAST_LETTER[letter] + str(next((w for w in (1, 8, 16, 32, 64) if bits <= w), 64))


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of an instruction's pseudocode."""
    parser = _Parser(_tokens(text))
    body = parser.block(())
    if parser.peek() is not None:
        raise Untranslatable(f"text after the end: {parser.peek()}")
    return body


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Untranslatable(f"cannot read {text[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup != "comment":
            found.append((str(match.lastgroup), match[str(match.lastgroup)]))
    return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> str | None:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else None

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "end"

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise Untranslatable("unexpected end")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _accept(self, text: str) -> bool:
        if self.peek() == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Untranslatable(f"expected {text!r}, found {self.peek()!r}")

    # -- statements ---------------------------------------------------------------------------------------

    def block(self, stops: tuple[str, ...]) -> tuple[Statement, ...]:
        body: list[Statement] = []
        while (text := self.peek()) is not None and text not in stops:
            if text == ";":
                self._at += 1
            else:
                body.append(self._statement())
        return tuple(body)

    def _statement(self) -> Statement:
        text = self.peek()
        if text == "declare":
            return self._declare()
        if text == "if":
            return self._if()
        if text == "for":
            return self._for()
        if text in ("break", "return", "while"):
            raise Untranslatable(str(text))
        target = self._postfix(self._primary())
        op = self._next()
        if op not in ("=", "+=", "-=", "|=", "&=", "^="):
            raise Untranslatable(f"statement starting with {text!r}")
        if op == "=" and self.peek() == "lambda":
            return self._lambda(target)
        targets, value = [target], self.expression()
        while self._accept("="):
            targets.append(value)
            value = self.expression()
        return Assign(tuple(targets), op, value)

    def _declare(self) -> Declare:
        self._next()
        name = self._next()
        self._expect(":")
        kind, spelling = self._tokens[self._at]
        self._at += 1
        if kind != "cast":
            raise Untranslatable(f"declaration as {spelling!r}")
        bits, letter = spelling.split("'")
        count = None
        if self._accept("["):
            count = int(self._next())
            self._expect("]")
        return Declare(name, width_type(letter, int(bits)), count)

    def _lambda(self, target: Node) -> Lambda:
        self._next()
        self._expect("(")
        parameters = [self._next()]
        while self._accept(","):
            parameters.append(self._next())
        self._expect(")")
        self._expect("(")
        body = self.expression()
        self._accept(";")
        self._expect(")")
        if not isinstance(target, Name):
            raise Untranslatable("lambda target")
        return Lambda(target.name, tuple(parameters), body)

    def _if(self) -> If:
        arms = []
        self._next()
        while True:
            condition = self.expression()
            self._expect("then")
            arms.append((condition, self.block(("elsif", "else", "endif"))))
            if not self._accept("elsif"):
                break
        otherwise = self.block(("endif",)) if self._accept("else") else ()
        self._expect("endif")
        return If(tuple(arms), otherwise)

    def _for(self) -> For:
        self._next()
        variable = self._next()
        self._expect("in")
        first = self.expression()
        self._expect(":")
        last = self.expression()
        self._expect("do")
        body = self.block(("endfor",))
        self._expect("endfor")
        return For(variable, first, last, body)

    # -- expressions --------------------------------------------------------------------------------------

    def expression(self) -> Node:
        condition = self._level(0)
        if not self._accept("?"):
            return condition
        yes = self.expression()
        self._expect(":")
        return Choice(condition, yes, self.expression())

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self._kind() == "op" and self.peek() in _LEVELS[level]:
            op = self._next()
            left = Binary(op, left, self._level(level + 1))
        return left

    def _unary(self) -> Node:
        if self._kind() == "op" and self.peek() in ("-", "~", "!", "+"):
            op = self._next()
            operand = self._unary()
            return operand if op == "+" else Unary(op, operand)
        return self._postfix(self._primary())

    def _postfix(self, node: Node) -> Node:
        while True:
            if self._accept("."):
                node = Field(node, self._next())
            elif self._accept("["):
                first = self.expression()
                node = Slice(node, first, self.expression()) if self._accept(":") else Index(node, first)
                self._expect("]")
            else:
                return node

    def _primary(self) -> Node:
        kind = self._kind()
        if kind == "cast":
            bits, letter = self._next().split("'")
            self._expect("(")
            operand = self.expression()
            self._expect(")")
            return Cast(width_type(letter, int(bits)), operand)
        if kind in ("sized", "number"):
            return _number(self._next())
        if self._accept("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._accept("{"):
            parts = [self.expression()]
            while self._accept(","):
                parts.append(self.expression())
            self._expect("}")
            return Concat(tuple(parts))
        if kind != "name":
            raise Untranslatable(f"unexpected {self.peek()!r}")
        name = self._next()
        if self.peek() != "(":
            return Name(name)
        self._next()
        arguments = []
        if self.peek() != ")":
            arguments.append(self.expression())
            while self._accept(","):
                arguments.append(self.expression())
        self._expect(")")
        return Call(name, tuple(arguments))


def _number(text: str) -> Number:
    spelling = text.split("'")[-1]
    width = int(text.split("'")[0]) if "'" in text else 0
    if not spelling.startswith("0x") and ("." in spelling or spelling.endswith("F")):
        value = float(spelling.rstrip("F"))
        return Number(value, "f32" if spelling.endswith("F") else "f64")
    digits = spelling.rstrip("UL")
    number = int(digits, 16 if digits.startswith("0x") else 10)
    if "LL" in spelling or number > 0xFFFFFFFF or width > 32:
        return Number(number, "u64")
    if spelling.startswith("0x") or spelling.endswith("U"):
        return Number(number, "u1" if width == 1 else "u32")
    return Number(number, "i32")
