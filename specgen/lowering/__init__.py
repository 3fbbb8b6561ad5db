"""Back ends: scheduled IR to AMDGPU code objects and SPIR-V modules."""

from __future__ import annotations


class LoweringError(Exception):
    """A back end failed on IR that passed every check before it: a failure of the tool, one line for the user."""
