"""What a call of `bench` asks for: the options, declared once, and their parser.

The parser is argparse's, so that a built folder can be measured where only numpy and a Vulkan loader are installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from specgen import devices

FORMATS = ("text", "json", "jsonl")
DEVICES = ("vulkan", "hip")
"""Devices with a clock worth reading."""


class UsageError(Exception):
    """A wrong call, status 2, or a folder whose contents cannot be used, status 1. The message is one line for the
    user, `hint` says what to do."""

    def __init__(self, message: str, hint: str | None = None, status: int = 2) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status


@dataclass(frozen=True)
class Option:
    """One option: its flags, what argparse is told, its help."""

    flags: tuple[str, ...]
    help: str
    settings: dict[str, Any]


def _number(least: float, kind: type = float) -> Any:
    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no {'whole ' if kind is int else ''}number") from None
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is out of range: at least {least:g}")
        return value

    return convert


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: name two different entries, as in serial,default")
    return names[0], names[1]


OPTIONS: tuple[Option, ...] = (
    Option(
        ("--device",),
        "Device to time on: vulkan or hip. One that is named must be there; without the option rows are skipped where"
        " there is no vulkan.",
        {"metavar": "D"},
    ),
    Option(("--target",), "Only artifacts of this target; may be given again.", {"action": "append", "metavar": "T"}),
    Option(
        ("--only",),
        "Only rows whose name starts so: SPEC/BENCHMARK/CASE/TARGET/ENTRY, each part a pattern (* and ?); the SPEC"
        " may be left out; may be given again.",
        {"action": "append", "metavar": "NAME[/CASE]"},
    ),
    Option(("--compare",), "Only entries A and B, and the ratio of B to A.", {"type": _pair, "metavar": "A,B"}),
    Option(("--dry-run",), "Make the plan, time nothing; needs no device.", {"action": "store_true"}),
    Option(
        ("--repetitions",),
        "Rounds in which the entries take turns, at least 3; fewer than 7 show no difference.",
        {"type": _number(3, int), "default": 15, "metavar": "N"},
    ),
    Option(
        ("--min-time",),
        "Time on the device that each entry is measured for, all rounds together, in milliseconds.",
        {"type": _number(0), "default": 150.0, "metavar": "MS"},
    ),
    Option(
        ("--warmup",),
        "Running before the first round of a case, so that clocks rise, in milliseconds.",
        {"type": _number(0), "default": 500.0, "metavar": "MS"},
    ),
    Option(("--hot",), "One input set, reused: data may stay in caches.", {"action": "store_true"}),
    Option(
        ("--ring",),
        "Memory that the input sets exceed together, in MiB (default: by the device).",
        {"type": _number(1, int), "metavar": "MIB"},
    ),
    Option(
        ("--format",),
        "Form of the output: text, one JSON document, or a JSON row a line as they come.",
        {"choices": FORMATS, "default": "text", "dest": "form"},
    ),
    Option(
        ("-o", "--output"),
        "Write the rows to this file too: as one JSON document, or a row a line where the name ends in .jsonl.",
        {"type": Path, "metavar": "FILE"},
    ),
    Option(
        ("--dispatch-cost",),
        "Measure what a dependent dispatch costs on the device; needs no PATH.",
        {"action": "store_true"},
    ),
    Option(
        ("--self-check",),
        "Ask the tool itself: a kernel against itself, and against itself slowed by 10 %; needs no PATH.",
        {"action": "store_true"},
    ),
    Option(("--trials",), "Trials of the self-check.", {"type": _number(1, int), "default": 20, "metavar": "N"}),
    Option(("-q", "--quiet"), "Print only failures and verdicts.", {"action": "store_true"}),
    Option(("-v", "--verbose"), "Tell more: rounds, trials and clocks.", {"action": "store_true"}),
)


@dataclass(frozen=True)
class Request:
    """A checked call. Times in milliseconds, `ring` in MiB (None: by the device); `explicit`: the device was named."""

    paths: tuple[str, ...] = ()
    device: str = "vulkan"
    explicit: bool = False
    target: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    compare: tuple[str, str] | None = None
    dry_run: bool = False
    repetitions: int = 15
    min_time: float = 150.0
    warmup: float = 500.0
    hot: bool = False
    ring: int | None = None
    form: str = "text"
    output: Path | None = None
    dispatch_cost: bool = False
    self_check: bool = False
    trials: int = 20
    quiet: bool = False
    verbose: bool = False

    def shown(self) -> dict[str, Any]:
        """The options as JSON values, without those that only concern printing."""
        hidden = ("paths", "explicit", "form", "output", "quiet", "verbose")
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in hidden}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help lists the options")


def parser(program: str, *, paths: bool) -> argparse.ArgumentParser:
    """The parser of a call; without `paths` it is that of a generated script, which knows its folder."""
    made = _Parser(prog=program, description="Time entry points of specs or built folders; correctness comes first.")
    if paths:
        made.add_argument("paths", nargs="*", metavar="PATH", help="Spec files, folders of them, or built folders.")
    for option in OPTIONS:
        made.add_argument(*option.flags, help=option.help.replace("%", "%%"), **option.settings)
    return made


def parse(arguments: Sequence[str], program: str, *, paths: bool = True) -> Request:
    """The request of a call. Raises `UsageError`; `--help` prints and raises `SystemExit(0)`."""
    values = vars(parser(program, paths=paths).parse_args(list(arguments)))
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None}
    request = Request(**values, explicit="device" in values)
    if request.device not in devices.names():
        raise UsageError(f"unknown device: {request.device}", f"devices with a clock: {', '.join(DEVICES)}")
    if request.device not in DEVICES:
        raise UsageError(f"device {request.device} has no clock worth reading", f"devices: {', '.join(DEVICES)}")
    alone = request.self_check or request.dispatch_cost
    if alone and request.dry_run:
        raise UsageError("--dry-run makes the plan of benchmarks; --self-check and --dispatch-cost have none")
    if alone and request.device != "vulkan":
        raise UsageError("--self-check and --dispatch-cost run on vulkan only")
    if paths and not request.paths and not alone:
        raise UsageError("no path given", "name spec files, folders that hold them, or built folders")
    return request
