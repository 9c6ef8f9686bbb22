"""Who acts: people and the accounts behind which they stand."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SlackAccount:
    """A Slack identity: the payload's user and the *user's* team."""

    team: str
    user: str


@dataclass(frozen=True)
class Person:
    """The one person behind an account."""

    id: str
    name: str
    groups: tuple[str, ...]
