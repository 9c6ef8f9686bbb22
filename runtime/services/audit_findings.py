"""What an audit finds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What is not as it should be: by which rule, where, and what."""

    rule: str
    where: str
    what: str
