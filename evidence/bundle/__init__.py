"""Builds and seals bundles."""
