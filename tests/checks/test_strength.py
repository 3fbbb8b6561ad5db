"""SG-CHECK: checks that could not fail, values that break promises, formulas without a value."""

import pytest

from specgen.checks.strength import check_strength
from specgen.loading import load_spec

HEAD = """spec: 1
kind: kernel
name: probe
summary: A spec for its checks.
{params}
args:
  count: {{type: index, range: [0, 8], multiple_of: {multiple}}}
  limit: {{type: index, range: [0, count]}}
  x: {{buffer: f32, shape: {{row: 8, lane: {lanes}}}}}
  output: {{buffer: f32, shape: {shape}, access: write}}
{more}
launch:
  workgroup_size: {{lane: 4}}
body:
- store:
    output[{at}]: x[0, 0]
{stores}checks:
"""


def findings(tmp_path, checks, *, shape="{lane: 4}", at="lane", more="", params="", multiple=1, lanes="4"):
    stores = "    other[lane]: x[1, 0]\n" if more else ""
    text = (
        HEAD.format(shape=shape, at=at, more=more, params=params, multiple=multiple, stores=stores, lanes=lanes)
        + checks
    )
    path = tmp_path / "probe.spec.yaml"
    path.write_text(text)
    loaded = load_spec(path)
    assert loaded.spec is not None, [d.message for d in loaded.diagnostics]
    lines = text.split("\n")
    made = check_strength(loaded.spec)
    assert all(d.code == "SG-CHECK" and d.is_error and d.hint for d in made)
    return [(lines[d.span.line - 1][d.span.column - 1 : d.span.end_column - 1], d.message) for d in made]


def check(expect, *, given="flat", each="count: [0, 4]", compare="exact", name="one", extra=""):
    return (
        f"  {name}:\n    each: {{{each}}}\n    given:\n      limit: 0\n      x: {given}\n{extra}"
        f"    expect:\n      {expect}\n    compare: {compare}\n"
    )


def test_a_check_that_varies_is_accepted(tmp_path):
    assert findings(tmp_path, check("output: count * lane")) == []


WEAK = {
    "output: 0": "an all-zero `output` would pass each of the 2 cases.",
    "output: 0 * x[0, lane]": "an all-zero `output` would pass each of the 2 cases.",
    "output: 5 + count": "a constant `output` would pass each of the 2 cases.",
    "output: x[0, 1] + 1": "a constant `output` would pass each of the 2 cases.",
}


@pytest.mark.parametrize("expect", WEAK)
def test_weak_expectations_are_refused_at_the_check(expect, tmp_path):
    assert findings(tmp_path, check(expect)) == [("one", WEAK[expect])]


def test_a_wide_tolerance_is_weak(tmp_path):
    """Zeros within atol prove nothing, however the formula varies (KernelBench#165)."""
    expect = "output: lane / 1000"
    assert findings(tmp_path, check(expect, compare="{atol: 0.01, rtol: 0}")) == [
        ("one", "an all-zero `output` would pass each of the 2 cases.")
    ]
    assert findings(tmp_path, check(expect, compare="{atol: 0.0001, rtol: 0}")) == []


def test_shifts_within_the_tolerance_are_weak(tmp_path):
    """1, 2, 3, 2 shifted by one is off by 1 everywhere, a constant by 2 somewhere."""
    expect = "output: pick(lane, 1, 2, 3, 2)"
    for atol, text in ((2.5, "a constant"), (1.5, "a shifted")):
        made = findings(tmp_path, check(f"{expect} + 10", compare=f"{{atol: {atol}, rtol: 0}}"))
        assert made == [("one", f"{text} `output` would pass each of the 2 cases.")]
    assert findings(tmp_path, check(expect, compare="{atol: 0.9, rtol: 0}")) == []


def test_a_second_check_makes_up_for_a_weak_one(tmp_path):
    assert findings(tmp_path, check("output: 0") + check("output: lane", name="two")) == []


def test_one_element_cannot_vary(tmp_path):
    assert findings(tmp_path, check("output: 3 + count"), shape="{field: 1}", at="0") == []
    assert findings(tmp_path, check("output: 0"), shape="{field: 1}", at="0") != []


TWO = "  other: {buffer: f32, shape: {lane: 4}, access: write}"


def test_written_buffers_that_nobody_looks_at(tmp_path):
    assert findings(tmp_path, check("output: lane"), more=TWO) == [
        ("other", "no check says what `other` holds after the run.")
    ]


def test_outputs_that_are_only_compared_with_each_other(tmp_path):
    both = check("output: other[lane]\n      other: output[lane]")
    assert findings(tmp_path, both, more=TWO) == [
        ("one", "an all-zero `other` and `output` would pass each of the 2 cases.")
    ]
    assert findings(tmp_path, check("output: other[lane]\n      other: 1 + lane"), more=TWO) == []


def test_one_buffer_of_two_that_is_always_zero(tmp_path):
    assert findings(tmp_path, check("output: lane\n      other: 0"), more=TWO) == [
        ("one", "an all-zero `other` would pass each of the 2 cases.")
    ]


PROMISES = {
    "count: [4, 2 * 5]": [("2 * 5", "`count` is 10, outside of its declared range [0, 8].")],
    "count: [4, 0 - 4]": [
        ("0 - 4", "`count` is -4, outside of its declared range [0, 8]."),
        ("0", "`limit` is 0, outside of its declared range [0, count]."),
    ],
    "count: [4, 6]": [("6", "`count` is 6, which is no multiple of 4.")],
    "count: [4, 4.5]": [("4.5", "`count` is 4.5, but the argument is of type index.")],
}


@pytest.mark.parametrize("each", PROMISES)
def test_promises_of_scalars(each, tmp_path):
    assert findings(tmp_path, check("output: lane", each=each), multiple=4) == PROMISES[each]


def test_promises_that_depend_on_other_scalars(tmp_path):
    text = check("output: lane").replace("limit: 0", "limit: count + 1")
    assert [m for _, m in findings(tmp_path, text)] == [
        "`limit` is 1, outside of its declared range [0, count].",
        "`limit` is 5, outside of its declared range [0, count].",
    ]


ERRORS = {
    "output: lane + nobody": ("nobody", "no axis, case name, argument or param `nobody` here."),
    "output: x[lane, 9]": ("x[lane, 9]", "`x` is read outside: axis `lane` has 4 elements."),
    "output: sum(x[r, lane] for r in range(9))": ("x[r, lane]", "`x` is read outside: axis `row` has 8 elements."),
    "output: fast(lane)": ("fast(lane)", "formulas have no function `fast`."),
}


@pytest.mark.parametrize("expect", ERRORS)
def test_formulas_without_a_value_are_pointed_at(expect, tmp_path):
    assert findings(tmp_path, check(expect)) == [ERRORS[expect]]


def test_given_formulas_too(tmp_path):
    assert findings(tmp_path, check("output: lane", given="flat + rwo")) == [
        ("rwo", "no axis, case name, argument or param `rwo` here.")
    ]


def test_backing_that_is_too_large(tmp_path):
    made = findings(tmp_path, check("output: lane", extra="    backing: {x: count * 100}\n"))
    assert made == [("count * 100", "400 is outside of 0 to 32 elements.")]


def test_references_and_large_cases_are_left_to_the_run(tmp_path):
    (tmp_path / "oracles.py").write_text("def f(case): ...\n")
    text = check("output: 0").split("    expect:")[0] + "    expect: {reference: oracles.py:f}\n    compare: exact\n"
    assert findings(tmp_path, text) == []
    assert findings(tmp_path, check("output: 0"), shape="{lane: 4000000}") == []


def test_params_and_words_in_formulas(tmp_path):
    params = "params:\n  width: {default: 4, choices: [4, 8]}\n  mode: {default: up, choices: [up, down]}"
    good = check("output: lane if mode == up else 0")
    assert findings(tmp_path, good, params=params, shape="{lane: width}") == []
    weak = check("output: lane if mode == down else 0")
    assert len(findings(tmp_path, weak, params=params, shape="{lane: width}")) == 1


def test_each_case_is_judged_by_the_build_that_it_runs_on(tmp_path):
    """Shapes, defines and defaults that follow from a param are those of the case, not those of the build at hand."""
    params = (
        "params:\n  width: {default: 4, choices: [4, 8]}\n  half: {default: width // 2, range: [1, 4]}\n"
        "define:\n  last: width - 1"
    )
    shape = {"params": params, "shape": "{lane: last + 1}", "lanes": "2 * half"}
    text = check("output: x[0, lane] + x[0, last] + x[0, 2 * half - 1]", each="count: [0], width: [8, 4]")
    assert findings(tmp_path, text, **shape) == []
    loaded = load_spec(tmp_path / "probe.spec.yaml")
    assert loaded.spec is not None
    for width in (4, 8):
        assert check_strength(loaded.spec, {"width": width, "half": width // 2}) == []
    weak = check("output: x[0, lane] if last < 7 or half != 4 else 0", each="count: [0], width: [8]")
    assert len(findings(tmp_path, weak, **shape)) == 1


def test_sizes_that_no_machine_holds(tmp_path):
    params = "params:\n  wide: {default: 1000000000000, range: [1, 1000000000000]}"
    more = {"params": params, "shape": "{lane: 4}", "lanes": "wide"}
    text = check("output: count * lane")
    message = "8000000000000 elements of `x` are more than a machine holds."
    assert findings(tmp_path, text, **more) == [("one", message)]
    backed = check("output: count * lane", extra="    backing: {x: 4}\n")
    assert findings(tmp_path, backed, **more) == []
