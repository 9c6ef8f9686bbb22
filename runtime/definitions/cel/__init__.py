"""Expressions: Common Expression Language, with bounds."""
