"""Roles in the console."""

from enum import StrEnum


class ConsoleRole(StrEnum):
    """What somebody may do: `viewer` reads pages, `auditor` is given bundles, too."""

    VIEWER = "viewer"
    AUDITOR = "auditor"
