"""Binding a whole spec: one pass over the body for each entry (default, serial, variants)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specgen.binding import arguments, collectives, knobs, launch, memories, motifs, selection, windows
from specgen.binding.asked import Answers, fits_registers
from specgen.binding.context import Context, Shared
from specgen.binding.evaluate import static
from specgen.binding.instance import Entry, Instance, Op, Operand, Param, PolicyValue, Region
from specgen.binding.loops import SCHEDULED, serial_schedule
from specgen.binding.statements import all_statements, block
from specgen.binding.values import Value, Word
from specgen.diagnostics import Diagnostic, Note, Span
from specgen.loading.walk import bodies, names_in
from specgen.manifest import symbol_of
from specgen.model import Barrier, BufferArg, Implementation, Knob, MemorySchedule, Spec, ViewStatement
from specgen.model import Name as Identifier

if TYPE_CHECKING:
    from specgen.targets import Target


@dataclass(frozen=True)
class Bound:
    """The result of `bind`: an instance when there is no error.

    `refused`: the errors are the target's, not the spec's (a `requires` line, or a fact that the target leaves open).
    `read_target_facts` and `answers` are all that is the target's in it.
    `unproven` are the single elements that are checked when the kernel runs.
    """

    instance: Instance | None
    diagnostics: tuple[Diagnostic, ...]
    read_target_facts: frozenset[str]
    refused: bool = False
    answers: Answers = field(default_factory=dict, repr=False)
    unproven: tuple[Diagnostic, ...] = field(default=(), repr=False)

    def holds(self, bound_for: Target, target: Target) -> bool:
        """Whether what was bound for one target is the binding of another, but for its subgroup size."""
        if any(getattr(bound_for, fact) != getattr(target, fact) for fact in self.read_target_facts):
            return False
        return all(question(target, *case) == answer for (question, case), answer in self.answers.items())

    @property
    def fingerprint(self) -> object:
        """Equal for two targets exactly when their entries are scheduled alike."""
        if self.instance is None:
            return None
        return self.instance.subgroup_size, self.instance.args, self.instance.entries


def bind(
    spec: Spec,
    target: Target,
    policies: Mapping[str, PolicyValue] | None = None,
    params: Mapping[str, PolicyValue] | None = None,
) -> Bound:
    """Bind a kernel for one target.

    `policies` are values for the default entry by name, or `INSTANCE.POLICY` for an application; `params` values of
    the kernel's params. Mistakes of the spec are in the diagnostics.
    """
    shared = Shared(target, policies=dict(policies or {}))
    binder = _Binder(spec, shared, dict(params or {}))
    instance = binder.run()
    if instance is not None and not shared.failed(spec) and _shares_memory(instance.entries[0]):
        from specgen.binding.races import races

        found_races = races(instance.entries[0], shared.fact("subgroup_size"))
        shared.diagnostics.update(dict.fromkeys(found_races))
    found = tuple(sorted(shared.diagnostics, key=lambda d: (d.span, d.code, d.message)))
    errors = [d for d in found if d.is_error]
    refused = bool(errors) and (shared.refused or all(d.code == knobs.REFUSED for d in errors))
    facts, notes = frozenset(shared.facts_read), tuple(dict.fromkeys(binder.notes))
    return Bound(None if errors else instance, found, facts, refused, shared.answers, notes)


def _shares_memory(entry: Entry) -> bool:
    return any(op.name == "memref.alloc" and op.results[0].type.endswith(", 3 : i32>") for op in entry.body.ops)


class _Refused(Exception):
    """The target or the point is refused; nothing more is said."""


class _Binder:
    def __init__(self, spec: Spec, shared: Shared, params: dict[str, PolicyValue]) -> None:
        self.spec, self.shared, self.params = spec, shared, params
        self.notes: list[Diagnostic] = []
        self.args: tuple[Param, ...] = ()
        self.param_values: dict[str, PolicyValue] = {}

    def run(self) -> Instance | None:
        spec = self.spec
        settings = {k: v for k, v in self.shared.policies.items() if "." not in k}
        try:
            default = self.entry("default", symbol_of(spec.name.text, "default"), settings, {})
        except _Refused:
            return None
        registers = self.registers(Context(spec, self.shared), default)
        self.check_used()
        variants = self.variants(settings)
        entries = [default]
        if default is not None:
            try:
                entries.append(self.serial(default, settings))
                entries += [self.variant(n, v, at) for n, v, at in variants]
            except _Refused:
                return None
        made = [e for e in entries if e is not None]
        if len(made) != len(variants) + 2:
            return None
        target = self.shared.target
        instance = Instance(
            name=spec.name.text,
            file=spec.source.name,
            target=target.name,
            subgroup_size=target.subgroup_size,
            math=spec.math,
            registers=registers,
            params=tuple(self.param_values.items()),
            args=self.args,
            entries=tuple(made),
            span=spec.span,
        )
        return instance.sharing({e.name for e in made})

    def registers(self, ctx: Context, default: Entry | None) -> int | None:
        if self.spec.registers is None or default is None:
            return None
        self.head(ctx, dict(default.policies), {})
        from specgen.binding.evaluate import integer

        policies = {policy.name.text for policy in self.spec.policies}
        followed = next((n for n in names_in(self.spec.registers.tree) if n.id in policies), None)
        if followed is not None:
            message = f"`registers` is one number for all entries; it cannot follow the policy `{followed.id}`."
            at = self.spec.registers.span_of(followed)
            ctx.report("SG-POLICY", message, at=at, hint="Use a param, a fact of the target, or a number.")
            return None

        number = integer(ctx, self.spec.registers, "`registers` is static")
        target = self.shared.target
        if number is not None and number < 1:
            ctx.report("SG-POLICY", f"`registers` is at least 1, not {number}.", at=self.spec.registers.span)
        elif number is not None and not self.shared.ask(fits_registers, number):
            most = self.shared.fact("max_registers")
            message = f"`registers` is {number}; a work-item of `{target.name}` has at most {most}."
            hint = "Lower it, or say under `requires` which targets the spec is for."
            ctx.report("SG-POLICY", message, at=self.spec.registers.span, hint=hint)
        return number

    # --- entries -----------------------------------------------------------------------------------------------

    def head(self, ctx: Context, values: Mapping[str, PolicyValue], at: Mapping[str, Span]) -> dict[str, PolicyValue]:
        """Params, policies and defines; the policies' values."""
        spec = self.spec
        ctx.all_words = frozenset(w for k in (*spec.params, *spec.policies) for w in knobs.choices_of(k))
        self.param_values = knobs.knobs(ctx, spec.params, "param", self.params, {})
        for name in sorted(set(self.params) - {p.name.text for p in spec.params}):
            self.unknown_setting(ctx, "SG-PARAM", "param", name, spec.params)
        policies = knobs.knobs(ctx, spec.policies, "policy", values, at)
        knobs.defines(ctx)
        return policies

    def entry(
        self, name: str, symbol: str, values: Mapping[str, PolicyValue], at: Mapping[str, Span], *, serial: bool = False
    ) -> Entry | None:
        """Bind the whole spec for one set of policy values."""
        spec = self.spec
        ctx = Context(spec, self.shared, serial=serial)
        policies = self.head(ctx, values, at)
        if name == "default":
            self.check_settings(ctx)
        if not knobs.requirements(ctx) or self.shared.refused:
            raise _Refused
        self.args = arguments.arguments(ctx)
        arguments.check_passed(ctx, self.args)
        windows.windows(ctx)
        found = launch.launch(ctx)
        if self.shared.refused:
            raise _Refused
        made = memories.memories(ctx)
        block(ctx, spec.body)
        memories.check_memory_read(ctx, made)
        self.check_access(ctx)
        collectives.solve(ctx)
        self.notes += ctx.notes
        if self.shared.refused:
            raise _Refused
        if found is None or len(self.args) != len(spec.args):
            return None
        with ctx.at_place(spec.span):
            ctx.emit("func.return", (), ())
        return Entry(
            name=name,
            symbol=symbol,
            policies=tuple(policies.items()),
            workgroup_size=found[0],
            workgroups=found[1],
            body=Region(_arguments(self.args), _operations(ctx)),
            carried=tuple(ctx.carried),
            selections=tuple(ctx.selections),
        )

    def serial(self, default: Entry, settings: Mapping[str, PolicyValue]) -> Entry | None:
        """The spec without its schedule; policies that only stand as a depth or factor show as 1, as a lead as 0."""
        symbol = symbol_of(self.spec.name.text, "serial")
        if _only_loops_are_scheduled(self.spec):
            made: Entry | None = replace(default, name="serial", symbol=symbol, body=_serial(default.body))
        else:
            made = self.entry("serial", symbol, settings, {}, serial=True)
        if made is None:
            return None
        only = self.shared.loop_policies - self.shared.used_elsewhere
        idle = {name: int(name not in self.shared.leads) for name in only}
        shown = tuple((k, idle[k] if k in idle and isinstance(v, int) else v) for k, v in default.policies)
        return replace(made, policies=shown)

    def variant(self, name: Identifier, values: Mapping[str, PolicyValue], at: Mapping[str, Span]) -> Entry | None:
        """Bind one variant; what is wrong only there says so."""
        self.shared.variant = Note(name.span, f"for the variant `{name.text}`")
        try:
            return self.entry(name.text, symbol_of(self.spec.name.text, name.text), values, at)
        finally:
            self.shared.variant = None

    def variants(
        self, settings: Mapping[str, PolicyValue]
    ) -> list[tuple[Identifier, dict[str, PolicyValue], dict[str, Span]]]:
        """The variants with their values (over the settings) and where those stand."""
        known: dict[str, Knob] = {p.name.text: p for p in self.spec.policies}
        result = []
        for variant in self.spec.variants:
            ctx = Context(self.spec, self.shared)
            knobs.knobs(ctx, self.spec.params, "param", self.params, {})
            if variant.name.text in ("serial", "default"):
                ctx.report(
                    "SG-POLICY",
                    f"`{variant.name.text}` is reserved.",
                    at=variant.name.span,
                    hint="Choose another name.",
                )
                continue
            values, at = dict(settings), {}
            for name, expr in variant.values:
                if name.text not in known:
                    near = difflib.get_close_matches(name.text, known, n=1)
                    hint = f"Nearest: `{near[0]}`." if near else None
                    ctx.report("SG-POLICY", f"no policy `{name.text}` here.", at=name.span, hint=hint)
                    continue
                found = static(ctx, expr, "a variant's values are static", knobs.choices_of(known[name.text]))
                if isinstance(found, (Value, Word)):
                    values[name.text] = knobs.plain(found)
                    at[name.text] = expr.span
            result.append((variant.name, values, at))
        return result

    # --- checks ------------------------------------------------------------------------------------------------

    def check_settings(self, ctx: Context) -> None:
        """Settings of a command line that name no policy."""
        for name in sorted(k for k in self.shared.policies if "." not in k):
            if name not in {p.name.text for p in self.spec.policies}:
                self.unknown_setting(ctx, "SG-POLICY", "policy", name, self.spec.policies)

    def unknown_setting(self, ctx: Context, code: str, what: str, name: str, known: tuple[Knob, ...]) -> None:
        near = difflib.get_close_matches(name, [k.name.text for k in known], n=1)
        hint = f"Nearest: `{near[0]}`." if near else None
        ctx.report(code, f"`{self.spec.name.text}` has no {what} `{name}`.", at=self.spec.name.span, hint=hint)

    def check_access(self, ctx: Context) -> None:
        """SG-ACCESS for a buffer declared `write` that is never stored (told when everything else could be bound)."""
        if self.shared.failed(self.spec):
            return
        from specgen.binding.values import Buffer

        for arg in self.spec.args:
            if not isinstance(arg, BufferArg) or arg.access == "read":
                continue
            found = ctx.scope.find(arg.name.text)
            if found is not None and isinstance(found.value, Buffer) and "store" not in found.value.touched:
                message = f"`{arg.name.text}` is never stored."
                ctx.report("SG-ACCESS", message, at=arg.name.span, hint="Add `store:` or remove the argument.")

    def check_used(self) -> None:
        """Policies and defines that nothing reads (told when everything else could be bound)."""
        ctx = Context(self.spec, self.shared)
        if self.shared.failed(self.spec):
            return
        own = {name for spec, name in self.shared.used if spec == id(self.spec)}
        for policy in self.spec.policies:
            if policy.name.text not in own:
                message = f"the policy `{policy.name.text}` is declared and never used."
                ctx.report("SG-POLICY", message, at=policy.name.span, hint="Use it, or remove it.")
        for define in self.spec.defines:
            if define.name.text not in own:
                message = f"`{define.name.text}` is defined and never used."
                ctx.report("SG-NAME", message, at=define.name.span, hint="Use it, or remove it.")
        for key in sorted(k for k in self.shared.policies if "." in k and k not in self.shared.settings_used):
            instance, _, setting = key.rpartition(".")
            message = f"no application `{instance}` with a policy `{setting}` in `{self.spec.name.text}`."
            ctx.report("SG-POLICY", message, at=self.spec.name.span)


def _arguments(args: tuple[Param, ...]) -> tuple[Operand, ...]:
    return tuple(Operand(a.name, a.ir_type) for a in args)


def _operations(ctx: Context) -> tuple[Op, ...]:
    """The entry block: ids that are used, extents, memory, then the body."""
    prologue, body = ctx.builder.prologue.ops, ctx.builder.blocks[-1].ops
    ids = {n.value.name: n.text for n in ctx.scope.visible() if n.kind == "id" and isinstance(n.value, Value)}
    kept = [op for op in prologue if op.results == () or ids.get(op.results[0].name, "") in ("", *ctx.scope.used)]
    return (*kept, *body)


def _only_loops_are_scheduled(spec: Spec) -> bool:
    """Whether `schedule:` stands on loops alone, so that the serial entry differs by their attributes."""
    plain = all(m.schedule == MemorySchedule() for m in spec.memory)
    inside = tuple(s for body in bodies(spec) for s in all_statements(body))
    views = any(isinstance(s, ViewStatement) and s.schedule is not None for s in inside)
    split = any(isinstance(s, Barrier) and (s.overlap is not None or s.form is not None) for s in inside)
    return plain and not views and not split and all(_only_loops_are_scheduled(used) for used in spec.used.values())


def _serial(region: Region) -> Region:
    """The same operations with every depth and factor 1."""
    ops = []
    for op in region.ops:
        if op.name == "motif.ahead":
            continue
        if op.regions:
            op = replace(op, regions=tuple(_serial(r) for r in op.regions))
            if op.name == "scf.for":
                op = replace(op, extra=serial_schedule(op.extra))
        if any(key in SCHEDULED for key, _ in op.extra):
            op = replace(op, extra=tuple((k, v) for k, v in op.extra if k not in SCHEDULED))
        ops.append(op)
    return replace(region, ops=tuple(ops))


def check_motif(spec: Spec) -> tuple[Diagnostic, ...]:
    """Type-check a motif by itself, each of its bodies, with a value of each kind for what its callers would give."""
    found: dict[Diagnostic, None] = {}
    if spec.body or not spec.implementations:
        found.update(_checked(spec, "gfx1151", None).diagnostics)
    for candidate in spec.implementations:
        made = [_checked(spec, name, candidate) for name in selection.sample_targets(candidate)]
        found.update(next((m for m in made if m.admitted), made[0]).diagnostics)
    return tuple(sorted(found, key=lambda d: (d.span, d.code, d.message)))


@dataclass(frozen=True)
class _Checked:
    """What is said of one body, and whether its static conditions admit the target that it was bound for."""

    diagnostics: dict[Diagnostic, None]
    admitted: bool


def _checked(spec: Spec, target_name: str, candidate: Implementation | None) -> _Checked:
    from specgen import targets

    target = targets.load(target_name)
    shared = Shared(target)
    ctx = Context(spec, shared)
    ctx.sizes = (("lane", target.subgroup_size or 32),)
    ctx.all_words = frozenset(w for k in (*spec.params, *spec.policies) for w in knobs.choices_of(k))
    given = {p.name.text: _sample(ctx, p) for p in spec.params if p.default is None}
    knobs.knobs(ctx, spec.params, "param", given, {})
    knobs.knobs(ctx, spec.policies, "policy", {}, {})
    knobs.defines(ctx)
    arguments.arguments(ctx)
    admitted = candidate is None or selection.assumed(ctx, candidate)
    motifs.body(ctx, spec.body if candidate is None else candidate.body)
    collectives.solve(ctx)
    return _Checked(shared.diagnostics, admitted)


def _sample(ctx: Context, entry: Knob) -> PolicyValue:
    """A value that an inferred param may have: its first choice, the middle of its range, or 4."""
    if entry.choices:
        words = knobs.choices_of(entry)
        if words:
            return words[0]
        found = static(ctx, entry.choices[0], "choices are static")
        return knobs.plain(found) if isinstance(found, (Value, Word)) else 4
    if entry.range is not None:
        ends = [static(ctx, e, "a range is static") for e in (entry.range.lo, entry.range.hi)]
        numbers = [e.static for e in ends if isinstance(e, Value) and isinstance(e.static, int)]
        if len(numbers) == 2:
            return min(max(4, numbers[0]), numbers[1])
    return 4
