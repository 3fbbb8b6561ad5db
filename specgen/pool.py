"""Work shared out to processes, each piece lost only by its own fault."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

T = TypeVar("T")


def in_processes(function: Callable[..., T], calls: Sequence[tuple[Any, ...]], jobs: int) -> list[T | None]:
    """`function(*call)` of every call in up to `jobs` forked processes, in order; None where a process died.

    A worker that dies takes its pool along, so what was unfinished is tried again, each in a process of its own.
    """
    context = multiprocessing.get_context("fork")
    results: dict[int, T] = {}
    with ProcessPoolExecutor(max_workers=min(jobs, len(calls)), mp_context=context) as pool:
        futures = [pool.submit(function, *call) for call in calls]
        for index, future in enumerate(futures):
            try:
                results[index] = future.result()
            except BrokenProcessPool:
                continue
    for index, call in enumerate(calls):
        if index not in results:
            with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
                try:
                    results[index] = pool.submit(function, *call).result()
                except BrokenProcessPool:
                    continue
    return [results.get(index) for index in range(len(calls))]
