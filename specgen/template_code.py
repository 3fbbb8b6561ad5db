"""Compiled templates, kept where Python keeps compiled modules and under the same terms.

Jinja takes some fifty milliseconds to compile the templates of a build. Nothing is kept where Python may not keep
bytecode of its own (`PYTHONDONTWRITEBYTECODE`, a folder that cannot be written), `PYTHONPYCACHEPREFIX` moves both, and
what is kept holds for one text of a template, one Python and one Jinja only: anything else is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache


class TemplateCode(BytecodeCache):
    """Bytecode of the templates of this package, a file each."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket from its file, if there is one that was made from the same text."""
        with contextlib.suppress(OSError), open(self._path(bucket), "rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the bucket's file, whole or not at all."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    bucket.write_bytecode(file)
                os.replace(name, path)
            except BaseException:
                os.unlink(name)
                raise

    @staticmethod
    def _path(bucket: Bucket) -> Path:
        """Beside the bytecode of this module, by what the compiled template depends on besides its text."""
        python = Path(importlib.util.cache_from_source(__file__))
        made_by = (sys.version, jinja2.__version__, bucket.key, _settings(bucket.environment))
        return python.with_name(f"template.{hashlib.sha256(repr(made_by).encode()).hexdigest()[:32]}.jinja")


def _settings(environment: jinja2.Environment) -> tuple[object, ...]:
    """What of an environment goes into compiled code."""
    marks = ("block_start_string", "variable_start_string", "comment_start_string", "line_statement_prefix")
    switches = ("trim_blocks", "lstrip_blocks", "keep_trailing_newline", "newline_sequence", "autoescape", "optimized")
    values = [repr(getattr(environment, name)) for name in (*marks, *switches)]
    return type(environment).__qualname__, environment.undefined.__qualname__, *environment.extensions, *values
