"""`--set [SPEC:][INSTANCE.]POLICY=VALUE`: read, and checked against the specs of the call before anything is built."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specgen.cli.common import fail, nearest
from specgen.stages import PolicyValue

if TYPE_CHECKING:
    from specgen.model import Spec

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


def policy_names(spec: Spec) -> Iterator[str]:
    """The policies that a setting of this spec may name, those of applied motifs behind their instances' names."""
    from specgen.binding.statements import all_statements
    from specgen.loading.walk import bodies
    from specgen.model import Apply

    yield from (policy.name.text for policy in spec.policies)
    for statement in all_statements(s for body in bodies(spec) for s in body):
        if isinstance(statement, Apply) and statement.motif.text in spec.used:
            for name in policy_names(spec.used[statement.motif.text]):
                yield f"{statement.instance.text}.{name}"


def setting_names(spec: Spec) -> Iterator[str]:
    """What `--set` may name: params of the kernel, and policies."""
    yield from (param.name.text for param in spec.params)
    yield from policy_names(spec)


def resolved(settings: Sequence[Setting], paths: Sequence[Path]) -> tuple[tuple[str, str, PolicyValue], ...]:
    """`(spec, policy, value)` of every setting for every spec that it concerns.

    Ends with status 2 for a spec that the call does not name and for a policy that no spec of the call has. Specs
    that cannot be read are left to the build, which says why.
    """
    if not settings:
        return ()
    from specgen.loading import load_spec
    from specgen.loading.discover import discover
    from specgen.loading.load import stem

    policies: dict[str, tuple[str, ...] | None] = {}
    for file in discover(paths).files:
        spec = load_spec(file.path, file.path.parent).spec
        policies[stem(file.path.name) or file.path.name] = None if spec is None else tuple(setting_names(spec))
    return tuple((name, s.policy, s.value) for s in settings for name in _concerned(s, policies))


def _concerned(setting: Setting, policies: Mapping[str, tuple[str, ...] | None]) -> list[str]:
    if setting.spec is not None and setting.spec not in policies:
        hint = nearest(setting.spec, policies)
        fail(f"{setting}: no spec of this call is named {setting.spec}", hint or f"specs: {', '.join(policies)}")
    named = [setting.spec] if setting.spec else list(policies)
    known = [policies[name] for name in named]
    fitting = [n for n, k in zip(named, known, strict=True) if k is not None and setting.policy in k]
    if not fitting and None not in known:
        require(str(setting), setting.policy, [p for k in known for p in k or ()])
    return fitting


def require(option: str, policy: str, known: Iterable[str]) -> None:
    """End with status 2 unless `policy` is one of `known`."""
    names = list(dict.fromkeys(known))
    if policy not in names:
        fail(f"{option}: no such policy", nearest(policy, names) or f"policies: {', '.join(names) or 'none'}")
