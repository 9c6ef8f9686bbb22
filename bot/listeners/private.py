"""Answers that only the person who is interacting sees. They are conversation, not effects, and may fail."""

import asyncio
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.cards.blocks import section
from bot.cards.text import legible, short
from bot.slack.client import FAILURES, error_code
from bot.slack.log import slack_logger
from runtime.model.run import HeldAct

NOT_RECORDED = (
    "Something went wrong on our side, and your click may not have been recorded. Please look at the card in a "
    "moment: if it has not changed, click again."
)
REASON_NOT_RECORDED = (
    "Something went wrong on our side, and your decision may not have been recorded. Please look at the card: if it "
    "has not changed, submit this again."
)
NOT_YET_COUNTED = "Your click is recorded, but could not be counted yet. The card will change as soon as it is."
UNKNOWN_BUTTON = "Countersign no longer knows this button. Nothing was done."
NOT_OPENED = "This could not be opened. Nothing was recorded. Please click again."

NOT_HELD = "This step is no longer held. Nothing was done."
HELD_DONE = {
    HeldAct.RETRY: "Done: {} is being retried.",
    HeldAct.SUPPLY: "Done: {} has your result, and the run continues.",
    HeldAct.SKIP: "Done: {} is skipped, and the run continues.",
    HeldAct.END: "Done: the run of {} has ended.",
}
NOT_YET_APPLIED = "Your decision is recorded and will be carried out shortly."
UNDOING = "Run {} is undoing it. We will tell you the outcome."
OVER = "This run has ended or is gone. Nothing was done."
CANCELED = "Canceled: open requests are closed, and nothing more is done."
EDITED = "Resubmitted: policy decides on your version, and signatures start over."
NOT_YET_UNDONE = "Your request is recorded and will be carried out shortly."

TELL_SECONDS = 10.0
"""Seconds that an answer may take; by then the click has been acknowledged long ago."""

_LIMIT, _REMEMBERED = 2500, 1000


class PrivateAnswers:
    """Says things in private: one that stands for many deliveries of one click is said once."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._said: dict[tuple[str, str, str], None] = {}

    async def tell(self, user: str, channel: str | None, text: str, *, occasion: str) -> None:
        """Answer a person about one interaction, which `occasion` names. Never raises."""
        said = (user, occasion, text)
        if said in self._said:
            return
        self._said[said] = None
        while len(self._said) > _REMEMBERED:
            del self._said[next(iter(self._said))]
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await self._deliver(user, channel, text)
        except FAILURES as error:
            self._said.pop(said, None)
            slack_logger().warning("a private answer could not be delivered: %s", error_code(error))

    async def _deliver(self, user: str, channel: str | None, text: str) -> None:
        """Answer in the channel, visible to the person alone; where that can't be, in the direct conversation."""
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
