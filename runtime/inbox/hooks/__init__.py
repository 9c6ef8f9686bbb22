"""Deliveries that failed for good, and what a person wants of them."""
