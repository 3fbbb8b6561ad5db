"""One binding serves all targets that agree in what it depends on, and is the one that each would have had itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from binding_helpers import ARGS, kernel

from specgen import binding, stages, targets
from specgen.binding.instance import Instance
from specgen.loading import load_spec
from specgen.model import Spec

SPECS = Path(__file__).parents[2] / "specs"
LARGE = {"attention", "decode", "registers", "grid"}
"""Folders whose kernels take seconds to bind for every target; what they read of a target others read too."""
_KERNEL = re.compile(r"^kind(: | = .)kernel", re.MULTILINE)
FILES = sorted(
    p for p in SPECS.rglob("*.spec.*") if p.parent.name not in LARGE and _KERNEL.search(p.read_text(encoding="utf-8"))
)


def apart(instance: Instance | None) -> Instance | None:
    """The instance with a symbol for each entry: which are shared is for all targets of a call to agree on."""
    return None if instance is None else instance.sharing(())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.split(".")[0])
def test_a_shared_binding_is_the_targets_own(path: Path) -> None:
    spec = load_spec(path, SPECS).spec
    assert spec is not None
    for name, shared in stages.bind_targets(spec, targets.DEFAULT).items():
        own = binding.bind(spec, targets.load(name))
        assert apart(shared.instance) == apart(own.instance), name
        assert shared.refused == own.refused
        assert shared.unproven == own.unproven


def bindings(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that a spec is really bound for."""
    made = []
    real = binding.bind

    def counted(of: Spec, target: targets.Target, *rest: dict[str, object]) -> binding.Bound:
        made.append(target.name)
        return real(of, target, *rest)

    monkeypatch.setattr(binding, "bind", counted)
    stages.bind_targets(spec, targets.DEFAULT)
    return made


def test_a_spec_that_reads_nothing_is_bound_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(bindings(kernel("- store: {'y[lane]': f32(lane)}"), monkeypatch)) == 1


def test_each_subgroup_size_that_matters_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = kernel("- store: {'y[lane]': subgroup.sum(f32(lane))}", args=ARGS.replace("lane: 32}", "lane: 64}"))
    made = [targets.load(name).subgroup_size for name in bindings(spec, monkeypatch)]
    assert sorted(made, key=str) == [32, 64, None]


def test_whole_subgroups_are_a_question_of_each_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 64 is whole subgroups of 32 alone, so a vote may stand under it there and nowhere else."""
    body = """
    - if: lane // 32 == 0
      then:
      - store: {'y[lane]': subgroup.sum(f32(lane))}
    """
    spec = kernel(body, args=ARGS.replace("lane: 32}", "lane: 64}"))
    for name, bound in stages.bind_targets(spec, targets.DEFAULT).items():
        refused = any(d.code == "SG-COLL" for d in bound.diagnostics)
        assert refused == (targets.load(name).subgroup_size != 32), name


def grid(count: int) -> Spec:
    """A kernel of so many workgroups."""
    launch = f"launch:\n  workgroups: {{group: {count}}}\n"
    return kernel("- store: {'y[lane]': f32(group)}", args=ARGS.replace("launch:\n", launch))


def test_a_limit_that_some_pass_is_asked_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is above the smallest limit is told of the targets that have it, and of no other."""
    most = {name: targets.load(name).max_workgroups[0] for name in targets.DEFAULT}
    least = min(most.values())
    assert least < max(most.values())
    for name, bound in stages.bind_targets(grid(least + 1), targets.DEFAULT).items():
        assert (bound.instance is None) == (most[name] == least), name
    assert len(bindings(grid(least), monkeypatch)) == 1


def test_a_motif_that_prefers_targets_is_bound_for_each_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sum_span` has an implementation for gfx12 and others for any target."""
    path = SPECS / "streaming" / "sum_spans.spec.yaml"
    spec = load_spec(path, SPECS).spec
    assert spec is not None
    made = {(targets.load(name).family == "gfx12", targets.load(name).subgroup_size) for name in targets.DEFAULT}
    found = bindings(spec, monkeypatch)
    assert 2 <= len(found) <= len(made) < len(targets.DEFAULT)
    assert {targets.load(name).family == "gfx12" for name in found} == {True, False}


def test_targets_of_one_call_agree_on_symbols() -> None:
    """Where barriers are split on one target only, the entries that are one kernel on the other are told apart too."""
    path = SPECS / "streaming" / "split_barrier_reuse.spec.yaml"
    spec = load_spec(path, SPECS).spec
    assert spec is not None
    found = {
        names: {name: [e.symbol for e in b.instance.entries] for name, b in stages.bind_targets(spec, names).items()}
        for names in (("gfx1151",), ("gfx1201",), ("gfx1151", "gfx1201"))
    }
    own = [spec.name.text, f"{spec.name.text}__serial", f"{spec.name.text}__full"]
    assert found[("gfx1151",)]["gfx1151"] == [own[0]] * 3
    assert found[("gfx1201",)]["gfx1201"] == [own[0], own[1], own[1]]
    assert found[("gfx1151", "gfx1201")] == {"gfx1151": own, "gfx1201": own}
