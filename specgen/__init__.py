"""specgen: declarative kernel specs, checked and lowered to AMDGPU code objects and SPIR-V."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Artifact", "Spec", "__version__", "load"]

if TYPE_CHECKING:
    from specgen.api import Artifact, Spec, load


def __getattr__(name: str) -> Any:
    """The Python interface, imported on first use so that the command line starts quickly."""
    if name in ("Artifact", "Spec", "load"):
        from specgen import api

        return getattr(api, name)
    raise AttributeError(f"module 'specgen' has no attribute {name!r}")
