"""The process in which LLVM runs: reads requests from its standard input, writes answers to its standard output.

LLVM aborts the process on what it cannot select, so it never runs in the caller's process. Started as
`python -m specgen.lowering.amdgpu.worker`; one message is a 4-byte length and msgpack.

Request: `{"ir": text without triple and layout, "cpu": name}`. Answer: `{"object", "asm", "llvm"}` or
`{"error": text}` for IR that does not parse or verify.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

TRIPLE = "amdgcn-amd-amdhsa"

FEATURES = {"gfx11": "-real-true16"}
"""Features by the start of a processor's name. LLVM 22 loses copies between halves of registers where it allocates
halves on their own: one vector of eight f16 in seven, put together from loads, had a wrong element."""


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


class Beside:
    """A forked copy of this process that makes texts while this one goes on; they are made here where there is none.

    Object and assembly are two runs of the same code generator, which take most of the time and cannot share it
    within one process: llvmlite lets one call in at a time. The copy is kept: forking one for each module would cost
    as much as a small module takes. A copy that dies costs time alone, and the next request gets a new one.
    """

    def __init__(self, make: Callable[[Any], str]) -> None:
        self._make = make
        self._copy: tuple[int, BinaryIO, BinaryIO] | None = None
        self._request: Any = None
        self._asked = False

    def begin(self, request: Any) -> None:
        """Ask for the text of a request (what msgpack can carry)."""
        self._request, self._asked = request, False
        processors = getattr(os, "sched_getaffinity", None)
        if processors is None or len(processors(0)) < 2:  # not Linux, or nobody to do it
            return
        if self._copy is None:
            self._copy = self._forked()
        with contextlib.suppress(BrokenPipeError):
            write_message(self._copy[1], request)
        self._asked = True

    def result(self) -> str:
        """The text of the request that was begun last."""
        if self._copy is None or not self._asked:
            return self._make(self._request)
        text = read_message(self._copy[2])
        if text is None:
            self._end()
            return self._make(self._request)
        return str(text)

    def _forked(self) -> tuple[int, BinaryIO, BinaryIO]:
        requests, ask = os.pipe()
        answer, answers = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                _die_with(parent)
                os.close(ask)
                os.close(answer)
                with os.fdopen(requests, "rb") as given, os.fdopen(answers, "wb") as made:
                    while (request := read_message(given)) is not None:
                        write_message(made, self._make(request))
                os._exit(0)
            finally:
                os._exit(1)
        os.close(requests)
        os.close(answers)
        return child, os.fdopen(ask, "wb"), os.fdopen(answer, "rb")

    def _end(self) -> None:
        assert self._copy is not None
        child, ask, answer = self._copy
        self._copy = None
        answer.close()
        with contextlib.suppress(BrokenPipeError):
            ask.close()
        os.waitpid(child, 0)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends: a caller that ran out of time kills only the parent."""
    import ctypes
    import signal

    set_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Generator:
    """LLVM's AMDGPU back end with one target machine a processor."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.llvm = llvm
        self.target = llvm.Target.from_triple(TRIPLE)
        self.machines: dict[str, Any] = {}
        self.beside = Beside(self.assembly)

    def machine(self, cpu: str) -> Any:
        """The target machine of a processor."""
        if cpu not in self.machines:
            features = next((text for start, text in FEATURES.items() if cpu.startswith(start)), "")
            self.machines[cpu] = self.target.create_target_machine(
                cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
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
        self.beside.begin((cpu, bitcode))
        code = machine.emit_object(llvm.parse_bitcode(bitcode))
        return {
            "object": code,
            "asm": self.beside.result(),
            "llvm": ".".join(map(str, llvm.llvm_version_info)),
        }

    def assembly(self, request: tuple[str, bytes]) -> str:
        """Assembly text of an optimised module: `(processor, bitcode)`."""
        cpu, bitcode = request
        return str(self.machine(cpu).emit_assembly(self.llvm.parse_bitcode(bitcode)))

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
