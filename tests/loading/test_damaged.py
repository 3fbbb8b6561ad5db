"""Damaged specs: whatever the text says, loading ends in findings with places, never in a traceback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import loading_toml_writer as toml_writer
import yaml as pyyaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loading_helpers import DATA

from specgen.diagnostics import has_errors, render
from specgen.diagnostics.catalogue import CATALOGUE
from specgen.loading import load_document, load_spec
from specgen.loading.load import Loaded
from specgen.schema.tree import plain

NAMES = (
    "sum_rows",
    "cooperative_paged_attention",
    "gemm",
    "sum_vector_rows_pair",
    "split_barrier_reuse",
    "online_update",
)
TEXTS = {name: (DATA / f"{name}.spec.yaml").read_text(encoding="utf-8") for name in NAMES}
TREES = {name: plain(load_document(DATA / f"{name}.spec.yaml").tree) for name in NAMES}  # type: ignore[arg-type]

PIECES = st.sampled_from(
    [
        ":",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        '"',
        "#",
        "&a ",
        "*a",
        "!x ",
        "<<: ",
        "|",
        ">",
        "\t",
        "010",
        "null",
        "~",
        "true",
        ".nan",
        "1e999",
        "range(",
        "**",
        "é",
        "日",
        "\x00",
        "\u2028",
        "---\n",
        "?",
        "@",
        "x[i]",
        "9" * 30,
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["", "x", "1 +", "range(3)", "serial", "in", "a b", "{{ x }}", "no", "f32", "é"]),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(
        st.sampled_from(["type", "buffer", "let", "for", "x", "schedule", "reference", "é"]), st.integers(), max_size=2
    ),
)
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


def judge(loaded: Loaded) -> None:
    """What holds for every file."""
    assert (loaded.spec is None) == has_errors(loaded.diagnostics)
    for finding in loaded.diagnostics:
        assert finding.code in CATALOGUE
        assert finding.hint is None or finding.hint.strip()
        span = finding.span
        assert (span.line, span.column) < (span.end_line, span.end_column)
        source = loaded.sources[span.file]
        lines = source.text.split("\n")
        assert 1 <= span.line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
    render.text(loaded.diagnostics, loaded.sources)


@SETTINGS
@given(
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 6), PIECES), min_size=1, max_size=3),
)
def test_damaged_text(tmp_path: Path, name: str, damage: list[tuple[int, int, str]]) -> None:
    text = TEXTS[name]
    for place, removed, piece in damage:
        at = place % len(text)
        text = text[:at] + piece + text[at + removed :]
    path = tmp_path / f"{name}.spec.yaml"
    path.write_bytes(text.encode("utf-8"))
    judge(load_spec(path))


def told(loaded: Loaded) -> list[tuple[str, str]]:
    """What was found, whatever the form of the file."""
    found = ((d.code, re.sub(r"line \d+|\.yaml|\.toml", "", d.message)) for d in loaded.diagnostics)
    return sorted(found)


def containers(tree: Any) -> list[Any]:
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    found = [tree] if isinstance(tree, (dict, list)) and tree else []
    return found + [c for part in inner for c in containers(part)]


def copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(item) for item in tree] if isinstance(tree, list) else tree


@SETTINGS
@given(
    st.sampled_from(NAMES),
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["drop", "set", "rename"]), VALUES),
        min_size=1,
        max_size=3,
    ),
)
def test_damaged_trees_in_both_forms(tmp_path: Path, name: str, damage: list[tuple[int, int, str, Any]]) -> None:
    tree = copied(TREES[name])
    for which, where, what, value in damage:
        places = containers(tree)
        if not places:
            break
        place = places[which % len(places)]
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[where % len(keys)]
        old = place.pop(key)
        if what == "drop":
            continue
        new = value if what == "set" else old
        if isinstance(place, dict):
            place[f"{key}x" if what == "rename" else key] = new
        else:
            place.insert(key, new)
    yaml_path = tmp_path / f"{name}.spec.yaml"
    yaml_path.write_text(pyyaml.safe_dump(tree, sort_keys=False, allow_unicode=True), encoding="utf-8")
    as_yaml = load_spec(yaml_path)
    judge(as_yaml)
    yaml_path.unlink()
    if "null" in str(pyyaml.safe_dump(tree)):
        return
    toml_path = tmp_path / f"{name}.spec.toml"
    toml_path.write_text(toml_writer.document(tree), encoding="utf-8")
    as_toml = load_spec(toml_path)
    judge(as_toml)
    assert told(as_toml) == told(as_yaml)
