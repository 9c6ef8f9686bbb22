"""What drives runs: the worker, its lanes, sweeps, and the overlay of mocks."""
