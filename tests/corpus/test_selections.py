"""Implementations of a motif in built artifacts: what the report says was taken is what stands in the code."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from corpus_build import EXECUTABLE

from specgen import targets
from specgen.devices.amdgpu_emulator import EmulatedKernel
from specgen.report.show import text as page

NAME = "sum_spans"
INSTANCES = ("quads", "ones", "eights")


def taken(report: dict, function: str) -> dict[str, tuple[str, int]]:
    """Instance -> the selected candidate's kind and the number of refused ones."""
    rows = [row for row in report["selections"] if row["function"] == function]
    found = {}
    for row in rows:
        (chosen,) = [c for c in row["candidates"] if c["outcome"] == "selected"]
        assert chosen["location"] == row["selected"]
        assert all(c.get("reason") for c in row["candidates"] if c is not chosen)
        kind = chosen.get("target", "any") if "priority" in chosen else "fall-back"
        found[row["instance"]] = kind, sum(c["outcome"] == "refused" for c in row["candidates"])
    assert tuple(found) == INSTANCES
    return found


@pytest.mark.parametrize("target", targets.DEFAULT)
def test_rows(target, corpus):
    report = json.loads((corpus(NAME).folder / target / "report.json").read_text())
    family = targets.load(target).family
    symbols = {entry["name"]: entry["symbol"] for entry in report["entries"]}
    assert symbols == {"default": NAME, "serial": NAME, "plain": f"{NAME}__plain"}
    eights = ("gfx12", 0) if family == "gfx12" else ("any", 1)
    assert taken(report, NAME) == {"quads": ("any", 1), "ones": ("fall-back", 2), "eights": eights}
    assert taken(report, f"{NAME}__plain") == dict.fromkeys(INSTANCES, ("fall-back", 2))
    shown = page(report)
    assert shown.count("selected") == 6
    assert "`reads == wide` does not hold" in shown


@pytest.mark.parametrize("target", ["gfx942", "gfx1151", "gfx1201"])
def test_wide_loads_stand_where_an_implementation_was_taken(target, corpus):
    """128-bit loads: quads one and eights one or two in the default entry, none in the fall-back's."""
    text = (corpus(NAME).folder / target / "kernel.s").read_text()
    for entry, expected in ((NAME, 3 if target == "gfx1201" else 2), (f"{NAME}__plain", 0)):
        body = re.search(rf"^{entry}:\n(.*?)^\.Lfunc_end", text, re.DOTALL | re.MULTILINE)
        assert body is not None
        assert len(re.findall(r"\tbuffer_load_(?:b128|dwordx4) ", body[1])) == expected


@pytest.mark.parametrize("target", EXECUTABLE)
def test_same_bits_as_the_fall_back(target, corpus):
    """On lengths that pick every implementation; against sums in ascending order by numpy."""
    code = (corpus(NAME).folder / target / "kernel.hsaco").read_bytes()
    values = np.random.default_rng(20260702).standard_normal((64, 64)).astype(np.float32)
    for count, padded in ((0, 0), (3, 8), (4, 56), (64, 64)):
        outputs = {}
        for entry in (NAME, f"{NAME}__plain"):
            given = {"count": count, "padded": padded, "values": values.ravel()}
            given |= {name: np.full(64, np.nan, np.float32) for name in ("ragged", "whole")}
            run = EmulatedKernel(code, entry).launch(given, (1, 1, 1))
            assert run.findings == ()
            outputs[entry] = [run.outputs[name].tobytes() for name in ("ragged", "whole")]
        ascending = [np.cumsum(values[:, :n], axis=1, dtype=np.float32)[:, -1:] for n in (count, padded)]
        expected = [(a.ravel() if a.size else np.zeros(64, np.float32)).tobytes() for a in ascending]
        assert outputs[NAME] == outputs[f"{NAME}__plain"] == expected
