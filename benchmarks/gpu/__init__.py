"""Checks and benchmarks to run on a machine with a GPU."""
