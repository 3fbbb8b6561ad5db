"""Binding of small texts, and what is printed of them, for tests."""

from __future__ import annotations

import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from specgen import targets
from specgen.binding import Bound, bind, check_motif
from specgen.diagnostics import Diagnostic
from specgen.expand import expand
from specgen.loading import load_spec
from specgen.model import Spec

HEAD = """\
spec: 1
kind: kernel
name: k
summary: A test.
"""
ARGS = """\
args:
  n: {type: index, range: [0, 64]}
  x: {buffer: f32, shape: {row: 64, lane: 32}}
  ids: {buffer: i32, shape: {at: 64}, range: [-1, 63]}
  y: {buffer: f32, shape: {lane: 32}, access: write}
launch:
  workgroup_size: {lane: 32}
"""
CHECKS = """\
checks:
  c:
    given: {reference: oracle.py:given}
    expect: {reference: oracle.py:expect}
"""


def load(text: str, *, others: dict[str, str] | None = None, name: str = "k") -> Spec:
    """The spec of a text; the loader must accept it."""
    with tempfile.TemporaryDirectory() as folder:
        for other, content in (others or {}).items():
            (Path(folder) / f"{other}.spec.yaml").write_text(content)
        path = Path(folder) / f"{name}.spec.yaml"
        path.write_text(text)
        loaded = load_spec(path)
    errors = [d for d in loaded.diagnostics if d.is_error]
    assert not errors, [(d.span.point(), d.code, d.message) for d in errors]
    assert loaded.spec is not None
    return loaded.spec


def kernel(body: str, *, args: str = ARGS, head: str = "", others: dict[str, str] | None = None) -> Spec:
    """A kernel with this body (YAML lines) that also stores to `y` unless the body does."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "")
    if args == ARGS and "y[" not in body:
        body += "\n- store:\n    y[lane]: f32(0)"
    return load(f"{HEAD}{textwrap.dedent(head)}{args}body:\n{body}\n", others=others)


def bound(body: str, *, target: str = "gfx1151", args: str = ARGS, head: str = "", **options: object) -> Bound:
    """The kernel of this body, bound."""
    others = options.pop("others", None)
    spec = kernel(body, args=args, head=head, others=others)  # type: ignore[arg-type]
    return bind(spec, targets.load(target), **options)  # type: ignore[arg-type]


def text(result: Bound, *, locations: bool = False) -> str:
    """The module of a bound kernel, which must have no errors."""
    assert result.instance is not None, told(result.diagnostics)
    made = expand(result.instance)
    return made if locations else re.sub(r" loc\([^)]*\)", "", made)


def ops(body: str, *, entry: str = "default", **options: object) -> list[str]:
    """The operations of one entry, without locations, indentation and the final return and store of 0."""
    result = bound(body, **options)  # type: ignore[arg-type]
    made = text(result)
    assert result.instance is not None
    inside = re.search(rf"func\.func @{result.instance.entry(entry).symbol}\(.*?\{{\n(.*?)\n  \}}", made, re.DOTALL)
    assert inside is not None
    return [line.strip() for line in inside.group(1).split("\n")]


def told(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    """`line:column CODE message [hint]` of each."""
    return [
        f"{d.span.line}:{d.span.column} {d.code} {d.message}" + (f" [{d.hint}]" if d.hint else "") for d in diagnostics
    ]


def errors(body: str, **options: object) -> list[str]:
    """What is said of a body, with lines counted from the body's first (1)."""
    result = bound(body, **options)  # type: ignore[arg-type]
    return [
        re.sub(r"^(\d+)", lambda m: str(int(m.group()) - _first(options)), line) for line in told(result.diagnostics)
    ]


def _first(options: dict[str, object]) -> int:
    head, args = textwrap.dedent(str(options.get("head", ""))), str(options.get("args", ARGS))
    return len(f"{HEAD}{head}{args}body:\n".split("\n")) - 1


def motif(content: str) -> list[str]:
    """What is said of a motif that is checked by itself."""
    name = re.search(r"^name: (\w+)$", content, re.MULTILINE)
    assert name is not None
    return told(check_motif(load(content, name=name.group(1))))


def run(body: str, *, entry: str = "k", n: int = 5, **options: object) -> dict[str, Any]:
    """Run a body with `ARGS` on the interpreter: x[r, l] = 32 r + l + 1, ids[i] = i - 1; outputs by name."""
    import numpy as np

    from specgen.devices.interpreter import interpret

    made = text(bound(body, **options), locations=True)  # type: ignore[arg-type]
    args = {
        "n": n,
        "x": np.arange(1, 64 * 32 + 1, dtype=np.float32),
        "ids": np.arange(-1, 63, dtype=np.int32),
        "y": np.full(32, np.nan, np.float32),
    }
    result = interpret(made, entry, args)
    assert result.findings == (), result.findings
    return {"y": result.outputs["y"]}
