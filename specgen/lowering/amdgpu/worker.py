"""The process in which LLVM runs: reads requests from its standard input, writes answers to its standard output.

LLVM aborts the process on what it cannot select, so it never runs in the caller's process. Started as
`python -m specgen.lowering.amdgpu.worker`; one message is a 4-byte length and msgpack.

Request: `{"ir": text without triple and layout, "cpu": name}`. Answer: `{"object", "asm", "llvm"}` or
`{"error": text}` for IR that does not parse or verify.
"""

from __future__ import annotations

import struct
import sys
from typing import Any, BinaryIO

TRIPLE = "amdgcn-amd-amdhsa"


def read_message(stream: BinaryIO) -> Any:
    """The next message, None at the end of the stream."""
    import msgpack

    head = stream.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack("<I", head)
    body = stream.read(length)
    return msgpack.unpackb(body) if len(body) == length else None


def write_message(stream: BinaryIO, value: Any) -> None:
    """Send one message."""
    import msgpack

    body = msgpack.packb(value)
    stream.write(struct.pack("<I", len(body)) + body)
    stream.flush()


class Generator:
    """LLVM's AMDGPU back end with one target machine a processor."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.llvm = llvm
        self.target = llvm.Target.from_triple(TRIPLE)
        self.machines: dict[str, Any] = {}

    def machine(self, cpu: str) -> Any:
        """The target machine of a processor."""
        if cpu not in self.machines:
            self.machines[cpu] = self.target.create_target_machine(
                cpu=cpu, features="", opt=3, reloc="pic", codemodel="default"
            )
        return self.machines[cpu]

    def compile(self, ir: str, cpu: str) -> dict[str, Any]:
        """Optimised object and assembly text. Each emission gets a module of its own, for codegen changes it."""
        llvm, machine = self.llvm, self.machine(cpu)
        head = f'target triple = "{TRIPLE}"\ntarget datalayout = "{machine.target_data}"\n'
        try:
            module = llvm.parse_assembly(head + ir)
            module.verify()
        except RuntimeError as error:
            return {"error": str(error)}
        self.optimise(module, machine)
        bitcode = module.as_bitcode()
        return {
            "object": machine.emit_object(llvm.parse_bitcode(bitcode)),
            "asm": machine.emit_assembly(llvm.parse_bitcode(bitcode)),
            "llvm": ".".join(map(str, llvm.llvm_version_info)),
        }

    def optimise(self, module: Any, machine: Any) -> None:
        """The O3 pipeline without what would unroll or vectorise: schedules are the spec's, not LLVM's."""
        options = self.llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_unrolling = False
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_interleaving = False
        builder = self.llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)


def main() -> None:
    """Serve until the input ends."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    generator = Generator()
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while (request := read_message(stdin)) is not None:
        write_message(stdout, generator.compile(request["ir"], request["cpu"]))


if __name__ == "__main__":
    main()
