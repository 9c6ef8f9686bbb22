"""Reads what clients wrote down and what the database holds; says what does not fit. Knows nothing of the runtime."""
