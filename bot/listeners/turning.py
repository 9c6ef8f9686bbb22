"""Turning the lists that a command was answered with: the answer itself becomes its next page."""

import asyncio
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from slack_bolt.async_app import AsyncAck, AsyncRespond

from bot.home.lists import Reply, said
from bot.listeners.commands import Commands
from bot.listeners.private import TELL_SECONDS, UNKNOWN_BUTTON
from bot.payloads import Actions
from bot.slack.client import FAILURES, error_code
from bot.slack.log import slack_logger
from bot.views import desk_words as words
from bot.views.references import TurnRef


class Turning:
    """The listener for the button below a list. Slack is told first; whoever clicks is looked at anew."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def on_turn(self, body: dict[str, Any], ack: AsyncAck, respond: AsyncRespond) -> None:
        """Put the next page in the place of the one that was turned. What cannot be sent changes nothing."""
        payload = Actions.model_validate(body)
        await ack()
        reply = await self._reply(payload)
        try:
            async with asyncio.timeout(TELL_SECONDS):
                done = await respond(reply.text, blocks=list(reply.blocks), replace_original=True)
            if done.status_code != HTTPStatus.OK:
                slack_logger().warning("a list was not turned: HTTP %d", done.status_code)
        except (*FAILURES, ValueError) as error:
            slack_logger().warning("a list was not turned: %s", error_code(error))

    async def _reply(self, payload: Actions) -> Reply:
        try:
            return await self._commands.turned(payload.user, TurnRef.model_validate_json(payload.action.carried))
        except ValidationError:
            return said(UNKNOWN_BUTTON)
        except Exception as error:  # noqa: BLE001 - nothing was done, and whoever clicked is told
            slack_logger().error("a list was not turned: %s", type(error).__name__)
            return said(words.NOT_ANSWERED)
