"""Helpers of the scheduler tests: kernels as IR text, and an evaluator of IR that is independent of the product."""
