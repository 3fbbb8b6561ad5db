"""Numbers that a module and its host agree on."""

from __future__ import annotations

FMA_IS_FUSED = 0
"""SpecId of the constant that tells whether GLSL's Fma rounds once."""
