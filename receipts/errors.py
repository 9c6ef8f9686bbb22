"""The base of every error that this package raises."""


class ReceiptsError(Exception):
    """Something could not be put on record, or a record does not hold; the message says what and where."""
