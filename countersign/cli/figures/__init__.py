"""The command `figures`."""
