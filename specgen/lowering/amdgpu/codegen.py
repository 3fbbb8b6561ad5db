"""The caller's side of code generation: a worker process that is kept, timed, and replaced when it dies."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from specgen.lowering import LoweringError
from specgen.lowering.amdgpu import debug

TIME_LIMIT_SECONDS = 120.0
"""The most that one function may take; a 16-accumulator tile takes 0.2 s."""


_REASON = re.compile(r"error:|ERROR:|Assertion")
_INTRINSIC = re.compile(r"%(llvm\.[\w.]+)")


@dataclass(frozen=True)
class Compiled:
    """What LLVM made of one module: a relocatable object, assembly text, and LLVM's version."""

    object: bytes
    asm: str
    llvm: str


class CodegenError(LoweringError):
    """LLVM refused a module, died on it or took too long.

    `detail` is what LLVM wrote, `place` the spec's `file:line:column` where LLVM's message leads to it.
    """

    def __init__(self, message: str, detail: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.detail = detail
        self.place = place


class Worker:
    """One process of `specgen.lowering.amdgpu.worker`. Not for use by two threads at once."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        path = os.pathsep.join(p for p in sys.path if p)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "specgen.lowering.amdgpu.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": path},
        )

    def ask(self, requests: list[dict[str, str]], limit: float) -> list[dict[str, Any]]:
        """Answers in the order of the requests. Raises `CodegenError`; the worker is then unusable."""
        answers = []
        for request in requests:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            try:
                _send(self.process.stdin, request)
                answers.append(_receive(self.process.stdout, limit))
            except TimeoutError:
                self.close()
                text = f"code generation for {request['cpu']} took longer than {limit:g} s and was stopped"
                raise CodegenError(text, "") from None
            except (BrokenPipeError, EOFError):
                raise self._death(request) from None
        return answers

    def _death(self, request: dict[str, str]) -> CodegenError:
        cpu = request["cpu"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        status = self.process.returncode
        self.errors.seek(0)
        detail = self.errors.read().decode("utf-8", "replace")
        self.close()
        reason = next((line for line in detail.splitlines() if _REASON.search(line)), "no message")
        ending = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        intrinsic = _INTRINSIC.search(reason)
        place = debug.place_of_call(request["ir"], intrinsic[1]) if intrinsic else ""
        return CodegenError(f"LLVM died on a function for {cpu} ({ending}): {reason.strip()}", detail, place)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _send(stream: Any, value: dict[str, str]) -> None:
    from specgen.lowering.amdgpu.worker import write_message

    write_message(stream, value)


def _receive(stream: Any, limit: float) -> dict[str, Any]:
    from specgen.lowering.amdgpu.worker import read_message

    ready, _, _ = select.select([stream], [], [], limit)
    if not ready:
        raise TimeoutError
    answer = read_message(stream)
    if answer is None:
        raise EOFError
    return answer


_lock = threading.Lock()
_current: list[Worker | None] = [None]
_owner: list[int] = [0]


def warm() -> None:
    """Start the worker without waiting for it, so that it is ready by the time that IR is."""
    with _lock:
        _worker()


def _worker() -> Worker:
    """The live worker of this process; a fork does not share its parent's."""
    worker = _current[0]
    if worker is None or _owner[0] != os.getpid() or worker.process.poll() is not None:
        worker = _current[0] = Worker()
        _owner[0] = os.getpid()
    return worker


def compile_modules(requests: list[tuple[str, str]], limit: float = TIME_LIMIT_SECONDS) -> list[Compiled]:
    """Objects and assembly for `(LLVM IR, cpu)` pairs. Raises `CodegenError`."""
    with _lock:
        worker = _worker()
        try:
            answers = worker.ask([{"ir": ir, "cpu": cpu} for ir, cpu in requests], limit)
        except CodegenError:
            _current[0] = None
            raise
    for answer in answers:
        if "error" in answer:
            raise CodegenError(f"LLVM refused the generated IR: {answer['error'].strip()}", answer["error"])
    return [Compiled(a["object"], a["asm"], a["llvm"]) for a in answers]


def _shut_down() -> None:
    worker = _current[0]
    if worker is not None and _owner[0] == os.getpid():
        worker.close()


atexit.register(_shut_down)
