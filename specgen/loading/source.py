"""Reading a file: bytes to text, with the refusals that YAML and TOML share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from specgen.diagnostics import Diagnostic, DiagnosticError, Source, Span
from specgen.diagnostics.catalogue import diagnostic

MAX_BYTES = 1 << 20
"""Largest spec that is read."""

MAX_VALUES = 20_000
"""Most keys, values and list entries of a document: bounds the time that checking a hostile file takes."""

_BOM = b"\xef\xbb\xbf"

# Tabs are judged by the format. Line ends other than LF and CRLF would make readers disagree about line numbers.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True)
class Text:
    """A file as bytes and as text: without BOM, lines ended by LF."""

    source: Source
    data: bytes


def point(name: str, line: int, column: int, width: int = 1) -> Span:
    """A span of `width` characters on one line."""
    return Span(name, line, column, line, column + width)


def start_of(name: str) -> Span:
    """The first character of a file: where a finding about the whole file stands."""
    return point(name, 1, 1)


def read_source(path: Path, name: str) -> Text:
    """The text of a file; `name` is how messages call it. `DiagnosticError` (SG-LOAD, SG-PATH) when it is refused."""
    try:
        # A pipe or a device would be waited for, or never end.
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(None, "it is no regular file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DiagnosticError([diagnostic("SG-PATH", start_of(name), f"`{name}` cannot be read: {why}.")]) from error
    return decode(data, name)


def decode(data: bytes, name: str) -> Text:
    """Bytes as text: at most `MAX_BYTES`, UTF-8 (a BOM is dropped), no control characters."""
    if len(data) > MAX_BYTES:
        raise _refused(
            start_of(name), f"the file is larger than {MAX_BYTES} bytes, the most that is read.", "Split it."
        )
    body = data.removeprefix(_BOM)
    try:
        text = body.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = body[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"the file is not UTF-8: byte 0x{body[error.start]:02x} is not part of a character."
        raise _refused(point(name, line, column), message, "Save it as UTF-8.") from error
    bad = _FORBIDDEN.search(text)
    if bad:
        line, column = position(text, bad.start())
        message = f"the character U+{ord(bad.group()):04X} is not allowed."
        error_at = point(name, line, column)
        raise DiagnosticError([diagnostic("SG-LOAD", error_at, message, hint=_hint(bad.group()))])
    return Text(Source(name, text), data)


def _hint(character: str) -> str:
    if character == "\r":
        return "End lines with LF or CRLF."
    if character in "\x85\u2028\u2029":
        return "It ends a line for some readers only; use LF."
    return "Remove it."


def too_many_values(span: Span) -> DiagnosticError:
    """The refusal of a document with more than `MAX_VALUES` values."""
    return _refused(span, f"there are more than {MAX_VALUES} values here and before.", "Split the document.")


def position(text: str, index: int) -> tuple[int, int]:
    """1-based line and column of the character at `index`."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _refused(span: Span, message: str, hint: str) -> DiagnosticError:
    return DiagnosticError([diagnostic("SG-LOAD", span, message, hint=hint)])


class Findings:
    """Collects diagnostics of one file up to a limit, so that a hostile file costs bounded time and output."""

    LIMIT = 50

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def add(self, finding: Diagnostic) -> None:
        """Keep a finding; `DiagnosticError` with all of them when the limit is reached."""
        self.items.append(finding)
        if len(self.items) >= self.LIMIT:
            message = f"reading stopped after {self.LIMIT} findings."
            raise DiagnosticError(
                [*self.items, diagnostic("SG-LOAD", finding.span, message, hint="Correct these first.")]
            )
