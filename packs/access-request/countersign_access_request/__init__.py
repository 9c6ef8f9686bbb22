"""Access requests: access to a system for a time, and its end."""
