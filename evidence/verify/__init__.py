"""Verifies bundles offline: no network, no database."""
