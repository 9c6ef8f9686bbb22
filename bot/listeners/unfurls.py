"""Link unfurls: Slack previews our links where everybody who reads along may see what they lead to.

That is where a card of the request stands, and in the person's direct conversation with the app. The preview says less
than that card, which passed the gate. A person who shares a link that they may not see, or that leads nowhere, gets no
answer, so nobody can probe links. An account that belongs to no person is told the same about every link.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from bot.client import FAILURES, error_code, slack_logger
from bot.listeners.clicks import DEADLINE, Listener
from bot.payloads import EventCallback, SharedAt, User
from bot.views.blocks import Block
from bot.views.links import NOT_HERE, card_link, request_unfurl, run_unfurl
from bot.views.text import Shown
from runtime.model.person import Person
from runtime.services.approval_view import ApprovalView
from runtime.services.links import Linked, LinkTo
from runtime.services.refusal_words import refusal_words
from runtime.services.requests import RunView

EVENT = "link_shared"
SHARED = "link"
"""What it is called on record, beside commands, that an account which is nobody's has shared a link."""

MOST = 5
"""Links of one message that are looked at."""


class LinkUnfurls(Listener):
    """The listener for link_shared. Slack was answered before: nothing of it waits for us."""

    async def on_shared(self, body: dict[str, Any]) -> None:
        """Have links of ours shown, or say why they are not.

        What is still being written has no place yet: Slack says it again once it is posted.
        """
        payload = EventCallback.model_validate(body)
        shared = payload.event.shared
        if shared is None or not (linked := self._ours(shared)):
            return
        # The envelope names the team of the installation; the profile corrects it to the user's own.
        user = User(id=shared.user, team_id=payload.team_id)
        try:
            async with asyncio.timeout(DEADLINE):
                await self._answer(user, shared, linked)
        except Exception as error:  # noqa: BLE001 - nothing is shown then, and nothing was done
            slack_logger().error("a link was not shown: %s", type(error).__name__)

    def _ours(self, shared: SharedAt) -> dict[str, Linked]:
        """Return by address what the first links of ours name."""
        found = ((url, self._desk.links.read(url)) for url in shared.urls)
        ours = {url: linked for url, linked in found if linked is not None}
        return dict(list(ours.items())[:MOST])

    async def _answer(self, user: User, shared: SharedAt, linked: Mapping[str, Linked]) -> None:
        identity = await self._identity(user)
        if identity.person is None:
            assert identity.refusal is not None  # noqa: S101 - there is a person, or why there is none
            await self._front.refused(identity.account, SHARED, identity.refusal.code)
            await self._tell(shared, refusal_words(identity.refusal))
            return
        seen = {url: found for url, one in linked.items() if (found := await self._seen(identity.person, one))}
        shown = {
            url: {"blocks": blocks} for url in seen if (blocks := await self._blocks(shared, linked[url], seen[url]))
        }
        if len(shown) < len(seen):
            await self._tell(shared, NOT_HERE)
        if shown:
            await self._unfurl(shared, shown)

    async def _seen(self, person: Person, linked: Linked) -> ApprovalView | RunView | None:
        """Return what a link leads to, None where there is nothing that the person may see."""
        if linked.to is LinkTo.RUN:
            return await self._front.run(person, linked.id)
        return await self._front.approval(person, linked.id)

    async def _blocks(self, shared: SharedAt, linked: Linked, seen: ApprovalView | RunView) -> list[Block] | None:
        """Return what is shown, None where not all who read along may see it."""
        place = await self._desk.links.card_in(linked, shared.channel)
        if place is None and shared.channel != await self._open_direct(shared):
            return None
        card: Shown | None = card_link((await self._installation.known()).address, place)
        if isinstance(seen, RunView):
            return run_unfurl(seen, card, self._clock())
        return request_unfurl(seen, card, self._clock())

    async def _open_direct(self, shared: SharedAt) -> str:
        """Return that person's direct conversation with the app; "" for what is none: people have some with others."""
        if not shared.channel.startswith("D"):
            return ""
        direct = await self._client.conversations_open(users=shared.user)
        return str(direct["channel"]["id"])

    async def _unfurl(self, shared: SharedAt, shown: dict[str, dict[str, Any]]) -> None:
        try:
            await self._client.chat_unfurl(channel=shared.channel, ts=shared.message_ts, unfurls=shown)
        except FAILURES as error:
            slack_logger().warning("a link was not shown: %s", error_code(error))

    async def _tell(self, shared: SharedAt, text: str) -> None:
        await self._answers.tell(shared.user, shared.channel, text, occasion=shared.message_ts)
