"""What the button *Figures* on a Home does, for those who lead."""

import asyncio

from slack_bolt.async_app import AsyncAck

from bot.home.figures import figures_modal
from bot.listeners.asking import DEADLINE, Asking
from bot.payloads import Actions
from bot.views import desk_words as words
from bot.views.refusals import refusal_words


class FiguresButton(Asking):
    """The listener for the button. Who leads nobody any more is told so."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Show the figures of the last 30 days."""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            found = await self._desk.figures.figures(identity.person) if identity.person else None
        await ack()
        if found:
            await self._open(payload, figures_modal(found))
        else:
            await self._tell(payload, refusal_words(identity.refusal) if identity.refusal else words.LEADS_NOBODY)
