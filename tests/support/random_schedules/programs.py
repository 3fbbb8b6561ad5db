"""Random kernels: loops with schedules, staged views in them, conditionals that cut them, and mixtures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from random_schedules import faults
from random_schedules import meaning as m
from random_schedules.meaning import Buffer, E, Env, Index, Kernel, Statement, View
from random_schedules.scope import Expressions, Scope

SCALARS = {"n": (0, 6), "m": (0, 4), "b": (-4, 9)}


def indented(body: list[Statement], by: str = "  ") -> list[str]:
    """The lines of a block, deeper."""
    return [by + line for statement in body for line in statement.lines]


class Programs(Expressions):
    """Draws whole kernels; `planted` names a rule of `faults` that the kernel breaks."""

    def __init__(self, random: Random, planted: str | None = None) -> None:
        r = random
        element = r.choice(["f32", "f32", "i32"])
        items = r.choice([32, 64, 64, 64, 48, 96])
        self.wide = items == 64 and r.random() < 0.3
        narrow = {"f32": ["f32", "f16"], "i32": ["i32", "i8"]}[element]
        self.groups = r.choice([1, 1, 2])
        columns = r.choice([items, items, items + 8, 40, 72])
        align = r.choice([4, 16])
        buffers = [Buffer("x", element, (r.choice([24, 36]), columns), align=align)]
        buffers.append(
            Buffer("y", r.choice(narrow), (r.choice([20, 32]), r.choice([16, 48, items])), r.choice([0, 1, 1]))
        )
        buffers.append(Buffer("w", element, (self.groups, items), access="readwrite"))
        buffers.append(Buffer("ids", "i32", (16, 4), promised=(0, 19)))
        super().__init__(random, element, items, buffers)
        if self.wide:
            self.lane = replace(self.lane, text="lane + 32 * wave")
        self.planted = planted
        self.count = 0

    def fresh(self, prefix: str) -> str:
        """A name not used yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def kernel(self, name: str) -> Kernel:
        """A kernel without checks; what it leaves in `w` and `out` is its result."""
        scalars = [self._scalar(key) for key in ("n", "m", "b")]
        group = Index("group", lambda env: env["group"], 0, self.groups - 1)
        scope = Scope([scalars[0], scalars[1], group], ["total", "other"])
        body = [self._variable("total", self.literal()), self._variable("other", self.literal())]
        if self.planted is not None:
            body += faults.PLANTED[self.planted].make(self, scope)
        else:
            if self.chance(0.25):
                body += self._staged(scope)
            for _ in range(self.random.choice([1, 1, 2])):
                body += self._rounds(scope) if self.chance(0.1) else self._loop(scope)
            if self.chance(0.1):
                body += self._staged(scope)
        body.append(self.store("out", "total"))
        body.append(self.store("w", "other"))
        out = Buffer("out", self.element, (self.groups, self.items), access="write")
        buffers = [*self.buffers, out]
        text = self._document(name, body, buffers)
        used = [b for b in buffers if re.search(rf"\b{b.name}\[", text)]
        kept = {key: SCALARS[key] for key in SCALARS if re.search(rf"^  {key}: ", text, re.MULTILINE)}
        return Kernel(text, self.element, self.items, self.groups, used, kept, body, self.features, self.planted)

    def _document(self, name: str, body: list[Statement], buffers: list[Buffer]) -> str:
        text = "\n".join(line for statement in body for line in statement.lines)
        lines = ["spec: 1", "kind: kernel", f"name: {name}", "summary: Random.", "args:"]
        for key, (low, high) in SCALARS.items():
            if re.search(rf"\b{key}\b", text):
                lines.append(f"  {key}: {{type: index, range: [{low}, {high}]}}")
        for b in buffers:
            if re.search(rf"\b{b.name}\[", text):
                axes = f"r: {b.shape[0]}, c: {b.shape[1]}"
                fast = ", contiguous: r" if b.fast == 0 else ""
                access = "" if b.access == "read" else f", access: {b.access}"
                access += f", range: [{b.promised[0]}, {b.promised[1]}]" if b.promised else ""
                lines.append(f"  {b.name}: {{buffer: {b.element}, shape: {{{axes}}}{fast}, align: {b.align}{access}}}")
        if re.search(r"\bpool\[", text):
            lines += ["memory:", f"  pool: {{space: workgroup, type: {self.element}, shape: {{at: {self.items}}}}}"]
        sizes = "{lane: 32, wave: 2}" if self.wide else f"{{lane: {self.items}}}"
        lines += ["launch:", f"  workgroups: {{group: {self.groups}}}", f"  workgroup_size: {sizes}"]
        return "\n".join([*lines, "body:", text]) + "\n"

    def _scalar(self, name: str) -> Index:
        return Index(name, lambda env: env[name], *SCALARS[name])

    # --- plain statements --------------------------------------------------------------------------------------------

    def _variable(self, name: str, first: E) -> Statement:
        def act(env: Env) -> None:
            env[name] = first.value(env)

        return Statement([f'- var: {{{name}: "{first.text}"}}'], act)

    def let(self, name: str, value: E, schedule: str = "") -> Statement:
        """`let`, of an element or an index."""

        def act(env: Env) -> None:
            env[name] = value.value(env)

        lines = [f'- let: {{{name}: "{value.text}"}}']
        return Statement(lines + ([f"  schedule: {schedule}"] if schedule else []), act)

    def set(self, name: str, value: E) -> Statement:
        """`set` of one variable."""
        return Statement([f'- set: {{{name}: "{value.text}"}}'], lambda env: m.assign(env, name, value.value(env)))

    def store(self, buffer: str, name: str) -> Statement:
        """A work-item stores to its own place."""

        def act(env: Env) -> None:
            mask, held = env[m.MASK], env[m.BUFFERS][buffer]
            held[env["group"][mask], env["lane"][mask]] = env[name][mask]

        return Statement([f'- store: {{"{buffer}[group, {self.lane.text}]": {name}}}'], act)

    def accumulate(self, scope: Scope, *, reads: bool = True) -> Statement:
        """A variable goes on with a value."""
        name = self.random.choice(scope.settable)
        return self.set(name, self.update(name, self.value(scope, reads=reads)))

    def follow(self, scope: Scope, view: View | str) -> Statement:
        """A variable goes on with what a view or let holds."""
        name = self.random.choice(scope.settable)
        value = self.seen(scope, view) if isinstance(view, View) else E(view, lambda env: env[view])
        return self.set(name, self.update(name, value))

    # --- views -------------------------------------------------------------------------------------------------------

    def view(self, scope: Scope, buffer: Buffer, *, outside: bool) -> tuple[View, str, Callable[[Env], None]]:
        """A window on a buffer, its region as text, and what its statement does."""
        r = self.random
        single = r.choice([0, 0, 0, 1, None, None])
        sizes, parts, starts = [], [], []
        for axis, extent in enumerate(buffer.shape):
            size = 0 if axis == single else self._size(axis, extent, single)
            if size == extent and not outside:
                start, text = self.constant(0), ":"
            else:
                start = self.affine(scope) if outside else self.within(scope, extent, max(size, 1))
                text = f"{start.text}:+{size}" if size else start.text
            sizes.append(size)
            parts.append(text)
            starts.append(start)
        name = self.fresh("v")
        fill = self.random.choice([-7, 3]) if buffer.element in ("i32", "i8") else self.random.choice([0.5, -2.0])
        view = View(name, buffer, (sizes[0], sizes[1]), fill if outside else None)

        def act(env: Env) -> None:
            env[name] = [start.value(env) for start in starts]

        return view, f"{buffer.name}[{', '.join(parts)}]", act

    def _size(self, axis: int, extent: int, single: int | None) -> int:
        sizes = [s for s in (5, 8, 13, 16, 32, self.items, extent) if s <= extent]
        if single is None:
            sizes = [s for s in ((1, 2, 3, 4) if axis == 0 else (4, 8, 12, 16, 36, self.items)) if s <= extent]
        return self.random.choice(sizes)

    def placed(self, scope: Scope, buffers: int | None = None) -> str:
        """The `schedule` of a staged view."""
        r, parts = self.random, ["place: workgroup"]
        if buffers is None:
            buffers = r.choice([1, 2, 2, 3, 4]) if scope.counted and self.chance(0.6) else 1
        if buffers > 1 or self.chance(0.2):
            parts.append(f"buffers: {buffers}")
        if buffers > 1:
            self.features.add("rotation")
        if self.chance(0.4):
            parts.append(f"pad: {r.choice([1, 2, 4, 8])}")
        if self.chance(0.3):
            parts.append("swizzle: xor")
        return f"{{{', '.join(parts)}}}"

    def viewed(self, scope: Scope, *, staged: bool = True, buffers: int | None = None) -> Statement:
        """A `view` statement with one entry or two; they are in scope from here on."""
        outside = self.chance(0.3)
        readable = self.readable
        made = [self.view(scope, self.random.choice(readable), outside=outside)]
        if self.chance(0.25):
            made.append(
                self.view(scope, made[0][0].buffer if outside else self.random.choice(readable), outside=outside)
            )
        lines = ["- view:", *(f'    {view.name}: "{text}"' for view, text, _ in made)]
        if outside:
            lines.append(f"  outside: {made[0][0].outside}")
            made = [(View(v.name, v.buffer, v.sizes, made[0][0].outside), text, act) for v, text, act in made]
        if staged:
            lines.append(f"  schedule: {self.placed(scope, buffers)}")
            self.features |= {"staged"} | ({"outside"} if outside else set())
            self.features |= {"two views"} if len(made) > 1 else set()
        scope.views += [view for view, _, _ in made]

        def act(env: Env) -> None:
            for _, _, window in made:
                window(env)

        return Statement(lines, act)

    def _staged(self, scope: Scope) -> list[Statement]:
        """A view and what looks at it."""
        known = len(scope.views)
        body = [self.viewed(scope, staged=scope.uniform and self.chance(0.93))]
        body += [self.follow(scope, view) for view in scope.views[known:]]
        if self.chance(0.4):
            body.append(self.follow(scope, self.random.choice(scope.views)))
        if "staged" in self.features and not scope.loops:
            self.features.add("staged out of loops")
        return body

    def shared(self, scope: Scope, *, buffers: int | None = None) -> list[Statement]:
        """A view of a buffer that the kernel stores to."""
        name = self.random.choice(scope.settable)
        view = View(self.fresh("v"), self.buffers[2], (0, self.items), None)

        def act(env: Env) -> None:
            env[view.name] = [env["group"], self.constant(0).value(env)]

        self.features.add("staged readwrite")
        lines = ["- view:", f'    {view.name}: "w[group, :]"', f"  schedule: {self.placed(scope, buffers)}"]
        scope.views.append(view)
        return [self.store("w", name), Statement(lines, act), self.follow(scope, view)]

    # --- memory of the author ----------------------------------------------------------------------------------------

    def exchange(self, scope: Scope) -> list[Statement]:
        """Publish a value, meet with private work under way, and read another one's."""
        r, name = self.random, self.random.choice(scope.settable)
        form = r.choice(["complete", "split", "split", "auto", None])
        private = scope.inside(views=[])
        work = [self.accumulate(private, reads=False) for _ in range(r.randint(0, 2))]
        across = self.across(self.items)

        def publish(env: Env) -> None:
            mask = env[m.MASK]
            env[m.POOL][env["group"][mask], env["lane"][mask]] = env[name][mask]

        lines = ["- barrier: workgroup"]
        if work:
            lines += ["  overlap:", *indented(work)]
        if form is not None:
            lines.append(f"  schedule: {{form: {form}}}")
            self.features.add(f"barrier {form}")
        found = E(f"pool[{across.text}]", lambda env: env[m.POOL][env["group"], across.value(env)])
        kept = self.fresh("t")
        return [
            Statement([f'- store: {{"pool[{self.lane.text}]": {name}}}'], publish),
            Statement(lines, lambda env: m.block(work, env)),
            self.let(kept, found),
            Statement(["- barrier: workgroup"], lambda env: None),
            self.follow(scope, kept),
        ]

    def collective(self, scope: Scope) -> list[Statement]:
        """`workgroup.sum` of integers."""
        name = self.random.choice(scope.settable)
        value = self.value(scope.inside(views=[]), reads=False)
        self.features.add("collective")
        groups = self.groups
        made = E(f"workgroup.sum({value.text})", lambda env: m.meeting(env, value.value(env), groups))
        return [self.set(name, self.update(name, made))]

    # --- control -----------------------------------------------------------------------------------------------------

    def branch(self, condition: E, then: list[Statement], orelse: list[Statement], schedule: str = "") -> Statement:
        """`if`."""

        def act(env: Env) -> None:
            test, mask = condition.value(env), env[m.MASK]
            m.inner(then, env, mask & test)
            m.inner(orelse, env, mask & ~test)

        lines = [f'- if: "{condition.text}"', *([f"  schedule: {schedule}"] if schedule else [])]
        lines += ["  then:", *indented(then)]
        return Statement(lines + (["  else:", *indented(orelse)] if orelse else []), act)

    def counted(
        self, counter: Index, bounds: tuple[str, Index, Index, int], schedule: str, body: list[Statement]
    ) -> Statement:
        """`for`."""
        text, low, high, step = bounds

        def act(env: Env) -> None:
            first, end = int(low.value(env)[0]), high.value(env)
            for at in range(first, int(end.max()), step):
                mask = env[m.MASK] & (at < end)
                m.inner(body, env, mask, {counter.text: m.np.full_like(env["lane"], at)})

        lines = [f"- for: {counter.text}", f'  in: "{text}"', *([f"  schedule: {schedule}"] if schedule else [])]
        return Statement([*lines, "  do:", *indented(body)], act)

    def bounds(self, scope: Scope, *, exact: bool) -> tuple[str, Index, Index, int]:
        """What stands in `range`, both ends and the step; uniform over the workgroup."""
        r = self.random
        low, step = r.choice([0, 0, 0, 1, 2]), r.choice([1, 1, 1, 2, 3])
        n, count, group = scope.counters[:3]
        if exact:
            high = self.constant(r.choice([0, 1, 2, 3, 4, 5, 7]))
        else:
            shorter = Index("min(n, 4)", lambda env: n.value(env).clip(None, 4), 0, 4)
            more = self._combined(r.choice([group, scope.counters[-1]]), 1, r.randint(1, 2))
            high = r.choice([n, n, n, count, shorter, more])
        first = self.constant(low) if self.chance(0.85) or exact else count
        text = f"range({high.text})" if first.text == "0" and step == 1 else f"range({first.text}, {high.text}, {step})"
        return text.replace(", 1)", ")"), first, high, step

    def _policy(self, scope: Scope, *, exact: bool, depth: int) -> list[str]:
        r, parts = self.random, []
        if depth > 1 or self.chance(0.1):
            parts.append(f"pipeline: {depth}")
            self.features.add("pipeline")
        if scope.depth > 1 and exact and self.chance(0.8):
            # Copies of an inner loop stay in one that runs ahead only where the inner one is expanded.
            self.features.add("full")
            parts.append("unroll: full")
        elif self.chance(0.55):
            factor = r.choice([1, 2, 2, 3, 4, *(["full"] * 2 if exact else [])])
            parts.append(f"unroll: {factor}")
            self.features.add("full" if factor == "full" else "unroll")
            if self.chance(0.7):
                order = r.choice(["linear", "interleaved", "recurrence"])
                parts.append(f"order: {order}")
                self.features.add(order)
            if self.chance(0.4) and factor != "full":
                tail = r.choice(["guard", "cut"])
                parts.append(f"tail: {tail}")
                self.features.add(f"tail {tail}")
        return parts

    def _loop(self, scope: Scope) -> list[Statement]:
        """A loop whose body is a mixture of what this module draws."""
        r, nested = self.random, scope.loops > 0
        exact = self.chance(0.35 if scope.depth == 1 else 0.7)
        bounds = self.bounds(scope, exact=exact)
        depth = r.choice([1, 1, 2, 3, 4]) if not nested or self.chance(0.3) else 1
        name = self.fresh("i")
        counter = Index(name, lambda env: env[name], bounds[1].low, max(bounds[1].low, bounds[2].high - 1))
        head: list[Statement] = []
        settable = list(scope.settable)
        summary = None
        if scope.depth > 1 and self.chance(0.9):
            # What is read ahead of the loop around may not need what that carries.
            summary = self.fresh("s")
            head.append(self._variable(summary, self.literal()))
            settable = [summary]
        inside = scope.inside(
            counters=[*scope.counters, counter], settable=settable, counted=True, depth=max(depth, scope.depth),
            exact=(exact and scope.exact) if depth > 1 or scope.depth > 1 else scope.exact, loops=scope.loops + 1,
        )  # fmt: skip
        parts = self._policy(scope, exact=exact, depth=depth)
        body = self._body(inside, counter, bounds, parts)
        schedule = f"{{{', '.join(parts)}}}" if parts else ""
        self.features.add("fixed trips" if exact else "run-time trips")
        made = [*head, self.counted(counter, bounds, schedule, body)]
        if summary is not None:
            made.append(self.follow(scope, summary))
        return made

    def _body(self, scope: Scope, counter: Index, bounds: Any, parts: list[str]) -> list[Statement]:
        r = self.random
        ahead = scope.depth > 1
        kinds = ["staged"] * 5 + ["split"] * 4 + ["guard", "read", "early", "shared", "exchange", "collective"]
        kinds += ["loop"] * (2 if scope.loops < 2 else 0) + ["guarded view"] * 2 + ["paged"] * 2 + ["ragged"]
        if any(p.startswith("pipeline") for p in parts) and ahead:
            kinds += ["through"] * 2 + ["lead"]
        body: list[Statement] = []
        for kind in [r.choice(kinds) for _ in range(r.choice([1, 2, 2, 3]))]:
            body += self._member(kind, scope, counter, bounds, parts)
        if ahead and scope.loops == 1 and self.chance(0.8):
            body.append(self.set("total", self.update("total", self.read(scope))))
        return body

    def _member(self, kind: str, scope: Scope, counter: Index, bounds: Any, parts: list[str]) -> list[Statement]:
        ahead = scope.depth > 1
        if kind == "staged":
            self.features |= {"staged in a nest"} if scope.loops > 1 else set()
            self.features |= {"staged ahead"} if ahead else set()
            return self._staged(scope)
        if kind == "split":
            return self._split(scope, counter)
        if kind == "guard":
            condition = self.lane_condition(scope) if self.chance(0.5) else self.uniform_condition(scope)
            inner = scope.inside(counted=False)
            orelse = [self.accumulate(inner, reads=False)] if self.chance(0.4) else []
            self.features.add("guard")
            return [self.branch(condition, [self.accumulate(inner)], orelse)]
        if kind == "guarded view":
            inner, condition = scope.inside(counted=False), self.uniform_condition(scope)
            if self.chance(0.3):
                self.features.add("split under a guard")
                return [self.branch(condition, self._split(inner, counter), [])]
            self.features |= {"staged under a guard"} | ({"staged under a guard, ahead"} if ahead else set())
            return [self.branch(condition, self._staged(inner), [])]
        if kind == "paged":
            return self._paged(scope)
        if kind == "ragged":
            return self._ragged(scope)
        if kind == "early":
            name = self.fresh("t")
            self.features.add("early")
            return [self.let(name, self.read(scope), "{early: true}"), self.follow(scope, name)]
        if (
            kind == "shared"
            and not ahead
            and scope.uniform
            and all(view.buffer.access == "read" for view in scope.views)
        ):
            return self.shared(scope)
        if kind == "exchange" and scope.uniform and (not ahead or scope.exact):
            return self.exchange(scope)
        alike = self.element == "i32" and self.items == 64 and scope.uniform
        if kind == "collective" and alike and (not ahead or scope.exact):
            return self.collective(scope)
        if kind == "loop":
            return self._loop(scope)
        if kind == "through" and not any(p.startswith("through") for p in parts):
            return self._through(scope, parts)
        if kind == "lead" and not any(p.startswith("lead") for p in parts):
            return self.lead(scope, parts)
        return [self.accumulate(scope)]

    def _rounds(self, scope: Scope) -> list[Statement]:
        """A loop in a `while`."""
        left = self.fresh("left")
        body = self._loop(scope.inside(loops=1))
        rounds = scope.counters[1]
        self.features.add("while")

        def act(env: Env) -> None:
            for _ in range(int(rounds.value(env)[0])):
                m.inner(body, env, env[m.MASK])

        lines = [f"- var: {{{left}: {rounds.text}}}", f'- while: "{left} >= 1"', "  do:", *indented(body)]
        return [Statement([*lines, f'  - set: {{{left}: "{left} - 1"}}'], act)]

    def _paged(self, scope: Scope) -> list[Statement]:
        """A staged view whose place is read from a table."""
        name, ids = self.fresh("p"), self.buffers[3]
        at = self.within(scope, ids.shape[0]), self.within(scope, ids.shape[1])
        page = E(
            f"index(ids[{at[0].text}, {at[1].text}])",
            lambda env: m.element(env, ids, [i.value(env) for i in at]).astype(m.np.int64),
        )
        scope.counters.append(Index(name, lambda env: env[name], 0, 19, scope.uniform))
        self.features.add("paged")
        return [self.let(name, page), *self._staged(scope)]

    def _ragged(self, scope: Scope) -> list[Statement]:
        """A loop that lanes leave at different times; nothing in it meets."""
        name, end = self.fresh("i"), self.wrapped(self._combined(self.lane, 1, 1), 4)
        counter = Index(name, lambda env: env[name], 0, 2)
        summary = self.fresh("s")
        inside = scope.inside(
            counters=[*scope.counters, counter], settable=[summary], views=[], uniform=False, loops=scope.loops + 1
        )
        depth = self.random.choice([1, 1, 2, 3])
        parts = self._policy(scope.inside(depth=1), exact=False, depth=depth)
        body = [self.accumulate(inside), *(self._split(inside, counter) if self.chance(0.4) else [])]
        body.append(self.set(summary, self.update(summary, self.read(inside))))
        self.features.add("ragged")
        schedule = f"{{{', '.join(parts)}}}" if parts else ""
        bounds = (f"range({end.text})", self.constant(0), end, 1)
        head = self._variable(summary, self.literal())
        return [head, self.counted(counter, bounds, schedule, body), self.follow(scope, summary)]

    def _through(self, scope: Scope, parts: list[str]) -> list[Statement]:
        name = self.fresh("t")
        a, b = self.read(scope), self.read(scope)
        parts.append(f"through: {name}")
        self.features.add("through")
        value = E(f"{a.text} - {b.text}", lambda env: a.value(env) - b.value(env))
        return [self.let(name, value), self.follow(scope, name)]

    def lead(self, scope: Scope, parts: list[str]) -> list[Statement]:
        """A read whose row comes from another read."""
        parts.append(f"lead: {self.random.choice(['auto', 1, 2])}")
        self.features.add("lead")
        x = self.buffers[0]
        first, name = self.place(scope, x), self.fresh("t")
        row = Index(
            f"(index({first.text}) % {x.shape[0]})",
            lambda env: m.truncated(first.value(env)) % x.shape[0], 0, x.shape[0] - 1, uniform=False,
        )  # fmt: skip
        return [self.let(name, self.place(scope, x, row=row)), self.follow(scope, name)]

    def _split(self, scope: Scope, counter: Index) -> list[Statement]:
        n, count, group = scope.counters[:3]
        known = [self._scalar("b"), n, count, self.constant(self.random.randint(0, 6)), self._combined(group, 2, 1)]
        if not scope.uniform or self.chance(0.05):
            known.append(self.wrapped(self.lane, 5))
        condition = self.monotone(counter, known)
        self.features.add("split")
        branches = []
        for number in range(2):
            inner = scope.inside(counted=False)
            if scope.uniform and self.chance(0.4):
                self.features.add("staged under split")
                branches.append(self._staged(inner))
            elif number and self.chance(0.4):
                branches.append([])
            else:
                branches.append([self.accumulate(inner)])
        if scope.views:
            self.features.add("split behind a view")
        return [self.branch(condition, branches[0], branches[1], "{split: true}")]
