"""The shape of documents: Cerberus schemas (`*.yaml`), the validator, and its errors as diagnostics."""

from __future__ import annotations

from specgen.schema.messages import check_shape
from specgen.schema.repair import Damage, Shape, read_shape
from specgen.schema.tables import names, schema

__all__ = ["Damage", "Shape", "check_shape", "read_shape", "schemas"]


def schemas() -> dict[str, dict[str, dict[str, object]]]:
    """Every schema by name, with references written out: keys -> rules (`specgen schema` prints them as JSON)."""
    return {name: schema(name) for name in names()}
