"""The rows of a run as text, a line or two each, as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from specgen.bench.options import Request
from specgen.bench.statistics import WARNINGS

Row = Mapping[str, Any]


def duration(seconds: float) -> str:
    """Four digits with the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def size(count: float) -> str:
    """Bytes with the unit that fits."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= step:
            return f"{count / step:.4g} {unit}"
    return f"{count:g} B"


class Text:
    """Lines of a call: `line` turns a row into text, empty for one that the call does not want to see."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._group = ""
        self._shown: dict[int, str] = {}
        self._makers: dict[str, Callable[[Row], str]] = {
            "plan": self._plan,
            "device": self._device,
            "compile": self._compile,
            "benchmark": self._benchmark,
            "comparison": self._comparison,
            "repetition": self._repetition,
            "dispatch_cost": self._dispatch_cost,
            "self_check": self._trial,
            "self_check_total": self._total,
            "skip": lambda row: f"skipped {row['row']}: {row['reason']}",
            "failure": lambda row: f"FAILED {row['row']}: {row['stage']}: {row['reason']}",
            "summary": self._summary,
        }

    def line(self, row: Row) -> str:
        """The text of a row, without a line end."""
        maker = self._makers.get(row["kind"])
        return maker(row) if maker is not None else ""

    def _plan(self, row: Row) -> str:
        if not self._request.dry_run or self._request.quiet:
            return ""
        policies = " ".join(f"{k}={v}" for k, v in row["policies"].items()) or "no policies"
        return f"work item {row['work_item']:<4} {row['row']}  ({policies})"

    def _device(self, row: Row) -> str:
        if self._request.quiet:
            return ""
        kind = f", {row['type']}, {row['driver']}" if "type" in row else ""
        text = f"device: {row['name']}{kind}; clocks: {_rates(row.get('clocks')) or ''}{row['clocks_note']}"
        if not self._request.hot and not self._request.dispatch_cost:
            text += f"\ninput sets exceed {size(row['ring_bytes'])} ({row['ring_source']})"
        return text

    def _compile(self, row: Row) -> str:
        return f"{row['symbol']} for {row['target']}: {row['reason']}" if row["status"] == "refused" else ""

    def _benchmark(self, row: Row) -> str:
        if self._request.quiet:
            return ""
        lines = self._heading(row["row"])
        if lines:
            lines[0] += f"  (on {row['device']}, {row['clock']})"
            lines.append(f"  {_sets(row)}")
        first = self._shown.setdefault(row["work_item"], row["entry"])
        if first != row["entry"]:
            return "\n".join([*lines, f"  {row['entry']:<12} as {first}: the same work item"])
        head = f"  {row['entry']:<12} {duration(row['p50_seconds']):>10}"
        text = (
            f"{head}  p10 {duration(row['p10_seconds'])}  p90 {duration(row['p90_seconds'])}"
            f"  spread {row['spread_ppm'] / 1e4:.1f} %  {row['samples']} x {row['batch']} dispatches"
        )
        if "roofline_p50" in row:
            ratio = (row["roofline_p50"], row["roofline_low"], row["roofline_high"])
            text += "  {:.3g} of copy [{:.3g}, {:.3g}]".format(*ratio)
        lines.append(text)
        lines += [f"    warning: {code}: {WARNINGS[code].meaning}" for code in row["warnings"]]
        if self._request.verbose and "clocks_before" in row:
            rates = [_rates(row.get(key)) for key in ("clocks_before", "clocks_after")]
            lines.append(f"    clocks before {rates[0]}after {rates[1]}")
        return "\n".join(lines)

    def _comparison(self, row: Row) -> str:
        return "\n".join([*self._heading(row["a"]), _verdict(row)])

    def _heading(self, name: str) -> list[str]:
        """The line that names a group, once."""
        group = name.rpartition("/")[0]
        if group == self._group:
            return []
        self._group = group
        return [f"\n{group}"]

    def _repetition(self, row: Row) -> str:
        if not self._request.verbose:
            return ""
        return f"    round {row['position']}: {row['row']}: {duration(row['p50_seconds'])}"

    def _dispatch_cost(self, row: Row) -> str:
        wrong = "" if row["correct"] else "; WRONG: not every dispatch was counted"
        return (
            f"a dependent dispatch: {duration(row['p50_seconds'])}  p10 {duration(row['p10_seconds'])}"
            f"  p90 {duration(row['p90_seconds'])}  {row['samples']} x {row['batch']} dispatches,"
            f" {row['barrier']} ({row['device']}, {row['clock']}){wrong}"
        )

    def _trial(self, row: Row) -> str:
        if not self._request.verbose:
            return ""
        ratio = f"{row['ratio_p50']:.4f} [{row['ratio_low']:.4f}, {row['ratio_high']:.4f}]"
        return f"  trial {row['trial']}: {ratio}, noise floor {row['noise_floor_ppm'] / 1e4:.2f} %: {row['verdict']}"

    def _total(self, row: Row) -> str:
        verdict = "passed" if row["passed"] else "FAILED"
        return f"{row['subject']}, {row['planted']}: {row['right']} of {row['trials']} right: {verdict}"

    def _summary(self, row: Row) -> str:
        plan = f"{_count(row['logical_rows'], 'logical row')}, {_count(row['work_items'], 'physical work item')}"
        if row["dry_run"]:
            return f"{plan}; nothing was timed"
        if not row["logical_rows"] and not row["skipped"]:
            return ""
        return f"\n{plan}: {row['timed']} timed, {row['failed']} failed, {row['skipped']} skipped"


def _verdict(row: Row) -> str:
    a, b = row["a"].rpartition("/")[2], row["b"].rpartition("/")[2]
    if "ratio_p50" not in row:
        return f"  {b} is the same code as {a}"
    interval = f"{row['ratio_p50']:.4f} [{row['ratio_low']:.4f}, {row['ratio_high']:.4f}]"
    if row["same_code"]:
        return f"  A/A: {interval} of {a}; noise floor {row['noise_floor_ppm'] / 1e4:.2f} %"
    return f"  {b} against {a}: {interval} times as fast: {row['verdict']}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _sets(row: Row) -> str:
    if row["data_cache"] == "hot":
        text = f"hot: one input set of {size(row['set_bytes'])}"
    else:
        text = f"{row['ring_sets']} input sets of {size(row['set_bytes'])} in turn"
    if row["ring_capped"]:
        text += " (memory allowed no more)"
    amounts = [f"{row[key]:g} {key}" for key in ("bytes", "flops") if key in row]
    return "; ".join([text, *(["a dispatch: " + ", ".join(amounts)] if amounts else [])])


def _rates(clocks: Mapping[str, int] | None) -> str:
    return "".join(f"{name} {mhz} MHz, " for name, mhz in (clocks or {}).items())
