"""What callers are told by name. Imports nothing: the command line knows it before it knows any part."""


class EdgeError(Exception):
    """The edge said no, or is not there; the message has its detail."""
