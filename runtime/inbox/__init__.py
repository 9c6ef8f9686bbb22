"""The inbox: the only door in."""
