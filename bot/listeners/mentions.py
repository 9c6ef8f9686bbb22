"""`@Countersign …` in a channel: answered like the slash command, to whoever asked alone.

What one person may see is not for all who read along; so the answer is ephemeral, in the thread of the question if it
was asked in one.
"""

import asyncio
import re
from functools import partial
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.home.lists import Reply, said
from bot.listeners.commands import Commands
from bot.listeners.private import TELL_SECONDS, PrivateAnswers
from bot.payloads import Event, EventCallback, User
from bot.slack.client import FAILURES, error_code
from bot.slack.log import slack_logger
from bot.views import desk_words as words

_MENTION = re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>")
_MENTIONED = "mention"
"""What stands for the words of an answer to a mention, which may differ when it is worked out again."""


class Mentions:
    """The listener for app_mention. Slack was answered before: nothing of it waits for us."""

    def __init__(self, client: AsyncWebClient, commands: Commands, answers: PrivateAnswers) -> None:
        self._client = client
        self._commands = commands
        self._answers = answers

    async def on_mention(self, body: dict[str, Any]) -> None:
        """Answer a mention, once however often Slack says it."""
        payload = EventCallback.model_validate(body)
        event = payload.event
        if not isinstance(event.user, str) or event.place is None or event.ts is None:
            return
        # The envelope names the team of the installation; the profile corrects it to the user's own.
        user = User(id=event.user, team_id=payload.team_id)
        answer = partial(self._answer, user, event, event.place, event.ts)
        await self._answers.once(user.id, f"{event.place}:{event.ts}", _MENTIONED, answer)

    async def _answer(self, user: User, event: Event, place: str, ts: str) -> None:
        asked = _MENTION.split(event.text, maxsplit=1)[-1]
        try:
            found = await self._commands.answer(user, asked, place)
        except Exception as error:  # noqa: BLE001 - nothing was done, and whoever asked is told
            slack_logger().error("a mention was not answered: %s", type(error).__name__)
            found = said(words.NOT_ANSWERED)
        reply = found if isinstance(found, Reply) else said(words.NO_FORM_HERE)
        await self._tell(user.id, place, event.thread_ts, reply, occasion=ts)

    async def _tell(self, user: str, channel: str, thread: str | None, reply: Reply, *, occasion: str) -> None:
        """Answer where it was asked, or else in the direct conversation. Never raises."""
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await self._client.chat_postEphemeral(
                    channel=channel, user=user, text=reply.text, blocks=list(reply.blocks), thread_ts=thread
                )
        except FAILURES as error:
            slack_logger().info("a mention is answered in the direct conversation: %s", error_code(error))
            await self._answers.tell(user, None, reply.text, occasion=occasion)
