"""Delegations: one person votes in the name of another, for some of that one's groups and for some time.

And whom a request reaches: the people of its groups, their accounts, and who may vote for them just now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.fields import timestamp
from runtime.model.person import Person

Account = tuple[str, str]
"""A Slack (team, user). Ids of people may be renamed in the directory; the account that clicked stays the same."""


@dataclass(frozen=True)
class Delegation:
    """From `starts_at` until before `ends_at` the delegate votes for the delegator, as far as `groups` are asked.

    `recorded_by` is the person who put it down, and `reason` why.
    """

    delegation_id: str
    delegator: str
    delegate: str
    groups: tuple[str, ...]
    starts_at: datetime
    ends_at: datetime
    recorded_by: str
    reason: str

    def covers(self, at: datetime) -> bool:
        """Return whether it holds at a moment, as long as nobody has ended it."""
        return self.starts_at <= at < self.ends_at

    def said(self) -> dict[str, Any]:
        """Return what is put on record of it."""
        return {
            "delegation_id": self.delegation_id,
            "delegator": self.delegator,
            "delegate": self.delegate,
            "groups": list(self.groups),
            "starts_at": timestamp(self.starts_at),
            "ends_at": timestamp(self.ends_at),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Delegate:
    """A person who votes for others by delegation."""

    tenant: str
    person: str


@dataclass(frozen=True)
class StandIn:
    """A delegation that nobody has ended, and its delegator as the directory has them, in the groups that it gives."""

    delegation: Delegation
    delegator: Person
    accounts: Sequence[Account]

    def document(self) -> dict[str, Any]:
        """Return the delegation as it stands on a vote, without the delegate, who has voted."""
        said = self.delegation.said()
        del said["delegate"]
        return {**said, "delegator_name": self.delegator.name, "recorded_by": self.delegation.recorded_by}


def given_by(delegation: Delegation, groups: Sequence[str]) -> tuple[str, ...]:
    """Return the groups of a delegator that a delegation gives: nobody hands on what they have not themselves."""
    return tuple(group for group in groups if group in delegation.groups)


@dataclass(frozen=True)
class Deputy:
    """Who may vote for somebody now, in these groups of theirs; `users` are Slack accounts."""

    id: str
    name: str
    recorded_by: str
    groups: tuple[str, ...]
    users: tuple[str, ...]


@dataclass(frozen=True)
class AskedPerson:
    """A person of a group; without `users`, their Slack accounts, they cannot be asked themselves."""

    person: Person
    users: tuple[str, ...]
    deputies: tuple[Deputy, ...] = ()
