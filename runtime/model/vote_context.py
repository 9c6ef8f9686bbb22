"""What a vote is judged by, as it stands at one moment."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.delegation import Account
from runtime.model.passkeys import Key
from runtime.model.votes import Refusal, Vote


class VoteContext(NamedTuple):
    """A request with its counted votes and newest card, who votes by which accounts, and when they opened it.

    `key` is the passkey with which the vote is signed, where it is.
    """

    approval: Approval
    votes: Sequence[Vote]
    person: Person | Refusal
    accounts: Sequence[Account]
    card: str | None
    opened_at: datetime | None
    key: Key
