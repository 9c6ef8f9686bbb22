"""Names of members and objects: made so that nothing from data can become a path."""

import re

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_PATH = re.compile(rf"{_SEGMENT}(/{_SEGMENT})*")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,128}")
_LONGEST = 255

STATEMENT = "statement.dsse.json"
RUN = "run.json"
DEFINITION = "definition.json"
AUDIT = "audit.jsonl"
TIMELINE = "timeline.md"
README = "README.md"
SUMMARY = "summary.md"
COSTS = "costs.json"
CHECKPOINT = "log/checkpoint.txt"
INCLUSION = "log/inclusion.json"
ACTS = "log/acts.json"
STAMP = "log/checkpoint.tsr"
DECISIONS = "decisions"
RECEIPTS = "receipts"
READS = "reads"
APPROVALS = "approvals"
POLICIES = "policies"

_MEMBERS = (
    *map(re.escape, (RUN, DEFINITION, AUDIT, TIMELINE, README, SUMMARY, COSTS)),
    *map(re.escape, (CHECKPOINT, INCLUSION, ACTS, STAMP)),
    rf"({DECISIONS}|{RECEIPTS}|{READS})/[0-9]{{5,}}-{_IDENTIFIER.pattern}\.json",
    rf"{APPROVALS}/{_IDENTIFIER.pattern}\.json",
    rf"{POLICIES}/[0-9a-f]{{64}}/{_PATH.pattern}",
)
MEMBERS = re.compile("|".join(_MEMBERS))
"""What members are called that a bundle may have, beside its statement."""


def is_safe_path(name: str) -> bool:
    """Return whether `name` is a relative path of plain ASCII segments, none empty or starting with a dot."""
    return len(name) <= _LONGEST and _PATH.fullmatch(name) is not None


def place(name: str) -> tuple[bool, str]:
    """Return what members are ordered by: the page for people comes first, then each by its name."""
    return name != SUMMARY, name


def is_identifier(name: str) -> bool:
    """Return whether `name` may stand in a member's name as it is."""
    return _IDENTIFIER.fullmatch(name) is not None


def is_member(name: str) -> bool:
    """Return whether a bundle has members of this name, beside its statement."""
    return MEMBERS.fullmatch(name) is not None


def numbered(folder: str, number: int, identifier: str) -> str:
    """Return the name of the `number`th record in a folder whose order is the chain's."""
    return f"{folder}/{number:05d}-{identifier}.json"


def approval(identifier: str) -> str:
    """Return the name of an approval's record."""
    return f"{APPROVALS}/{identifier}.json"
