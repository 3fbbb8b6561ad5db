"""The kept probe is what lowering makes, and artifacts run where there is no IR library."""

from __future__ import annotations

import subprocess
import sys

from specgen.devices.vulkan import probe


def test_kept_module_is_current() -> None:
    assert probe.module() == probe.lowered()


def test_suites_need_no_compiler() -> None:
    code = (
        "import sys, specgen.checks.suite, specgen.checks.bench, specgen.devices.vulkan.device\n"
        "from specgen.devices.vulkan import probe; probe.module()\n"
        "heavy = {'xdsl', 'llvmlite', 'yaml', 'jinja2', 'cerberus', 'click', 'rich', 'tinygrad'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
