"""What people said of held steps: which steps were given their result, and which were tried anew."""

from evidence.verify.contents import Contents
from receipts.chain import HELD_SETTLED, Leaf


def supplied(contents: Contents) -> dict[str, Leaf]:
    """Return the steps to which somebody gave their result, each with the leaf that says so."""
    return {str(leaf.correlation.step): leaf for leaf in _acts(contents, "supply")}


def retries(contents: Contents) -> dict[str, list[int]]:
    """Return for each step the lines that say that somebody had it tried anew."""
    found: dict[str, list[int]] = {}
    for leaf in _acts(contents, "retry"):
        found.setdefault(str(leaf.correlation.step), []).append(leaf.seq)
    return found


def _acts(contents: Contents, act: str) -> list[Leaf]:
    return [leaf for leaf in contents.leaves_of(HELD_SETTLED) if leaf.data.get("act") == act]
