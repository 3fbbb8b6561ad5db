"""Text of one block function: local names of registers, constants, masked stores, and what was touched.

A block function runs a straight piece of code for a selection of waves. Registers are locals: views of the
state when the selection is everything or a slice, copies (written back at the end) when it is a list of waves.

Shapes: vector registers [waves, lanes] uint32, scalar registers [waves, 1] uint32 (`s5`) and uint64 (`q4` for
the pair s[4:5]), `ex` the EXEC mask as booleans, `m` either True (all lanes active) or `ex`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from specgen.devices.amdgpu_emulator.instruction import (
    ACCUMULATOR,
    EXEC,
    INLINE_FLOATS,
    LITERAL,
    VECTOR,
    Architecture,
    Instruction,
)
from specgen.devices.amdgpu_emulator.values import WIDTH, Value

SCALAR_COUNT: Final = 128
"""Scalar registers kept per wave, indexed by source code (SGPR, VCC, TTMP, M0, EXEC)."""

SHARED_APERTURE: Final = 0x1000_0000 << 32
PRIVATE_APERTURE: Final = 0x2000_0000 << 32
"""Flat addresses with these high halves mean workgroup memory and scratch (any distinct values would do)."""

_FLOAT_FORMAT: Final = {16: (np.float16, np.uint16), 32: (np.float32, np.uint32), 64: (np.float64, np.uint64)}


_PURE: Final = re.compile(r"(t\d+|scc) = (.*)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


class Unsupported(Exception):
    """An instruction that is not executed; the message is the reason."""


@dataclass
class Touched:
    """Registers that one instruction reads and writes: vector indices and scalar codes."""

    reads_v: set[int] = field(default_factory=set)
    writes_v: set[int] = field(default_factory=set)
    reads_s: set[int] = field(default_factory=set)
    writes_s: set[int] = field(default_factory=set)


def vector_index(code: int) -> int:
    """Index of a vector register in the register file; accumulation registers follow the 256 plain ones."""
    return code - VECTOR if code < ACCUMULATOR else code - ACCUMULATOR + 256


class Emitter:
    """Collects the lines of a block function and the registers that it uses."""

    def __init__(self, arch: Architecture, lanes: int) -> None:
        self.arch = arch
        self.lanes = lanes
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {}
        self.touched = Touched()
        self.index = 0
        self._vectors: dict[int, set[str]] = {}
        self._vector_writes: set[int] = set()
        self._scalars: set[int] = set()
        self._pairs: set[int] = set()
        self._flags: set[str] = set()

    # -- text ---------------------------------------------------------------------------------------------

    def emit(self, *lines: str) -> None:
        self.lines.extend(lines)

    def begin(self, index: int) -> None:
        """Start the instruction with this index in the kernel."""
        self.index = index
        self.touched = Touched()

    def site(self) -> str:
        """Text of the report site of the current instruction."""
        return f"({self.index}, ix)"

    def constant(self, value: Any, stem: str = "c") -> str:
        """A name for a Python object in the function's globals."""
        for name, known in self.globals.items():
            if known is value:
                return name
        name = f"{stem}_{len(self.globals)}"
        self.globals[name] = value
        return name

    def number(self, bits: int, kind: str) -> str:
        """A name for a [1, 1] array with these bits seen as `kind`."""
        storage = np.uint64 if WIDTH[kind] == 64 else np.uint16 if WIDTH[kind] == 16 else np.uint32
        name = f"k{bits:x}_{kind}"
        if name not in self.globals:
            array = np.full((1, 1), bits, storage)
            self.globals[name] = array.view(getattr(np, {"bf16": "uint16"}.get(kind, _numpy_name(kind))))
        return name

    @property
    def mask(self) -> str:
        """`m`; computed when the block starts and after every write of EXEC."""
        self._flags.add("exec")
        return "m"

    @property
    def exec_bits(self) -> str:
        """`ex`, always an array."""
        self._flags.add("exec")
        return "ex"

    # -- registers ----------------------------------------------------------------------------------------

    def vector(self, code: int, kind: str = "u32", write: bool = False) -> str:
        """The local of a vector register, seen as a 32-bit type."""
        if code < VECTOR:
            raise Unsupported(f"scalar register {code} where a vector register belongs")
        at = vector_index(code)
        (self.touched.writes_v if write else self.touched.reads_v).add(at)
        views = self._vectors.setdefault(at, set())
        if write:
            self._vector_writes.add(at)
        if kind == "u32":
            return f"v{at}"
        views.add(kind)
        return f"v{at}_{kind}"

    def scalar(self, code: int, write: bool = False) -> str:
        """The local of a 32-bit scalar register."""
        (self.touched.writes_s if write else self.touched.reads_s).add(code)
        self._scalars.add(code)
        return f"s{code}"

    def pair(self, code: int, write: bool = False) -> str:
        """The local of an aligned 64-bit pair of scalar registers."""
        if code % 2:
            raise Unsupported(f"unaligned pair of scalar registers at {code}")
        target = self.touched.writes_s if write else self.touched.reads_s
        target.update((code, code + 1))
        self._pairs.add(code)
        return f"q{code}"

    def lane_mask(self, code: int) -> str:
        """A lane-mask register as booleans [waves, lanes]."""
        if code == EXEC:
            return self.exec_bits
        if 128 <= code <= 208:
            return f"unpack({self.number(_small(code, self.lanes), 'u64' if self.lanes == 64 else 'u32')})"
        if code == self.arch.null:
            return f"unpack({self.number(0, 'u64' if self.lanes == 64 else 'u32')})"
        return f"unpack({self.pair(code) if self.lanes == 64 else self.scalar(code)})"

    def write_lane_mask(self, code: int, booleans: str, mask: str | None = None) -> None:
        """Store one bit a lane; inactive lanes give 0."""
        if code == self.arch.null:
            return
        mask = self.mask if mask is None else mask
        target = self.pair(code, write=True) if self.lanes == 64 else self.scalar(code, write=True)
        self.emit(f"{target}[...] = pack({booleans}, {mask})")
        if code in (EXEC, EXEC + 1):
            self.exec_changed()

    def exec_changed(self) -> None:
        """Recompute the mask from the EXEC registers."""
        self._flags.add("exec")
        source = f"q{EXEC}" if self.lanes == 64 else f"s{EXEC}"
        (self._pairs if self.lanes == 64 else self._scalars).add(EXEC)
        self.emit(f"ex = unpack({source})", "m = set_exec(st, ix, ex)")

    # -- operands -----------------------------------------------------------------------------------------

    def source(self, code: int, bits: int, inst: Instruction, number: str) -> Value:
        """A source operand as raw bits (`u32` or `u64`); `number` is the vendor's format, for inline constants."""
        if code >= VECTOR:
            return self._vector_source(code, bits)
        if code < 128 and code != self.arch.null:
            return self._scalar_source(code, bits)
        kind = "u64" if bits == 64 else "u32"
        if code == self.arch.null:
            return constant(0, kind)
        if 128 <= code <= 208:
            return constant(_small(code, bits), kind)
        if code in INLINE_FLOATS:
            return constant(_inline_float(code, bits, number), kind)
        if code == LITERAL:
            return constant(_literal(inst.literal or 0, bits, number), kind)
        if code == 253:
            return Value(f"{self.scc()}.astype({kind})", kind)
        if code in (235, 237):
            return constant(SHARED_APERTURE if code == 235 else PRIVATE_APERTURE, "u64")
        raise Unsupported(f"source operand {code}")

    def _vector_source(self, code: int, bits: int) -> Value:
        if bits == 64:
            return Value(f"join({self.vector(code)}, {self.vector(code + 1)})", "u64")
        return Value(self.vector(code), "u32")

    def _scalar_source(self, code: int, bits: int) -> Value:
        if bits == 64:
            return Value(self.pair(code), "u64")
        return Value(self.scalar(code), "u32")

    def typed(self, value: Value, kind: str) -> str | None:
        """The local for a plain register value seen as another 32-bit type, when there is one."""
        if value.type == "u32" and value.code[0] == "v" and value.code[1:].isdigit() and WIDTH[kind] == 32:
            return self._view(int(value.code[1:]), kind)
        return None

    def _view(self, at: int, kind: str) -> str:
        if kind == "u32":
            return f"v{at}"
        self._vectors.setdefault(at, set()).add(kind)
        return f"v{at}_{kind}"

    def scc(self) -> str:
        self._flags.add("scc")
        return "scc"

    def write_scc(self, code: str) -> None:
        self._flags.update(("scc", "scc_written"))
        self.emit(f"scc = {code}")

    # -- stores -------------------------------------------------------------------------------------------

    def store_scalar(self, code: int, bits: int, value: Value) -> None:
        """Write a scalar register (or pair); the null register swallows it."""
        if code == self.arch.null:
            return
        text = raw_bits(value, "u64" if bits == 64 else "u32")
        target = self.pair(code, write=True) if bits == 64 else self.scalar(code, write=True)
        self.emit(f"{target}[...] = {text}")
        if code in (EXEC, EXEC + 1):
            self.exec_changed()

    def store_vector(self, code: int, bits: int, value: Value, mask: str | None = None) -> None:
        """Write a 32- or 64-bit result to the active lanes of a vector register (or pair)."""
        mask = self.mask if mask is None else mask
        if bits == 64:
            self.emit(f"r = {raw_bits(value, 'u64')}")
            low, high = self.vector(code, write=True), self.vector(code + 1, write=True)
            self.emit(
                f"copyto({low}, r & M32, 'unsafe', where={mask})", f"copyto({high}, r >> N32, 'unsafe', where={mask})"
            )
            return
        if value.type in ("i32", "f32", "u32") and value.const is None:
            target = self.vector(code, value.type, write=True)
            if value.ufunc is not None:
                name, left, right = value.ufunc
                self.emit(f"{name}({left}, {right}, {target}, where={mask})")
            elif value.code != target:
                self.emit(f"copyto({target}, {value.code}, where={mask})")
            return
        self.emit(f"copyto({self.vector(code, write=True)}, {raw_bits(value, 'u32')}, where={mask})")

    def store_half(self, code: int, high: bool, value: Value, mask: str | None = None) -> None:
        """Write a 16-bit result to one half of a vector register, the other half stays."""
        mask = self.mask if mask is None else mask
        local = self.vector(code, write=True)
        self.emit(f"copyto({local}.view(u16)[:, {int(high)}::2], {raw_bits(value, 'u16')}, where={mask})")

    # -- the finished function ----------------------------------------------------------------------------

    def function(self, result: str | None) -> str:
        """Source of `block(st, ix)`; `result` is the branch condition [waves] that it returns."""
        head = ["def block(st, ix):"]
        tail = self._epilogue() + ([f"return {result}"] if result else ["return None"])
        lines = self._prologue() + without_dead(self.lines + tail)
        return "\n".join(head + ["    " + line for line in lines]) + "\n"

    @property
    def vectors(self) -> tuple[int, ...]:
        """Vector registers that the block touches."""
        return tuple(sorted(self._vectors))

    def _prologue(self) -> list[str]:
        direct, selected = [], []
        for at in sorted(self._vectors):
            direct.append(f"v{at} = V[{at}]")
            selected.append(f"v{at} = V[{at}][ix]")
            for kind in sorted(self._vectors[at]):
                direct.append(f"v{at}_{kind} = F[{at}]" if kind == "f32" else f"v{at}_{kind} = v{at}.view({kind})")
                selected.append(f"v{at}_{kind} = v{at}.view({kind})")
        for code in sorted(self._scalars):
            direct.append(f"s{code} = S[{code}]")
            selected.append(f"s{code} = G[:, {code}:{code + 1}]")
        for code in sorted(self._pairs):
            direct.append(f"q{code} = Q[{code}]")
            selected.append(f"q{code} = GQ[:, {code // 2}:{code // 2 + 1}]")
        if self._scalars or self._pairs:
            selected.insert(0, "G = st.scalars[ix]; GQ = G.view(u64)")
        lines = ["V = st.v; F = st.vf; S = st.s; Q = st.q"]
        if direct:
            lines += ["if ix is None: " + "; ".join(direct), "else: " + "; ".join(selected)]
        if "scc" in self._flags:
            lines.append("scc = st.scc if ix is None else st.scc[ix]")
        if "exec" in self._flags:
            lines.append("ex = st.x if ix is None else st.x[ix]")
            lines.append("m = True if st.full else (True if ex.all() else ex)")
        return lines

    def _epilogue(self) -> list[str]:
        lines = []
        if "scc_written" in self._flags:
            lines.append("if ix is None: st.scc[...] = scc")
            lines.append("else: st.scc[ix] = scc")
        back = [f"V[{at}][ix] = v{at}" for at in sorted(self._vector_writes)]
        if self._scalars or self._pairs:
            back.append("st.scalars[ix] = G")
        if back:
            lines.append("if type(ix) is ndarray: " + "; ".join(back))
        return lines


def without_dead(lines: list[str]) -> list[str]:
    """Lines without the temporaries and flags that nothing reads: most scalar flags are overwritten unread."""
    live: set[str] = set()
    kept = []
    for line in reversed(lines):
        match = _PURE.match(line)
        if match is not None:
            if match[1] not in live:
                continue
            live.discard(match[1])
        live.update(_NAME.findall(line if match is None else match[2]))
        kept.append(line)
    return kept[::-1]


def constant(bits: int, kind: str) -> Value:
    """Known bits as a value."""
    return Value(f"{kind}({bits})", kind, bits)


def raw_bits(value: Value, want: str) -> str:
    """Text of a value's bits as an unsigned word, wider or narrower as needed."""
    code, kind = value.code, value.type
    if value.const is not None:
        number = int(value.const) if not isinstance(value.const, float) else _float_bits(value.const, kind)
        return f"{want}({number & ((1 << WIDTH[want]) - 1)})"
    if kind in ("u1", "mask"):
        return f"{code}.astype({want})"
    if kind != "bf16" and kind[0] != "u":
        code = f"{code}.view(u{WIDTH[kind]})" if kind[0] == "f" or WIDTH[kind] == WIDTH[want] else code
        if kind[0] == "f":
            kind = f"u{WIDTH[kind]}"
    width = 16 if kind == "bf16" else WIDTH[kind]
    return code if width == WIDTH[want] else f"{code}.astype({want})"


def _float_bits(value: float, kind: str) -> int:
    float_type, int_type = _FLOAT_FORMAT[WIDTH[kind]]
    return int(np.asarray(value, float_type).view(int_type))


def _numpy_name(kind: str) -> str:
    return {"u": "uint", "i": "int", "f": "float"}[kind[0]] + kind[1:]


def _small(code: int, bits: int) -> int:
    value = code - 128 if code <= 192 else 192 - code
    return value & ((1 << max(bits, 32)) - 1)


def _inline_float(code: int, bits: int, number: str) -> int:
    """Bits of a floating inline constant: of the operand's own width, in the low half for packed ones."""
    if "bf16" in number:
        return int(np.float32(INLINE_FLOATS[code]).view(np.uint32)) >> 16
    width = 64 if bits == 64 and "pk2" not in number else 16 if "16" in number else 32
    return _float_bits(INLINE_FLOATS[code], f"f{width}")


def _literal(value: int, bits: int, number: str) -> int:
    if bits != 64:
        return value
    if number == "f64":
        return value << 32
    if number == "i64" and value >> 31:
        return value | 0xFFFFFFFF_00000000
    return value
