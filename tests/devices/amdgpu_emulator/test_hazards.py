"""The wait-count model on hand-written steps."""

from __future__ import annotations

import pytest
from emulator_compile import assemble

from specgen.devices.amdgpu_emulator import hazards, loader
from specgen.devices.amdgpu_emulator.blocks import Program
from specgen.devices.amdgpu_emulator.hazards import EMPTY, SCALAR_BASE, Step, run


def load(index: int, register: int, counter: str = "vm", kind: str = "vector") -> Step:
    return Step(index, frozenset(), frozenset({register}), (), ((counter, kind),), True, False)


def store(index: int, register: int, counter: str = "vm") -> Step:
    return Step(index, frozenset({register}), frozenset(), (), ((counter, "vector"),), False, False)


def use(index: int, *registers: int) -> Step:
    return Step(index, frozenset(registers), frozenset(), (), (), False, False)


def write(index: int, register: int) -> Step:
    return Step(index, frozenset(), frozenset({register}), (), (), False, False)


def wait(index: int, **counts: int) -> Step:
    return Step(index, frozenset(), frozenset(), tuple(counts.items()), (), False, False)


def faulty(*steps: Step) -> list[int]:
    return [index for index, _ in run(EMPTY, steps, "vm").faults]


def test_partial_waits_release_the_oldest() -> None:
    loads = (load(0, 1), load(1, 2), load(2, 3))
    assert faulty(*loads, wait(3, vm=2), use(4, 1)) == []
    assert faulty(*loads, wait(3, vm=2), use(4, 2)) == [4]
    assert faulty(*loads, wait(3, vm=1), use(4, 1, 2)) == []
    assert faulty(*loads, use(4, 3)) == [4]


def test_overwriting_a_pending_target() -> None:
    assert faulty(load(0, 1), write(1, 1)) == [1]
    assert faulty(load(0, 1), load(1, 1)) == []
    assert faulty(load(0, 1), load(1, 1, "lgkm", "lds")) == [1]


def test_stores_count_where_they_share_the_counter() -> None:
    assert faulty(load(0, 1), store(1, 9), wait(2, vm=1), use(3, 1)) == []
    assert faulty(store(0, 9), load(1, 1), wait(2, vm=1), use(3, 1)) == [3]


def test_scalar_loads_return_out_of_order() -> None:
    scalar = SCALAR_BASE + 4
    pair = (load(0, scalar, "lgkm", "scalar"), load(1, scalar + 1, "lgkm", "scalar"))
    assert faulty(*pair, wait(2, lgkm=1), use(3, scalar)) == [3]
    assert faulty(*pair, wait(2, lgkm=0), use(3, scalar, scalar + 1)) == []
    assert faulty(load(0, 1, "lgkm", "lds"), pair[0], wait(2, lgkm=1), use(3, 1)) == [3]


def test_barrier_with_outstanding_workgroup_memory() -> None:
    barrier = Step(2, frozenset(), frozenset(), (), (), False, True)
    access = Step(0, frozenset({1}), frozenset(), (), (("lgkm", "lds"),), True, False)
    assert faulty(access, barrier) == [2]
    assert faulty(access, wait(1, lgkm=0), barrier) == []


def test_states_reach_a_fixed_point() -> None:
    """A steady loop keeps one state, so that its check is one look-up."""
    body = (load(0, 1), wait(1, vm=1))
    first = run(EMPTY, body, "vm")
    assert first.pending == 1
    assert run(first.state, body, "vm").state == first.state
    unbounded = EMPTY
    for _ in range(200):
        unbounded = run(unbounded, (store(0, 1),), "vm").state
    assert run(unbounded, (store(0, 1),), "vm").state == unbounded


WAITS = {
    "gfx942": ("s_waitcnt vmcnt(17) lgkmcnt(3)", {"vm": 17, "lgkm": 3}),
    "gfx1151": ("s_waitcnt vmcnt(17) lgkmcnt(33) expcnt(2)", {"vm": 17, "lgkm": 33, "exp": 2}),
    "gfx1100": ("s_waitcnt_vscnt null, 0x5", {"vs": 5}),
    "gfx1201": ("s_wait_loadcnt_dscnt 0x503", {"load": 5, "ds": 3}),
    "gfx12-generic": ("s_wait_storecnt 0x7", {"store": 7}),
}


@pytest.mark.parametrize("target", sorted(WAITS))
def test_waits_are_read_from_the_encoding(target: str) -> None:
    text, expected = WAITS[target]
    cpu = "gfx1201" if target == "gfx12-generic" else target
    code = loader.load(assemble("  " + text, cpu, 64 if cpu == "gfx942" else 32, (), 0, 32), "k")
    program = Program(code.code, code.entry, code.arch, code.wave_size, False)
    assert dict(hazards.waits_of(program.instructions[0])) == expected
