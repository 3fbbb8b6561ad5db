"""Which test covers which kind of fault; no kind without one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent

KINDS = {
    "B01": "fewer iterations than stages",
    "B02": "depth one, depth zero",
    "B03": "iterations counted in the bounds' own type",
    "B04": "read moved above a store to its buffer",
    "B05": "read moved above an atomic",
    "B06": "guard and address that are loaded",
    "B07": "queue slots at every exit",
    "B08": "guards of unrolled read-ahead",
    "B09": "schedule that cannot be honoured",
    "B10": "initial value used after the loop",
    "B11": "negative constant in a bound",
    "B12": "start of an unrolled loop",
    "B13": "remainder of wide counters",
    "B14": "vector reads from a start; early exit",
    "B15": "inner bound that uses the outer counter",
    "B16": "fewer buffers than stages",
    "B17": "reads that end before the release",
    "B18": "pipelined loop re-entered",
    "B19": "one staged input of several",
    "B20": "offsets in the race test",
    "B21": "phases over one buffer",
    "B22": "collective under divergence",
    "B23": "workgroup that is no whole number of subgroups",
    "B24": "waits in the tail",
    "B25": "waits in the final code",
    "B26": "repeatability",
    "B27": "back end that aborts",
    "B28": "weight zero times garbage",
    "B29": "masks of side inputs",
    "B30": "over-read of a masked vector",
    "B31": "false alarm on a guarded tail",
    "B32": "bounds in mapped coordinates",
    "B33": "offsets past 32 bits",
    "B34": "length that no tile divides",
    "B35": "NaN in fresh and merged maxima",
    "B36": "width from the target",
    "B37": "table against code object",
    "B38": "generic targets, another device",
    "B39": "subgroup size that is used",
    "B40": "layout of arguments",
    "B41": "rounding of bfloat16 products",
    "B42": "class of a rounded value",
    "B43": "packed integers",
    "B44": "declared sign of a byte",
    "B45": "words that look like booleans",
    "B46": "repeated keys",
    "B47": "numbers with exponents",
    "B48": "leading zeros",
    "B49": "tabs, line ends, byte order marks",
    "B50": "alias bombs and nesting",
    "B51": "merge keys",
    "B52": "no value, dates, versions",
    "B53": "unknown names in templates",
    "B54": "white space of templates",
    "B55": "template text in a spec",
    "B56": "error of one branch",
    "B57": "keys of caches",
    "B58": "how a time was taken",
    "B59": "points over a limit",
    "B60": "tolerance above the values",
    "B61": "checks that check nothing",
    "B62": "one base and constant distances",
}

REFUSED = {
    "B27": "tile products are not there: test_b27 pins their refusal, and the abort itself is provoked in LLVM",
    "B32": "`schedule: {band}` is not there: mapped ids are tested, test_b32 pins the refusal",
    "B57": "sweeps and a cache of winners are not there: build keys are tested, test_b57 pins the refusal",
    "B58": "no command times kernels hot, cold and rotating: statistics and clockless devices are tested",
    "B59": "sweeps are not there: single points and builds of several specs are tested",
}
"""Kinds of which a part waits for a feature, and what stands for it; their refusals turn red when it lands."""


def named_tests() -> dict[str, list[tuple[str, str]]]:
    """Kind -> the tests that name it, with the first line of their documentation."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(FOLDER.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (named := re.match(r"test_(b\d\d)_\w+$", node.name)):
                text = (ast.get_docstring(node) or "").strip().split("\n")[0]
                found.setdefault(named[1].upper(), []).append((f"{path.stem}::{node.name}", text))
    return found


@pytest.mark.parametrize("kind", [f"B{number:02}" for number in range(1, 63)])
def test_every_kind_has_a_test(kind: str) -> None:
    """At least one test carries the kind's number, and each says what it shows."""
    assert KINDS[kind]
    named = named_tests().get(kind, [])
    assert named, f"{kind} ({KINDS[kind]}) has no test"
    assert all(len(text) > 20 and text.endswith(".") for _, text in named), named


def test_the_table_is_whole() -> None:
    """Nothing but B01 to B62 is named, by tests or by the tables."""
    numbers = {f"B{number:02}" for number in range(1, 63)}
    assert set(KINDS) == numbers == set(named_tests())
    assert set(REFUSED) <= numbers
