"""A quicker reader of MLIR text: xDSL's parser with a lexer of one regular expression and a memory for what repeats.

Our texts say the same types, attribute dictionaries and locations over and over, and xDSL spends most of its time on
them, character by character. What is remembered are attributes, which never change; each text is parsed by xDSL's own
code the first time, and whatever the patterns here do not cover goes to that code every time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import AnyFloat, ComplexType, FileLineColLoc, IndexType, IntegerType, LocationAttr
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from specgen.ir import lines
from specgen.ir.dialect import context
from specgen.ir.locations import make
from specgen.remembered import keep

_TOKEN = re.compile(
    r"(?:\s++|//[^\n]*+)*+(?:"
    r"(?P<BARE_IDENT>[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(?P<PERCENT_IDENT>%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(?P<punctuation>->|[:,()}\[\]<>=+/*?|])"
    r"|(?P<INTEGER_LIT>(?!0x)[0-9]+(?![.0-9]))"
    r'|(?P<STRING_LIT>"[^"\\\n\v\f]*")'
    r"|(?P<L_BRACE>\{(?!-#))"
    r"|(?P<AT_IDENT>@[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(?P<FLOAT_LIT>(?!0x)[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)"
    r")",
    re.ASCII,
)
_KINDS = {kind.name: kind for kind in MLIRTokenKind}

_TYPE = re.compile(r"(?:index|bf16|[if][0-9]+|(?:memref|vector)<[^<>!#\"]*>)(?![a-zA-Z0-9_$.<])", re.ASCII)
_DICTIONARY = re.compile(r'\{(?:[^{}"!]|"[^"\\]*"|\{[^{}"!]*\})*\}')
_PROPERTIES = re.compile(f"<{_DICTIONARY.pattern}>")
_LOCATION = re.compile(r'loc\("([^"\\\n]*)":([0-9]+):([0-9]+)\)', re.ASCII)

_MOST = 4096
"""How many texts of one kind are remembered; a full memory starts afresh."""

_types: dict[str, TypeAttribute | None] = {}
_dictionaries: dict[str, dict[str, Attribute]] = {}
_properties: dict[str, dict[str, Attribute]] = {}

_Parsed = TypeVar("_Parsed")


class Lexer(MLIRLexer):
    """xDSL's lexer; the common tokens are found by one match each."""

    def lex(self) -> MLIRToken:
        """The next token. Raises xDSL's `ParseError` where none begins."""
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        name = match.lastgroup
        assert name is not None
        start, end = match.span(name)
        self.pos = end
        if name == "punctuation":
            return Token(KIND_BY_PUNCTUATION_SPELLING[match[name]], Span(start, end, self.input))
        if name == "STRING_LIT":
            return Token(MLIRTokenKind.STRING_LIT, StringLiteral(start, end, self.input))
        return Token(_KINDS[name], Span(start, end, self.input))


class _Element(AttrParser._TensorLiteralElement):
    """An element of a dense attribute: for floats a hexadecimal number is their bits, as MLIR has it."""

    def to_float(self, parser: AttrParser) -> float:
        """The value of a decimal number."""
        if self.span.text[:2] in ("0x", "0X"):
            parser.raise_error("the bits of a float need its type", at_position=self.span)
        return float(super().to_float(parser))

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
        """The element in the attribute's type."""
        if isinstance(type, AnyFloat) and self.span.text[:2] in ("0x", "0X"):
            assert isinstance(self.value, int)
            return next(iter(type.iter_unpack(self.value.to_bytes(type.size, "little"))))
        return super().to_type(parser, type)


@functools.lru_cache(_MOST)
def _location(file: str, line: str, column: str) -> FileLineColLoc:
    return make(file, int(line), int(column))


class Reader(Parser):
    """xDSL's parser in the context of our dialects, with a memory for types, dictionaries and locations."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(context(), text, name)
        self._parser_state = ParserState(Lexer(Input(text, name)))

    def parse_operation(self) -> Operation:
        """An operation with what is before and behind it; lines that are like one before are not parsed again."""
        line = lines.at(self.lexer.input.content, self.pos)
        if line is None or self.attribute_aliases or self.dialect_resources:
            return super().parse_operation()
        known = self.ssa_values
        kind = lines.kind(line)
        if kind is not None and all(name in known for name in line.operands):
            op = kind.make([known[name][0] for name in line.operands], _location(*line.place))
            if op is not None:
                self._name_results(op, line)
                return op
        op = super().parse_operation()
        if self._stands_behind(line.end):
            lines.remember(line, op, self.ssa_values)
        return op

    def _name_results(self, op: Operation, line: lines.Line) -> None:
        start = self.pos
        for name, result in zip(line.results, op.results, strict=True):
            end = start + len("%") + len(name)
            self._register_ssa_definition(name, (result,), Span(start, end, self.lexer.input))
            start = end + len(", ")
        self._resume_from(line.end)

    def parse_optional_location(self) -> LocationAttr | None:
        """`loc("file":line:column)`, if it stands here; other forms as xDSL reads them."""
        match = _LOCATION.match(self.lexer.input.content, self.pos)
        if match is None:
            return super().parse_optional_location()
        self._resume_from(match.end())
        return _location(*match.groups())

    def parse_optional_type(self) -> TypeAttribute | None:
        """A type, if one stands here."""
        return self._remembered(_TYPE, _types, super().parse_optional_type)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        """`{key = value, ...}`, if it stands here."""
        found = self._remembered(_DICTIONARY, _dictionaries, super().parse_optional_dictionary_attr_dict)
        return dict(found)

    def parse_optional_properties_dict(self) -> dict[str, Attribute]:
        """`<{key = value, ...}>`, if it stands here."""
        found = self._remembered(_PROPERTIES, _properties, super().parse_optional_properties_dict)
        return dict(found)

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        """An element of a dense attribute, of a type that is not known yet."""
        element = super()._parse_tensor_literal_element()
        return _Element(element.is_negative, element.value, element.span)

    def _remembered(
        self, pattern: re.Pattern[str], memory: dict[str, _Parsed], parse: Callable[[], _Parsed]
    ) -> _Parsed:
        """What the text at this place was parsed to before, else what `parse` makes of it."""
        match = pattern.match(self.lexer.input.content, self.pos)
        if match is None:
            return parse()
        text = match[0]
        if text in memory:
            self._resume_from(match.end())
            return memory[text]
        parsed = parse()
        if self._stands_behind(match.end()) and not (self.attribute_aliases or self.dialect_resources):
            keep(memory, text, parsed, _MOST)
        return parsed

    def _stands_behind(self, end: int) -> bool:
        """Whether what was read ended at `end`: only blanks lie between it and the next token."""
        return end <= self.pos and not self.lexer.input.content[end : self.pos].strip()
