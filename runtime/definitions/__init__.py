"""Verbs and runbooks: the canonical definitions that execute, their versions and differences."""
