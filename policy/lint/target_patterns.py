"""Patterns of targets: whether one matches all that another matches. `*` stays within a `/` segment, `**` does not."""

_UNKNOWN = frozenset("\\[]{}")
"""What makes a pattern one that we do not compare: escapes, classes of characters and alternatives."""


def covers(wide: str, narrow: str) -> bool:
    """Return whether a pattern that ends with `*` surely matches whatever the other one matches.

    False where that cannot be told from the texts.
    """
    if wide == narrow:
        return True
    if not wide.endswith("*") or not _UNKNOWN.isdisjoint(wide + narrow):
        return False
    start = wide.rstrip("*")
    if not narrow.startswith(start):
        return False
    rest = narrow.removeprefix(start)
    return wide.endswith("**") or ("/" not in rest and "**" not in rest)
