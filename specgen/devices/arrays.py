"""Arrays that callers give for buffer arguments: refused unless type and shape are the declared ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from specgen.devices.base import DeviceError


def flat_buffer(row: Mapping[str, Any], given: Any, shape: Sequence[int]) -> Any:
    """The elements of a buffer argument, flat in memory order.

    `row` is the manifest's, `shape` the declared extents. `given` is an array of exactly the declared type, or (nested)
    lists of numbers that the type holds without loss; its shape is the declared one, or it is flat in memory order and
    holds no more elements. Fewer are a buffer that is only backed so far: a touch of the rest is a finding. Raises
    `DeviceError` for anything else.
    """
    import numpy as np

    array = _typed(row, given)
    extents = tuple(shape)
    if array.shape == extents:
        return np.ascontiguousarray(array.transpose(row["order"])).reshape(-1)
    if array.ndim == 1 and array.size <= prod(extents):
        return np.ascontiguousarray(array)
    axes = ", ".join(f"{axis}: {extent}" for axis, extent in zip(row["axes"], extents, strict=True))
    raise DeviceError(
        f"argument {row['name']} has the shape {array.shape}, declared is {extents} ({axes}); "
        f"flat in memory order it has up to {prod(extents)} elements"
    )


def _typed(row: Mapping[str, Any], given: Any) -> Any:
    import numpy as np

    from specgen.checks.dtypes import TYPES

    name, type_ = row["name"], TYPES[row["type"]]
    if isinstance(given, np.ndarray | np.generic):
        if given.dtype != type_.dtype:
            raise DeviceError(f"argument {name} is an array of {given.dtype}, declared is {type_.name} ({type_.dtype})")
        return np.asarray(given)
    try:
        numbers = np.asarray(given)
    except ValueError:
        raise DeviceError(f"argument {name} takes an array of {type_.name}, not lists of different lengths") from None
    if numbers.dtype.kind not in "biuf":
        raise DeviceError(f"argument {name} takes an array of {type_.name} (whole numbers: of at most 64 bits)")
    with np.errstate(all="ignore"):
        array = numbers.astype(type_.dtype)
        same = array.astype(numbers.dtype) == numbers
    if type_.is_float:
        same |= numbers != numbers
    elif numbers.size:
        ends = np.iinfo(type_.dtype)
        same &= (int(ends.min) <= numbers) & (numbers <= int(ends.max))
    if not np.all(same):
        raise DeviceError(f"argument {name} takes an array of {type_.name}, which does not hold every number given")
    return array


def stored(row: Mapping[str, Any], array: Any) -> Any:
    """An array from a `.npy` file in the declared type where the file can hold only its bits.

    numpy has no `bf16`: files hold it as uint16 or as two raw bytes (which is what `numpy.save` makes of it).
    """
    from specgen.checks.dtypes import TYPES

    if row["type"] == "bf16" and (array.dtype == "u2" or (array.dtype.kind == "V" and array.dtype.itemsize == 2)):
        return array.view(TYPES["bf16"].dtype)
    return array
