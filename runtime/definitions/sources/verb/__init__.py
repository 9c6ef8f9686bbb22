"""Verb files: their shape beyond the keys, and the rules that they keep."""
