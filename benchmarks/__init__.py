"""Ours beside peers, in one run: `make bench`. What each measure is stands in docs/performance.md."""
