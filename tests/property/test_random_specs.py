"""Random specs through binding, expansion, scheduling and the interpreter, against an evaluator that shares no code."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_specs import values as v
from random_specs.expressions import Buffer
from random_specs.programs import Kernel, Programs

from specgen import stages
from specgen.devices.interpreter import interpret
from specgen.loading import load_spec

TARGET = "gfx1151"
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i64": np.int64,
    "i16": np.int16,
    "u8": np.uint8,
    "u16": np.uint16,
    "u64": np.uint64,
    "f64": np.float64,
}


def _data(buffer: Buffer, random: Random) -> list[Any]:
    count = math.prod(buffer.shape)
    if buffer.element in v.FLOATS:
        pool = [v.to_float(buffer.element, random.uniform(-4, 4)) for _ in range(13)]
        return [random.choice(pool) for _ in range(count)]
    return [v.wrap(buffer.element, random.randrange(-1000, 1000)) for _ in range(count)]


def _array(values: list[Any], element: str) -> Any:
    return np.array([float(x) if element in v.FLOATS else x for x in values], dtype=DTYPES[element])


def _plan(kernel: Kernel, folder: Any) -> stages.Plan:
    path = folder / f"{kernel.name}.spec.yaml"
    path.write_text(kernel.text)
    loaded = load_spec(path, folder)
    assert loaded.spec is not None, (kernel.text, loaded.diagnostics)
    return stages.plan(loaded.spec, TARGET)


def _compare(kernel: Kernel, plan: stages.Plan, random: Random) -> None:
    assert plan.planned is not None
    for _ in range(2):
        scalars = {name: random.randint(lo, hi) for name, (lo, hi) in kernel.scalars.items()}
        inputs = {b.name: _data(b, random) for b in kernel.inputs}
        expected = kernel.run(scalars, inputs)
        args: dict[str, Any] = dict(scalars)
        args |= {b.name: _array(inputs[b.name], b.element) for b in kernel.inputs}
        args |= {b.name: np.zeros(math.prod(b.shape), DTYPES[b.element]) for b in kernel.outputs}
        for symbol in (entry.symbol for entry in plan.planned.instance.functions):
            run = interpret(plan.planned.scheduled.module, symbol, args, (kernel.groups, 1, 1))
            assert run.findings == (), (kernel.text, symbol, scalars, run.findings)
            for buffer in kernel.outputs:
                for at, (want, got) in enumerate(zip(expected[buffer.name], run.outputs[buffer.name], strict=True)):
                    found = float(got) if buffer.element in v.FLOATS else int(got)
                    assert v.same(want, found), (
                        f"{kernel.text}\n{symbol} {scalars} {buffer.name}[{at}]: {found}, not {want}"
                    )


def _sweep(seeds: range, folder: Any) -> tuple[Counter[str], set[str]]:
    """Run many kernels; how many of which kind, and what they used."""
    counts: Counter[str] = Counter()
    used: set[str] = set()
    for seed in seeds:
        random = Random(seed)
        kernel = Programs(random).kernel(f"random_{seed}")
        plan = _plan(kernel, folder)
        counts["drawn"] += 1
        if plan.planned is None:
            codes = {d.code for d in plan.diagnostics if d.is_error}
            assert all(code.startswith("SG-LOOP") for code in codes), (kernel.text, plan.diagnostics)
            counts.update(f"refused {code}" for code in codes)
            continue
        counts["accepted"] += 1
        counts["deep with a guard or inner loop"] += kernel.depth > 1 and kernel.nested_or_guarded
        used |= kernel.uses
        _compare(kernel, plan, random)
    return counts, used


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(10_000, 10_000_000))
def test_drawn_specs_agree(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    _sweep(range(seed, seed + 1), tmp_path_factory.mktemp("drawn"))


def test_forty_fixed_seeds_agree(tmp_path: Any) -> None:
    counts, used = _sweep(range(40), tmp_path)
    assert counts["accepted"] >= 24
    assert "through" in used


STATEMENTS = frozenset({"let", "var", "set", "for", "while", "if", "else", "store", "barrier", "memory"})
OPERATIONS = frozenset(
    "+ - * // % min max clamp abs floor ceil trunc round fma & | ^ ~ << >> popcount clz ctz and or not < <= > >= == !="
    " convert bits load slice full dot ceil_div round_up subgroup.sum workgroup.sum subgroup.max workgroup.min".split()
) | {"if else", "vector sum", "vector max", "vector min", "vector []", "vector +", "vector *"}


@pytest.mark.slow
def test_three_hundred_specs_agree(tmp_path: Any) -> None:
    counts, used = _sweep(range(1000, 1300), tmp_path)
    print(dict(counts))
    print("operations not drawn:", sorted(OPERATIONS - used))
    assert counts["accepted"] >= 0.6 * counts["drawn"]
    assert counts["deep with a guard or inner loop"] >= 0.25 * counts["accepted"]
    assert used >= STATEMENTS
    assert len(OPERATIONS & used) >= 0.8 * len(OPERATIONS)
