"""Builds and seals bundles.."""
