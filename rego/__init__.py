"""The core policies, as data."""
