"""Lint of policies: what is well-formed but surely not meant. Values in, findings out."""
