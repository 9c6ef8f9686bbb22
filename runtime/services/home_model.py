"""What a person's desk shows, and the counter that gives it, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runtime.model.pages import Edge, Narrowed, Page
from runtime.model.votes import Refusal, VoteVerdict
from runtime.services.approval_view import ApprovalView

WIDE = Narrowed()


@dataclass(frozen=True)
class Look:
    """What somebody looks at: how it is narrowed, how long a page is, and its edge, None at the beginning."""

    limit: int
    narrowed: Narrowed = WIDE
    edge: Edge | None = None


@dataclass(frozen=True)
class Entry:
    """A request: where a card of it stands, as (channel, ts), and what the person who looks has said, if they have.

    The card is one that this person can open: their own copy, where they have one.
    """

    view: ApprovalView
    card: tuple[str, str] | None
    own: VoteVerdict | None = None


@dataclass(frozen=True)
class Waiting:
    """What waits for a person. `total` counts all that it is narrowed to, one beyond `COUNTED` at most."""

    total: int
    page: Page[Entry]


@dataclass(frozen=True)
class AskedFor:
    """A run that a person asked for: how it stands or ended, and the oldest of the requests that it waits for."""

    run_id: str
    reference: str
    title: str  # of its runbook, with its version
    ending: str
    error: str  # "" for none
    created_at: datetime
    waits_for: Entry | None
    more: int  # requests that it waits for besides
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us


@dataclass(frozen=True)
class Concerns:
    """What speaks against deciding a request unseen, for the person who would decide it."""

    own_question: bool = False  # the person's own question has no answer yet
    asked_by: tuple[str, ...] = ()  # names of others whose questions have no answer yet
    edited_by: tuple[str, ...] = ()  # names, each once
    doubts: int = 0  # other effects of its run of which nobody knows whether they happened
    reviewed_at: datetime | None = None  # when the person answered a review of its run


NO_CONCERNS = Concerns()


@dataclass(frozen=True)
class Standing:
    """How a request stands for somebody: as it is now, None where there is none, and why they can't decide it."""

    approval_id: str
    entry: Entry | None
    refusal: Refusal | None
    concerns: Concerns = NO_CONCERNS


@dataclass(frozen=True)
class Choices:
    """By what a person may narrow what they see."""

    runbooks: Sequence[str]
    groups: Sequence[str]


class HomeDesk(Protocol):
    """The counter of people's desks. Nobody sees there what is none of theirs."""

    async def waiting(self, person_id: str, look: Look) -> Waiting:
        """Return the open requests that the person may decide, the first to expire first."""
        ...

    async def asked_for(self, person_id: str, look: Look) -> Page[AskedFor]:
        """Return the runs that the person asked for, the newest first."""
        ...

    async def decided(self, person_id: str, look: Look) -> Page[Entry]:
        """Return the requests that the person voted on, the latest vote first."""
        ...

    async def choices(self, person_id: str) -> Choices:
        """Return by what the person may narrow."""
        ...

    async def requests(self, approval_ids: Sequence[str]) -> list[Entry]:
        """Return requests as they are now, open or not."""
        ...

    async def may_decide_all(self, person_id: str, approval_ids: Sequence[str]) -> list[Standing]:
        """Return, in their order, how requests stand for the person now."""
        ...
