"""The page that sets our static resources beside a peer's, made from recorded reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks", "results", "resources_gfx1151.json")

PEER: dict[tuple[str, str], tuple[int, int]] = {
    ("sum_rows", "default"): (376, 7),
    ("vector_rows", "default"): (656, 28),
    ("cooperative_paged_attention", "unrolled"): (1360, 28),
    ("cooperative_paged_attention", "default"): (2276, 44),
    ("sparse_token_attention", "unrolled"): (1536, 28),
    ("sparse_token_attention", "default"): (2344, 44),
    ("grouped_paged_attention", "independent"): (1892, 36),
    ("grouped_paged_attention", "shared_serial"): (2552, 40),
    ("grouped_paged_attention", "default"): (3156, 48),
}
"""Bytes of code and vector registers that Loom's documentation tells of its own kernels of the same kind and schedule,
by our spec and entry; the first two for gfx11-generic, the others for gfx1151. No spill and full occupancy in all."""

REASONS: dict[tuple[str, str], str] = {}
"""Why we need more, for each row that does."""

EXECUTED_PEER = 354
"""Instructions that a wave of Triton's kernel executes for the column sum of 64 rows by 32; a figure that was told of
it, not measured here."""

HEAD = """# Registers and code size beside a peer's

Written by `python -m specgen.docs` from `benchmarks/results/resources_gfx1151.json`, which `{command}`
records from the reports of fresh builds; a slow test builds again and compares. The peer is Loom: figures as its
documentation tells them for one version of its compiler. Nothing here is a time.

| kernel | target | bytes: ours | peer's | vector registers: ours | peer's | spills | occupancy | why more |
|---|---|---|---|---|---|---|---|---|
"""

LOOPS = """
## The innermost steady loop

Waits are what may stay outstanding at each wait for vector loads (0: all loads have to be there); pending are the loads
that no wait of the loop has asked for when it starts over, whichever way through it. Copies go between registers at
the backedge; those of the sparse kernel are two guards in scalar registers.

| kernel | target | waits | loads pending | copies |
|---|---|---|---|---|
"""


EXECUTED = """
## Instructions that a wave executes

The column sum of 64 rows on gfx1151, one wave, counted by the emulator on the built code (waits and delays included).
Triton's kernel is told to take {peer}; that figure was not measured here.

| kernel | entry | instructions | vector | scalar | loads | waits | branches |
|---|---|---|---|---|---|---|---|
"""


def recorded(root: Path | None = None) -> dict[str, Any]:
    """The recorded rows of the repository at `root` (default: of this file). Raises `OSError` without them."""
    base = Path(__file__).resolve().parents[2] if root is None else root
    document: dict[str, Any] = json.loads((base / RESULTS).read_text(encoding="utf-8"))
    return document


def key(row: dict[str, Any]) -> tuple[str, str]:
    """What names a row in `PEER`."""
    return row["spec"], row["entry"]


def exceeds(row: dict[str, Any]) -> bool:
    """Whether a row needs more bytes or registers than the peer's."""
    size, registers = PEER[key(row)]
    return row["bytes"] > size or row["vector_registers"] > registers


def page() -> str:
    """`docs/resources.md`."""
    document = recorded()
    text = HEAD.format(command=document["command"])
    for row in document["rows"]:
        size, registers = PEER[key(row)]
        why = REASONS[key(row)] if exceeds(row) else ""
        text += (
            f"| {row['title']} | {row['target']} | {row['bytes']} | {size} | {row['vector_registers']} | {registers} "
            f"| {row['spills']} | {row['occupancy']:g} % | {why} |\n"
        )
    text += LOOPS
    for row in document["rows"]:
        waits = ", ".join(map(str, row["steady_waits"]))
        text += f"| {row['title']} | {row['target']} | {waits} | {row['loads_pending']} | {row['backedge_copies']} |\n"
    text += EXECUTED.format(peer=EXECUTED_PEER)
    for row in document["executed"]:
        kinds = [row["by_class"].get(kind, 0) for kind in ("valu", "salu", "vmem_load", "wait", "branch")]
        text += f"| {row['title']} | {row['entry']} | {row['instructions']} | {' | '.join(map(str, kinds))} |\n"
    return text
