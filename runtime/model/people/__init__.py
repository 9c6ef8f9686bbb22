"""People as the directory has them, and where it has them from."""
