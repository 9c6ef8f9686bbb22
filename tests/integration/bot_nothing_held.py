"""A counter of held steps for a bot that has none."""

from runtime.model.person import Person
from runtime.services.step_repair import HeldView, HeldWaiting, Question, RepairCommand


class NothingHeld:
    """A counter of held steps where none is held."""

    async def view(self, run_id: str, step: str) -> HeldView | None:
        raise AssertionError(f"nothing here is held: {run_id} {step}")

    async def waiting(self, person: Person, limit: int) -> HeldWaiting:
        assert limit >= 0, f"nothing here is held for {person}"
        return HeldWaiting(0, ())

    async def question(self, effect_id: str) -> Question:
        raise AssertionError(f"nothing here is held: {effect_id}")

    async def record(self, wish: RepairCommand) -> str:
        raise AssertionError(f"nothing here is held: {wish}")

    async def apply(self, notification_id: str) -> str:
        raise AssertionError(f"nothing here is held: {notification_id}")
