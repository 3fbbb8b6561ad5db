"""Random operations on values: integers, floats, conversions, vectors, and `index` arithmetic within bounds."""

from __future__ import annotations

from random_ir.builder import FLOATS, INTEGERS, WIDTH, Builder, Value

EXACT = "fastmath = #arith.fastmath<none>"
FLOAT_BINARY = ("addf", "subf", "mulf", "minnumf", "maxnumf", "divf")
FLOAT_UNARY = ("absf", "ceil", "floor", "trunc", "roundeven", "sqrt")
INTEGER_BINARY = "addi subi muli andi ori xori minsi maxsi minui maxui".split()
INTEGER_UNARY = ("absi", "ctpop", "ctlz", "cttz")
DIVISIONS = (
    "arith.floordivsi arith.ceildivsi arith.ceildivui arith.divui arith.remui arith.remsi motif.floorremsi".split()
)
WIDENINGS = (("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64"))
LIMIT = 2**60
"""`index` values stay below: their arithmetic must not overflow."""


class Expressions(Builder):
    """Draws one operation at a time; results are in scope."""

    def expression(self) -> None:
        """Any operation."""
        r, lanes = self.random, self.pick_lanes()
        makers = [
            (16, lambda: self.comparison(lanes)),
            (14, self.index_operation),
            (16, lambda: self.conversion(lanes)),
            (12, self.vector_operation),
            (6, lambda: self.choice(lanes)),
            (16, lambda: self.float_operation(r.choice(FLOATS), lanes)),
            (20, lambda: self.integer_operation(r.choice(INTEGERS), lanes)),
        ]
        r.choices([m for _, m in makers], [w for w, _ in makers])[0]()

    def pick(self, element: str, lanes: int = 0) -> Value:
        """A value of a type: one in scope, one made of scalars, or a constant."""
        r, found = self.random, self.visible(element, lanes)
        if found and r.random() < 0.82:
            return r.choice(found[-12:] if r.random() < 0.7 else found)
        if element == "index":
            return self.pick_index()
        scalars = self.visible(element) if lanes else []
        if scalars and r.random() < 0.4:
            return self.op("vector.broadcast", [r.choice(scalars)], element, lanes)
        if scalars and r.random() < 0.7:
            return self.op("vector.from_elements", [r.choice(scalars) for _ in range(lanes)], element, lanes)
        return self.any_constant(element, lanes)

    # Integers and floats

    def integer_operation(self, element: str, lanes: int) -> Value:
        """Arithmetic, bits, shifts and divisions."""
        r, a = self.random, self.pick(element, lanes)
        form = r.choice(["binary", "binary", "unary", "shift", "division", "division"])
        if form == "unary":
            return self.op(f"math.{r.choice(INTEGER_UNARY)}", [a], element, lanes)
        if form == "shift":
            return self.op(
                f"arith.{r.choice(['shli', 'shrui', 'shrsi'])}", [a, self._amount(element, lanes)], element, lanes
            )
        if form == "division":
            return self.op(r.choice(DIVISIONS), [a, self._divisor(element, lanes)], element, lanes)
        b = self.pick(element, lanes) if r.random() < 0.7 else self.any_constant(element, lanes)
        sides = [a, b] if r.random() < 0.75 else [b, a]
        return self.op(f"arith.{r.choice(INTEGER_BINARY)}", sides, element, lanes)

    def _amount(self, element: str, lanes: int) -> Value:
        r, width = self.random, WIDTH[element]
        if r.random() < 0.5:
            return self.constant(element, r.choice([0, 1, width - 1, width // 2, r.randrange(width)]), lanes)
        return self.op(
            "arith.andi", [self.pick(element, lanes), self.constant(element, width - 1, lanes)], element, lanes
        )

    def _divisor(self, element: str, lanes: int) -> Value:
        r, top = self.random, 2 ** (WIDTH[element] - 1)
        if r.random() < 0.4:
            return self.op("arith.ori", [self.pick(element, lanes), self.constant(element, 1, lanes)], element, lanes)
        known = [1, -1, 2, -2, 3, -3, 5, 7, 10, 16, 64, -16, -top, top - 1, top // 2, r.randrange(1, top)]
        if lanes and r.random() < 0.5:
            return self.constant(element, [r.choice(known) for _ in range(lanes)], lanes)
        return self.constant(element, r.choice(known), lanes)

    def float_operation(self, element: str, lanes: int) -> Value:
        """Operations that every device rounds alike."""
        r, a = self.random, self.pick(element, lanes)
        form = r.choice([*FLOAT_BINARY, *FLOAT_UNARY, "negf", "fma"])
        if form in ("divf", "sqrt") and not self.options.division:
            form = "negf"
        if form == "negf":
            return self.op("arith.negf", [a], element, lanes, properties=EXACT)
        if form == "fma":
            return self.op(
                "math.fma", [a, self.pick(element, lanes), self.pick(element, lanes)], element, lanes, properties=EXACT
            )
        if form in FLOAT_UNARY:
            return self.op(f"math.{form}", [a], element, lanes, properties=EXACT)
        b = self.pick(element, lanes) if r.random() < 0.75 else self.any_constant(element, lanes)
        return self.op(f"arith.{form}", [a, b] if r.random() < 0.7 else [b, a], element, lanes, properties=EXACT)

    def comparison(self, lanes: int) -> Value:
        """Any predicate on any type."""
        r, element = self.random, self.random.choice([*INTEGERS, *FLOATS, "index"])
        if element == "index":
            known = self.index(r.choice([0, 1, -1, 5, 40, 2**31, 2**32, -(2**31)]))
            sides = [self.pick_index(), self.pick_index() if r.random() < 0.6 else known]
            return self.op("arith.cmpi", sides, "i1", properties=f"predicate = {r.randrange(10)} : i64")
        sides = [
            self.pick(element, lanes),
            self.pick(element, lanes) if r.random() < 0.6 else self.any_constant(element, lanes),
        ]
        if element in FLOATS:
            return self.op("arith.cmpf", sides, "i1", lanes, properties=f"predicate = {r.randrange(16)} : i64, {EXACT}")
        return self.op("arith.cmpi", sides, "i1", lanes, properties=f"predicate = {r.randrange(10)} : i64")

    def choice(self, lanes: int) -> Value:
        """`arith.select` with one condition or one for each element, or arithmetic of truth values."""
        r = self.random
        if r.random() < 0.4:
            sides = [self.pick("i1", lanes), self.pick("i1", lanes)]
            return self.op(f"arith.{r.choice(['andi', 'ori', 'xori'])}", sides, "i1", lanes)
        element = r.choice(["i1", self.pick_element()])
        condition = self.pick("i1", r.choice([0, lanes]))
        return self.op(
            "arith.select", [condition, self.pick(element, lanes), self.pick(element, lanes)], element, lanes
        )

    # Conversions

    def conversion(self, lanes: int) -> Value:
        """Between any two types."""
        r = self.random
        form = r.choice(["extend", "cut", "to float", "to integer", "widen", "narrow", "bits", "index", "index"])
        if form == "extend":
            source = r.choice(["i1", "i8", "i16", "i32"])
            target = r.choice([t for t in INTEGERS if WIDTH[t] > WIDTH[source]])
            return self.op(f"arith.{r.choice(['extsi', 'extui'])}", [self.pick(source, lanes)], target, lanes)
        if form == "cut":
            source = r.choice(["i16", "i32", "i64"])
            target = r.choice([t for t in ("i1", *INTEGERS) if WIDTH[t] < WIDTH[source]])
            return self.op("arith.trunci", [self.pick(source, lanes)], target, lanes)
        if form == "to float":
            source = self.pick(r.choice(["i1", *INTEGERS]), lanes)
            return self.op(f"arith.{r.choice(['sitofp', 'uitofp'])}", [source], r.choice(FLOATS), lanes)
        if form == "to integer":
            source = self.pick(r.choice(FLOATS), lanes)
            return self.op("motif.fptoi", [source], r.choice(INTEGERS), lanes, properties=r.choice(["signed", ""]))
        if form == "widen":
            source_type, target = r.choice(WIDENINGS)
            return self.op("arith.extf", [self.pick(source_type, lanes)], target, lanes)
        if form == "narrow":
            target, source_type = r.choice(WIDENINGS)
            zero = 'motif.rounding = "zero"' if r.random() < 0.4 else ""
            return self.op("arith.truncf", [self.pick(source_type, lanes)], target, lanes, attributes=zero)
        if form == "bits":
            return self._bits(r.choice(["f16", "bf16", "f32"]), lanes)
        return self.op("arith.index_cast", [self.pick_index()], r.choice(INTEGERS))

    def _bits(self, element: str, lanes: int) -> Value:
        """Bits of a number as an integer, or the reverse. A NaN has no promised bits, so there is none."""
        word = {"f16": "i16", "bf16": "i16", "f32": "i32"}[element]
        if self.random.random() < 0.5:
            return self.op("arith.bitcast", [self.pick(word, lanes)], element, lanes)
        x = self.pick(element, lanes)
        ordered = self.op("arith.cmpf", [x, x], "i1", lanes, properties=f"predicate = 7 : i64, {EXACT}")
        number = self.op("arith.select", [ordered, x, self.constant(element, 0.0, lanes)], element, lanes)
        return self.op("arith.bitcast", [number], word, lanes)

    # Vectors

    def vector_operation(self) -> Value:
        """Elements, their places, and bits of vectors of integers as other elements."""
        r, lanes = self.random, self.random.choice(self.options.sizes)
        element = r.choice(["i1", self.pick_element(), self.pick_element()])
        form = r.choice(["extract", "insert", "shuffle", "elements", "moving extract", "moving insert", "bitcast"])
        if form in ("extract", "insert"):
            operands = (
                [self.pick(element), self.pick(element, lanes)] if form == "insert" else [self.pick(element, lanes)]
            )
            place = f"static_position = array<i64: {r.randrange(lanes)}>"
            return self.op(f"vector.{form}", operands, element, lanes if form == "insert" else 0, properties=place)
        if form.startswith("moving"):
            place = self.within(self.pick_index(), lanes)
            dynamic = "static_position = array<i64: -9223372036854775808>"
            if form.endswith("extract"):
                return self.op("vector.extract", [self.pick(element, lanes), place], element, properties=dynamic)
            operands = [self.pick(element), self.pick(element, lanes), place]
            return self.op("vector.insert", operands, element, lanes, properties=dynamic)
        if form == "shuffle":
            other, result = r.choice(self.options.sizes), r.choice(self.options.sizes)
            mask = ", ".join(str(r.randrange(lanes + other)) for _ in range(result))
            sides = [self.pick(element, lanes), self.pick(element, other)]
            return self.op("vector.shuffle", sides, element, result, properties=f"mask = array<i64: {mask}>")
        if form == "elements":
            return self.op("vector.from_elements", [self.pick(element) for _ in range(lanes)], element, lanes)
        source = r.choice(INTEGERS)
        bits = WIDTH[source] * lanes
        fitting = [
            (t, bits // WIDTH[t]) for t in (*INTEGERS, "f16", "bf16", "f32") if bits % WIDTH[t] == 0 and t != source
        ]
        target, count = r.choice([(t, n) for t, n in fitting if n in self.options.sizes] or [("", 0)])
        return self.op("vector.bitcast", [self.pick(source, lanes)], target, count) if count else self.index_operation()

    # Index arithmetic

    def index_operation(self) -> Value:
        """An operation whose bounds are known and small enough, or its operand."""
        r, a = self.random, self.pick_index()
        form = r.choice(
            ["sum", "sum", "product", "quotient", "unsigned", "extreme", "shift", "choice", "bits", "count", "cast"]
        )
        if form == "sum":
            return self._sum(a)
        if form == "product":
            b = self.index(r.choice([2, 3, 4, 7, 12, -1, -3, 100, 65536])) if r.random() < 0.7 else self.pick_index()
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return self._bounded("arith.muli", [a, b], min(ends), max(ends), a)
        if form == "quotient":
            return self._quotient(a)
        if form == "unsigned" and a.low >= 0:
            n = r.choice([1, 2, 3, 5, 8, 64, 2**33])
            name, bounds = r.choice(
                [
                    ("divui", (a.low // n, a.high // n)),
                    ("remui", (0, min(a.high, n - 1))),
                    ("remsi", (0, min(a.high, n - 1))),
                    ("ceildivui", (-(-a.low // n), -(-a.high // n))),
                ]
            )
            return self.op(f"arith.{name}", [a, self.index(n)], "index", bounds=bounds)
        if form == "extreme":
            b = self.pick_index() if r.random() < 0.5 else self.index(r.choice([0, 1, 4, -3, 100, -(2**33)]))
            name, of = r.choice([("minsi", min), ("maxsi", max)])
            return self.op(f"arith.{name}", [a, b], "index", bounds=(of(a.low, b.low), of(a.high, b.high)))
        if form == "shift":
            left, n = r.random() < 0.4, r.choice([0, 1, 2, 5, 8, 31, 32, 40, 63])
            if not left:
                return self.op("arith.shrsi", [a, self.index(n)], "index", bounds=(a.low >> n, a.high >> n))
            return self._bounded("arith.shli", [a, self.index(n)], a.low << n, a.high << n, a)
        if form == "choice":
            b = self.pick_index()
            bounds = (min(a.low, b.low), max(a.high, b.high))
            return self.op("arith.select", [self.pick("i1"), a, b], "index", bounds=bounds)
        if form == "bits":
            return self.op(
                "arith.andi", [a, self.index(mask := r.choice([1, 3, 6, 15, 255]))], "index", bounds=(0, mask)
            )
        if form == "count":
            return self.op(f"math.{r.choice(['ctpop', 'ctlz', 'cttz'])}", [a], "index", bounds=(0, 64))
        element = r.choice(("i8", "i16", "i32"))
        top = 2 ** (WIDTH[element] - 1)
        return self.op("arith.index_cast", [self.pick(element)], "index", bounds=(-top, top - 1))

    def _bounded(self, name: str, operands: list[Value], low: int, high: int, otherwise: Value) -> Value:
        if low <= -LIMIT or high >= LIMIT:
            return otherwise
        return self.op(name, operands, "index", bounds=(low, high))

    def _sum(self, a: Value) -> Value:
        r = self.random
        b = (
            self.pick_index()
            if r.random() < 0.6
            else self.index(r.choice([1, 3, -1, 64, 1000, 2**31, 2**33, -(2**31)]))
        )
        if r.random() < 0.5:
            return self._bounded("arith.addi", [a, b], a.low + b.low, a.high + b.high, a)
        return self._bounded("arith.subi", [a, b], a.low - b.high, a.high - b.low, a)

    def _quotient(self, a: Value) -> Value:
        n = self.random.choice([1, 2, 3, 5, 8, 33, 64, -1, -2, -3, -8, 2**32, -(2**31), 2**33 + 1])
        form = self.random.choice(["floordivsi", "ceildivsi", "floorremsi"])
        if form == "floorremsi":
            return self.op("motif.floorremsi", [a, self.index(n)], "index", bounds=(min(0, n + 1), max(0, n - 1)))
        ends = [x // n if form == "floordivsi" else -(-x // n) for x in (a.low, a.high)]
        return self.op(f"arith.{form}", [a, self.index(n)], "index", bounds=(min(ends), max(ends)))

    def within(self, x: Value, count: int) -> Value:
        """An `index` in [0, count), made of another."""
        r = self.random
        if x.low >= 0 and x.high < count:
            return x
        form = r.random()
        if form < 0.2:
            mask = 2 ** (count.bit_length() - 1) - 1
            return self.op("arith.andi", [x, self.index(mask)], "index", bounds=(0, mask))
        if form < 0.7:
            name = "arith.remui" if x.low >= 0 and form < 0.4 else "motif.floorremsi"
            return self.op(name, [x, self.index(count)], "index", bounds=(0, count - 1))
        return self.clamped(x, 0, count - 1)

    def clamped(self, x: Value, low: int, high: int) -> Value:
        """The nearest `index` in [low, high]."""
        above = self.op("arith.maxsi", [x, self.index(low)], "index", bounds=(max(x.low, low), max(x.high, low)))
        return self.op("arith.minsi", [above, self.index(high)], "index", bounds=(low, high))
