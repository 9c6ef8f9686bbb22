"""What the bot sees of undoing: what would be undone and what not, a wish to hand in, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.model.undo import Item, Standing

__all__ = ["Item", "Standing", "UndoDesk", "UndoOutcome", "UndoView", "UndoWish"]


@dataclass(frozen=True)
class UndoView:
    """What the step behind a card did, as far as it can be undone now."""

    approval_id: str
    run_id: str
    step: str
    items: Sequence[Item]

    @property
    def is_possible(self) -> bool:
        """Return whether anything can be undone."""
        return any(item.standing is Standing.POSSIBLE for item in self.items)


@dataclass(frozen=True)
class UndoWish:
    """A person's wish, verified. `dedupe_key` is equal for deliveries of the same one."""

    dedupe_key: str
    run_id: str
    step: str
    reason: str
    person_id: str
    request_id: str


@dataclass(frozen=True)
class UndoOutcome:
    """The run that undoes; None where there is none, and then why."""

    undone_in: str | None
    reason: str


class UndoDesk(Protocol):
    """The counter at which people have undone what a card asked about."""

    async def undo_view(self, approval_id: str) -> UndoView | None:
        """Return what the step behind a card did, or None where there is no such card."""
        ...

    async def ask_undo(self, wish: UndoWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        ...

    async def apply_undo(self, notification_id: str) -> UndoOutcome:
        """Apply a recorded wish, at most once; a repeat returns the same outcome."""
        ...
