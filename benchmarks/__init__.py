"""Benchmarks: ours beside the limit of the machine, in one run."""
