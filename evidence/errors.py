"""The base of every error that this package raises."""


class EvidenceError(Exception):
    """Evidence cannot be sealed, kept or believed; the message says what and where."""


class UndecidedError(EvidenceError):
    """What a rule needs cannot be had, which says nothing about the evidence."""

    rule: str | None = None  # its name
