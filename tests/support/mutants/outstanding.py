"""The most operations that can be outstanding at each wait: the rule by which waits without effect are not drawn."""

from __future__ import annotations

from mutants.code import Kernel, successors

LIMIT = 64
"""No counter holds more."""


def most_outstanding(kernel: Kernel) -> dict[int, dict[str, int]]:
    """Instruction index of each wait -> counter -> the most operations outstanding when it is reached, on any path."""
    blocks = kernel.program.blocks
    for block in blocks:
        if block.function is None:
            kernel.program.compile(block)
    entering: dict[int, dict[str, int]] = {block.number: {} for block in blocks}
    found: dict[int, dict[str, int]] = {}
    pending, visited = [kernel.program.entry], {kernel.program.entry}
    while pending:
        number = pending.pop()
        counts = dict(entering[number])
        for step in blocks[number].steps:
            if step.waits:
                found[step.index] = dict(counts)
            for counter, count in step.waits:
                counts[counter] = min(counts.get(counter, 0), count)
            for counter, _ in step.issues:
                counts[counter] = min(LIMIT, counts.get(counter, 0) + 1)
        for following in successors(blocks[number]):
            before = entering[following]
            merged = {c: max(before.get(c, 0), counts.get(c, 0)) for c in {*before, *counts}}
            if merged != before or following not in visited:
                visited.add(following)
                entering[following] = merged
                pending.append(following)
    return found
