"""Capabilities and extensions of a module, derived from what it uses.

Grammar rows say which capability an instruction or enumerant needs. What the grammar does not say (widths of
types, storage of narrow types) is in `_type_needs` and `_storage_needs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specgen.lowering.spirv._gen.tables import ENUMS, OPS
from specgen.lowering.spirv.reader import Decoded, read

ALWAYS = ("Shader", "PhysicalStorageBufferAddresses", "VulkanMemoryModel")

_WIDTHS = {
    ("OpTypeInt", 8): "Int8",
    ("OpTypeInt", 16): "Int16",
    ("OpTypeInt", 64): "Int64",
    ("OpTypeFloat", 16): "Float16",
    ("OpTypeFloat", 64): "Float64",
}
_STORAGE = {8: "StorageBuffer8BitAccess", 16: "StorageBuffer16BitAccess"}
_STORAGE_ONLY = ("OpLoad", "OpStore", "OpAccessChain", "OpUConvert", "OpSConvert", "OpFConvert")


def derive(module: bytes) -> tuple[list[str], list[str]]:
    """Capabilities and extensions for a module that was assembled without any."""
    made = list(read(module))
    found = set(ALWAYS)
    extensions: set[str] = set()
    for row in made:
        _add(found, OPS[row.name].capabilities)
        extensions.update(OPS[row.name].extensions)
        for operand in row.operands:
            for name in str(operand.value).split("|") if operand.kind in ENUMS else ():
                known = ENUMS[operand.kind].get(name)
                if known is not None:
                    _add(found, known.capabilities)
                    extensions.update(known.extensions)
    found.update(_narrow_needs(made))
    return sorted(found, key=lambda name: ENUMS["Capability"][name].value), sorted(extensions)


def implied(names: Iterable[str]) -> set[str]:
    """The capabilities and all that they declare implicitly."""
    result: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in result:
            result.add(name)
            pending += ENUMS["Capability"][name].capabilities
    return result


def _add(found: set[str], any_of: Sequence[str]) -> None:
    if any_of and not implied(found) & set(any_of):
        found.add(any_of[0])


def _narrow_needs(made: Sequence[Decoded]) -> set[str]:
    """Arithmetic and storage capabilities of types that are not 32 bits wide."""
    scalar: dict[int, tuple[str, int]] = {}
    holds: dict[int, set[tuple[str, int]]] = {}
    needs: set[str] = set()
    for row in made:
        if row.name in ("OpTypeInt", "OpTypeFloat"):
            scalar[row.result] = (row.name, int(row.operands[0].value))
            holds[row.result] = {scalar[row.result]}
        elif row.name in ("OpTypeVector", "OpTypeArray", "OpTypeRuntimeArray", "OpTypeStruct"):
            holds[row.result] = set().union(*(holds.get(i, set()) for i in row.ids()))
        elif row.name == "OpTypePointer":
            # A cast to a pointer counts as a use of what it points to.
            held = holds[row.result] = holds.get(row.ids()[0], set())
            if row.first("StorageClass") == "PhysicalStorageBuffer":
                needs.update(_STORAGE[w] for _, w in held if w in _STORAGE)
            else:
                needs.update(_WIDTHS[t] for t in held if t in _WIDTHS)
        elif row.type and not (row.name in _STORAGE_ONLY and _narrow_only(holds.get(row.type, set()))):
            needs.update(_WIDTHS[t] for t in holds.get(row.type, set()) if t in _WIDTHS)
        if row.name.startswith("OpAtomic") and scalar.get(row.type) == ("OpTypeInt", 64):
            needs.add("Int64Atomics")
    # A narrow type that never reaches a buffer must be declared all the same.
    return needs | {_WIDTHS[t] for t in scalar.values() if t[1] in _STORAGE and _STORAGE[t[1]] not in needs}


def _narrow_only(held: set[tuple[str, int]]) -> bool:
    """Loads, stores and width conversions of 8- and 16-bit types need storage capabilities alone."""
    return all(width in _STORAGE for _, width in held)
