"""From a typed spec to everything that its output folder holds, as bytes in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import specgen
from specgen import fingerprint, param_sets
from specgen.diagnostics import Diagnostic, has_errors
from specgen.model import Spec
from specgen.stages import Plan, Planned, PolicyValue, bind_targets, schedule_instance

if TYPE_CHECKING:
    from specgen.build import BuildOptions
    from specgen.lowering.amdgpu import Pending


class NotAdmitted(Exception):
    """The spec has errors, or (`by_target`) nothing is wrong but that it refuses the targets of the call."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], by_target: bool) -> None:
        self.diagnostics = diagnostics
        self.by_target = by_target
        super().__init__("; ".join(d.message for d in diagnostics))


@dataclass(frozen=True)
class Emitted:
    """The contents of an output folder, without the manifest's `files`."""

    files: Mapping[str, bytes]
    manifest: Mapping[str, Any]
    targets: tuple[str, ...]
    refused: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    dumps: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Planning:
    planned: dict[str, Planned]
    refused: tuple[str, ...]
    refusals: tuple[Diagnostic, ...]
    diagnostics: tuple[Diagnostic, ...]
    dumps: tuple[tuple[str, str], ...]


def emit(spec: Spec, root: Path, options: BuildOptions, chosen: Mapping[str, PolicyValue] | None = None) -> Emitted:
    """Plan, lower and describe a kernel spec; `chosen` are params beside those that the options set.

    Raises `NotAdmitted` and `lowering.LoweringError`; writes nothing.
    """
    policies, asked = param_sets.split(spec, options.policies_of(spec.name.text))
    asked |= chosen or {}
    planning = _plan_targets(spec, options, policies, asked)
    planned = planning.planned
    pending = {} if has_errors(planning.diagnostics) else _start(planned)

    # Imported only now, for LLVM is at work meanwhile.
    from specgen import ir
    from specgen.checks.plan import plan_suite
    from specgen.checks.strength import check_strength
    from specgen.emit_suite import render_benchmark, render_suite

    params = dict(next(iter(planned.values())).instance.params) if planned else asked
    diagnostics = [*planning.diagnostics, *check_strength(spec, params)]
    if has_errors(diagnostics) or not planned:
        errors = [d for d in diagnostics if d.is_error]
        raise NotAdmitted(tuple(diagnostics), by_target=len(errors) == len(planning.refusals))
    first = next(iter(planned.values()))
    files: dict[str, bytes] = {"source.mlir": first.source_text.encode()}
    suite = plan_suite(spec, first.instance, first.scheduled)
    references = list(suite.references)
    files |= {f"references/{name}": (root / name).read_bytes() for name in references}
    digests = fingerprint.inputs(root, [*_inputs(spec), *references]) or {}
    manifest = _manifest(spec, planned, options, digests, asked)
    scripts = {
        f"test_{spec.name.text}.py": render_suite(suite, manifest).encode(),
        f"bench_{spec.name.text}.py": render_benchmark(suite, manifest).encode(),
    }
    shown: dict[int, bytes] = {}
    for target, plan in planned.items():
        if plan.source_text != first.source_text:
            files[f"{target}/source.mlir"] = plan.source_text.encode()
        if id(plan.scheduled) not in shown:
            shown[id(plan.scheduled)] = ir.print_module(plan.scheduled.module).encode()
        files[f"{target}/scheduled.mlir"] = shown[id(plan.scheduled)]
        files.update({f"{target}/{name}": data for name, data in _lower(plan, pending.get(target), digests).items()})
    files |= scripts
    return Emitted(files, manifest, tuple(planned), planning.refused, tuple(diagnostics), planning.dumps)


def _plan_targets(
    spec: Spec, options: BuildOptions, policies: Mapping[str, PolicyValue], params: Mapping[str, PolicyValue]
) -> _Planning:
    """One plan a target; targets whose bindings agree share the scheduled module."""
    from specgen import targets

    planned: dict[str, Planned] = {}
    shared: dict[object, Plan] = {}
    diagnostics: list[Diagnostic] = []
    refusals: list[Diagnostic] = []
    refused: list[str] = []
    dumps: list[tuple[str, str]] = []
    for name, bound in bind_targets(spec, options.targets or targets.DEFAULT, policies, params).items():
        plan = shared.get(bound.fingerprint)
        if bound.instance is None:
            plan = Plan(name, None, tuple(bound.diagnostics), bound.refused)
        elif plan is None:
            if not has_errors(bound.diagnostics):
                dump = _dumper(options.dump_after, name, dumps)
                plan = schedule_instance(spec, bound.instance, name, tuple(bound.diagnostics), dump=dump)
            else:
                plan = Plan(name, None, tuple(bound.diagnostics))
            shared[bound.fingerprint] = plan
        if plan.refused:
            refused.append(name)
            refusals += plan.diagnostics
            continue
        diagnostics += plan.diagnostics
        if plan.planned is not None and bound.instance is not None:
            p = plan.planned
            planned[name] = Planned(name, bound.instance, p.source_text, p.source, p.scheduled)
    if planned and not options.targets:
        refusals = []
    errors = tuple(dict.fromkeys(d for d in refusals if d.is_error))
    found = tuple(dict.fromkeys([*diagnostics, *refusals]))
    return _Planning(planned, tuple(refused), errors, found, tuple(dumps))


def _dumper(after: tuple[str, ...], target: str, dumps: list[tuple[str, str]]) -> Any:
    if not after:
        return None

    def dump(name: str, module: Any) -> None:
        from specgen import ir

        if name in after:
            dumps.append((f"{target} after {name}", ir.print_module(module)))

    return dump


def _inputs(spec: Spec) -> list[str]:
    """Every file that the build read, relative to the root, the spec first."""
    names = [spec.source.name]
    for used in spec.used.values():
        names += _inputs(used)
    return list(dict.fromkeys(names))


def _start(planned: Mapping[str, Planned]) -> dict[str, Pending]:
    """Hand every AMDGPU module to LLVM's process, so that it works while the rest of the output is made."""
    from specgen import targets
    from specgen.lowering import amdgpu

    found = {name: targets.load(name) for name in planned}
    return {
        name: amdgpu.start(planned[name].scheduled.module, target)
        for name, target in found.items()
        if target.kind == "amdgpu"
    }


def _lower(plan: Planned, pending: Pending | None, digests: Mapping[str, str]) -> dict[str, bytes]:
    """The code and report of one target; `pending` where it is an AMDGPU target."""
    from specgen import targets
    from specgen.report.assemble import assemble

    if pending is not None:
        code = pending.result()
        files = {"kernel.hsaco": code.hsaco, "kernel.s": code.asm.encode()}
        report = assemble(plan, code, _combined(digests))
    else:
        from specgen.lowering import spirv

        shader = spirv.lower(plan.scheduled.module, targets.load(plan.target))
        files = {"kernel.spv": shader.spv, "kernel.s": shader.asm.encode()}
        report = assemble(plan, shader, _combined(digests))
    files["report.json"] = (json.dumps(report, indent=1, allow_nan=False) + "\n").encode()
    return files


def _combined(digests: Mapping[str, str]) -> str:
    import hashlib

    return hashlib.sha256("".join(f"{k}={v}\n" for k, v in sorted(digests.items())).encode()).hexdigest()


def _manifest(
    spec: Spec,
    planned: Mapping[str, Planned],
    options: BuildOptions,
    digests: Mapping[str, str],
    asked: Mapping[str, PolicyValue],
) -> dict[str, Any]:
    from specgen import manifest

    instances = {name: plan.instance for name, plan in planned.items()}
    first = next(iter(instances.values()))
    return {
        "specgen": specgen.__version__,
        "spec": {
            "name": spec.name.text,
            "file": spec.source.name,
            "sha256": _combined(digests),
            "kind": spec.kind,
            "summary": spec.summary,
        },
        "params": dict(first.params),
        "param_sets": [] if asked else list(param_sets.of_cases(spec, dict(first.params))),
        "args": manifest.arguments(first),
        "entries": manifest.entries(instances),
        "targets": list(planned),
        "key": fingerprint.key(digests, options.targets, {**options.policies_of(spec.name.text), **asked}),
        "inputs": dict(digests),
    }
