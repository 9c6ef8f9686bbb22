"""Directions: whether a change of the configuration permits more or less."""

from enum import StrEnum


class Direction(StrEnum):
    """Whether a changed limit permits more or less. `other` is both, or neither; `same` is written differently."""

    WIDER = "wider"
    NARROWER = "narrower"
    OTHER = "other"
    SAME = "same"
