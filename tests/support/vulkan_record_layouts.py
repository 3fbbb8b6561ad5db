"""Records what a C compiler makes of `vulkan_core.h`: sizes and offsets that the ctypes tables must have.

`python tests/support/vulkan_record_layouts.py INCLUDE_FOLDER` writes `tests/devices/vulkan/layouts.json`; needs gcc and
the headers (Debian: libvulkan-dev).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from specgen.devices.vulkan._gen import api

OUTPUT = Path(__file__).parent.parent / "devices" / "vulkan" / "layouts.json"


def structures() -> list[str]:
    """The names of the generated structures."""
    return sorted(name for name in vars(api) if name.startswith("Vk"))


def main(include: str) -> None:
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <vulkan/vulkan_core.h>", "int main(void) {"]
    for name in structures():
        lines.append(f'printf("{name} . %zu\\n", sizeof({name}));')
        for member, _ in getattr(api, name)._fields_:
            lines.append(f'printf("{name} {member} %zu\\n", offsetof({name}, {member}));')
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "layouts.c", Path(folder) / "layouts"
        source.write_text("\n".join(lines))
        subprocess.run(["gcc", f"-I{include}", "-o", str(program), str(source)], check=True)
        output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found: dict[str, dict[str, int]] = {}
    for line in output.splitlines():
        name, member, number = line.split()
        found.setdefault(name, {})["sizeof" if member == "." else member] = int(number)
    OUTPUT.write_text("{\n" + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
