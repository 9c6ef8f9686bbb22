"""Deliveries to subscribers."""
