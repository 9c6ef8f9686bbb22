"""Runs and their steps, as the database holds them."""
