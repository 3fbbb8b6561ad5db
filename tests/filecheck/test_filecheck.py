"""Golden IR of the scheduler: input and expectations in one file.

A file holds cases separated by `// -----`; each is scheduled alone and its printed result, followed by one `row`
line a report row, is compared with the `CHECK` directives of the case. `// PASS: NAME` looks at the IR after that
pass instead of at the end. A case without directives and a directive that nobody knows fail.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

from specgen.ir import parse, print_module
from specgen.schedule import schedule

FILES = sorted(Path(__file__).parent.glob("*.mlir"))
SEPARATOR = "// -----"
KINDS = "CHECK(-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-[1-9][0-9]*))?:"
DIRECTIVE = re.compile(rf"^\s*// ({KINDS}|PASS: [a-z-]+$)")
SHOUTED = re.compile(r"//\s*[A-Z][A-Z0-9-]{2,}\b")
OPTIONS = Options("case")


class BadCase(Exception):
    """A case that checks nothing or does not say what it means."""


def cases() -> list[tuple[str, str]]:
    """Names and texts of all cases."""
    found = []
    for path in FILES:
        for number, text in enumerate(path.read_text(encoding="utf-8").split(SEPARATOR)):
            found.append((f"{path.stem}-{number}", text))
    return found


def check(text: str) -> None:
    """Schedule a case and match its directives. Raises `BadCase` or fails with the message of the matcher."""
    for line in text.split("\n"):
        if SHOUTED.search(line) and not DIRECTIVE.match(line):
            raise BadCase(f"unknown directive: {line.strip()}")
    directives = [op for op in _parser(text) if op is not None]
    if not directives:
        raise BadCase("no directive")
    shown = output(text, wanted_pass(text))
    matcher = Matcher(OPTIONS, FInput("<scheduled>", shown), _parser(text))
    assert matcher.run() == 0, f"{shown}SPECGEN_BLESS=1 rewrites the goldens"


def wanted_pass(text: str) -> str | None:
    """The pass that a case names."""
    wanted = [line.split(":", 1)[1].strip() for line in text.split("\n") if line.startswith("// PASS: ")]
    return wanted[-1] if wanted else None


def _parser(text: str) -> Parser:
    return Parser(OPTIONS, io.StringIO(text), *pattern_for_opts(OPTIONS))


def output(text: str, after: str | None) -> str:
    """What the directives are matched against."""
    dumps: dict[str, str] = {}
    scheduled = schedule(
        parse(text), dump=lambda name, module: dumps.update({name: print_module(module, locations=False)})
    )
    rows = [*scheduled.rows, *scheduled.stages, *scheduled.unroll_rows]
    lines = [_row(row.as_dict()) for row in rows]
    lines += [f"refused {d.code}: {d.message}" for d in scheduled.diagnostics]
    if scheduled.diagnostics:
        return "\n".join(lines) + "\n"
    return (dumps[after] if after else print_module(scheduled.module, locations=False)) + "\n".join(lines) + "\n"


def _row(values: dict[str, object]) -> str:
    shown = {k: v for k, v in values.items() if k not in ("function", "location") and v != ""}
    return "row " + " ".join(f"{key}={value}" for key, value in shown.items())


@pytest.mark.parametrize(("name", "text"), cases(), ids=[name for name, _ in cases()])
def test_golden(name: str, text: str) -> None:
    """The scheduled IR is as written down."""
    check(text)


def blessed(text: str) -> str:
    """The case with one directive a line of its output; closing braces and empty lines are left out."""
    source = "\n".join(line for line in text.strip("\n").split("\n") if not line.startswith("// CHECK"))
    lines = [line.strip() for line in output(text, wanted_pass(text)).split("\n")]
    directives: list[str] = []
    skipped = True
    for line in lines:
        if line in ("", "}", "builtin.module {"):
            skipped = True
            continue
        kind = "CHECK-LABEL" if line.startswith("func.func") else "CHECK" if skipped else "CHECK-NEXT"
        shown = line.split("(")[0] if kind == "CHECK-LABEL" else line
        directives.append(f"// {kind}: {shown}")
        skipped = kind == "CHECK-LABEL"
    return source.rstrip("\n") + "\n" + "\n".join(directives) + "\n"


@pytest.mark.skipif("SPECGEN_BLESS" not in os.environ, reason="set SPECGEN_BLESS=1 to rewrite the goldens")
def test_bless() -> None:
    """Rewrite all files."""
    for path in FILES:
        parts = path.read_text(encoding="utf-8").split(SEPARATOR)
        path.write_text(f"\n{SEPARATOR}\n".join(blessed(part) for part in parts), encoding="utf-8")


MINIMAL = "func.func @k() attributes {motif.kernel} {\n func.return\n}\n"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "// CHEKC: func.return",
        "// CHECK func.return",
        "// CHECK-NXT: func.return",
        "// CHECK-COUNT-0: x",
        "// RUN: x",
    ],
)
def test_runner_refuses(line: str) -> None:
    """Nothing to check, or a directive with a typing mistake."""
    with pytest.raises(BadCase):
        check(MINIMAL + line)


def test_runner_can_fail() -> None:
    """A directive that does not match fails."""
    with pytest.raises(AssertionError):
        check(MINIMAL + "// CHECK: scf.for")
    check(MINIMAL + "// CHECK: func.return")


def test_there_are_goldens() -> None:
    """The folder was found."""
    assert len(FILES) >= 8
