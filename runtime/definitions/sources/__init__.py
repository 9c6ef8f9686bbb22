"""What authors write, read into definitions."""
