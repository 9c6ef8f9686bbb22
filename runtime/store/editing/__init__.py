"""Edits of what was asked for: the record of each, and the effect made anew."""
