"""Numbered migrations; a test proves that migrating from zero gives the declared tables."""
