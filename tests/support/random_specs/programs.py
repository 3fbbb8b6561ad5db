"""Random kernels: a spec as YAML text, and its meaning as a coroutine for each work-item.

A statement yields where work-items meet (barriers, collectives); `Kernel.run` steps a workgroup's work-items from one
meeting to the next. Nothing here shares code with specgen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from random_specs import values as v
from random_specs.expressions import Buffer, E, Env, Expressions, _fold

Flow = Iterator[tuple[str, Any]]
Action = Callable[[Env], "Iterator[tuple[str, Any]]"]
SUBGROUP = 32
DATA = ("f32", "f32", "f32", "i32", "i32", "f16", "bf16", "u8", "i16", "i64", "u64", "u16", "f64")


class Memory:
    """Buffers and workgroup memory as flat lists of scalars."""

    def __init__(self, buffers: dict[str, list[Any]]) -> None:
        self.buffers = buffers

    def read(self, name: str, position: int, env: Env) -> Any:
        """The element, from the workgroup's own memory where `name` is there."""
        place = env["@shared"].get(name, self.buffers.get(name))
        return place[position]

    def write(self, name: str, position: int, value: Any, env: Env) -> None:
        """Store the element."""
        place = env["@shared"].get(name, self.buffers.get(name))
        place[position] = value


@dataclass
class Statement:
    """Lines of YAML (a list item) and what the work-item does."""

    lines: list[str]
    act: Action


@dataclass
class Kernel:
    """A generated spec and how to run it."""

    text: str
    name: str
    scalars: dict[str, tuple[int, int]]
    inputs: list[Buffer]
    outputs: list[Buffer]
    shared: list[Buffer]
    items: int
    groups: int
    body: list[Statement]
    uses: set[str] = field(default_factory=set)
    depth: int = 1
    nested_or_guarded: bool = False

    def run(self, scalars: dict[str, int], inputs: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Contents of the outputs; elements that no work-item stored are None."""
        memory = Memory({**inputs, **{o.name: [None] * _count(o) for o in self.outputs}})
        for group in range(self.groups):
            shared = {m.name: [None] * _count(m) for m in self.shared}
            flows = []
            for item in range(self.items):
                env: Env = {"@memory": memory, "@shared": shared, "lane": item, "group": group, **scalars}
                flows.append(_block(self.body, env))
            _together(flows)
        return {o.name: memory.buffers[o.name] for o in self.outputs}


def _count(buffer: Buffer) -> int:
    total = 1
    for extent in buffer.shape:
        total *= extent
    return total


def _block(body: list[Statement], env: Env) -> Flow:
    for statement in body:
        yield from statement.act(env)


def _together(flows: list[Flow]) -> None:
    """Step all work-items of a workgroup from meeting to meeting."""
    answers: list[Any] = [None] * len(flows)
    while True:
        met = []
        for flow, answer in zip(flows, answers, strict=True):
            try:
                met.append(flow.send(answer))  # type: ignore[attr-defined]
            except StopIteration:
                met.append(None)
        if all(m is None for m in met):
            return
        kinds = {m[0] if m else None for m in met}
        assert len(kinds) == 1, f"work-items met at different places: {kinds}"
        answers = _meeting(kinds.pop(), [m[1] for m in met if m])


def _meeting(kind: str | None, given: list[Any]) -> list[Any]:
    assert kind is not None
    if kind == "barrier":
        return [None] * len(given)
    scope, operation, element = kind.split()
    combine = _combine(operation, element)
    groups = [given[i : i + SUBGROUP] for i in range(0, len(given), SUBGROUP)]
    partial = [_butterfly(group, combine) for group in groups]
    if scope == "subgroup":
        return [partial[i // SUBGROUP] for i in range(len(given))]
    return [_fold(combine, partial)] * len(given)


def _combine(operation: str, element: str) -> Callable[[Any, Any], Any]:
    if operation == "sum":
        return (lambda a, b: v.add(element, a, b)) if element in v.FLOATS else (lambda a, b: v.wrap(element, a + b))
    return {"max": v.upper, "min": v.lower, "any": lambda a, b: a or b, "all": lambda a, b: a and b}[operation]


def _butterfly(group: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    distance = 1
    while distance < len(group):
        group = [combine(group[i], group[i ^ distance]) for i in range(len(group))]
        distance *= 2
    return group[0]


class Programs(Expressions):
    """Draws whole kernels."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.counter = 0
        self.uses: set[str] = set()
        self.variables: list[dict[str, str]] = [{}]
        self.loops: list[str] = []
        self.open_loops = 0
        self.depth_used = 1
        self.guarded = False

    def fresh(self, prefix: str) -> str:
        """A name not used yet."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def kernel(self, name: str) -> Kernel:
        """A kernel whose checks are left to the caller."""
        r = self.random
        items, groups = r.choice([32, 32, 64]), r.choice([1, 1, 2])
        scalars = {"n": (0, r.choice([3, 6, 9])), "m": (0, 4)}
        self.names[0] |= {"n": "index", "m": "index", "lane": "index", "group": "index"}
        self.bounds |= {"lane": items, "group": groups, "n": scalars["n"][1] + 1, "m": 5}
        inputs = [self._input(f"in{k}", r.choice(DATA), items) for k in range(r.randint(1, 3))]
        self.buffers = list(inputs)
        outputs = [Buffer(f"out{k}", r.choice(DATA[:6]), (groups, items)) for k in range(r.randint(1, 2))]
        shared = [Buffer("pool", "f32", (items,))] if r.random() < 0.25 else []
        kinds = [inputs[0].element, *(r.choice(DATA[:6]) for _ in range(r.randint(0, 1)))]
        body = [self._variable(kind) for kind in kinds]
        if shared:
            body += self._exchange(shared[0], items)
        for _ in range(r.randint(0, 2)):
            body.append(self._statement(2))
        if r.random() < 0.8:
            body.append(self._for(2))
        body += self._collectives()
        body += [self._store(output) for output in outputs]
        depth, factor = self._policies()
        text = _document(name, scalars, inputs, outputs, shared, items, groups, body, depth, factor)
        kernel = Kernel(text, name, scalars, inputs, outputs, shared, items, groups, body, self.uses)
        kernel.depth = depth if self.loops else 1
        kernel.nested_or_guarded = self.guarded
        return kernel

    def _policies(self) -> tuple[int, int]:
        return self.random.choice([1, 2, 2, 3, 4]), self.random.choice([1, 1, 2, 3, 4])

    def _input(self, name: str, element: str, items: int) -> Buffer:
        r = self.random
        shape: tuple[int, ...] = (r.choice([7, 10, 12]), items)
        if element == "f32" and r.random() < 0.5:
            shape = (*shape, 4)
        return Buffer(name, element, shape)

    def _use(self, *expressions: E) -> None:
        for e in expressions:
            self.uses |= e.uses

    def _variable(self, kind: str) -> Statement:
        name = self.fresh("v")
        first = self.of(kind, 1)
        self._use(first)
        self.uses.add("var")
        self.names[-1][name] = kind
        self.variables[-1][name] = kind

        def act(env: Env) -> Flow:
            env[name] = first.value(env)
            return
            yield

        return Statement(["- var:", f'    {name}: "{first.text}"'], act)

    def _let(self) -> Statement:
        name = self.fresh("t")
        kind = self.random.choice([*DATA, "index", "bool", "f32x4"])
        value = self.vector(4, 2) if kind == "f32x4" else self.of(kind, 2)
        self._use(value)
        self.uses.add("let")
        self.names[-1][name] = kind

        def act(env: Env) -> Flow:
            env[name] = value.value(env)
            return
            yield

        return Statement(["- let:", f'    {name}: "{value.text}"'], act)

    def _settable(self) -> list[tuple[str, str]]:
        return [(n, k) for scope in self.variables for n, k in scope.items()]

    def _set(self) -> Statement:
        name, kind = self.random.choice(self._settable())
        value = self.of(kind, 1 if self.loops else 3)
        text = value.text
        compute = value.value
        if self.random.random() < 0.6 and kind in v.FLOATS:
            text = f"{name} + {value.text}"
            compute = lambda env: v.add(kind, env[name], value.value(env))  # noqa: E731
        self._use(value)
        self.uses.add("set")

        def act(env: Env) -> Flow:
            env[name] = compute(env)
            return
            yield

        return Statement(["- set:", f'    {name}: "{text}"'], act)

    def _accumulate(self) -> Statement:
        """`total = total + element`: what a read-ahead is for."""
        fitting = [(n, k, b) for n, k in self._settable() for b in self.buffers if b.element == k]
        if not fitting:
            return self._set()
        name, kind, buffer = self.random.choice(fitting)
        element = self.load(buffer)
        join = (lambda a, b: v.add(kind, a, b)) if kind in v.FLOATS else (lambda a, b: v.wrap(kind, a + b))
        self._use(element)
        self.uses |= {"set", "+"}

        def act(env: Env) -> Flow:
            env[name] = join(env[name], element.value(env))
            return
            yield

        return Statement(["- set:", f'    {name}: "{name} + {element.text}"'], act)

    def _statement(self, depth: int) -> Statement:
        makers: list[Callable[[], Statement]] = [self._let, self._set, self._set]
        if depth > 0:
            makers += [
                lambda: self._for(depth),
                lambda: self._for(depth),
                lambda: self._if(depth),
                lambda: self._while(depth),
            ]
        return self.random.choice(makers)()

    def _inner(self, depth: int, extra: dict[str, str] | None = None) -> list[Statement]:
        self.names.append(dict(extra or {}))
        self.variables.append({})
        r = self.random
        body = [self._let()] if r.random() < 0.4 else []
        if depth > 1 and self.loops and r.random() < 0.6:
            body.append(r.choice([self._if, self._for])(depth - 1))
        elif r.random() < 0.4:
            body.append(self._statement(depth - 1))
        body.append(self._accumulate() if self.loops and r.random() < 0.8 else self._set())
        self.names.pop()
        self.variables.pop()
        return body

    def _for(self, depth: int) -> Statement:
        r = self.random
        name = self.fresh("at")
        low, step = r.choice([0, 0, 0, 1, 2]), r.choice([1, 1, 1, 2])
        upper, bound = r.choice([("n", 9), ("m", 4), ("5", 5), ("3", 3), ("min(n, 4)", 4)])
        if upper == "n":
            bound = self.bounds["n"] - 1
        limits = {"n": lambda env: env["n"], "m": lambda env: env["m"], "min(n, 4)": lambda env: min(env["n"], 4)}
        limit = limits.get(upper, lambda env: bound)
        outer = not self.loops
        self.loops.append(name)
        self.guarded |= not outer
        self.bounds[name] = max(bound, 1)
        self.open_loops += 1
        before = len(self.loops)
        body = self._inner(depth, {name: "index"})
        self.open_loops -= 1
        parts = []
        # An inner loop that goes on with an outer total is legal to unroll around, not to read ahead of.
        if r.random() < (0.75 if len(self.loops) == before else 0.3):
            parts.append("pipeline: depth")
            lets = [s.lines[1].split(":")[0].strip() for s in body if s.lines[0] == "- let:" and "[" in s.lines[1]]
            if lets:
                parts.append(f"through: {lets[0]}")
                self.uses.add("through")
        if r.random() < 0.6:
            parts.append("unroll: factor")
            if r.random() < 0.7:
                parts.append(f"order: {r.choice(['linear', 'interleaved', 'recurrence'])}")
        self.uses |= {"for", *parts}
        span = f"range({upper})" if low == 0 and step == 1 else f"range({low}, {upper}, {step})"
        head = [f"- for: {name}", f'  in: "{span}"']
        if parts:
            head.append(f"  schedule: {{{', '.join(parts)}}}")

        def act(env: Env) -> Flow:
            for position in range(low, limit(env), step):
                inner = {**env, name: position}
                yield from _block(body, inner)
                env.update({k: inner[k] for k in env})

        return Statement([*head, "  do:", *_indented(body)], act)

    def _if(self, depth: int) -> Statement:
        condition = self._steady() if self.loops and self.random.random() < 0.85 else self._boolean(2)
        self.guarded |= bool(self.loops)
        then = self._inner(depth)
        orelse = self._inner(depth) if self.random.random() < (0.1 if self.open_loops else 0.4) else []
        self._use(condition)
        self.uses |= {"if"} | ({"else"} if orelse else set())

        def act(env: Env) -> Flow:
            inner = dict(env)
            yield from _block(then if condition.value(env) else orelse, inner)
            env.update({k: inner[k] for k in env})

        lines = [f'- if: "{condition.text}"', "  then:", *_indented(then)]
        if orelse:
            lines += ["  else:", *_indented(orelse)]
        return Statement(lines, act)

    def _steady(self) -> E:
        """A condition over counters, ids and arguments, which no loop carries."""
        names = [n for n in self.visible("index") if not n.startswith(("left", "t"))]
        a, b = self.random.choice(names), self.random.choice(names)
        return E(f"({a} + 1 < {b} + 3)", lambda env: env[a] + 1 < env[b] + 3, frozenset({"<", "+"}))

    def _while(self, depth: int) -> Statement:
        left = self.fresh("left")
        start = self.random.choice(["n", "m", "3"])
        self.uses |= {"while", "var"}
        self.names[-1][left] = "index"
        body = self._inner(1)
        step = self.random.choice([1, 2])

        def act(env: Env) -> Flow:
            env[left] = env[start] if start != "3" else 3
            while env[left] >= step:
                inner = dict(env)
                yield from _block(body, inner)
                env.update({k: inner[k] for k in env})
                env[left] -= step

        lines = ["- var:", f'    {left}: "{start}"', f'- while: "{left} >= {step}"', "  do:"]
        lines += [*_indented(body), "  - set:", f'      {left}: "{left} - {step}"']
        return Statement(lines, act)

    def _exchange(self, pool: Buffer, items: int) -> list[Statement]:
        """Publish a value in workgroup memory, meet, read a neighbour's."""
        value = self.of("f32", 1)
        name = self.fresh("t")
        self._use(value)
        self.uses |= {"memory", "barrier", "store"}

        def publish(env: Env) -> Flow:
            env["@memory"].write("pool", env["lane"], value.value(env), env)
            return
            yield

        def meet(env: Env) -> Flow:
            yield ("barrier", None)

        def fetch(env: Env) -> Flow:
            env[name] = env["@memory"].read("pool", items - 1 - env["lane"], env)
            return
            yield

        self.names[-1][name] = "f32"
        return [
            Statement(["- store:", f'    "pool[lane]": "{value.text}"'], publish),
            Statement(["- barrier: workgroup"], meet),
            Statement(["- let:", f'    {name}: "pool[{items - 1} - lane]"'], fetch),
        ]

    def _collectives(self) -> list[Statement]:
        if self.random.random() < 0.6:
            return []
        scope = self.random.choice(["subgroup", "workgroup"])
        element = self.random.choice(["f32", "i32", "bool"])
        operation = self.random.choice(["any", "all"] if element == "bool" else ["sum", "max", "min"])
        value = self.of(element, 1)
        name = self.fresh("t")
        self.names[-1][name] = element
        self._use(value)
        self.uses |= {f"{scope}.{operation}"}

        def act(env: Env) -> Flow:
            env[name] = yield (f"{scope} {operation} {element}", value.value(env))

        return [Statement(["- let:", f'    {name}: "{scope}.{operation}({value.text})"'], act)]

    def _store(self, output: Buffer) -> Statement:
        value = self.of(output.element, 2)
        candidates = [n for n, k in self._settable() if k == output.element]
        text, compute = value.text, value.value
        if candidates:
            chosen = self.random.choice(candidates)
            text, compute = chosen, (lambda env: env[chosen])
        else:
            self._use(value)
        self.uses.add("store")

        def act(env: Env) -> Flow:
            env["@memory"].write(output.name, env["group"] * output.shape[1] + env["lane"], compute(env), env)
            return
            yield

        return Statement(["- store:", f'    "{output.name}[group, lane]": "{text}"'], act)


def _indented(body: list[Statement]) -> list[str]:
    return ["  " + line for statement in body for line in statement.lines]


def _document(
    name: str,
    scalars: dict[str, tuple[int, int]],
    inputs: list[Buffer],
    outputs: list[Buffer],
    shared: list[Buffer],
    items: int,
    groups: int,
    body: list[Statement],
    depth: int,
    factor: int,
) -> str:
    lines = ["spec: 1", "kind: kernel", f"name: {name}", "summary: drawn at random", "args:"]
    lines += [f"  {n}: {{type: index, range: [{lo}, {hi}]}}" for n, (lo, hi) in scalars.items()]
    axes = ("row", "column", "part")
    for buffer in inputs:
        shape = ", ".join(f"{axis}: {extent}" for axis, extent in zip(axes, buffer.shape, strict=False))
        lines.append(f"  {buffer.name}: {{buffer: {buffer.element}, shape: {{{shape}}}}}")
    for buffer in outputs:
        shape = f"group_at: {groups}, item: {items}"
        lines.append(f"  {buffer.name}: {{buffer: {buffer.element}, shape: {{{shape}}}, access: write}}")
    if shared:
        lines += ["memory:", f"  pool: {{space: workgroup, type: f32, shape: {{item: {items}}}}}"]
    lines += ["launch:", f"  workgroups: {{group: {groups}}}", f"  workgroup_size: {{lane: {items}}}"]
    text = "\n".join(line for statement in body for line in statement.lines)
    policies = {"depth": depth, "factor": factor}
    used = {k: value for k, value in policies.items() if f": {k}" in text}
    if used:
        lines += ["policies:", *(f"  {k}: {{default: {value}, range: [1, 16]}}" for k, value in used.items())]
    return "\n".join([*lines, "body:", text]) + "\n"
