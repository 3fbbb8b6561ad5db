"""Typed translation of pseudocode trees to numpy expressions. Conditionals become `where`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from specgen.devices.amdgpu_emulator import pseudocode as pc
from specgen.devices.amdgpu_emulator.pseudocode import Untranslatable
from specgen.devices.amdgpu_emulator.values import (
    FIXED_TYPE,
    SAME_TYPE,
    STATE,
    UFUNC,
    WIDTH,
    Result,
    Value,
    float_of_bits,
    fold,
    is_float,
    literal,
    normal_type,
    wrap,
)


class Translator:
    """Translates the body of one instruction. `read(name)` gives the value of an operand or state name."""

    def __init__(
        self,
        read: Callable[[str], Value | None],
        constants: Mapping[str, int | float | bool],
        d0: str,
        alias: Callable[[Value, str], str | None] = lambda value, kind: None,
        prefix: str = "t",
    ) -> None:
        """`d0` is the type that a destination without one has (`u32` or `u64`); `alias(value, kind)` may name a
        ready view of a value as another type; `prefix` starts the names of temporaries."""
        self._read = read
        self._constants = constants
        self._d0 = d0
        self._alias = alias
        self._prefix = prefix
        self._environment: dict[str, Value] = {}
        self._arrays: dict[str, str] = {}
        self._lambdas: dict[str, pc.Lambda] = {}
        self._lines: list[str] = []
        self._count = 0

    def run(self, body: tuple[pc.Statement, ...]) -> Result:
        self._block(body)
        outputs = {k: v for k, v in self._environment.items() if k in ("D0", "SCC", "EXEC", "VCC") or k[0] == "@"}
        return Result(self._lines, outputs)

    # -- helpers ------------------------------------------------------------------------------------------

    def _temporary(self, code: str) -> str:
        if code.isidentifier():
            return code
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self._lines.append(f"{name} = {code}")
        return name

    def convert(self, value: Value, kind: str) -> str:
        """Text of the value converted (not reinterpreted) to a type."""
        if value.const is not None:
            return literal(value.const, kind)
        if value.type == kind or (kind == "u1" and value.type == "mask"):
            return value.code
        if value.type == "mask":
            return f"{value.code}.astype({kind})"
        if kind == "u1":
            return f"({value.code} != 0)"
        if value.type == "bf16":
            return self.convert(Value(f"bf16_to_f32({value.code})", "f32"), kind)
        if kind == "bf16":
            return f"f32_to_bf16({self.convert(value, 'f32')})"
        if is_float(value.type) and not is_float(kind):
            return f"float_to_int({value.code}, {kind})"
        return f"{value.code}.astype({kind})"

    def bits(self, value: Value, name: str) -> Value:
        """The value's bits seen as another type."""
        if name in ("u24", "i24"):
            word = self.bits(value, "u32").code
            if name == "u24":
                return Value(f"({word} & u32(0xffffff))", "u32")
            return Value(f"(({word} << u32(8)).view(i32) >> i32(8))", "i32")
        kind = normal_type(name)
        if value.const is not None:
            if is_float(kind) and not isinstance(value.const, float):
                number = float_of_bits(int(value.const), kind)
                if number != number:  # keep the payload
                    return Value(f"u{WIDTH[kind]}({int(value.const)}).view({kind})", kind)
                return Value(literal(number, kind), kind)  # not folded: the format's rounding and ranges apply
            return Value(literal(value.const, kind), kind, wrap(value.const, kind))
        if value.type in (kind, "mask"):
            return value
        if value.type == "u1":
            return self.bits(Value(f"{value.code}.astype(u32)", "u32"), kind)
        if kind == "u1":
            return Value(f"(({value.code} & 1) != 0)", "u1")
        return self._reinterpret(value, kind)

    def _reinterpret(self, value: Value, kind: str) -> Value:
        if (ready := self._alias(value, kind)) is not None:
            return Value(ready, kind)
        have, want = WIDTH[value.type], WIDTH[kind]
        storage = "u16" if kind == "bf16" else kind
        code = value.code
        if have != want:
            if is_float(value.type) or value.type == "bf16":
                code = f"{code}.view(u{have})" if is_float(value.type) else code
            code = f"{code}.astype(u{want})" if kind[0] != "i" or value.type[0] != "i" else f"{code}.astype({kind})"
            if code.endswith(f".astype({storage})"):
                return Value(code, kind)
        return Value(f"{code}.view({storage})", kind)

    def _common(self, left: Value, right: Value) -> str:
        a, b = left.type, right.type
        if left.const is not None and right.const is not None:
            return "f64" if "f" in (a[0], b[0]) else "i64"
        if left.const is not None:
            left, right, a, b = right, left, b, a
        if right.const is not None:
            return ("f32" if is_float(b) else "u32") if a in ("u1", "mask") else a
        a, b = ("f32" if k == "bf16" else k for k in (a, b))
        if is_float(a) or is_float(b):
            return max((k for k in (a, b) if is_float(k)), key=lambda k: WIDTH[k])
        if a in ("u1", "mask") and b in ("u1", "mask"):
            return "u1"
        a, b = ("u32" if k == "mask" else k for k in (a, b))
        if WIDTH[a] != WIDTH[b]:
            return a if WIDTH[a] > WIDTH[b] else b
        return a if a[0] == "u" else b

    # -- expressions --------------------------------------------------------------------------------------

    def value(self, node: pc.Node) -> Value:
        """Translate an expression."""
        match node:
            case pc.Number(number, kind):
                return Value(literal(number, kind), kind, number)
            case pc.Name(name):
                return self._name(name)
            case pc.Cast(kind, operand):
                return self._cast(kind, self.value(operand))
            case pc.Binary(op, left, right):
                return self._binary(op, self.value(left), self.value(right))
            case pc.Unary(op, operand):
                return self._unary(op, self.value(operand))
            case pc.Choice(condition, yes, no):
                return self._choice(self.value(condition), yes, no)
            case pc.Field(operand, kind):
                return self._field(self.value(operand), kind)
            case pc.Slice(operand, high, low):
                return self._slice(self.value(operand), self.value(high), self.value(low))
            case pc.Index(operand, position):
                return self._index(operand, position)
            case pc.Concat(parts):
                return self._concat([self.value(part) for part in parts])
            case pc.Call(name, arguments):
                return self._call(name, arguments)
        raise Untranslatable(type(node).__name__)

    def _name(self, name: str) -> Value:
        if name in self._environment:
            return self._environment[name]
        if name in self._constants:
            const = self._constants[name]
            kind = "u1" if isinstance(const, bool) else "f64" if isinstance(const, float) else "i32"
            return Value(literal(const, kind), kind, const)
        found = self._read(name)
        if found is None:
            raise Untranslatable(f"name {name}")
        return found

    def _cast(self, kind: str, value: Value) -> Value:
        if value.const is not None:
            return Value(literal(value.const, kind), kind, float(value.const) if is_float(kind) else value.const)
        return Value(self.convert(value, kind), kind)

    def _field(self, value: Value, kind: str) -> Value:
        if value.const is not None and isinstance(value.const, float) and kind in WIDTH:
            return Value(literal(value.const, kind), kind, value.const)
        return self.bits(value, kind)

    def _unary(self, op: str, value: Value) -> Value:
        if value.const is not None:
            const = {"-": lambda x: -x, "~": lambda x: ~x, "!": lambda x: not x}[op](value.const)
            return Value(literal(const, value.type), value.type, const)
        if op == "!":
            return Value(f"(~{self.convert(value, 'u1')})", "u1")
        if value.type == "u1":
            value = Value(self.convert(value, "u32"), "u32") if op == "-" else value
        return Value(f"({op}{value.code})", value.type)

    def _binary(self, op: str, left: Value, right: Value) -> Value:
        if left.const is not None and right.const is not None:
            return self._fold(op, left, right)
        if op in ("&&", "||"):
            return self._logic(op, left, right)
        if op in ("<<", ">>"):
            kind = "u32" if left.type in ("u1", "mask", "u8") else left.type
            function = "shl" if op == "<<" else "shr"
            if right.const is not None and 0 <= int(right.const) < WIDTH[kind]:
                return Value(f"({self.convert(left, kind)} {op} {kind}({int(right.const)}))", kind)
            amount = self.convert(right, "u32")
            base = f"np.asarray({self.convert(left, kind)})" if left.const is not None else self.convert(left, kind)
            return Value(f"{function}({base}, {amount})", kind)
        if op == "**":
            return Value(f"ldexp(f64(1), {self.convert(right, 'i32')})", "f64")
        kind = self._common(left, right)
        if op in ("+", "-", "*") and kind in ("u8", "i8"):
            kind = kind[0] + "32"  # parts of words are added without a carry being lost
        if op in ("==", "!=", "<>", "<", ">", "<=", ">="):
            a, b = self.convert(left, kind), self.convert(right, kind)
            if op == "<>" and is_float(kind):  # less or greater: false for a NaN, unlike !=
                return Value(f"(({a} < {b}) | ({a} > {b}))", "u1")
            return Value(f"({a} {'!=' if op == '<>' else op} {b})", "u1")
        if kind == "u1" and op not in ("&", "|", "^"):
            kind = "u32"
        if op == "/" and not is_float(kind):
            return Value(f"idiv({self.convert(left, kind)}, {self.convert(right, kind)})", kind)
        a, b = self.convert(left, kind), self.convert(right, kind)
        ufunc = (UFUNC[op], a, b) if op in UFUNC else None
        return Value(f"({a} {op} {b})", kind, ufunc=ufunc)

    def _fold(self, op: str, left: Value, right: Value) -> Value:
        assert left.const is not None
        assert right.const is not None
        const = fold(op, left.const, right.const)
        floating = isinstance(left.const, float) or isinstance(right.const, float)
        kind = "u1" if isinstance(const, bool) else self._common(left, right) if floating else left.type
        return Value(literal(const, kind), kind, const)

    def _logic(self, op: str, left: Value, right: Value) -> Value:
        for one, other in ((left, right), (right, left)):
            if one.const is not None:
                neutral = bool(one.const) == (op == "&&")
                return other if neutral else Value(repr(bool(one.const)), "u1", bool(one.const))
        return Value(f"({self.convert(left, 'u1')} {op[0]} {self.convert(right, 'u1')})", "u1")

    def _choice(self, condition: Value, yes: pc.Node, no: pc.Node) -> Value:
        if condition.const is not None:
            return self.value(yes if condition.const else no)
        return self._where(self.convert(condition, "u1"), self.value(yes), self.value(no))

    def _where(self, condition: str, yes: Value, no: Value) -> Value:
        kind = self._common(yes, no)
        if yes.const is not None and no.const is not None:
            kinds = (yes.type, no.type)
            kind = "u1" if kinds == ("u1", "u1") else "f32" if "f" in (yes.type[0], no.type[0]) else "u32"
            kind = "i32" if kind == "u32" and min(yes.const, no.const) < 0 else kind
            kind = f"{kind[0]}64" if kind in ("u32", "i32") and "u64" in kinds else kind
        return Value(f"where({condition}, {self.convert(yes, kind)}, {self.convert(no, kind)})", kind)

    def _slice(self, value: Value, high: Value, low: Value) -> Value:
        if high.const is None or low.const is None:
            raise Untranslatable("slice with computed bounds")
        top, bottom = int(high.const), int(low.const)
        if bottom > top:
            return Value(f"reverse_bits({self.bits(value, 'u' + str(bottom + 1)).code})", f"u{bottom + 1}")
        width = top - bottom + 1
        if value.const is not None:
            const = (int(value.const) >> bottom) & ((1 << width) - 1)
            return Value(str(const), value.type, const)
        source = "u32" if value.type in ("u1", "mask") else f"u{WIDTH[value.type]}"
        code = self.bits(value, source).code
        if top >= WIDTH[source]:
            raise Untranslatable(f"bits {top}:{bottom} of {source}")
        kind = next(f"u{w}" for w in (8, 16, 32, 64) if width <= w)
        if bottom:
            code = f"({code} >> {source}({bottom}))"
        if width not in (8, 16, 32, 64):
            code = f"({code} & {source}({(1 << width) - 1}))"
        return Value(code if kind == source else f"{code}.astype({kind})", kind)

    def _index(self, operand: pc.Node, position: pc.Node) -> Value:
        if isinstance(operand, pc.Name) and operand.name in self._arrays:
            at = self.value(position)
            if at.const is None:
                raise Untranslatable("array with a computed index")
            return self._name(f"{operand.name}[{int(at.const)}]")
        if isinstance(position, pc.Name) and position.name == "laneId":
            return Value(self.value(operand).code, "mask")
        value, at = self.value(operand), self.value(position)
        if value.const is not None and at.const is not None:
            bit = bool(int(value.const) >> int(at.const) & 1)
            return Value(repr(bit), "u1", bit)
        source = self.bits(value, f"u{WIDTH[value.type]}" if value.const is None else "u32")
        return Value(f"(({self._binary('>>', source, at).code} & 1) != 0)", "u1")

    def _concat(self, parts: list[Value]) -> Value:
        if len(parts) != 2:
            raise Untranslatable("concatenation of more than two")
        width = WIDTH.get(parts[1].type, 0)
        if width not in (8, 16, 32):
            raise Untranslatable("concatenation of this width")
        high, low = (self.convert(self.bits(part, f"u{width}"), f"u{2 * width}") for part in parts)
        return Value(f"(({high} << u{2 * width}({width})) | {low})", f"u{2 * width}")

    def _call(self, name: str, arguments: tuple[pc.Node, ...]) -> Value:
        if name in self._lambdas:
            return self._inline(self._lambdas[name], arguments)
        values = [self.value(argument) for argument in arguments]
        if name == "fma":
            kind = next((v.type for v in values if v.const is None), "f32")
            kind = "f32" if kind == "bf16" else kind
            return Value(f"fma({', '.join(self.convert(v, kind) for v in values)})", kind)
        if name in SAME_TYPE:
            kind = next((v.type for v in values if v.const is None), values[0].type)
            return Value(f"{SAME_TYPE[name]}({', '.join(self.convert(v, kind) for v in values)})", kind)
        if name in FIXED_TYPE:
            function, kind = FIXED_TYPE[name]
            return Value(f"{function}({', '.join(v.code for v in values)})", kind)
        if name == "pow" and values[0].const == 2.0:
            return Value(f"exp2({values[1].code})", values[1].type)
        if name == "ldexp":
            return Value(f"ldexp({values[0].code}, {self.convert(values[1], 'i32')})", values[0].type)
        if name == "signext":
            signed = self.bits(values[0], f"i{WIDTH[values[0].type]}") if values[0].const is None else values[0]
            return signed if signed.const is not None else Value(f"{signed.code}.astype(i64)", "i64")
        if name == "signext_from_bit":
            return Value(f"sign_extend_from({values[0].code}, {self.convert(values[1], 'u32')})", values[0].type)
        if name == "division_fma":
            kind = values[1].type
            return Value(
                f"division_fma({self.convert(values[0], 'u1')}, {', '.join(v.code for v in values[1:])})", kind
            )
        return self._conversion(name, values)

    def _conversion(self, name: str, values: list[Value]) -> Value:
        source, found, target = name.removeprefix("v_cvt_").partition("_to_")
        if name.startswith("v_cvt_"):  # v_cvt_u16_f32 names the result first
            target, _, source = name.removeprefix("v_cvt_").partition("_")
            found = "_"
        if not found or source not in WIDTH or target not in WIDTH:
            raise Untranslatable(f"function {name}")
        return Value(self.convert(self.bits(values[0], source), target), target)

    def _inline(self, function: pc.Lambda, arguments: tuple[pc.Node, ...]) -> Value:
        saved = dict(self._environment)
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            value = self.value(argument)
            self._environment[parameter] = (
                value if value.const is not None else Value(self._temporary(value.code), value.type)
            )
        result = self.value(function.body)
        result = Value(self._temporary(result.code), result.type) if result.const is None else result
        self._environment = saved
        return result

    # -- statements ---------------------------------------------------------------------------------------

    def _block(self, body: tuple[pc.Statement, ...]) -> None:
        for statement in body:
            match statement:
                case pc.Assign(targets, op, value):
                    self._assign(targets, op, self.value(value))
                case pc.If(arms, otherwise):
                    self._if(arms, otherwise)
                case pc.For(variable, first, last, inner):
                    self._for(variable, self.value(first), self.value(last), inner)
                case pc.Declare(name, kind, count):
                    if count is not None:
                        self._arrays[name] = kind
                    else:
                        self._environment[name] = Value(literal(0, kind), kind, 0)
                case pc.Lambda(name, _, _):
                    self._lambdas[name] = statement

    def _for(self, variable: str, first: Value, last: Value, body: tuple[pc.Statement, ...]) -> None:
        if first.const is None or last.const is None:
            raise Untranslatable("loop with computed bounds")
        for number in range(int(first.const), int(last.const) + 1):
            self._environment[variable] = Value(f"i32({number})", "i32", number)
            self._block(body)

    def _if(
        self, arms: tuple[tuple[pc.Node, tuple[pc.Statement, ...]], ...], otherwise: tuple[pc.Statement, ...]
    ) -> None:
        if not arms:
            self._block(otherwise)
            return
        condition = self.value(arms[0][0])
        if condition.const is not None:
            if condition.const:
                self._block(arms[0][1])
            else:
                self._if(arms[1:], otherwise)
            return
        test = self._temporary(self.convert(condition, "u1"))
        before = dict(self._environment)
        self._block(arms[0][1])
        taken, self._environment = self._environment, before.copy()
        self._if(arms[1:], otherwise)
        self._merge(test, taken)

    def _merge(self, test: str, taken: dict[str, Value]) -> None:
        other = self._environment
        for name in sorted(taken.keys() | other.keys()):
            yes = taken.get(name) or self._before(name)
            no = other.get(name) or self._before(name)
            if yes is None or no is None:
                continue  # a local of one arm
            if yes != no:
                merged = self._where(test, yes, no)
                self._environment[name] = Value(self._temporary(merged.code), merged.type)

    def _before(self, name: str) -> Value | None:
        return self._read(name) if name in ("D0", "SCC", "EXEC", "VCC") else None

    def _assign(self, targets: tuple[pc.Node, ...], op: str, value: Value) -> None:
        for target in targets:
            self._assign_one(target, op, value)

    def _assign_one(self, target: pc.Node, op: str, value: Value) -> None:
        name, kind, bits, lanes = self._place(target)
        if name in STATE:
            raise Untranslatable(f"store to {name}")
        if op != "=":
            now = self._name(name)
            value = self._binary(op[0], self.bits(now, kind) if kind else now, value)
        if lanes:
            code = self.convert(value, "u1") if value.const is None else f"np.full((1, 1), {bool(value.const)})"
            self._environment["@" + name] = Value(self._temporary(code), "u1")
        elif bits is not None:
            self._insert(name, kind, bits, value)
        elif kind is None:
            keep = value.const is not None or (value.ufunc is not None and name == "D0")
            self._environment[name] = value if keep else Value(self._temporary(value.code), value.type)
        elif value.const is not None and name not in ("D0", "EXEC", "VCC"):
            self._environment[name] = Value(literal(value.const, kind), kind, value.const)
        else:
            code = self.convert(value, kind)
            # Only a result may stay unevaluated: it is stored before anything else changes.
            ufunc = value.ufunc if code == value.code and name == "D0" else None
            self._environment[name] = Value(code if ufunc else self._temporary(code), kind, ufunc=ufunc)

    def _place(self, target: pc.Node) -> tuple[str, str | None, tuple[int, int] | None, bool]:
        """Name, type, bit range and whether it is one bit a lane, of an assignment's left side."""
        kind: str | None = None
        bits: tuple[int, int] | None = None
        while not isinstance(target, pc.Name):
            match target:
                case pc.Field(operand, name):
                    kind = kind or normal_type(name)
                    target = operand
                case pc.Slice(operand, high, low):
                    top, bottom = self.value(high).const, self.value(low).const
                    if top is None or bottom is None or bits is not None:
                        raise Untranslatable("store to computed bits")
                    bits, target = (int(top), int(bottom)), operand
                    if bits[0] < bits[1]:
                        raise Untranslatable("store to reversed bits")
                case pc.Index(pc.Name(name), position) if name in self._arrays:
                    at = self.value(position).const
                    if at is None:
                        raise Untranslatable("array with a computed index")
                    target = pc.Name(f"{name}[{int(at)}]")
                    kind = kind or self._arrays[name]
                case pc.Index(operand, pc.Name("laneId")):
                    name, _, _, _ = self._place(operand)
                    return name, None, None, True
                case pc.Index(operand, position):
                    at = self.value(position).const
                    if at is None or bits is not None:
                        raise Untranslatable("store to a computed bit")
                    bits, target = (int(at), int(at)), operand
                case _:
                    raise Untranslatable("left side of an assignment")
        return target.name, kind, bits, False

    def _insert(self, name: str, kind: str | None, bits: tuple[int, int], value: Value) -> None:
        top, bottom = bits
        width = top - bottom + 1
        now = self._environment.get(name)
        if name == "D0" and now is None and width < int(self._d0[1:]):
            now = self._read("D0")
        whole = self._d0 if name == "D0" else "u64" if top > 31 or (now is not None and now.type == "u64") else "u32"
        now = now or Value(literal(0, whole), whole, 0)
        if width not in (1, 8, 16, 32, 64):
            raise Untranslatable(f"store to {width} bits")
        if kind is None or WIDTH.get(kind, 0) != width:
            kind = {1: "u1", 8: "u8", 16: "u16", 32: "u32", 64: "u64"}[width]
        raw = Value(self.convert(value, kind), kind) if value.const is None else Value("", kind, value.const)
        if raw.const is not None:
            raw = Value(f"np.asarray({literal(raw.const, kind)})", kind)
        part = self.bits(raw, "u32" if width == 1 else f"u{width}")
        wide = self.convert(part, whole)
        hole = ((1 << int(whole[1:])) - 1) & ~(((1 << width) - 1) << bottom)
        if now.const is not None:
            rest = literal(int(now.const) & hole, whole)
        else:
            rest = f"({self.bits(now, whole).code} & {whole}({hole}))"
        text = f"{rest} | ({wide} << {whole}({bottom}))" if bottom else f"{rest} | {wide}"
        self._environment[name] = Value(self._temporary(text), whole)
