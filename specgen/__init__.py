"""specgen: declarative kernel specs, checked and lowered to AMDGPU code objects and SPIR-V."""

__version__ = "0.1.0"
