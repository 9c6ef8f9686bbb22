"""Requests that people edit and resubmit."""
