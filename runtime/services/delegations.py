"""Delegations: who votes for a person while they are away, as they say themselves, by the same act as by command."""

from dataclasses import dataclass
from datetime import datetime

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.commands import DelegatePayload
from runtime.model.limits import error_text
from runtime.model.person import Person
from runtime.services.clicks import record_said


@dataclass(frozen=True)
class StandInWish:
    """Who is to vote for the person who says so, from `starts_at` until before `ends_at`, in these groups of theirs.

    `key` is equal for deliveries of the same submission.
    """

    key: str
    delegate: str
    starts_at: datetime
    ends_at: datetime
    groups: tuple[str, ...]
    reason: str


async def record_stand_in(engine: Engine, person: Person, wish: StandInWish) -> str:
    """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
    payload = DelegatePayload(
        delegator=person.id,
        delegate=wish.delegate,
        groups=wish.groups,
        starts_at=wish.starts_at,
        ends_at=wish.ends_at,
        reason=error_text(wish.reason),
    )
    return await record_said(
        engine, payload, by=person.id, about=person.id, key=f"delegate:slack:{wish.key}", request_id=wish.key
    )


async def settle_stand_in(engine: Engine, notification_id: str) -> str:
    """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
    facts = await inbox.apply(engine, notification_id)
    return "" if facts["status"] == "applied" else str(facts["reason"])
