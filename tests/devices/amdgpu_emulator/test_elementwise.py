"""Every elementwise operation of the table on every executable target, against numpy."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from emulator_compile import ATTRIBUTES, TARGETS, compile_ir, named
from emulator_elementwise import OPERATIONS, WORKGROUP, Operation, arguments, module


@functools.cache
def code(target: str) -> bytes:
    """All operations compiled for a target."""
    return compile_ir(module(OPERATIONS) + f"\nattributes #0 = {{ {ATTRIBUTES.format(size=WORKGROUP)} }}\n", target)


def agree(operation: Operation, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Bitwise (any NaN equals any NaN), or within the operation's units in the last place."""
    both_nan = (got != got) & (expected != expected)
    if not operation.ulp:
        bits = f"u{got.itemsize}"
        return (got.view(bits) == expected.view(bits)) | both_nan
    room = operation.ulp * np.spacing(np.abs(expected)).astype(np.float64)
    near = np.abs(got.astype(np.float64) - expected.astype(np.float64)) <= room
    return near | (got == expected) | both_nan


@pytest.mark.parametrize("target", TARGETS)
def test_operations(target: str) -> None:
    wrong = []
    for operation in OPERATIONS:
        args = arguments(operation)
        run = named(code(target), operation.name, WORKGROUP).launch(args, (3, 1, 1))
        inputs = [args[f"p{n}"] for n in "abc"[: len(operation.inputs)]]
        with np.errstate(all="ignore"):
            expected = np.asarray(operation.expected(*inputs))
            same = agree(operation, run.outputs["pout"], expected)
        defined = np.ones(same.shape, bool) if operation.where is None else operation.where(*inputs)
        if not same[defined].all() or run.findings:
            at = int(np.flatnonzero(~same & defined)[0]) if not same[defined].all() else -1
            wrong.append(f"{operation.name}[{at}]: {run.outputs['pout'][at]} for {expected[at]} {run.findings}")
    assert not wrong, "\n".join(wrong)
