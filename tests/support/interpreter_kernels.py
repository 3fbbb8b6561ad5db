"""Small kernels as text for the interpreter's tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specgen.devices.base import Run
from specgen.devices.interpreter import interpret

THREAD = '%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index\n'


def function(
    arguments: str, body: str, size: Sequence[int] = (4, 1, 1), subgroup: int | None = None, name: str = "f"
) -> str:
    """A kernel; line 1 of the location file is the first line of `body`."""
    attributes = f"motif.workgroup_size = array<i64: {', '.join(map(str, size))}>"
    if subgroup is not None:
        attributes += f", motif.subgroup_size = {subgroup} : i64"
    return (
        f"builtin.module {{ func.func @{name}({arguments}) attributes {{motif.kernel, {attributes}}} "
        f"{{\n{body}\nfunc.return\n}} }}"
    )


def buffer(name: str, type_: str, access: str = "read", more: str = "") -> str:
    """A buffer argument."""
    return f'%{name}: {type_} {{motif.name = "{name}", motif.access = "{access}"{more}}}'


def scalar(name: str, type_: str = "index", more: str = "") -> str:
    """A scalar argument."""
    return f'%{name}: {type_} {{motif.name = "{name}"{more}}}'


def elementwise(lines: str, inputs: Sequence[tuple[str, Any]], result: str) -> Any:
    """`%r` of type `result` for every element of the arrays; `%a`, `%b`, ... are the elements. No findings allowed."""
    count = len(inputs[0][1])
    dtype = {"i1": "i8"}.get(result, result)
    arguments, body, args = [], THREAD, {}
    for letter, (type_, array) in zip("abcd", inputs, strict=False):
        arguments.append(buffer(f"in_{letter}", f"memref<{count}x{type_}>"))
        body += f"%{letter} = memref.load %in_{letter}[%t] : memref<{count}x{type_}>\n"
        args[f"in_{letter}"] = array
    body += lines + "\n"
    if result == "i1":
        body += "%wide = arith.extui %r : i1 to i8\n"
    arguments.append(buffer("out", f"memref<{count}x{dtype}>", "write"))
    body += f"memref.store %{'wide' if result == 'i1' else 'r'}, %out[%t] : memref<{count}x{dtype}>"
    from specgen.devices.interpreter.numerics import DTYPES

    args["out"] = np.zeros(count, DTYPES[dtype])
    run = interpret(function(", ".join(arguments), body, (count, 1, 1)), "f", args)
    assert not run.findings
    return run.outputs["out"]


def kinds(run: Run) -> list[str]:
    """The kinds of the findings of a run."""
    return [f.kind for f in run.findings]
