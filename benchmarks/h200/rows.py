"""The rows: what each measures, our kernels and the baselines of torch and Triton on the same data.

A row is prepared once: inputs are drawn on the GPU by torch, our buffers get the same bytes, and every output is
compared with torch's in float32 or better before anything is timed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ours
import torch
import triton
import triton_kernels as tk

COLUMNS = 4096
LOG2E = math.log2(math.e)
Run = Callable[[], object]


@dataclass
class Row:
    """What is timed: candidates of ours (the best one counts), baselines by name, and bytes that must move."""

    chains: dict[str, ours.Chain]
    baselines: dict[str, Run]
    bytes: int
    batch: int
    checks: list[str] = field(default_factory=list)
    memory: ours.Memory | None = None


@dataclass
class Setting:
    """The device and the folder of built kernels."""

    device: Any
    folder: Path

    def chain(self, memory: ours.Memory, *steps: ours.Step) -> ours.Chain:
        """Steps as one sequence."""
        return ours.Chain(self.device, self.folder, steps, memory)

    def memory(self, **contents: torch.Tensor | int) -> ours.Memory:
        """Buffers: a tensor's bytes, or room for so many bytes."""
        made = ours.Memory(self.device)
        for name, content in contents.items():
            if isinstance(content, int):
                made.room(name, content)
            else:
                made.put(name, content.contiguous().view(torch.uint8).cpu().numpy())
        return made


def compared(name: str, got: np.ndarray, wanted: torch.Tensor, tolerance: float) -> str:
    """The largest difference as text; raises `ValueError` beyond `tolerance * (1 + |wanted|)`."""
    there = torch.from_numpy(got.astype(np.float32)).cuda()
    right = wanted.reshape(-1).float()
    worst = float(((there - right).abs() / (1 + right.abs())).max())
    if not worst <= tolerance:
        raise ValueError(f"{name}: differs by {worst:.3g}, allowed {tolerance}")
    return f"{name}: largest difference {worst:.2g} of 1 + |value|, allowed {tolerance:g}"


def _draw(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def copy_f32(at: Setting) -> Row:
    """1 GiB in, 1 GiB out."""
    n = 1 << 28
    x, y = _draw(n), torch.empty(n, device="cuda")
    memory = at.memory(x=x, output=4 * n)
    names = {"x": "x", "output": "output"}
    chains = {
        entry: at.chain(memory, ours.Step("copy_vectors", {"count": n}, names, entry))
        for entry in ("default", "single")
    }
    row = Row(
        chains,
        {
            "torch": lambda: y.copy_(x),
            "triton": lambda: tk.copy[lambda m: (triton.cdiv(n, m["BLOCK"]),)](x, y, n),
        },
        8 * n,
        2,
        memory=memory,
    )
    for entry, chain in chains.items():
        memory.fill("output")
        chain.sample(1)
        row.checks.append(compared(f"copy {entry}", memory.get("output", np.float32), x, 0.0))
    return row


def row_sum_f32(at: Setting) -> Row:
    """256 MiB in rows of 4096."""
    rows = 16384
    x, y = _draw(rows, COLUMNS), torch.empty(rows, device="cuda")
    memory = at.memory(x=x, output=4 * rows)
    chain = at.chain(memory, ours.Step("row_sum_registers", {"rows": rows}, {"x": "x", "output": "output"}))
    chain.sample(1)
    row = Row(
        {"": chain},
        {
            "torch": lambda: torch.sum(x, dim=1, out=y),
            "triton": lambda: tk.row_sum[(rows,)](x, y, COLUMNS),
        },
        4 * rows * (COLUMNS + 1),
        8,
        memory=memory,
    )
    row.checks.append(compared("row sum", memory.get("output", np.float32), x.double().sum(1), 1e-4))
    return row


def _rows(at: Setting, spec: str, dtype: torch.dtype, torch_run: Any, triton_run: Any, extra: list[str]) -> Row:
    rows, short = 8192, "f16" if dtype is torch.float16 else "f32"
    x, y = _draw(rows, COLUMNS, dtype=dtype), torch.empty(rows, COLUMNS, device="cuda", dtype=dtype)
    vectors = {name: (1 + 0.1 * _draw(COLUMNS)).to(dtype) for name in extra}
    memory = at.memory(x=x, output=x.nbytes, **vectors)
    scalars = {"rows": rows, **({"eps": 1e-5} if extra else {})}
    names = {name: name for name in ("x", "output", *extra)}
    folder = spec if short == "f16" else f"{spec}@element=f32"
    chains = {"2 pieces": at.chain(memory, ours.Step(folder, scalars, names))}

    def triton_call() -> None:
        triton_run(rows, x, y, *vectors.values())

    row = Row(
        chains,
        {"torch": lambda: torch_run(x, *vectors.values()), "triton": triton_call},
        2 * x.nbytes,
        16 if short == "f16" else 8,
        memory=memory,
    )
    wanted = torch_run(x.double(), *(v.double() for v in vectors.values()))
    tolerance = 2e-3 if short == "f16" else 2e-5
    for name, chain in chains.items():
        chain.sample(1)
        got = memory.get("output", np.float16 if short == "f16" else np.float32)
        row.checks.append(compared(f"{spec}, {name}", got, wanted, tolerance))
    triton_call()
    row.checks.append(compared(f"triton {spec}", y.reshape(-1).cpu().numpy(), wanted, tolerance))
    return row


def _softmax(dtype: torch.dtype) -> Callable[[Setting], Row]:
    def prepare(at: Setting) -> Row:
        return _rows(
            at,
            "softmax_registers",
            dtype,
            lambda x: torch.softmax(x, dim=1),
            lambda rows, x, y: tk.softmax[(rows,)](x, y, COLUMNS),
            [],
        )

    return prepare


def _rms_norm(dtype: torch.dtype) -> Callable[[Setting], Row]:
    def prepare(at: Setting) -> Row:
        return _rows(
            at,
            "rms_norm_registers",
            dtype,
            lambda x, w: torch.nn.functional.rms_norm(x, (COLUMNS,), w, 1e-5),
            lambda rows, x, y, w: tk.rms_norm[(rows,)](x, w, y, 1e-5, COLUMNS),
            ["weight"],
        )

    return prepare


def _layer_norm(dtype: torch.dtype) -> Callable[[Setting], Row]:
    def prepare(at: Setting) -> Row:
        return _rows(
            at,
            "layer_norm_registers",
            dtype,
            lambda x, w, b: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b, 1e-5),
            lambda rows, x, y, w, b: tk.layer_norm[(rows,)](x, w, b, y, 1e-5, COLUMNS),
            ["weight", "bias"],
        )

    return prepare


def transpose_f32(at: Setting) -> Row:
    """8192 squared."""
    n = 8192
    x, y = _draw(n, n), torch.empty(n, n, device="cuda")
    memory = at.memory(input=x, output=x.nbytes)
    names = {"input": "input", "output": "output"}
    entries = ("default", "small", "small_down")
    chains = {
        entry: at.chain(memory, ours.Step("transpose_wide", {"rows": n, "columns": n}, names, entry))
        for entry in entries
    }
    row = Row(
        chains,
        {
            "torch": lambda: y.copy_(x.t()),
            "triton": lambda: tk.transpose[lambda m: (n // m["B"], n // m["A"])](x, y, n, n),
        },
        8 * n * n,
        8,
        memory=memory,
    )
    for name, chain in chains.items():
        memory.fill("output")
        chain.sample(1)
        row.checks.append(compared(f"transpose {name}", memory.get("output", np.float32), x.t(), 0.0))
    row.baselines["triton"]()
    row.checks.append(compared("triton transpose", y.reshape(-1).cpu().numpy(), x.t(), 0.0))
    return row


def packed_dot(at: Setting) -> Row:
    """2048 outputs of 128 records: small, and in the cache for all three."""
    n, outs = 128, 2048
    fields = torch.randint(-(2**31), 2**31 - 1, (n, outs), device="cuda", dtype=torch.int32)
    scales, rhs = _draw(n, outs, dtype=torch.float16), _draw(n, 64, 4)
    y = torch.empty(outs, device="cuda")
    memory = at.memory(fields=fields, scales=scales, rhs=rhs, output=4 * outs)
    names = {name: name for name in ("fields", "scales", "rhs", "output")}

    def eager(kind: torch.dtype = torch.float32) -> torch.Tensor:
        weights = fields.view(torch.int8).view(n, outs, 4).to(kind) * scales.to(kind)[:, :, None]
        return (weights.view(n, outs // 64, 64, 4) * rhs.to(kind)[:, None]).sum((0, 3)).view(-1)

    chains = {
        entry: at.chain(memory, ours.Step("streaming_packed_dot", {"count": n}, names, entry))
        for entry in ("default", "unrolled", "ahead")
    }
    row = Row(
        chains,
        {
            "torch": eager,
            "triton": lambda: tk.packed_dot[lambda m: (outs // m["O"],)](fields, scales, rhs, y, n, outs),
        },
        n * (outs * 6 + 64 * 16),
        200,
        memory=memory,
    )
    for name, chain in chains.items():
        chain.sample(1)
        row.checks.append(compared(f"packed dot {name}", memory.get("output", np.float32), eager(torch.float64), 2e-3))
    row.baselines["triton"]()
    row.checks.append(compared("triton packed dot", y.cpu().numpy(), eager(torch.float64), 2e-3))
    return row


def _decode(sequences: int, heads: int, group: int) -> Callable[[Setting], Row]:
    return lambda at: _Decode(at, sequences, heads, group).row()


def dispatch_costs(at: Setting) -> dict[str, float]:
    """Microseconds of a dependent dispatch: of no workgroup, of one that stores, of one that loads before."""
    memory = at.memory(input=64 * 32 * 4, output=32 * 4)
    names = {"input": "input", "output": "output"}
    found = {}
    for name, rows, grid in (("no workgroup", 0, (0, 1, 1)), ("stores only", 0, None), ("loads and stores", 1, None)):
        chain = at.chain(memory, ours.Step("sum_rows", {"row_count": rows}, names, grid=grid))
        times = [chain.sample(1000) for _ in range(25)][5:]
        found[name] = round(statistics.median(times) * 1e6, 3)
    memory.close()
    return found


class _Decode:
    """One new token for each sequence against 32768 tokens in pages of 64, of f16 with 128 channels."""

    LENGTH, PAGE, D = 32768, 64, 128

    def __init__(self, at: Setting, sequences: int, heads: int, group: int) -> None:
        self.at, self.sequences, self.heads, self.group = at, sequences, heads, group
        self.pages = self.LENGTH // self.PAGE
        pool = sequences * self.pages
        self.q = _draw(sequences, heads * group, 1, self.D, dtype=torch.float16)
        self.keys = _draw(pool, heads, self.PAGE, self.D, dtype=torch.float16)
        self.values = _draw(pool, heads, self.PAGE, self.D, dtype=torch.float16)
        self.table = torch.randperm(pool, device="cuda").to(torch.int32).view(sequences, self.pages)
        self.lengths = torch.full((sequences,), self.LENGTH, device="cuda", dtype=torch.int32)
        self.out = torch.empty(sequences * heads * group, self.D, device="cuda", dtype=torch.float16)
        self.most = self.pages // 4
        partial = sequences * heads * group * self.most
        self.partial = [torch.empty(partial * n, device="cuda") for n in (1, 1, self.D)]
        self.memory = at.memory(
            lengths=self.lengths,
            table=self.table,
            q=self.q,
            keys=self.keys,
            values=self.values,
            tops=4 * partial,
            totals=4 * partial,
            sums=4 * partial * self.D,
            output=self.out.nbytes,
        )

    def chain(self, pages_each: int, entry: str) -> ours.Chain:
        parts = -(-self.pages // pages_each)
        scalars = {
            "sequences": self.sequences,
            "heads": self.heads,
            "parts": parts,
            "pages_each": pages_each,
            "pages_most": self.pages,
            "pool": self.sequences * self.pages,
        }
        kernel = "decode_split" if self.group == 1 else "decode_grouped"
        names = ("lengths", "table", "q", "keys", "values", "tops", "totals", "sums")
        split = ours.Step(kernel, scalars, {name: name for name in names}, entry)
        join = ours.Step(
            "decode_join",
            {"sequences": self.sequences, "heads": self.heads * self.group, "parts": parts},
            {n: n for n in ("tops", "totals", "sums", "output")},
        )
        return self.at.chain(self.memory, split, join)

    def contiguous(self, cache: torch.Tensor) -> torch.Tensor:
        """Pages in order: what torch's kernels take, which know no pages."""
        found = cache[self.table.long()]
        return found.permute(0, 2, 1, 3, 4).reshape(self.sequences, self.heads, self.LENGTH, self.D).contiguous()

    def torch_runs(self) -> dict[str, Run]:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention as attend

        k, v = self.contiguous(self.keys), self.contiguous(self.values)
        q = self.q.view(self.sequences, self.heads, self.group, self.D)

        def run(backend: SDPBackend) -> Run:
            def call() -> object:
                with sdpa_kernel(backend):
                    return attend(q, k, v)

            return call

        backends = (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)
        return {f"torch {b.name.lower()}": run(b) for b in backends}

    def triton_run(self) -> None:
        heads_all, scale = self.heads * self.group, LOG2E / math.sqrt(self.D)
        rows = 1 if self.group == 1 else 16
        tk.decode_split[lambda m: (self.heads, triton.cdiv(self.pages, m["PAGES"]), self.sequences)](
            self.q,
            self.keys,
            self.values,
            self.table,
            *self.partial,
            self.LENGTH,
            self.heads,
            self.most,
            scale,
            self.group,
            rows,
            PAGE=self.PAGE,
            D=self.D,
        )
        parts = triton.cdiv(self.pages, tk.decode_split.best_config.kwargs["PAGES"])
        tk.decode_join[(self.sequences * heads_all,)](
            *self.partial, self.out, parts, self.most, triton.next_power_of_2(parts), self.D
        )

    def row(self) -> Row:
        entries, sizes = (("default",), (8, 16, 32, 64))
        chains = {f"{entry}, {n} pages a part": self.chain(n, entry) for entry in entries for n in sizes}
        row = Row(chains, {**self.torch_runs(), "triton": self.triton_run}, 2 * self.keys.nbytes, 4, memory=self.memory)
        k, v = self.contiguous(self.keys).float(), self.contiguous(self.values).float()
        q = self.q.view(self.sequences, self.heads, self.group, self.D).float()
        wanted = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(self.D), dim=3) @ v
        for name, chain in chains.items():
            chain.sample(1)
            row.checks.append(compared(f"decode, {name}", self.memory.get("output", np.float16), wanted, 2e-3))
        self.triton_run()
        row.checks.append(compared("triton decode", self.out.reshape(-1).cpu().numpy(), wanted, 2e-3))
        return row


ROWS: Mapping[str, Callable[[Setting], Row]] = {
    "copy_f32": copy_f32,
    "row_sum_f32": row_sum_f32,
    "softmax_f16": _softmax(torch.float16),
    "softmax_f32": _softmax(torch.float32),
    "rmsnorm_f16": _rms_norm(torch.float16),
    "rmsnorm_f32": _rms_norm(torch.float32),
    "layernorm_f16": _layer_norm(torch.float16),
    "layernorm_f32": _layer_norm(torch.float32),
    "transpose_f32": transpose_f32,
    "packed_dot": packed_dot,
    "decode_mha": _decode(1, 32, 1),
    "decode_gqa": _decode(4, 8, 4),
}
