"""Device `vulkan`: SPIR-V modules on a Vulkan 1.3 implementation, through ctypes."""
