"""Kernels of the specs against torch and Triton on an NVIDIA GPU, in one process, interleaved.

Each round times ours, then each baseline; the ratio of a row is the median over rounds of baseline time / our time.
Baselines replay a CUDA graph of as many calls as our command buffer holds, so that no host time is in either.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from record import command

WARM_SECONDS = 0.5
TUNING_ROUNDS = 5


class Graph:
    """Calls of a baseline, captured once; `sample` gives seconds of one call."""

    def __init__(self, call: Callable[[], object], batch: int) -> None:
        self._batch, self._graph = batch, torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):
            for _ in range(batch):
                call()
        self._call = call
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.direct = False

    def settle(self) -> None:
        """Use plain calls where they are quicker than the graph, as copies are, which a graph hands to other units."""
        graph = statistics.median(self.sample() for _ in range(TUNING_ROUNDS))
        self.direct = True
        self.direct = statistics.median(self.sample() for _ in range(TUNING_ROUNDS)) < graph

    def sample(self) -> float:
        """Seconds of one call: one replay, or as many plain calls."""
        self._start.record()
        if self.direct:
            for _ in range(self._batch):
                self._call()
        else:
            self._graph.replay()
        self._end.record()
        self._end.synchronize()
        return self._start.elapsed_time(self._end) / 1e3 / self._batch


def clocks() -> str:
    """Clocks of the processors and the memory as the driver tells them."""
    query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "not readable"


def warm_up(*samplers: Callable[[], object]) -> None:
    """Run until the clocks have risen."""
    until = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < until:
        for sampler in samplers:
            sampler()


def measured(row: Any, rounds: int) -> dict[str, Any]:
    """Times and ratios of one row."""
    graphs: dict[str, Graph] = {}
    refused: dict[str, str] = {}
    for name, call in row.baselines.items():
        try:
            call()
            torch.cuda.synchronize()
            graphs[name] = Graph(call, row.batch)
        except Exception as error:
            refused[name] = str(error).splitlines()[0][:160]
            torch.cuda.synchronize()
    warm_up(*(g.sample for g in graphs.values()), lambda: next(iter(row.chains.values())).sample(row.batch))
    for graph in graphs.values():
        graph.settle()
    tried = {
        name: statistics.median(chain.sample(row.batch) for _ in range(TUNING_ROUNDS))
        for name, chain in row.chains.items()
    }
    best = min(tried, key=tried.__getitem__)
    chain = row.chains[best]
    before = clocks()
    times: dict[str, list[float]] = {"ours": [], **{name: [] for name in graphs}}
    for _ in range(rounds):
        times["ours"].append(chain.sample(row.batch))
        for name, graph in graphs.items():
            times[name].append(graph.sample())
    ratios = {
        name: statistics.median(b / a for a, b in zip(times["ours"], times[name], strict=True)) for name in graphs
    }
    return {
        "medians_us": {name: round(statistics.median(values) * 1e6, 3) for name, values in times.items()},
        "ratios": {name: round(ratio, 4) for name, ratio in ratios.items()},
        "rounds": rounds,
        "batch": row.batch,
        "bytes": row.bytes,
        "chosen": best,
        "tried_us": {name: round(value * 1e6, 3) for name, value in tried.items()},
        "refused": refused,
        "plain_calls": [name for name, graph in graphs.items() if graph.direct],
        "checks": row.checks,
        "clocks": {"before": before, "after": clocks()},
    }


def graph_cost() -> dict[str, float]:
    """Microseconds of a kernel of torch that loads and stores 32 numbers, a thousand in a graph, for comparison."""
    numbers = torch.zeros(32, device="cuda")
    graph = Graph(lambda: numbers.add_(1), 1000)
    return {"torch, in a CUDA graph": round(statistics.median(graph.sample() for _ in range(25)) * 1e6, 3)}


def flat(name: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """One record for each baseline: the best of torch's and of Triton's."""
    found = []
    for baseline in ("torch", "triton"):
        mine = {n: r for n, r in result["ratios"].items() if n.split()[0] == baseline}
        if mine:
            best = min(mine, key=mine.__getitem__)
            medians = {"ours": result["medians_us"]["ours"], "baseline": result["medians_us"][best]}
            found.append(
                {"name": name, "baseline": best, "ratio": mine[best], "medians_us": medians}
                | {key: value for key, value in result.items() if key not in ("ratios", "medians_us")}
            )
    return found


def written(path: Path, held: dict[str, Any]) -> None:
    """Replace the file of results."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(held, indent=1) + "\n")
    os.replace(temporary, path)


def main() -> int:
    """Measure the rows that `--only` names, or all, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="a row, or the start of its name")
    parser.add_argument("--kernels", type=Path, default=Path("specgen-out"), help="the output folder of specgen build")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("-o", "--output", type=Path, default=Path("h200_kernels.json"))
    options = parser.parse_args()
    import rows

    from specgen.devices.vulkan.device import VulkanDevice

    everything = (*rows.ROWS, "dispatch")
    names = [n for n in everything if not options.only or any(n.startswith(o) for o in options.only)]
    if not names:
        parser.error(f"no row starts with {options.only}; rows: {', '.join(everything)}")
    device = VulkanDevice()
    held = json.loads(options.output.read_text()) if options.output.exists() else {"rows": []}
    torch.manual_seed(1)
    status = 0
    for name in names:
        started = time.perf_counter()
        if name == "dispatch":
            warm_up(lambda: rows.dispatch_costs(rows.Setting(device, options.kernels)))
            held["dispatch_us"] = rows.dispatch_costs(rows.Setting(device, options.kernels)) | graph_cost()
            print(name, held["dispatch_us"])
            written(options.output, held)
            continue
        try:
            row = rows.ROWS[name](rows.Setting(device, options.kernels))
            records = flat(name, measured(row, options.rounds))
            if row.memory is not None:
                row.memory.close()
            del row
        except Exception:
            traceback.print_exc()
            status = 1
            continue
        finally:
            torch.cuda.empty_cache()
        held |= {
            "device": torch.cuda.get_device_name(),
            "driver": device.facts().name,
            "versions": {"torch": torch.__version__, "triton": triton.__version__},
            "command": command(),
        }
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        kept = [r for r in held["rows"] if r["name"] != name]
        held["rows"] = kept + [{**r, "date": date} for r in records]
        written(options.output, held)
        for r in records:
            print(f"{name:14} {r['baseline']:24} ratio {r['ratio']:.3f}  {r['medians_us']}  {r['chosen']}")
        print(
            f"{name:14} tried {records[0]['tried_us']} refused {records[0]['refused']} "
            f"{time.perf_counter() - started:.1f} s",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
