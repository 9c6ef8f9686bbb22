"""Held steps: which there are, and what a person has to know of one."""
