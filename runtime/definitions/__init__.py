"""Verbs and runbooks: YAML that authors write, checked as a whole, and the canonical definitions that execute."""
