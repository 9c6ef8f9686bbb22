"""Clicks of those who are none of the directory's people."""
