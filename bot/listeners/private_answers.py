"""Private answers: only the person who clicked sees them. They are conversation, not effects, and may fail."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, slack_logger
from bot.views.blocks import section
from bot.views.text import legible, short
from runtime.model.delivery import AnswerTurn
from runtime.model.run import RepairAction
from runtime.services.delivery_preferences import DeliveryPreferences

T = TypeVar("T")

NOT_RECORDED = (
    "Something went wrong on our side, and your click may not have been recorded. Please look at the card in a "
    "moment: if it has not changed, click again."
)
REASON_NOT_RECORDED = (
    "Something went wrong on our side, and your decision may not have been recorded. Please look at the card: if it "
    "has not changed, submit this again."
)
NOT_YET_COUNTED = "Your click is recorded, but could not be counted yet. The card changes once it counts."
UNKNOWN_BUTTON = "Countersign no longer knows this button. Nothing was done."
NOT_OPENED = "This could not be opened. Nothing was recorded. Please click again."

NO_LONGER_WAITS = "This step no longer needs attention. Nothing was done."
REPAIR_DONE = {
    RepairAction.RETRY: "Done: {} is being retried.",
    RepairAction.SUPPLY: "Done: {} has your result, and the run continues.",
    RepairAction.SKIP: "Done: {} is skipped, and the run continues.",
    RepairAction.END: "Done: the run of {} has ended.",
}
NOT_YET_APPLIED = "Your decision is recorded and will be carried out shortly."
UNDOING = "Run {} is undoing it. We will tell you the outcome."
OVER = "This run has ended or is gone. Nothing was done."
CANCELED = "Canceled: open requests are closed, and nothing more is done."
EDITED = "Resubmitted: policy decides on your version, and signatures start over."
NOT_YET_UNDONE = "Your request is recorded and will be carried out shortly."

TELL_SECONDS = 10.0
"""Seconds that an answer may take; by then the click has been acknowledged long ago."""

PATIENCE = TELL_SECONDS + 2
"""Seconds for which an answer that another process has begun is waited for: then it is given here."""
_LOOK = 0.5
"""Seconds between two looks whether it was given."""
_NOTE_SECONDS = 2.0
"""Seconds in which the database must have said, or kept, that an answer was given."""

_LIMIT, _REMEMBERED = 2500, 1000


class PrivateAnswers:
    """Says things in private: one that stands for many deliveries of one click is said once, by all processes together.

    Where the database cannot be asked this process's memory counts alone: better twice than never.
    """

    def __init__(self, client: AsyncWebClient, notices: DeliveryPreferences, patience: float = PATIENCE) -> None:
        self._client = client
        self._notices = notices
        self._patience = patience
        self._said: dict[tuple[str, str, str], None] = {}

    async def tell(self, user: str, channel: str | None, text: str, *, occasion: str) -> None:
        """Answer a person about one interaction, which `occasion` names. Never raises."""
        await self.once(user, occasion, text, partial(self._deliver, user, channel, text))

    async def once(self, user: str, occasion: str, words: str, say: Callable[[], Awaitable[None]]) -> None:
        """Say something to a person, unless it was said; what Slack did not take may be said again."""
        said = (user, occasion, words)
        if said in self._said:
            return
        self._remember(said)
        turn = await self._turn(said)
        if turn is AnswerTurn.GIVEN:
            return
        is_given = True
        try:
            await say()
        except FAILURES as error:
            is_given = False
            self._said.pop(said, None)
            slack_logger().warning("a private answer could not be delivered: %s", error_code(error))
        if turn is not None:
            await self._noted(self._notices.end_answer(*said, is_given=is_given))

    def _remember(self, said: tuple[str, str, str]) -> None:
        self._said[said] = None
        while len(self._said) > _REMEMBERED:
            del self._said[next(iter(self._said))]

    async def _turn(self, said: tuple[str, str, str]) -> AnswerTurn | None:
        """Return whose turn it is; what another process has begun is waited for. None where nobody can say."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while (
            turn := await self._noted(self._notices.begin_answer(*said))
        ) is AnswerTurn.BEGUN and loop.time() < until:
            await asyncio.sleep(_LOOK)
        return turn

    @staticmethod
    async def _noted(work: Awaitable[T]) -> T | None:
        """Return what the database says, None where it cannot be asked."""
        try:
            async with asyncio.timeout(_NOTE_SECONDS):
                return await work
        except Exception as error:  # noqa: BLE001 - the answer matters more
            slack_logger().warning("private answers are counted in this process alone: %s", type(error).__name__)
            return None

    async def _deliver(self, user: str, channel: str | None, text: str) -> None:
        """Answer in the channel, visible to the person alone; where that can't be, in the direct conversation."""
        async with asyncio.timeout(TELL_SECONDS):
            await self._send(user, channel, text)

    async def _send(self, user: str, channel: str | None, text: str) -> None:
        content: dict[str, Any] = {"text": legible(text[:_LIMIT]), "blocks": [section(short(text, _LIMIT, lines=50))]}
        if channel is not None:
            try:
                await self._client.chat_postEphemeral(channel=channel, user=user, **content)
                return
            except SlackApiError as error:
                slack_logger().info("a private answer goes to the direct conversation: %s", error_code(error))
        direct = await self._client.conversations_open(users=user)
        place = direct["channel"]["id"]
        await self._client.chat_postMessage(channel=place, unfurl_links=False, unfurl_media=False, **content)
