"""Steps of structured control flow under masks, assumptions and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Operation

from specgen.devices.interpreter.frame import Frame
from specgen.devices.interpreter.program import Body, Compiler, Env, Step, where
from specgen.ir.dialect import CheckOp


def _no_step(op: Operation, compiler: Compiler) -> None:
    return None


def _uniform(condition: Any) -> bool | None:
    """The truth when it is the same everywhere, else None."""
    if condition.ndim == 0:
        return bool(condition)
    true = np.count_nonzero(condition)
    if true == condition.size:
        return True
    return False if true == 0 else None


def _both(mask: Any, condition: Any) -> Any:
    return condition if mask is None else mask & condition


def _if(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, scf.IfOp)
    condition, results = compiler.slot(op.cond), compiler.slots(op.results)
    then = compiler.block(op.true_region.block)
    other = compiler.block(op.false_region.block) if op.false_region.blocks else None

    def run_one(body: Body | None, env: Env, frame: Frame) -> None:
        if body is not None:
            body.run(env, frame)
            for r, p in zip(results, body.passes, strict=True):
                env[r] = env[p]

    def step(env: Env, frame: Frame) -> None:
        truth = env[condition]
        same = _uniform(truth)
        if same is not None:
            run_one(then if same else other, env, frame)
            return
        mask = frame.mask
        on, off = _both(mask, truth), _both(mask, ~truth)
        has_on, has_off = np.count_nonzero(on) > 0, np.count_nonzero(off) > 0
        left: Sequence[Any] = ()
        if has_on:
            frame.mask = on
            then.run(env, frame)
            left = [env[p] for p in then.passes]
        if has_off and other is not None:
            frame.mask = off
            other.run(env, frame)
        frame.mask = mask
        if other is None:
            return
        for number, (r, p) in enumerate(zip(results, other.passes, strict=True)):
            if not has_on:
                env[r] = env[p]
            else:
                env[r] = np.where(truth, left[number], env[p]) if has_off else left[number]

    return step


def trips(low: Any, high: Any, step: Any) -> Any:
    """Rounds of a half-open loop, exact for any 64-bit bounds; arrays or scalars."""
    low, high, step = np.asarray(low), np.asarray(high), np.asarray(step).astype(np.uint64)
    distance = high.astype(np.uint64) - low.astype(np.uint64)
    return np.where(high > low, (distance - np.uint64(1)) // step + np.uint64(1), np.uint64(0))


def _for(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, scf.ForOp)
    low, high, by = compiler.slot(op.lb), compiler.slot(op.ub), compiler.slot(op.step)
    first, results = compiler.slots(op.iter_args), compiler.slots(op.results)
    body = compiler.block(op.body.block)
    counter, carried = body.arguments[0], body.arguments[1:]

    def rounds(env: Env, frame: Frame, begin: Any, count: int, pace: Any) -> None:
        value = begin
        for _ in range(count):
            frame.count_round()
            env[counter] = value
            body.run(env, frame)
            for c, x in zip(carried, [env[p] for p in body.passes], strict=True):
                env[c] = x
            value = value + pace

    def masked(env: Env, frame: Frame, begin: Any, count: Any, pace: Any) -> None:
        mask = frame.mask
        live_count = count if mask is None else np.where(mask, count, 0)
        value = begin
        for done in range(int(live_count.max(initial=0))):
            frame.count_round()
            going = count > done
            partial = np.count_nonzero(going) < going.size
            live = _both(mask, going) if partial else mask
            frame.mask = live
            env[counter] = value
            body.run(env, frame)
            for c, x in zip(carried, [env[p] for p in body.passes], strict=True):
                env[c] = np.where(live, x, env[c]) if partial else x
            value = value + pace
        frame.mask = mask

    def step(env: Env, frame: Frame) -> None:
        begin, end, pace = env[low], env[high], env[by]
        for c, f in zip(carried, first, strict=True):
            env[c] = env[f]
        count = trips(begin, end, pace)
        if count.ndim == 0:
            rounds(env, frame, begin, int(count), pace)
        elif count.size and np.count_nonzero(count != count.flat[0]) == 0:
            rounds(env, frame, begin, int(count.flat[0]), pace)
        else:
            masked(env, frame, begin, count, pace)
        for r, c in zip(results, carried, strict=True):
            env[r] = env[c]

    return step


def _while(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, scf.WhileOp)
    first, results = compiler.slots(op.arguments), compiler.slots(op.results)
    before, after = compiler.block(op.before_region.block), compiler.block(op.after_region.block)
    condition, forwarded = before.passes[0], before.passes[1:]

    def step(env: Env, frame: Frame) -> None:
        mask = frame.mask
        for a, f in zip(before.arguments, first, strict=True):
            env[a] = env[f]
        left: list[Any] = [None] * len(results)
        live = mask
        while True:
            frame.count_round()
            before.run(env, frame)
            values = [env[f] for f in forwarded]
            left = values if live is mask else [np.where(live, v, o) for v, o in zip(values, left, strict=True)]
            truth = env[condition]
            going = _both(live, truth) if truth.ndim or not truth else live
            if going is not None and not np.count_nonzero(going):
                break
            live = going if going is not None and np.count_nonzero(going) < going.size else mask
            frame.mask = live
            for a, v in zip(after.arguments, values, strict=True):
                env[a] = v
            after.run(env, frame)
            for a, v in zip(before.arguments, [env[p] for p in after.passes], strict=True):
                env[a] = v
        frame.mask = mask
        for r, v in zip(results, left, strict=True):
            env[r] = v

    return step


def _assume(op: Operation, compiler: Compiler) -> Step:
    slot, place = compiler.slot(op.operands[0]), where(op)

    def step(env: Env, frame: Frame) -> None:
        truth = env[slot]
        if np.count_nonzero(truth) < truth.size:
            frame.report("broken-assumption", place, ~truth, lambda p: "an assumed condition is false")

    return step


def _check(op: Operation, compiler: Compiler) -> Step:
    assert isinstance(op, CheckOp)
    slot, place, kind, message = compiler.slot(op.condition), where(op), op.kind.data, op.message.data

    def step(env: Env, frame: Frame) -> None:
        truth = env[slot]
        if np.count_nonzero(truth) < truth.size:
            frame.report(kind, place, ~truth, lambda p: message)

    return step


HANDLERS: dict[str, Callable[[Operation, Compiler], Step | None]] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.yield": _no_step,
    "scf.condition": _no_step,
    "func.return": _no_step,
    "motif.assume": _assume,
    "motif.check": _check,
    "motif.ahead": _no_step,
}
