"""`specgen run SPEC`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specgen.cli.common import CLEAN, FINDINGS, colour, fail, output_options, print_json

if TYPE_CHECKING:
    from specgen.model import Spec

TARGET_OF_DEVICE = {"interpreter": "gfx1151", "amdgpu-emulator": "gfx1151", "vulkan": "vulkan1.3"}
"""The target that a device runs when none is named."""


@click.command("run")
@click.argument("spec")
@click.option("--device", default="interpreter", show_default=True, metavar="D")
@click.option("--target", default=None, metavar="T", help="Build for this target (default: one that the device runs).")
@click.option("--entry", default="default", show_default=True, metavar="E", help="Entry point: a variant's name.")
@click.option("--set", "settings", multiple=True, metavar="POLICY=VALUE", help="Override a policy or choose a param.")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE|FILE.npy",
    help="A number, or a file of exactly the buffer's type and shape (bf16: its bits as uint16).",
)
@click.option(
    "--out",
    "outputs",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="Where a written buffer goes, in its type (bf16: its bits as uint16).",
)
@output_options
def command(
    spec: str,
    device: str,
    target: str | None,
    entry: str,
    settings: tuple[str, ...],
    arguments: tuple[str, ...],
    outputs: tuple[str, ...],
    form: str,
    quiet: bool,
    verbose: bool,
) -> None:
    """Build a spec in memory and run it once."""
    from specgen.devices.base import DeviceError

    artifact = build_artifact(spec, device, target, settings)
    values = argument_values(artifact.manifest, arguments)
    sinks = dict(_pairs("--out", outputs))
    _check_sinks(artifact.manifest, sinks)
    try:
        run = artifact.run(device, None, entry, **values)
    except DeviceError as error:
        fail(str(error))
    for name, file in sinks.items():
        save(Path(file), shaped(artifact.manifest, name, values, run.outputs[name]))
    if form == "json":
        print_json(
            {
                "findings": [{"kind": f.kind, "where": f.where, "detail": f.detail} for f in run.findings],
                "outputs": {name: plain(array) for name, array in run.outputs.items()},
                "evidence": run.evidence,
            }
        )
    else:
        for finding in run.findings:
            click.echo(str(finding))
        if not quiet:
            for name, array in run.outputs.items():
                click.echo(f"{name}: {shaped(artifact.manifest, name, values, array)}")
        if verbose:
            for key, value in run.evidence.items():
                click.echo(f"{key}: {value}")
    sys.exit(FINDINGS if run.findings else CLEAN)


def build_artifact(spec: str, device: str, target: str | None, settings: tuple[str, ...]) -> Any:
    """The spec built in memory for the device's target; ends with status 1 or 2 and the diagnostics otherwise."""
    import specgen
    from specgen import devices, targets
    from specgen.diagnostics import DiagnosticError, render
    from specgen.lowering import LoweringError

    if device not in devices.names():
        fail(f"unknown device: {device}", f"devices: {', '.join(devices.names())}")
    reason = devices.open(device).available()
    if reason:
        fail(f"device {device} is not available: {reason}")
    chosen = target or TARGET_OF_DEVICE.get(device)
    if chosen is None:
        fail(f"--target is needed for device {device}")
    if chosen not in targets.names():
        fail(f"unknown target: {chosen}", f"targets: {', '.join(targets.names())}")
    if not os.path.isfile(spec):
        fail(f"no such file: {spec}")
    loaded = specgen.load(spec)
    try:
        return loaded.build(chosen, **_policies(loaded.model, settings))
    except DiagnosticError as error:
        sources = {} if loaded.model is None else {loaded.model.source.name: loaded.model.source}
        click.echo(render.text(error.diagnostics, sources, colour=colour()))
        sys.exit(FINDINGS)
    except LoweringError as error:
        fail(str(error))


def _policies(model: Spec | None, texts: tuple[str, ...]) -> dict[str, Any]:
    from specgen.cli.settings import parse, require, settable

    settings = [parse(text) for text in texts]
    if model is not None:
        if model.kind != "kernel":
            fail(f"{model.name.text} is a motif: it runs inside of the kernels that apply it")
        for setting in settings:
            if setting.spec not in (None, model.name.text):
                fail(f"{setting}: the spec of this call is named {model.name.text}")
            require(setting, settable(model))
    return {setting.policy: setting.value for setting in settings}


def argument_values(manifest: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    """The values of `--arg` options; ends with status 2 for what is no argument."""
    return {name: _value(manifest, name, text) for name, text in _pairs("--arg", texts)}


def _pairs(option: str, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    result = []
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name or not value:
            fail(f"{option} {text}: not of the form NAME=VALUE")
        result.append((name, value))
    return result


def _value(manifest: Any, name: str, text: str) -> Any:
    """A number for a scalar, an array from a .npy file for a buffer."""
    import numpy as np

    from specgen.devices.arrays import stored

    rows = {row["name"]: row for row in manifest["args"]}
    if name not in rows:
        fail(f"--arg {name}: no such argument", f"arguments: {', '.join(rows)}")
    if rows[name]["kind"] == "buffer":
        if not text.endswith(".npy"):
            fail(f"--arg {name}: a buffer's contents come from a .npy file")
        try:
            return stored(rows[name], np.load(text, allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            fail(f"--arg {name}: cannot read {text}: {error}")
    return scalar_value(name, rows[name]["type"], text)


def scalar_value(name: str, kind: str, text: str) -> int | float:
    """A scalar argument; ends with status 2 for what is no number of its type, and for a whole number (written without
    a point or exponent) that it does not hold exactly."""
    whole = kind not in ("f16", "bf16", "f32", "f64")
    if kind == "bool" and text in ("true", "false"):
        return int(text == "true")
    try:
        number = int(text, 0)
    except ValueError:
        if whole:
            fail(f"--arg {name}={text}: not an integer", f"the argument's type is {kind}")
    else:
        if not _holds(kind, number):
            fail(f"--arg {name}={text}: not a number that {kind} holds")
        return number
    try:
        return float(text)
    except ValueError:
        fail(f"--arg {name}={text}: not a number", f"the argument's type is {kind}")


def _holds(kind: str, number: int) -> bool:
    """Whether a type holds a whole number exactly."""
    import numpy as np

    from specgen.checks.dtypes import TYPES

    if kind == "bool":
        return number in (0, 1)
    type_ = TYPES[kind]
    if not type_.is_float:
        ends = np.iinfo(type_.dtype)
        return int(ends.min) <= number <= int(ends.max)
    try:
        with np.errstate(over="ignore"):
            rounded = float(np.asarray(float(number), type_.dtype))
    except OverflowError:
        return False
    return rounded == number


def _check_sinks(manifest: Any, sinks: dict[str, str]) -> None:
    written = [row["name"] for row in manifest["args"] if row["kind"] == "buffer" and row["access"] != "read"]
    for name, file in sinks.items():
        if name not in written:
            fail(f"--out {name}: not a written buffer", f"written buffers: {', '.join(written)}")
        if not file.endswith(".npy"):
            fail(f"--out {name}={file}: the file's name must end in .npy")


def plain(array: Any) -> list[Any]:
    """Elements as JSON numbers; what JSON has no number for as the words nan, inf and -inf."""
    values = array.tolist() if array.dtype.kind in "biu" else array.astype(float).tolist()
    return [v if v - v == 0 else str(v) for v in values]


def shaped(manifest: Any, name: str, args: dict[str, Any], array: Any) -> Any:
    """A flat output in its declared shape; left flat where its memory order or its size differs."""
    from math import prod

    from specgen.manifest import shape

    row = next(r for r in manifest["args"] if r["name"] == name)
    extents = shape(manifest, name, args)
    plain = row["order"] == sorted(row["order"]) and prod(extents) == array.size
    return array.reshape(extents) if plain else array


def save(path: Path, array: Any) -> None:
    """Write a .npy file whole: to a temporary name first. Types that numpy lacks are written as their bits."""
    import numpy as np

    if array.dtype.kind == "V":
        array = array.view(f"u{array.dtype.itemsize}")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".specgen-", suffix=".npy")
        with os.fdopen(handle, "wb") as out:
            np.save(out, array, allow_pickle=False)
        os.replace(name, path)
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}")
