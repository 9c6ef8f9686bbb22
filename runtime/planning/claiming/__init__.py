"""Claiming triggers: one starts a run, or is word to the run that goes on about the same."""
