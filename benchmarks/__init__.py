"""Ours beside peers, in one run: `make bench`. What each measure is stands in docs/performance.md.

What the benchmark knows of the product's insides stands in `plant`, `parked_runs` and `slack`, and nowhere else.
"""
