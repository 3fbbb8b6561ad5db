"""`specgen trace SPEC`."""

from __future__ import annotations

import click

from specgen.cli.common import fail
from specgen.cli.run import argument_values, build_artifact

DEVICE = "amdgpu-emulator"


@click.command("trace")
@click.argument("spec")
@click.option("--target", default="gfx1151", show_default=True, metavar="T", help="Machine code of this target.")
@click.option("--entry", default="default", show_default=True, metavar="E", help="Entry point: a variant's name.")
@click.option("--set", "settings", multiple=True, metavar="POLICY=VALUE", help="Override a policy or choose a param.")
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE|FILE.npy", help="An argument.")
@click.option("--wave", type=click.IntRange(0), default=0, show_default=True, help="Which wave of the grid.")
@click.option("--limit", type=click.IntRange(1), default=10_000, show_default=True, help="Instructions at most.")
def command(
    spec: str,
    target: str,
    entry: str,
    settings: tuple[str, ...],
    arguments: tuple[str, ...],
    wave: int,
    limit: int,
) -> None:
    """Print the instructions that one wave executes on the emulator, with the registers that each wrote."""
    import itertools

    from specgen import devices
    from specgen.devices.amdgpu_emulator.device import EmulatedKernel
    from specgen.devices.base import DeviceError

    artifact = build_artifact(spec, DEVICE, target, settings)
    values = argument_values(artifact.manifest, arguments)
    device = devices.open(DEVICE)
    try:
        kernel = device.load(artifact.for_device(), artifact.symbol(entry))
        assert isinstance(kernel, EmulatedKernel)
        for text, registers in itertools.islice(kernel.trace(artifact.arrays(values), wave=wave), limit):
            click.echo(f"{text:<64} {'  '.join(f'{name}={_shown(v)}' for name, v in registers.items())}".rstrip())
    except DeviceError as error:
        fail(str(error))
    finally:
        device.close()


def _shown(value: int | list[int]) -> str:
    """A scalar register in hexadecimal; the lanes of a vector register, equal ones once."""
    if isinstance(value, int):
        return f"{value:#x}"
    if len(set(value)) == 1:
        return f"{value[0]:#x}"
    return "[" + " ".join(f"{lane:x}" for lane in value[:8]) + (" ...]" if len(value) > 8 else "]")
