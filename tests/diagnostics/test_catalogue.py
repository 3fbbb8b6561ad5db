"""The catalogue: every code once, complete, explained, with a page; no code in the sources that is not declared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from specgen.diagnostics import Span
from specgen.diagnostics.catalogue import CATALOGUE, diagnostic, explain, page
from specgen.diagnostics.record import Code
from specgen.expressions import parse_expression
from specgen.loading.source import decode
from specgen.loading.yaml_reader import read_yaml

SPAN = Span("a.spec.yaml", 3, 4, 3, 9)
FAMILIES = (
    "LOAD SYNTAX VERSION KEY NAME USE PATH PARAM STATIC TYPE VIEW MEM ACCESS BOUNDS POLICY REQUIRES LAUNCH RESULT "
    "SELECT COLL RACE TILE CHECK UNSUPPORTED SHAPE RANGE LOOP"
).split()

_CODE = re.compile(r"SG-[A-Z]+(?: [PU][0-9]+)?")


def test_the_families_and_rules_are_there() -> None:
    assert {f"SG-{family}" for family in FAMILIES} <= CATALOGUE.keys()
    assert {f"SG-LOOP P{n}" for n in range(1, 20)} <= CATALOGUE.keys()
    assert {f"SG-LOOP U{n}" for n in range(1, 7)} <= CATALOGUE.keys()


def literals(path: Path) -> Iterator[str]:
    """Strings of a module that are exactly a code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
            yield node.value


def test_every_code_in_the_sources_is_declared(repository: Path) -> None:
    used = {code: path for path in sorted((repository / "specgen").rglob("*.py")) for code in literals(path)}
    assert len(used) > 20
    unknown = {code: str(path) for code, path in used.items() if code not in CATALOGUE}
    assert not unknown


def test_a_diagnostic_has_the_hint_of_its_code_unless_it_brings_one() -> None:
    assert diagnostic("SG-LOOP P8", SPAN, "m").hint == CATALOGUE["SG-LOOP P8"].hint
    assert diagnostic("SG-LOOP P8", SPAN, "m", hint="Other.").hint == "Other."
    made = diagnostic("SG-KEY", SPAN, "m", severity="warning", found="x", allowed=("y",))
    assert (made.severity, made.found, made.allowed, made.is_error) == ("warning", "x", ("y",), False)


def test_unknown_codes_are_refused() -> None:
    with pytest.raises(KeyError):
        diagnostic("SG-NONSENSE", SPAN, "m")
    with pytest.raises(KeyError):
        explain("SG-NONSENSE")


@pytest.mark.parametrize("field", ["title", "meaning", "why", "wrong", "right"])
def test_records_must_say_something(field: str) -> None:
    texts = {"title": "t", "meaning": "m", "why": "w", "wrong": "a: 1", "right": "a: 2"}
    Code("SG-X", **texts)
    with pytest.raises(ValueError, match=field):
        Code("SG-X", **{**texts, field: " "})
    with pytest.raises(ValueError, match="no diagnostic code"):
        Code("X", **texts)


@pytest.mark.parametrize("code", list(CATALOGUE))
def test_explanations_and_page_hold_the_whole_record(code: str) -> None:
    record = CATALOGUE[code]
    text, whole = explain(code), page()
    for part in (record.title, record.meaning, record.why, *record.wrong.split("\n"), *record.right.split("\n")):
        assert part in text
        assert part in whole
    assert record.wrong != record.right


@pytest.mark.parametrize("code", list(CATALOGUE))
def test_accepted_examples_are_yaml(code: str) -> None:
    tree, findings = read_yaml(decode(CATALOGUE[code].right.encode(), code).source)
    assert findings == ()
    assert tree is not None


def test_links_of_the_page_lead_to_its_sections() -> None:
    text = page()
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^## (.*)$", text, re.M)
    }
    links = re.findall(r"\(#([^)]*)\)", text)
    assert len(links) == len(CATALOGUE)
    assert set(links) == anchors


def test_the_committed_page_is_current(repository: Path) -> None:
    assert (repository / "docs" / "diagnostics.md").read_text(encoding="utf-8") == page()


def test_expression_errors_use_a_declared_code() -> None:
    from specgen.diagnostics import DiagnosticError

    with pytest.raises(DiagnosticError) as caught:
        parse_expression("1 +", SPAN)
    assert caught.value.diagnostics[0].code in CATALOGUE
