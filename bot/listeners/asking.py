"""What listeners share whose button opens a modal, and whose modal is answered with a reason."""

from typing import Any
from uuid import uuid4

from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners import private
from bot.listeners.identity import Identity, identify
from bot.listeners.installation import InstallationWatch
from bot.listeners.private import PrivateAnswers
from bot.payloads import Actions, User
from bot.slack.client import FAILURES, error_code
from bot.slack.log import slack_logger
from bot.views.refusals import refusal_words
from runtime.services.desk_model import Desk
from runtime.services.strangers_model import Stranger

DEADLINE = 10.0
"""Seconds after which it is given up that something is recorded. Slack is answered long before: see timely.py."""


class Asking:
    """Who clicks is known or told so; a modal opens or its person is told why not."""

    def __init__(
        self, client: AsyncWebClient, desk: Desk, installation: InstallationWatch, answers: PrivateAnswers
    ) -> None:
        self._client = client
        self._desk = desk
        self._installation = installation
        self._answers = answers
        self._log = slack_logger()

    async def _identity(self, user: User) -> Identity:
        return await identify(user, self._installation, self._desk)

    @staticmethod
    def _stranger(identity: Identity) -> Stranger | None:
        """Return who is none of the directory's people, None for one of them."""
        if identity.refusal is None:
            return None
        return Stranger(identity.account, identity.refusal.code, uuid4().hex)

    async def _tell(self, payload: Actions, text: str) -> None:
        await self._answers.tell(payload.user.id, payload.place, text, occasion=payload.action.action_ts)

    async def _apply_word(
        self, notification: str, user: User, channel: str | None, not_yet: str = private.NOT_YET_APPLIED
    ) -> None:
        """Apply what is recorded of a request, and say in private why it did not count, if so. Never raises."""
        try:
            outcome = await self._desk.apply(notification)
            said = refusal_words(outcome.refusal) if outcome.refusal else ""
        except Exception as error:  # noqa: BLE001 - it is recorded and acknowledged; the runtime applies it later
            self._log.error("a recorded word about a request was not applied: %s", type(error).__name__)
            said = not_yet
        if said:
            await self._answers.tell(user.id, channel, said, occasion=notification)

    async def _open(self, payload: Actions, modal: dict[str, Any]) -> None:
        """Open a modal, over the details where the click was there. A repeated delivery finds its trigger used."""
        opens = self._client.views_push if payload.modal else self._client.views_open
        try:
            await opens(trigger_id=payload.trigger_id, view=modal)
        except FAILURES as error:
            if (code := error_code(error)) != "exchanged_trigger_id":
                self._log.warning("a modal was not opened: %s", code)
                await self._tell(payload, private.NOT_OPENED)
