"""What the bot sees of held steps: one to show, what a person says of it, and the counter that takes that."""

from dataclasses import dataclass
from typing import Protocol

from runtime.model.actor import Person
from runtime.model.run import HeldAct


@dataclass(frozen=True)
class HeldView:
    """A held step as its modal shows it; `version` is the step's, which the act has to find again."""

    run_id: str
    step: str
    version: int
    run_title: str
    error: str
    code: str


@dataclass(frozen=True)
class HeldWaiting:
    """What waits for operators: how many steps are held, and those of the runs that moved last."""

    total: int
    views: tuple[HeldView, ...]


@dataclass(frozen=True)
class HeldWish:
    """How a person wants a held step to go on. `dedupe_key` is equal for deliveries of the same wish."""

    dedupe_key: str
    person_id: str
    run_id: str
    step: str
    act: HeldAct
    version: int
    reason: str
    result: object
    request_id: str


@dataclass(frozen=True)
class Question:
    """A message that asks about a held step: where it stands as (channel, ts), or whether it may still be posted."""

    place: tuple[str, str] | None
    may_come: bool


class HeldDesk(Protocol):
    """Where the bot looks at held steps and hands in what people say of them."""

    async def view(self, run_id: str, step: str) -> HeldView | None:
        """Return a step as it is now, None where it is not held."""
        ...

    async def waiting(self, person: Person, limit: int) -> HeldWaiting:
        """Return the held steps for a person: none unless they are one of those who are told of them."""
        ...

    async def question(self, effect_id: str) -> Question:
        """Return where a message that asks about a held step stands; the effect is what posts it."""
        ...

    async def record(self, wish: HeldWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        ...

    async def apply(self, notification_id: str) -> str:
        """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
        ...
