"""Kinds B45-B56: YAML, TOML, Jinja2 and Cerberus."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import numpy as np
import pytest
from fault_kinds_product import diagnostics_of, line_of, loaded, plan, refused, run, spec_of, zeros

from specgen import emit_suite, expand, stages

PLAIN = """\
spec: 1
kind: kernel
name: plain
summary: Sums rows.
args:
  count: {type: index, range: [0, 8]}
  x: {buffer: f32, shape: {row: 8, lane: 32}}
  out: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
policies:
  depth: {default: 2, range: [1, 8]}
body:
- var: {total: f32(0)}
- for: row
  in: range(count)
  schedule: {pipeline: depth, unroll: 2}
  do:
  - set: {total: "total + x[row, lane]"}
- store: {"out[lane]": total}
checks:
  c:
    each: {count: [0, 1, 8]}
    given: {x: 1 + flat}
    expect: {out: "sum(x[r, lane] for r in range(count))"}
    compare: {atol: 0.001, rtol: 0.001}
"""

PLAIN_TOML = """\
spec = 1
kind = "kernel"
name = "plain"
summary = "Sums rows."
body = [
  {var = {total = "f32(0)"}},
  {for = "row", in = "range(count)", schedule = {pipeline = "depth", unroll = 2}, do = [
    {set = {total = "total + x[row, lane]"}},
  ]},
  {store = {"out[lane]" = "total"}},
]

[args]
count = {type = "index", range = [0, 8]}
x = {buffer = "f32", shape = {row = 8, lane = 32}}
out = {buffer = "f32", shape = {lane = 32}, access = "write"}

[launch]
workgroup_size = {lane = 32}

[policies]
depth = {default = 2, range = [1, 8]}

[checks.c]
each = {count = [0, 1, 8]}
given = {x = "1 + flat"}
expect = {out = "sum(x[r, lane] for r in range(count))"}
compare = {atol = 0.001, rtol = 0.001}
"""


def tolerance(text: str, form: str) -> tuple[str, str]:
    """`atol` and `rtol` as loaded."""
    compare: Any = spec_of(text, form).checks[0].compare
    return str(compare.atol.text), str(compare.rtol.text)


def test_the_two_plain_forms_are_accepted() -> None:
    """The texts that the tests below damage are right."""
    assert refused(PLAIN) == refused(PLAIN_TOML, form="toml") == []


WORDS = """\
spec: 1
kind: kernel
name: no
summary: yes
args:
  off: {buffer: f32, shape: {y: 4}}
  on: {buffer: f32, shape: {y: 4}, access: write}
launch:
  workgroup_size: {yes: 4}
policies:
  n: {default: N, choices: [Y, N, No, OFF]}
body:
- let: {y: "off[yes] + (1 if n == N else 2)"}
- store: {"on[yes]": y}
"""


def test_b45_words_stay_words() -> None:
    """`no`, `off`, `y`, `on`, `N` are text wherever they stand: no name or word turns into a boolean."""
    assert refused(WORDS) == []
    assert spec_of(WORDS).name.text == "no"
    assert spec_of(WORDS).summary == "yes"
    for word, added in (("N", 1), ("Y", 2), ("No", 2), ("OFF", 2)):
        left = run(WORDS, {"off": np.arange(4, dtype=np.float32), "on": zeros(4)}, n=word)
        assert left["on"].tolist() == [added + at for at in range(4)]
    time_of_day = PLAIN.replace("pipeline: depth, unroll: 2}", "pipeline: 12:30}   # here")
    assert line_of(time_of_day) in [line for _, line in refused(time_of_day)], "12:30 is not 750"


def test_b45_word_of_a_keyword_is_no_buffer() -> None:
    """The word of `round=zero` is a word also where a buffer is called `zero`."""
    text = WORDS.replace("  on: {buffer: f32", "  zero: {buffer: f16").replace("on[yes]", "zero[yes]")
    text = text.replace('"off[yes] + (1 if n == N else 2)"', '"f16(off[yes] + (1 if n == N else 2), round=zero)"')
    left = run(text, {"off": np.full(4, 1e9, np.float32), "zero": zeros(4, np.float16)})
    assert left["zero"].tolist() == [65504.0] * 4


def test_b46_repeated_keys() -> None:
    """A key written twice is an error that names both lines, in YAML and in TOML."""
    text = PLAIN.replace("  do:\n", "  schedule: {unroll: 4}   # here\n  do:\n")
    assert refused(text) == [("SG-LOAD", line_of(text))]
    (diagnostic,) = diagnostics_of(text)
    assert [note.span.line for note in diagnostic.notes] == [line_of(text) - 1]
    toml = PLAIN_TOML.replace("[checks.c]", "[policies]   # here\ndepth = {default = 1}\n\n[checks.c]")
    assert ("SG-LOAD", line_of(toml)) in refused(toml, form="toml")
    names = PLAIN.replace(
        "  - set:", "  - for: row   # here\n    in: range(2)\n    do:\n    - set: {total: total + 1}\n  - set:"
    )
    assert ("SG-NAME", line_of(names)) in refused(names), "two loops of one name, one inside the other"


@pytest.mark.parametrize(("written", "value"), [("1e-3", 0.001), ("1E+3", 1000.0), ("1.0e-3", 0.001), (".5", 0.5)])
def test_b47_numbers_with_exponents(written: str, value: float) -> None:
    """`1e-3` is the number that it looks like, and both forms load to the same model; the rest is refused."""
    text = PLAIN.replace("compare: {atol: 0.001, rtol: 0.001}", f"compare:\n      atol: {written}\n      rtol: 0.001")
    atol, _ = tolerance(text, "yaml")
    assert float(atol) == value
    if written[0] != ".":
        toml = PLAIN_TOML.replace("atol = 0.001", f"atol = {written}")
        assert tolerance(toml, "toml") == tolerance(text, "yaml")


@pytest.mark.parametrize("written", ["010", "08", "00", "-010"])
def test_b48_leading_zeros(written: str) -> None:
    """A number that some readers take as octal is refused where it stands."""
    text = PLAIN.replace("unroll: 2}", f"unroll: {written}}}   # here")
    assert refused(text) == [("SG-LOAD", line_of(text))]
    toml = PLAIN_TOML.replace("unroll = 2}, do = [", f"unroll = {written}}}, do = [   # here")
    assert {("SG-LOAD", line_of(toml))} == set(refused(toml, form="toml"))


def test_b48_marked_octal_is_octal() -> None:
    """`0o7` says what it is: 7, in both forms."""
    for form, text, written in (("yaml", PLAIN, "default: 2"), ("toml", PLAIN_TOML, "default = 2")):
        planned = stages.plan(spec_of(text.replace(written, written[:-1] + "0o7"), form), "gfx1151").planned
        assert planned is not None
        assert dict(planned.instance.entry("default").policies)["depth"] == 7


def test_b49_line_ends_marks_and_tabs() -> None:
    """CRLF and a byte order mark change nothing in either form; a tab has one plain message at its place."""
    for form, text in (("yaml", PLAIN), ("toml", PLAIN_TOML)):
        for damaged in ("\ufeff" + text, text.replace("\n", "\r\n"), "\ufeff" + text.replace("\n", "\r\n")):
            assert refused(damaged, form=form) == [], form
            assert spec_of(damaged, form).checks[0].name.text == "c"
    for text in (
        PLAIN.replace("  schedule:", "\tschedule:").replace("unroll: 2}", "unroll: 2}   # here"),
        PLAIN.replace("kind: kernel", "kind:\tkernel   # here"),
        PLAIN.replace("unroll: 2}", "unroll: 2}\t# here"),
    ):
        found = refused(text)
        if found:
            assert {code for code, _ in found} == {"SG-LOAD"}
            assert found[0][1] == line_of(text)
            assert any("tab" in d.message for d in diagnostics_of(text))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "bomb",
    [
        "  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)),
        "  a: &a [*a]\n",
        "  a: " + "[" * 2000 + "]" * 2000 + "\n",
        "  a: " + "(" * 2000 + "1" + ")" * 2000 + "\n",
        "".join("  " + " " * n + "a:\n" for n in range(500)),
    ],
    ids=["bomb", "self", "brackets", "parentheses", "levels"],
)
def test_b50_aliases_and_nesting_have_a_budget(bomb: str) -> None:
    """Alias bombs, self-references and deep nesting are refused at once, with a place and without a traceback."""
    text = PLAIN.replace("policies:\n", "define:\n" + bomb + "policies:\n")
    start = time.perf_counter()
    found = refused(text)
    assert time.perf_counter() - start < 5
    assert {code for code, _ in found} & {"SG-LOAD", "SG-SYNTAX"}
    first = line_of(text, "define:") + 1
    assert all(first <= line <= first + bomb.count("\n") for code, line in found if code == "SG-LOAD")


def test_b51_merge_keys() -> None:
    """`<<` is refused where it stands: no silent order of precedence."""
    text = PLAIN.replace(
        "schedule: {pipeline: depth, unroll: 2}", "schedule:   # here\n    <<: {unroll: 4}\n    unroll: 2"
    )
    assert ("SG-LOAD", line_of(text) + 1) in refused(text)


def test_b52_no_value_dates_and_versions() -> None:
    """No value and dates are refused with their place in both forms; a version is the integer 1."""
    null = PLAIN.replace("unroll: 2}", "unroll: null}   # here")
    assert refused(null) == [("SG-LOAD", line_of(null))]
    empty = PLAIN.replace(
        "schedule: {pipeline: depth, unroll: 2}", "schedule:   # here\n    unroll:\n    pipeline: depth"
    )
    assert refused(empty) == [("SG-LOAD", line_of(empty) + 1)]
    absent = PLAIN.replace(", unroll: 2}", "}")
    assert refused(absent) == []
    date = PLAIN.replace("default: 2,", "default: 2026-01-02,   # here\n   ")
    assert ("SG-LOAD", line_of(date)) in refused(date)
    toml = PLAIN_TOML.replace("default = 2, range = [1, 8]}", "default = 2026-01-02, range = [1, 8]}   # here")
    assert ("SG-LOAD", line_of(toml)) in refused(toml, form="toml")
    for form, text, written in (("yaml", PLAIN, "spec: 1"), ("toml", PLAIN_TOML, "spec = 1")):
        for version in (".10", ".0", "0"):
            changed = text.replace(written, written + version, 1)
            assert ("SG-VERSION", 1) in refused(changed, form=form) or ("SG-KEY", 1) in refused(changed, form=form)


TEMPLATES = Path(expand.__file__).parent / "templates"
SUITE_NAMES = set(re.findall(r'"(\w+)"(?:\]|:)', Path(emit_suite.__file__).read_text(encoding="utf-8")))
"""Keys of the mappings that the suite's templates are rendered with (and more)."""
GIVEN = {"module.mlir.j2": {"instance"}, "ops.mlir.j2": set(), "init.spec.yaml.j2": {"name"}}
"""What the other templates are rendered with."""


def environments() -> list[jinja2.Environment]:
    """Those that render templates of the package."""
    return [expand._environment(), emit_suite._environment()]


def free_names(text: str) -> set[str]:
    """The names that a template takes from outside, found in its tree and not by rendering it."""
    environment = jinja2.Environment()
    for known in environments():
        environment.filters.update(known.filters)
    return set(jinja2.meta.find_undeclared_variables(environment.parse(text)))


def test_b53_unknown_names_in_templates() -> None:
    """A misspelt name is found in the template's tree, also behind `default` and `is defined`, which none uses."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.j2")}
    for name, text in texts.items():
        assert free_names(text) <= GIVEN.get(name, SUITE_NAMES), name
    assert "depht" not in SUITE_NAMES
    assert free_names("{{ depht | default(1) }}{% if dept is defined %}{% endif %}") == {"depht", "dept"}
    assert not [n for n, t in texts.items() if re.search(r"is\s+(not\s+)?defined|\|\s*d(efault)?\b", t)]


def test_b53_undefined_fails_to_render() -> None:
    """Rendering raises for a name that nobody gives, and Python's own attributes are out of reach."""
    for environment in environments():
        with pytest.raises(jinja2.UndefinedError):
            environment.from_string("{{ depht }}").render(depth=3)
        with pytest.raises(jinja2.exceptions.SecurityError):
            environment.from_string("{{ ''.__class__.__mro__ }}").render()


def test_b54_white_space_of_expansion() -> None:
    """The expanded text has no blank line, no trailing space, one last newline, and the same bytes each time."""
    no_loop = PLAIN.split("policies:")[0] + 'body:\n- if: count > 3\n  then:\n  - store: {"out[lane]": "x[3, lane]"}\n'
    for text in (PLAIN, no_loop):
        shown = plan(text).source_text
        assert shown.endswith("\n")
        assert not [line for line in shown[:-1].split("\n") if line != line.rstrip() or not line]
        assert expand.expand(plan(text).instance) == shown


HOSTILE = [
    "{{ ''.__class__ }}",
    "{% for i in range(1000000000) %}x{% endfor %}",
    "a}\n  func.func @evil() {",
    'a"""b',
    "</script>",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_b55_text_of_a_spec_is_never_a_template(hostile: str) -> None:
    """Names with template or IR text are refused as names; summaries with it pass through as plain text."""
    quoted = '"' + hostile.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    named = PLAIN.replace("name: plain", f"name: {quoted}")
    spec, found = loaded(named, name="plain")
    assert spec is None
    assert {(d.code, d.span.line) for d in found if d.is_error} == {("SG-NAME", 3)}
    axis = PLAIN.replace("{lane: 32}, access", f"{{{quoted}: 32}}, access")
    assert {code for code, _ in refused(axis)} <= {"SG-NAME", "SG-KEY"}
    assert refused(axis)
    summary = PLAIN.replace("summary: Sums rows.", f"summary: {quoted}")
    if "\n" in hostile:
        assert refused(summary) == [("SG-KEY", 4)]
    else:
        assert plan(summary).source_text == plan(PLAIN).source_text


def test_b56_one_branch_of_an_alternative() -> None:
    """Where a number or a word may stand, a wrong mapping gives one finding about what was written, at its place."""
    text = PLAIN.replace("unroll: 2}", "unroll: {factr: 4}}   # here")
    assert refused(text) == [("SG-KEY", line_of(text))] or refused(text) == [("SG-LOOP", line_of(text))]
    (diagnostic,) = diagnostics_of(text)
    assert "unroll" in diagnostic.message
    assert "None" not in diagnostic.message
    word = PLAIN.replace("unroll: 2}", "unroll: 2, order: recurence}   # here")
    assert refused(word) == [("SG-POLICY", line_of(word))]
    assert "recurrence" in str(diagnostics_of(word)[0])
