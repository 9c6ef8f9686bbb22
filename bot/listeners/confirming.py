"""Counts recorded clicks as soon as Slack confirms who made them: after a limit, an outage or a restart of ours."""

import asyncio
from contextlib import suppress

from bot.listeners.identity import Identity, identify
from bot.listeners.installation import InstallationWatch
from bot.listeners.private import PrivateAnswers
from bot.payloads import User
from bot.slack.log import slack_logger
from bot.slack.origin import asked_from
from bot.views.refusals import refusal_words
from runtime.model.actor import SlackAccount
from runtime.services.desk_model import Desk
from runtime.services.people_model import Unconfirmed

LOOK = 15.0
"""Seconds until it is looked whether another process has left an unconfirmed click."""
LINGER = 5.0
"""Seconds for which clicks are looked for after somebody could not be confirmed."""
SOON = 1.0
"""Seconds until Slack is asked again about somebody whom it has not confirmed."""


class Confirming:
    """Looks after unconfirmed clicks until each is counted or refused."""

    def __init__(self, desk: Desk, installation: InstallationWatch, answers: PrivateAnswers) -> None:
        self._desk = desk
        self._installation = installation
        self._answers = answers
        self._linger_until = 0.0

    async def run(self) -> None:
        """Confirm what can be, until canceled. A database that is away is asked again."""
        while True:
            try:
                is_done = await self.confirm_all()
            except Exception as error:  # noqa: BLE001 - the clicks are recorded, and are looked at again
                slack_logger().warning("unconfirmed clicks were not looked at: %s", type(error).__name__)
                is_done = True
            await self._rest(LOOK if is_done else SOON)

    async def _rest(self, seconds: float) -> None:
        """Wait that long; not so long after somebody was not confirmed, whose click may be still to be recorded."""
        profiles = self._installation.profiles
        if profiles.missed.is_set():
            profiles.missed.clear()
            self._linger_until = asyncio.get_running_loop().time() + LINGER
        if seconds == SOON or asyncio.get_running_loop().time() < self._linger_until:
            await asyncio.sleep(SOON)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await profiles.missed.wait()

    async def confirm_all(self) -> bool:
        """Confirm whom Slack confirms now; return whether nobody is left."""
        found = await self._desk.accounts.unconfirmed()
        return all(await asyncio.gather(*map(self._confirm, found)))

    async def _confirm(self, one: Unconfirmed) -> bool:
        """Count or refuse a click; return whether that could be said."""
        who = await self._who(one.account)
        if who is None or who.claimed is not None:
            return False
        person = who.person.id if who.person else None
        confirmed = await self._desk.accounts.confirm(one.notification_id, who.account, person, who.refusal)
        if confirmed is not None:
            outcome = await self._desk.apply(confirmed)
            if outcome.refusal:
                words = refusal_words(outcome.refusal)
                await self._answers.tell(one.account.user, None, words, occasion=one.notification_id)
        return True

    async def _who(self, account: SlackAccount) -> Identity | None:
        """Return who it is in the workspace that knows them, None where the app is installed nowhere."""
        user, found = User(id=account.user, team_id=account.team or None), None
        for _, origin in await self._installation.everywhere():
            with asked_from(origin):
                found = await identify(user, self._installation, self._desk)
            if found.person or found.claimed:
                break
        return found
