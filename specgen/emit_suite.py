"""Generated Python: the pytest suite and the benchmark script of an output folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

    from specgen.checks.cases import Check
    from specgen.checks.plan import PlannedCheck, SuitePlan

WIDTH = 110


def render_suite(plan: SuitePlan, manifest: Mapping[str, Any]) -> str:
    """`test_NAME.py`. `manifest` is the folder's, without `files`."""
    types = {row["name"]: row["type"] for row in manifest["args"]}
    names = _common(plan, manifest)
    names["checks"] = [_with_tolerances(c, types) for c in plan.checks]
    names["derived"] = [_with_tolerances(c, types) for c in plan.derived]
    return _environment().get_template("test_suite.py.j2").render(names)


def render_benchmark(plan: SuitePlan, manifest: Mapping[str, Any]) -> str:
    """`bench_NAME.py`."""
    names = {**_common(plan, manifest), "benchmarks": plan.benchmarks}
    return _environment().get_template("benchmark.py.j2").render(names)


def _common(plan: SuitePlan, manifest: Mapping[str, Any]) -> dict[str, Any]:
    if not plan.name.isidentifier():
        raise ValueError(f"{plan.name!r} is no identifier")
    return {
        "name": plan.name,
        "version": manifest["specgen"],
        "file": plan.file,
        "summary": plan.summary,
        "constants": dict(plan.constants),
        "words": plan.words,
        "references": bool(plan.references),
        "notes": plan.notes,
    }


def _with_tolerances(planned: PlannedCheck, types: Mapping[str, str]) -> dict[str, Any]:
    return {"check": planned.check, "reasons": planned.reasons, "tolerances": tolerance_lines(planned.check, types)}


def tolerance_lines(check: Check, types: Mapping[str, str]) -> list[str]:
    """How much of each expected buffer may differ and how that is derived, a line each."""
    from specgen.checks.cases import kind_of
    from specgen.checks.dtypes import TYPES

    if check.expect is None:
        return ["The reference is `serial`: every entry must leave the same bits."]
    if not isinstance(check.expect, Mapping):
        return [f"Expected contents come from {check.expect.file}:{check.expect.function}."]
    lines = []
    for name in check.expect:
        type_ = TYPES[types[name]]
        text = _TOLERANCE[kind_of(check, type_)]
        power = {"u": -max(type_.precision, 24), "v": -type_.precision}
        bounds = check.compare if isinstance(check.compare, Mapping) else {}
        lines.append(f"{name} ({type_.name}): {text.format(**power, **bounds)}")
    return lines


_TOLERANCE = {
    "exact": "equal values, NaN equals NaN",
    "bitwise": "equal bits",
    "close": "abs(actual - expected) <= {atol!r} + {rtol!r} * abs(expected)",
    "derived": "abs(actual - expected) <= (terms + 2) * 2^{u} * sum of magnitudes + 2^{v} * abs(expected), terms and"
    " magnitudes counted over the formula, case by case",
}


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from specgen.template_code import TemplateCode

    folder = resources.files("specgen.templates")
    sources = {name: (folder / name).read_text(encoding="utf-8") for name in ("test_suite.py.j2", "benchmark.py.j2")}
    environment = ImmutableSandboxedEnvironment(
        loader=DictLoader(sources),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=TemplateCode(),
    )
    environment.filters.update(python=python, comment=comment, comments=comments, check_source=check_source)
    return environment


def comment(text: str) -> str:
    """Text for a docstring or a comment: one line, ASCII, without what could end either."""
    return ascii(" ".join(text.split()))[1:-1].replace("\\'", "'").replace('"', "'").replace("\\", "/")


def comments(text: str, indent: int = 0) -> str:
    """Comment lines of at most `WIDTH` characters."""
    start = " " * indent + "# "
    return "\n".join(wrap(comment(text), WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False))


def text_literal(text: str) -> str:
    """A string literal, ASCII, in double quotes where that needs no escapes."""
    plain = ascii(text)
    return plain if '"' in plain or "\\" in plain or plain[0] == '"' else f'"{plain[1:-1]}"'


def python(value: Any, indent: int = 0) -> str:
    """A Python literal of a number, text, tuple or mapping; over several lines where one is too long."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if isinstance(value, Mapping):
        return _bracketed("{", [f"{python(k)}: {python(v, indent + 4)}" for k, v in value.items()], "}", indent)
    if isinstance(value, (tuple, list)):
        entries = [python(v, indent + 4) for v in value]
        closing = ",)" if len(entries) == 1 else ")"
        return _bracketed("(", entries, closing, indent)
    return text_literal(value) if isinstance(value, str) else ascii(value)


def _bracketed(opening: str, entries: Sequence[str], closing: str, indent: int) -> str:
    line = opening + ", ".join(entries) + closing
    if len(line) + indent <= WIDTH - 20 and "\n" not in line:
        return line
    inner = " " * (indent + 4)
    if all(entry[:1] in "-0123456789" for entry in entries):
        return f"{opening}\n{_filled(entries, inner)}\n{' ' * indent}{closing.lstrip(',')}"
    lines = "".join(f"{inner}{entry},\n" for entry in entries)
    return f"{opening}\n{lines}{' ' * indent}{closing.lstrip(',')}"


def _filled(entries: Sequence[str], inner: str) -> str:
    """Numbers, as many as fit on a line."""
    lines = [inner]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 2 > WIDTH:
            lines.append(inner)
        lines[-1] += ("" if lines[-1] == inner else " ") + entry + ","
    return "\n".join(lines)


def check_source(check: Check, indent: int = 0) -> str:
    """The call of `Check` that makes a check; keys that say nothing are left out."""
    from specgen.checks.cases import Reference

    def content(value: Any, depth: int) -> str:
        if isinstance(value, Reference):
            return f"Reference({text_literal(value.file)}, {text_literal(value.function)})"
        if isinstance(value, Mapping) and value and all(isinstance(v, (str, Reference)) for v in value.values()):
            inner = " " * (depth + 4)
            lines = "".join(f"{inner}{text_literal(k)}: {content(v, depth + 4)},\n" for k, v in value.items())
            return f"{{\n{lines}{' ' * depth}}}"
        return python(value, depth)

    parts = [("name", check.name)]
    parts += [("each", check.each)] if check.each else []  # type: ignore[list-item]
    parts += [("rows", tuple(check.rows))] if tuple(check.rows) != ({},) else []  # type: ignore[list-item]
    for key in ("given", "backing", "expect", "compare"):
        value = getattr(check, key)
        parts += [(key, value)] if value else []
    at = " " * indent
    lines = "".join(f"{at}    {key}={content(value, indent + 4)},\n" for key, value in parts)
    return f"Check(\n{lines}{at})"
