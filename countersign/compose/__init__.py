"""The composition root: each command composes what it needs."""
