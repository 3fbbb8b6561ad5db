"""Every diagnostic code, declared once: what it means, why it is refused, an example, and the way out.

`diagnostic()` is how the rest of the project makes a `Diagnostic`; `explain()` and `page()` print the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from specgen.diagnostics import Diagnostic, Note, Span, codes, loop_codes
from specgen.diagnostics.record import Code


def _table() -> Mapping[str, Code]:
    table: dict[str, Code] = {}
    for record in (*codes.CODES, *loop_codes.CODES):
        if record.code in table:
            raise ValueError(f"{record.code} is declared twice")
        table[record.code] = record
    return MappingProxyType(table)


def diagnostic(
    code: str,
    span: Span,
    message: str,
    *,
    severity: str = "error",
    found: str | None = None,
    allowed: tuple[str, ...] = (),
    hint: str | None = None,
    notes: tuple[Note, ...] = (),
    unused: str | None = None,
) -> Diagnostic:
    """A diagnostic of a declared code; without `hint` it gets the code's own. `KeyError` for an unknown code."""
    record = CATALOGUE[code]
    hint = hint if hint is not None else record.hint
    return Diagnostic(code, span, message, severity, found, allowed, hint, notes, unused)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.strip("\n").split("\n"))


def explain(code: str) -> str:
    """The explanation of one code as plain text. `KeyError` for an unknown code."""
    record = CATALOGUE[code]
    parts = [
        f"{record.code}: {record.title}",
        record.meaning,
        f"Why: {record.why}",
        f"Refused:\n{_indented(record.wrong)}",
        f"Accepted:\n{_indented(record.right)}",
    ]
    if record.hint:
        parts.append(f"Hint: {record.hint}")
    return "\n\n".join(parts)


def page() -> str:
    """The documentation page of all codes (Markdown)."""
    lines = [
        "# Diagnostics",
        "",
        "Every finding has a stable code. `specgen explain CODE` prints one of the sections below.",
        "Generated from `specgen/diagnostics`; do not edit.",
        "",
        "| code | about |",
        "|---|---|",
        *(f"| [`{record.code}`](#{_anchor(record)}) | {record.title} |" for record in CATALOGUE.values()),
    ]
    for record in CATALOGUE.values():
        lines += ["", f"## {record.code}: {record.title}", "", record.meaning, "", f"**Why.** {record.why}", ""]
        lines += ["Refused:", "", "```yaml", record.wrong.strip("\n"), "```", ""]
        lines += ["Accepted:", "", "```yaml", record.right.strip("\n"), "```"]
        if record.hint:
            lines += ["", f"**Hint.** {record.hint}"]
    return "\n".join(lines) + "\n"


def _anchor(record: Code) -> str:
    """The anchor that Markdown renderers make of a section's heading."""
    heading = f"{record.code}: {record.title}".lower()
    return "".join(c if c.isalnum() or c in "-_" else "-" if c == " " else "" for c in heading)


CATALOGUE: Mapping[str, Code] = _table()
"""Code -> record, in the order of the documentation."""
