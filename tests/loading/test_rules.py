"""Rules over whole specs: what is accepted beside what is refused (the refused ones are pinned in `bad_specs`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading_helpers import KERNEL, MOTIF, write

from specgen.diagnostics import Diagnostic
from specgen.loading import load_document, load_spec
from specgen.loading.access import check_access
from specgen.loading.build_model import build_model
from specgen.schema.tree import Mapping


def findings(folder: Path, text: str) -> list[Diagnostic]:
    return list(load_spec(write(folder, "kernel", text)).diagnostics)


def changed(old: str, new: str, text: str = KERNEL) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # sibling blocks may reuse a name, and so may an axis, a function and a value
        ("- store:", "- if: count > 1\n  then:\n  - let: {a: 1}\n  else:\n  - let: {a: 2}\n- store:"),
        ("- store:", "- let: {sum: 1, row: 2}\n- store:"),
        ("- store:", "- while: total < 3\n  do:\n  - set: {total: total + 1}\n- store:"),
        # a param of choices, a policy by a word
        ("args:", "params:\n  element: {default: f32, choices: [f32, f16]}\nargs:"),
        ("summary:", "requires: [count >= 0]\nsummary:"),
        # a policy used in a range of the launch only
        (
            "launch:\n  workgroup_size: {lane: 32}",
            "policies:\n  wide: {default: 32}\nlaunch:\n  workgroup_size: {lane: wide}",
        ),
        # a define that is called as a type
        ("args:", "define:\n  kind: f32\nargs:"),
        # readwrite that is read and stored
        ("access: write}", "access: write}\n  both: {buffer: f32, shape: {lane: 32}, access: readwrite}"),
    ],
)
def test_accepted(tmp_path: Path, old: str, new: str) -> None:
    text = changed(old, new)
    if "element:" in new:
        text = changed("buffer: f32", "buffer: element", text)
    if "kind: f32" in new:
        text = changed("f32(0)", "kind(0)", text)
    if "both:" in new:
        text = changed("output[lane]: total", "output[lane]: total\n    both[lane]: both[lane] + 1", text)
        text = changed("{input: 1 + lane}", "{input: 1 + lane, both: 0}", text)
    assert findings(tmp_path, text) == []


def test_a_variable_of_an_inner_block_is_gone_after_it(tmp_path: Path) -> None:
    text = changed("  - set:\n", "  - var: {part: f32(0)}\n  - set: {part: part + 1}\n  - set:\n")
    assert findings(tmp_path, text) == []
    text = changed("- store:", "- set: {part: f32(1)}\n- store:", text)
    (finding,) = findings(tmp_path, text)
    assert finding.message == "no variable `part` here."


def test_a_buffer_passed_to_a_motif_that_stores_it_counts_as_stored(tmp_path: Path) -> None:
    motif = MOTIF.replace("x: {type: f32}", "x: {type: f32}\n  to: {buffer: f32, shape: {i: 32}, access: write}")
    motif = motif.replace("body:", "body:\n- store:\n    to[0]: x")
    write(tmp_path, "keep", motif)
    text = changed("args:", "uses: [keep.spec.yaml]\nargs:")
    text = changed("- store:\n    output[lane]: total", "- apply: keep\n  as: k\n  with: {x: total, to: output}", text)
    assert findings(tmp_path, text) == []
    write(tmp_path, "keep", motif.replace("access: write", "access: readwrite"))
    (finding,) = findings(tmp_path, text)
    assert finding.message == "`output` is declared `write` and read here."


def test_a_store_through_a_view_is_one_to_its_buffer(tmp_path: Path) -> None:
    def access(text: str) -> set[str]:
        document = load_document(write(tmp_path, "kernel", text))
        assert isinstance(document.tree, Mapping)
        spec, found = build_model(document.tree, "kernel", document.source, tmp_path)
        assert found == []
        return {d.message for d in check_access(spec)}

    text = changed("- store:\n    output[lane]", "- view:\n    part: output[0:+32]\n- store:\n    part[lane]")
    assert access(text) == set()
    assert access(changed("output[0:+32]", "input[0, 0:+32]", text)) == {
        "`input` is declared `read` and stored here.",
        "`output` is declared `write` and never stored.",
    }


def test_values_may_come_from_each_cases_or_given(tmp_path: Path) -> None:
    text = changed("each: {count: [0, 1, 64]}", "cases: [{count: 1, top: 2}, {count: 3, top: 4}]")
    text = changed("1 + lane}", "1 + lane + 0 * top}", text)
    assert findings(tmp_path, text) == []
    text = changed("{count: 3, top: 4}", "{top: 4}", text)
    (finding,) = findings(tmp_path, text)
    assert "says nothing about `count`" in finding.message


def test_defaults_that_are_expressions_are_not_judged(tmp_path: Path) -> None:
    text = changed(
        "launch:", "policies:\n  p: {default: 4 * 4, range: [1, 8]}\n  q: {default: p, choices: [1, 2]}\nlaunch:"
    )
    text = changed("range(count)", "range(count + p + q)", text)
    assert findings(tmp_path, text) == []


def test_names_may_have_64_characters(tmp_path: Path) -> None:
    name = "n" * 64
    text = changed("- store:", f"- let: {{{name}: 1}}\n- store:")
    assert findings(tmp_path, text) == []
    assert findings(tmp_path, text.replace(name, name + "n"))[0].code == "SG-NAME"


def test_a_misspelt_section_is_read_as_what_it_was_meant_to_be(tmp_path: Path) -> None:
    """It must not be followed by findings about everything that it would have declared."""
    text = changed("launch:", "polices:\n  depth: {default: 1}\nvariants:\n  deep: {depth: 2}\nlaunch:")
    text = changed("range(count)", "range(count * depth)", text)
    (finding,) = findings(tmp_path, text)
    assert finding.hint == "Nearest: `policies`."


def test_free_names_that_nothing_reads_are_told(tmp_path: Path) -> None:
    text = changed("count: [0, 1, 64]", "count: [0, 1], seed: [1, 2], cuont: [3], n: [1]")
    text = changed("1 + lane}", "1 + lane + seed}", text)
    found = findings(tmp_path, text)
    reason = "is no argument, param or policy, and no formula of `ones` reads it."
    assert [(d.severity, d.message, d.hint) for d in found] == [
        ("warning", f"`cuont` {reason}", "Nearest: `count`."),
        ("warning", f"`n` {reason}", "Use it in a formula, or remove it."),
    ]
    rows = changed("each: {count: [0, 1, 64]}", "cases:\n    - {count: 1, twice: 2}\n    - {count: 3, input: 1}")
    assert [(d.severity, d.message.split(";")[0].split(" and ")[0]) for d in findings(tmp_path, rows)] == [
        ("warning", "`twice` is no argument, param or policy,"),
        ("error", "`input` is a buffer"),
        ("error", "`input` already has its values from `cases`."),
    ]
    python = changed("expect: {output: count * (1 + lane)}", "expect: {reference: kernel.py:f}", text)
    (tmp_path / "kernel.py").write_text("def f(case): ...\n")
    assert findings(tmp_path, python) == []
