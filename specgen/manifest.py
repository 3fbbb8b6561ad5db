"""The manifest of an output folder: arguments, entry points, launch formulas; and how to evaluate them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from specgen.devices.base import DeviceError, Grid

if TYPE_CHECKING:
    from specgen.binding.instance import Instance, Param


def symbol_of(kernel: str, entry: str) -> str:
    """The symbol of an entry that shares it with none before it."""
    return kernel if entry == "default" else f"{kernel}__{entry}"


def arguments(instance: Instance) -> list[dict[str, Any]]:
    """The `args` rows, in ABI order."""
    return [_argument(param) for param in instance.args]


def _argument(param: Param) -> dict[str, Any]:
    from specgen.binding.instance import ScalarParam

    if isinstance(param, ScalarParam):
        return {
            "name": param.name,
            "kind": "scalar",
            "type": param.type,
            "range": None if param.range is None else list(param.range),
            "range_formulas": None if param.range_formulas is None else list(param.range_formulas),
            "multiple_of": param.multiple_of,
            "place": _place(param),
        }
    return {
        "name": param.name,
        "kind": "buffer",
        "type": param.element,
        "access": param.access,
        "align": param.align,
        "noalias": param.noalias,
        "range": None if param.range is None else list(param.range),
        "axes": list(param.axes),
        "shape": list(param.shape),
        "order": list(param.order),
    }


def _place(param: Param) -> str:
    """Where the spec declares an argument: `file:line:column`."""
    return f"{param.span.file}:{param.span.line}:{param.span.column}"


def entries(instances: Mapping[str, Instance]) -> list[dict[str, Any]]:
    """The `entries` rows: default, serial, then the others by name; launch formulas by target."""
    first = next(iter(instances.values()))
    names = sorted(e.name for e in first.entries if e.name not in ("default", "serial"))
    rows = []
    for name in ("default", "serial", *names):
        entry = first.entry(name)
        launches = {
            target: {
                "workgroup_size": list(instance.entry(name).workgroup_size),
                "workgroups": list(instance.entry(name).workgroups),
                "policies": dict(instance.entry(name).policies),
            }
            for target, instance in instances.items()
        }
        rows.append({"name": name, "symbol": entry.symbol, "policies": dict(entry.policies), "targets": launches})
    return rows


def find_entry(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The entry with this name, else the first with this symbol; raises `DeviceError` when there is none.

    `KERNEL__NAME` is an entry's too that shares the symbol of another one.
    """
    entries = manifest.get("entries", ())
    kernel = manifest.get("spec", {}).get("name", "")
    named = {entry["name"]: entry for entry in entries if "name" in entry}
    spelt = {symbol_of(kernel, own): entry for own, entry in named.items()}
    symbols = {entry["symbol"]: entry for entry in reversed(entries)}
    for known in (named, symbols, spelt):
        if name in known:
            return known[name]
    raise DeviceError(f"no entry {name}; entries: {', '.join(e.get('name', e['symbol']) for e in entries) or 'none'}")


def symbol(manifest: Mapping[str, Any], name: str) -> str:
    """The entry point of an entry, by its name or symbol; a manifest without entries takes `name` for the symbol."""
    return str(find_entry(manifest, name)["symbol"]) if manifest.get("entries") else name


def scalars(manifest: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The scalar arguments of a launch as Python numbers; raises `DeviceError` for a missing one."""
    result = {}
    for row in manifest["args"]:
        if row["kind"] == "scalar":
            if row["name"] not in args:
                raise DeviceError(f"argument {row['name']} is missing")
            value = args[row["name"]]
            result[row["name"]] = value.item() if hasattr(value, "item") else value
    return result


def _integers(formulas: Sequence[str], values: Mapping[str, Any]) -> tuple[int, ...]:
    from specgen.expressions import evaluate_formula

    return tuple(int(evaluate_formula(text, values)) for text in formulas)


def grid(manifest: Mapping[str, Any], target: str, entry: str, args: Mapping[str, Any]) -> Grid:
    """Workgroup counts of a launch along x, y, z for these scalar arguments; 1 for an axis that is not named.

    `entry` is a name or a symbol. Raises `DeviceError` when the manifest does not know it or the target, when a
    formula has no value, and when its value is negative.
    """
    found = find_entry(manifest, entry)
    if target not in found["targets"]:
        raise DeviceError(f"{found['symbol']} is not built for {target}")
    values = scalars(manifest, args)
    counts = [1, 1, 1]
    for number, formula in enumerate(found["targets"][target]["workgroups"]):
        counts[number] = _count(found["symbol"], "xyz"[number], str(formula), values)
    x, y, z = counts
    return x, y, z


def _count(symbol: str, axis: str, formula: str, values: Mapping[str, Any]) -> int:
    try:
        (count,) = _integers([formula], values)
    except (ValueError, ArithmeticError, LookupError) as error:
        raise DeviceError(f"{symbol}: the workgroup count along {axis}, {formula}, has no value: {error}") from None
    if count < 0:
        given = ", ".join(f"{name} = {value}" for name, value in values.items() if name in formula)
        where = f" for {given}" if given else ""
        raise DeviceError(f"{symbol}: the workgroup count along {axis}, {formula}, is {count}{where}")
    return count


def shape(manifest: Mapping[str, Any], argument: str, args: Mapping[str, Any]) -> tuple[int, ...]:
    """Extents of a buffer argument in declared order for these scalar arguments."""
    for row in manifest["args"]:
        if row["name"] == argument and row["kind"] == "buffer":
            return _integers(row["shape"], scalars(manifest, args))
    raise DeviceError(f"no buffer argument {argument}")
