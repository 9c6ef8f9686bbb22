"""Transactions on runs, one by one and many together."""
