"""Durable runs: the worker with its lanes and sweeps, the engine, and beneath them planner, doors and store."""
