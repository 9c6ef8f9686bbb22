"""The start of runs by runs."""
