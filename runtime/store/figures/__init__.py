"""Figures: what they are counted from, and the counts."""
