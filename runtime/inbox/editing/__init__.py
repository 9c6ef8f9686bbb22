"""Requests that people approve with edits."""
