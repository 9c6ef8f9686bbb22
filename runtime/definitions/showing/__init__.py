"""A declared card: what must hold for it, and what it shows of one request."""
