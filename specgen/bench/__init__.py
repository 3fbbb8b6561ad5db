"""Benchmarks: timing plans, interleaving, statistics and verdicts."""
