"""What drives runs: the worker and the sweeps."""
