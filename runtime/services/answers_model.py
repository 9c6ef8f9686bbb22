"""What the bot sees of the acts beside a vote: what they are about, wishes to hand in, and what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.model.questions import Answerers
from runtime.model.votes import CardAct, Refusal
from runtime.services.approval_view import Act


@dataclass(frozen=True)
class CancelView:
    """A run that goes on, as people know it."""

    run_id: str
    title: str
    reference: str


@dataclass(frozen=True)
class CancelWish:
    """A person's wish that a run stops, verified. `dedupe_key` is equal for deliveries of the same one."""

    dedupe_key: str
    run_id: str
    reason: str
    person_id: str
    request_id: str


class AnswersDesk(Protocol):
    """The counter at which people do more with a request than to decide it."""

    async def may(self, act: CardAct, approval_id: str, person_id: str) -> Refusal | None:
        """Return why what the person would do with a request cannot count now, or None. Reads only."""
        ...

    async def acts(self, approval_id: str, person_id: str) -> frozenset[Act]:
        """Return what the person may do with a request now. Reads only, and asks policy who may cancel."""
        ...

    async def acts_of_all(self, approval_ids: Sequence[str], person_id: str) -> list[frozenset[Act]]:
        """Return, in their order, what the person may do with each of these requests now."""
        ...

    async def answerers(self, approval_id: str, person_id: str) -> Answerers:
        """Return who can answer what a person asks about a request. Reads only."""
        ...

    async def may_reply(self, approval_id: str, question_id: str, person_id: str) -> Refusal | None:
        """Return why the person cannot answer a question now, or None. Reads only."""
        ...

    async def may_hand(self, approval_id: str, person_id: str, to_id: str) -> Refusal | None:
        """Return why the person cannot hand a request to that other one now, or None. Reads only."""
        ...

    async def cancel_view(self, run_id: str) -> CancelView | None:
        """Return a run that can be canceled, None where there is none by that id, or it has ended."""
        ...

    async def ask_cancel(self, wish: CancelWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        ...

    async def apply_cancel(self, notification_id: str) -> str:
        """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
        ...
