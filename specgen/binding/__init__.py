"""From a spec and a target to an instance: params, policies and facts have their values, statements are operations."""

from __future__ import annotations

from specgen.binding.kernel import Bound, bind, check_motif

__all__ = ["Bound", "bind", "check_motif"]
