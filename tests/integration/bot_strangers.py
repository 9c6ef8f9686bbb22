"""What fails on the stage of the bot's tests: a store that is down, and a counter to which no stranger comes."""

from runtime.desk.strangers.model import Stranger
from runtime.model.notification.runs import StrangerAct


class DatabaseDownError(Exception):
    """What a store raises when it cannot be reached; its text quotes what it was given, as drivers do."""


class NoStrangers:
    """A counter to which no stranger comes."""

    async def on_card(self, stranger: Stranger, approval_id: str, act: StrangerAct) -> None:
        raise AssertionError(f"nobody here is a stranger: {stranger} {approval_id} {act}")

    async def on_step(self, stranger: Stranger, run_id: str, step: str, act: StrangerAct) -> None:
        raise AssertionError(f"nobody here is a stranger: {stranger} {run_id} {step} {act}")
