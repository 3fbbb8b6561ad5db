"""The shape of documents: Cerberus schemas (`*.yaml`), the validator, and its errors as diagnostics."""

from __future__ import annotations

from specgen.schema.messages import check_shape

__all__ = ["check_shape"]
