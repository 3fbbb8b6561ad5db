"""Implementations of a motif compete at each application: target, requirements, priority, ties, no fit."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from binding_helpers import kernel, load, motif, told

from specgen import targets
from specgen.binding import bind
from specgen.binding.instance import Selection
from specgen.expand import expand
from specgen.model import Spec

HEAD = """\
spec: 1
kind: motif
name: m
summary: Scales a value.
params:
  lanes: {}
args:
  a: {buffer: f32, shape: {row: 64, c: lanes}}
  n: {type: index, range: [0, 64]}
  s: {type: f32}
results:
  t: {type: f32}
"""
BODY = "body:\n- let: {t: s * 1}\n"


def implementation(factor: int, **keys: Any) -> str:
    """One that multiplies by a number that names it."""
    requires = keys.pop("requires", ())
    lines = [f"{key}: {value}" for key, value in keys.items()]
    lines += [f"requires: [{', '.join(f'{chr(34)}{r}{chr(34)}' for r in requires)}]"] if requires else []
    lines += [f"body: [{{let: {{t: s * {factor}}}}}]"]
    return "- " + "\n  ".join(lines) + "\n"


WAY = "policies:\n  way: {default: any, choices: [any, plain]}\n"


def written(*implementations: str, body: str = BODY) -> str:
    made = "".join(implementations)
    return HEAD + (WAY if "way" in made else "") + body + "implementations:\n" + made


APPLY = '- apply: m\n  as: one\n  with: {a: x, n: n, s: "x[0, lane]"}\n'
STORE = "- store:\n    y[lane]: one.t\n"


def guarded(condition: str) -> str:
    inside = (APPLY + STORE).replace("\n", "\n    ").rstrip()
    return f"- if: {condition}\n  then:\n    {inside}\n"


def spec_of(text: str, body: str = APPLY + STORE) -> Spec:
    return kernel(body, head="uses: [m.spec.yaml]\n", others={"m": text})


def selection(spec: Spec, target: str, **policies: Any) -> Selection:
    bound = bind(spec, targets.load(target), policies)
    assert bound.instance is not None, told(bound.diagnostics)
    (found,) = bound.instance.entry("default").selections
    assert bound.instance.entry("serial").selections == (found,)
    return found


def factor(spec: Spec, target: str, **policies: Any) -> int:
    """The number that the chosen body multiplies by; the report's choice must be the code's."""
    bound = bind(spec, targets.load(target), policies)
    assert bound.instance is not None, told(bound.diagnostics)
    text = expand(bound.instance)
    numbers = {
        int(float(line.split("constant ")[1].split(" ")[0]))
        for line in text.split("\n")
        if "constant" in line and ": f32" in line
    }
    (number,) = numbers - {0}
    chosen = [c for c in selection(spec, target, **policies).candidates if c.outcome == "selected"]
    assert len(chosen) == 1
    return number


def test_exact_target_beats_family_beats_any() -> None:
    """Priority decides between equal ranks only."""
    spec = spec_of(
        written(
            implementation(2, priority=99),
            implementation(3, target="gfx11", priority=50),
            implementation(5, target="gfx1151", priority=1),
        )
    )
    assert {t: factor(spec, t) for t in ("gfx1151", "gfx1100", "gfx11-generic", "gfx1201", "vulkan1.3-sg32")} == {
        "gfx1151": 5,
        "gfx1100": 3,
        "gfx11-generic": 3,
        "gfx1201": 2,
        "vulkan1.3-sg32": 2,
    }


def test_what_suits_a_generic_target_suits_its_parts_and_not_the_reverse() -> None:
    spec = spec_of(written(implementation(3, target="gfx11-generic"), implementation(5, target="gfx950")))
    assert factor(spec, "gfx1151") == factor(spec, "gfx11-generic") == 3
    assert factor(spec, "gfx950") == 5
    assert factor(spec, "gfx9-4-generic") == factor(spec, "gfx942") == factor(spec, "gfx1250") == 1


def test_priority_decides_whatever_the_order_of_the_file() -> None:
    parts = [implementation(2, priority=1), implementation(3, priority=7), implementation(5), implementation(7)]
    for order in itertools.permutations(parts):
        assert factor(spec_of(written(*order)), "gfx942") == 3


def test_the_body_is_what_is_left() -> None:
    spec = spec_of(written(implementation(2, target="gfx12", priority=5)))
    assert factor(spec, "gfx1151") == 1
    assert factor(spec, "gfx1201") == 2


REQUIRES = [
    ("n >= 4", "n >= 4", True),
    ("n >= 4", "n > 5", True),
    ("n >= 4", "n > 2", False),
    ("n >= 4", "lane < 8 and n == 7", True),
    ("n != 0", "n > 0", True),
    ("n <= 64", "n >= 0", True),
    ("n <= 63", "n >= 0", False),
    ("n % 4 == 0", "n % 4 == 0", True),
    ("n % 4 == 0", "n % 8 == 0", False),
    ("n >= 4 or n < 64", "n > 5", True),
    ("not n < 4", "n > 5", True),
    ("lanes == 32", "n > 0", True),
    ("lanes % 64 == 0", "n > 0", False),
    ("target.subgroup_size == 32", "n > 0", True),
    ("way == any", "n > 0", True),
    ("way == plain", "n > 0", False),
]


@pytest.mark.parametrize(("wanted", "guard", "fits"), REQUIRES)
def test_requirements_are_proven_from_the_facts_of_the_site(wanted: str, guard: str, fits: bool) -> None:
    spec = spec_of(written(implementation(2, requires=(wanted,))), guarded(guard))
    assert factor(spec, "gfx1151") == (2 if fits else 1)


def test_the_other_side_of_a_guard_proves_nothing() -> None:
    inside = (APPLY + STORE).replace("\n", "\n  ").rstrip()
    body = f"- if: n < 4\n  then:\n  - store:\n      y[lane]: f32(9)\n  else:\n  {inside}\n"
    spec = spec_of(written(implementation(2, requires=("n >= 4",)), implementation(3, requires=("n < 4",))), body)
    found = selection(spec, "gfx1151")
    assert [c.outcome for c in found.candidates] == ["selected", "refused", "outranked"]
    assert found.candidates[1].reason == "`n < 4` does not hold (line 18)"


def test_what_was_asked_leaves_no_code() -> None:
    plain, asked = (
        spec_of(written(implementation(2, requires=lines))) for lines in ((), ("n + n * n >= 0", "n <= 64"))
    )
    texts = [expand(bind(s, targets.load("gfx942")).instance) for s in (plain, asked)]  # type: ignore[arg-type]
    kinds = [[line.split(" loc(")[0] for line in text.split("\n")] for text in texts]
    assert kinds[0] == kinds[1]


def test_a_policy_may_choose() -> None:
    spec = spec_of(written(implementation(2, requires=("way == any",))))
    assert factor(spec, "gfx1151") == 2
    assert factor(spec, "gfx1151", **{"one.way": "plain"}) == 1


def test_ties() -> None:
    spec = spec_of(
        written(implementation(2, target="gfx12", priority=1), implementation(3, priority=1, target="gfx12"))
    )
    assert factor(spec, "gfx1151") == 1
    bound = bind(spec, targets.load("gfx1201"))
    assert bound.instance is None
    assert told(bound.diagnostics) == [
        "14:10 SG-SELECT 2 implementations of `m` fit here equally well. "
        "[Give one a higher `priority`, or conditions that exclude each other.]"
    ]
    notes = bound.diagnostics[0].notes
    assert [(n.span.file, n.span.line, n.message) for n in notes] == [
        ("m.spec.yaml", line, "for `gfx12`, priority 1") for line in (16, 19)
    ]


def test_a_tie_below_the_best_is_none() -> None:
    spec = spec_of(written(implementation(2), implementation(3), implementation(5, priority=1)))
    assert factor(spec, "gfx942") == 5


def test_no_fit_names_each_candidate_with_the_line_that_refuses_it() -> None:
    spec = spec_of(
        written(
            implementation(2, target="gfx12"),
            implementation(3, requires=("n <= 64", "n >= 1")),
            implementation(5, requires=("lanes == 64",)),
            body="",
        )
    )
    bound = bind(spec, targets.load("gfx1151"))
    (finding,) = bound.diagnostics
    assert (finding.code, finding.span.line) == ("SG-SELECT", 14)
    assert "no implementation of `m` fits here" in finding.message
    assert [(n.span.file, n.span.line, n.message) for n in finding.notes] == [
        ("m.spec.yaml", 14, "it is for `gfx12`"),
        ("m.spec.yaml", 16, "`n >= 1` is not proven here"),
        ("m.spec.yaml", 18, "`lanes == 64` does not hold"),
    ]
    assert factor(spec, "gfx1201") == 2


def test_rows_say_why() -> None:
    spec = spec_of(
        written(implementation(2, requires=("n >= 1",)), implementation(3, target="gfx1151"), implementation(5))
    )
    found = selection(spec, "gfx1151")
    assert (found.instance, found.motif, found.span.line) == ("one", "m", 14)
    assert [(c.outcome, c.reason) for c in found.candidates] == [
        ("refused", "`n >= 1` is not proven here (line 16)"),
        ("selected", ""),
        ("outranked", "line 18 comes first"),
        ("outranked", "an implementation fits"),
    ]


def test_each_application_selects_for_itself() -> None:
    text = written(implementation(2, requires=("n >= 8",)))
    other = APPLY.replace("one", "two").replace("n: n", "n: 9")
    spec = spec_of(text, f"{APPLY}{other}- store:\n    y[lane]: one.t + two.t\n")
    bound = bind(spec, targets.load("gfx942"))
    assert bound.instance is not None
    rows = bound.instance.entry("default").selections
    assert [(r.instance, next(c.priority for c in r.candidates if c.outcome == "selected")) for r in rows] == [
        ("one", None),
        ("two", 0),
    ]


def test_memory_of_another_body_is_not_allocated() -> None:
    text = written(
        '- target: gfx12\n  body:\n  - store: {"pad[0]": s}\n  - let: {t: "pad[0]"}\n',
    ).replace("results:", "memory:\n  pad: {space: private, type: f32, shape: {at: 4}}\nresults:")
    spec = spec_of(text)
    for target, wanted in (("gfx1151", 0), ("gfx1201", 1)):
        bound = bind(spec, targets.load(target))
        assert bound.instance is not None, told(bound.diagnostics)
        assert expand(bound.instance).count("memref.alloc") == wanted * len(bound.instance.functions)


def test_every_body_of_a_motif_is_typed() -> None:
    good = written(
        implementation(2, target="gfx12", requires=("n >= 4",)),
        '- target: gfx942\n  body:\n  - let: {t: "s + subgroup.sum(s, cluster=64)"}\n',
        '- requires: ["target.subgroup_size == 64"]\n  body:\n  - let: {t: "subgroup.sum(s, cluster=64)"}\n',
    )
    assert motif(good) == []
    found = motif(written(implementation(2), "- target: gfx12\n  body:\n  - let: {t: s + n}\n"))
    assert [line.split()[:2] for line in found] == [["19:18", "SG-TYPE"]]


def test_what_an_implementation_requires_holds_in_its_body_when_it_is_checked_alone() -> None:
    body = '- requires: ["n >= 4"]\n  body:\n  - let: {t: "sum(a[n - 4, 0:+lanes])"}\n'
    assert motif(written(body)) == []
    assert [line.split()[1] for line in motif(written(body.replace("n >= 4", "n >= 3")))] == ["SG-BOUNDS"]


def test_targets_share_a_binding_unless_an_implementation_asks() -> None:
    """A binding for gfx942 is that of every target to which an implementation's target says the same."""
    others = {name: targets.load(name) for name in targets.DEFAULT}
    alike = {"": set(others), "gfx942": {"gfx942"}, "gfx9-4-generic": {"gfx942", "gfx950"}}
    alike["gfx11"] = {name for name, target in others.items() if target.family != "gfx11"}
    for target, names in alike.items():
        keys = {"target": target} if target else {}
        found = bind(spec_of(written(implementation(2, **keys))), others["gfx942"])
        assert not found.read_target_facts & {"family", "name"}
        assert {name for name in others if found.holds(others["gfx942"], others[name])} == names, target


def test_the_loader_knows_the_names_of_targets() -> None:
    with pytest.raises(AssertionError, match="no target or family is called `gfx13`"):
        load(written(implementation(2, target="gfx13")), name="m")
