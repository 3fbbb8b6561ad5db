"""Executes AMDGPU machine code on the CPU: decode, translate to numpy, run all waves, watch what they do."""

from specgen.devices.amdgpu_emulator.device import NAME, EmulatedKernel, EmulatorDevice

__all__ = ["NAME", "EmulatedKernel", "EmulatorDevice"]
