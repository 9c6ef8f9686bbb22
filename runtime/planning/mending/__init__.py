"""Held steps: what a new try of one is called, and how people hear of one."""
