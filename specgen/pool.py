"""Work shared out to processes, each piece lost only by its own fault."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

T = TypeVar("T")


def in_processes(function: Callable[..., T], calls: Sequence[tuple[Any, ...]], jobs: int) -> list[T | None]:
    """`function(*call)` of every call in up to `jobs` forked processes, in order; None where a process died.

    A worker that dies takes its pool along, so what was unfinished is tried again, each in a process of its own. An
    interrupt reaches the calls that run, whoever got the signal, and starts no more.
    """
    results: dict[int, T] = {}
    _shared(function, calls, jobs, results)
    for index, call in enumerate(calls):
        if index not in results:
            _shared(function, {index: call}, 1, results)
    return [results.get(index) for index in range(len(calls))]


def _shared(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]] | dict[int, tuple[Any, ...]],
    jobs: int,
    results: dict[int, T],
) -> None:
    """Put the results of calls, by their numbers, into `results` until all are there or a process dies.

    No more calls are handed over than there are processes: what a pool holds in its queue cannot be taken back.
    """
    pending = iter(calls.items() if isinstance(calls, dict) else enumerate(calls))
    running: dict[Future[T], int] = {}
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(jobs, len(calls)), context, initializer=_deaf) as pool:
        try:
            while True:
                while len(running) < jobs and (following := next(pending, None)) is not None:
                    index, call = following
                    running[pool.submit(_hearing, function, *call)] = index
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    index = running.pop(done)
                    results[index] = done.result()
        except BrokenProcessPool:
            return
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                if process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
            raise


def _deaf() -> None:
    """Ignore interrupts: a worker without work has nothing to leave."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _hearing(function: Callable[..., T], *call: Any) -> T:
    """A call that an interrupt ends; a second one must not disturb how it tidies up."""
    signal.signal(signal.SIGINT, _once)
    try:
        return function(*call)
    finally:
        _deaf()


def _once(number: int, frame: object) -> None:
    _deaf()
    raise KeyboardInterrupt
