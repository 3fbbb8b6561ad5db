"""`--set [SPEC:][INSTANCE.]POLICY=VALUE`: read, and checked against the specs of the call before anything is built."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specgen.cli.common import fail, nearest
from specgen.stages import PolicyValue

if TYPE_CHECKING:
    from specgen.model import Knob, Spec

NAME = r"[A-Za-z_]\w*"
FORM = re.compile(rf"(?:(?P<spec>{NAME}):)?(?P<policy>{NAME}(?:\.{NAME})*)=(?P<value>.+)")


@dataclass(frozen=True)
class Setting:
    """One option: `spec` is None where it is meant for every spec that has the policy."""

    spec: str | None
    policy: str
    value: PolicyValue

    def __str__(self) -> str:
        return f"--set {self.spec}:{self.policy}" if self.spec else f"--set {self.policy}"


def parse(text: str) -> Setting:
    """The setting that `text` spells; ends with status 2 when it spells none."""
    match = FORM.fullmatch(text)
    if match is None:
        fail(f"--set {text}: not of the form [SPEC:][INSTANCE.]POLICY=VALUE", "for example --set depth=2")
    return Setting(match["spec"], match["policy"], parse_value(match["value"]))


def parse_value(text: str) -> PolicyValue:
    """A policy value of the command line: a boolean, a number or a word."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def policies_of(spec: Spec) -> Iterator[tuple[str, Knob]]:
    """The policies that a setting of this spec may name, those of applied motifs behind their instances' names."""
    from specgen.binding.statements import all_statements
    from specgen.loading.walk import bodies
    from specgen.model import Apply

    yield from ((policy.name.text, policy) for policy in spec.policies)
    for statement in all_statements(s for body in bodies(spec) for s in body):
        if isinstance(statement, Apply) and statement.motif.text in spec.used:
            for name, policy in policies_of(spec.used[statement.motif.text]):
                yield f"{statement.instance.text}.{name}", policy


def settable(spec: Spec) -> dict[str, Knob]:
    """What `--set` may name: params of the kernel, and policies."""
    return {**{param.name.text: param for param in spec.params}, **dict(policies_of(spec))}


def resolved(settings: Sequence[Setting], paths: Sequence[Path]) -> tuple[tuple[str, str, PolicyValue], ...]:
    """`(spec, policy, value)` of every setting for every spec that it concerns.

    Ends with status 2 for a spec that the call does not name, for a policy that no spec of the call has, and for a
    value outside of what is declared. Specs that cannot be read are left to the build, which says why.
    """
    if not settings:
        return ()
    from specgen.loading import load_spec
    from specgen.loading.discover import discover
    from specgen.loading.load import stem

    specs: dict[str, dict[str, Knob] | None] = {}
    for file in discover(paths).files:
        spec = load_spec(file.path, file.path.parent).spec
        specs[stem(file.path.name) or file.path.name] = None if spec is None else settable(spec)
    return tuple((name, s.policy, s.value) for s in settings for name in _concerned(s, specs))


def _concerned(setting: Setting, specs: Mapping[str, dict[str, Knob] | None]) -> list[str]:
    if setting.spec is not None and setting.spec not in specs:
        hint = nearest(setting.spec, specs)
        fail(f"{setting}: no spec of this call is named {setting.spec}", hint or f"specs: {', '.join(specs)}")
    fitting = []
    others: dict[str, Knob] = {}
    unread = False
    for name in [setting.spec] if setting.spec else specs:
        knobs = specs[name]
        unread |= knobs is None
        if knobs is not None and setting.policy in knobs:
            admit(setting, knobs[setting.policy])
            fitting.append(name)
        others |= knobs or {}
    if not fitting and not unread:
        require(setting, others)
    return fitting


def admit(setting: Setting, knob: Knob) -> None:
    """End with status 2 for a value that the declaration literally excludes; the binder judges what is computed."""
    from specgen.expressions import constant
    from specgen.loading.literals import bounds, choice_problem

    value = setting.value
    if isinstance(value, str):
        words = [choice.text for choice in knob.choices or ()]
        if knob.range is not None:
            fail(f"{setting}={value}: not a number", f"its range is {bounds(knob.range)}")
        if words and value not in words:
            fail(f"{setting}={value}: none of its choices", f"choices: {', '.join(words)}")
        return
    given = constant(value, knob.span)
    problem = choice_problem(knob, given)
    if problem is not None:
        fail(f"{setting}={given.text}: outside of what is declared", f"allowed: {', '.join(problem.allowed)}")


def require(setting: Setting, known: Mapping[str, Knob]) -> None:
    """End with status 2 unless the setting names one of `known`, with a value that it allows."""
    if setting.policy not in known:
        near = nearest(setting.policy, known)
        fail(f"{setting}: no such policy", near or f"policies: {', '.join(known) or 'none'}")
    admit(setting, known[setting.policy])
