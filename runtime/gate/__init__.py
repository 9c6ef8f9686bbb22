"""The gate: the only door out."""
