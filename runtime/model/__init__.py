"""The vocabulary as values: what everything else speaks of. No I/O."""
