"""The roles of a process."""

from enum import StrEnum


class Role(StrEnum):
    """A part of the work that a process may take on."""

    EDGE = "edge"
    BOT = "bot"
    WORKER = "worker"
    SWEEPS = "sweeps"
