"""The order of leaves."""
