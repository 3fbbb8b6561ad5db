"""`specgen`: dispatches to the subcommand modules without importing those that are not asked for."""

from __future__ import annotations

import gc
import importlib
import os
import sys

import click

import specgen

COMMANDS = {
    "validate": "Check specs: load, type, bind and plan their schedules; needs no device.",
    "build": "Build artifacts, tests, benchmarks and reports.",
    "test": "Run the correctness suites of specs or built folders.",
    "bench": "Time the entry points of specs or built folders; correctness comes first.",
    "run": "Build a spec in memory and run it once.",
    "trace": "Print what one wave executes on the emulator.",
    "report": "Show compile reports.",
    "facts": "Print what is known of each value of a spec, and why.",
    "explain": "Explain a diagnostic code.",
    "schema": "Print the schema of the spec language.",
    "targets": "List the targets and their facts.",
    "devices": "List the execution devices and why some are absent.",
    "init": "Write a commented spec to start from.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use, so that `--version` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"specgen.cli.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from specgen.cli.common import fail, nearest

            fail(f"no command {name}", nearest(name, COMMANDS) or f"commands: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(specgen.__version__, prog_name="specgen")
def cli() -> None:
    """Declarative kernel specs, checked and lowered to AMDGPU code objects and SPIR-V."""


def main() -> None:
    """Entry point. Exit status: 0 clean, 1 findings or failing checks, 2 wrong call or tool failure."""
    # Imports make many objects that stay: with Python's 700 their collection is 3 % of a cold build.
    gc.set_threshold(50_000)
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("specgen: interrupted; nothing was left half-written", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output went away; keep Python from complaining while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except Exception as error:
        # Whatever gets here is a fault of the tool: one line for the user, the trace on request.
        if os.environ.get("SPECGEN_TRACEBACK"):
            raise
        click.echo(f"specgen: internal error: {type(error).__name__}: {error}", err=True)
        click.echo("  hint: set SPECGEN_TRACEBACK=1 to see where, and report it with the spec", err=True)
        sys.exit(2)
