"""The front door: what Slack brings is let in no faster than it can be answered in time; what is not is said so.

First come repeats, which share the answer of what they repeat. Then each person's own limit, and then the slots of this
process. What gets none of them has not begun: nothing of it is recorded, and the person is told exactly that.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from slack_bolt import BoltResponse

from bot.listeners.life import Life
from bot.listeners.private import PrivateAnswers
from bot.listeners.timely import arrived_now, kept_open
from bot.payloads import (
    Actions,
    AppRateLimited,
    Command,
    EventCallback,
    MessageShortcut,
    Payload,
    Shortcut,
    SslCheck,
    Submission,
    User,
    as_read,
)
from bot.slack.log import Tally
from bot.slack.origin import Origin
from runtime.model.buckets import Buckets, Rate

TOO_FAST = "Too many clicks at once. Nothing was recorded. Please wait a moment, then try again."
BUSY = "Countersign is overloaded. Nothing was recorded. Please try again in a moment."

AT_ONCE = 32
"""Interactions that are worked on side by side, until each is acknowledged."""
WAITING = 256
"""Interactions that may wait for their turn."""
PATIENCE = 1.0
"""Seconds for which they wait: as many are left to work on them in Slack's three."""
_TOLD_AGAIN = Rate(per_second=1 / 60, burst=1)

HandOn = Callable[[str], Awaitable[BoltResponse]]


class Door:
    """Lets in what Slack brings, over either transport; `hand_on` works on a payload, and `rate` is each person's."""

    def __init__(self, life: Life, hand_on: HandOn, answers: PrivateAnswers, rate: Rate) -> None:
        self._life = life
        self._hand_on = hand_on
        self._answers = answers
        self._people, self._told = Buckets(rate), Buckets(_TOLD_AGAIN)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._under_way: dict[str, asyncio.Task[BoltResponse]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self.too_fast = Tally("interactions of people over their limit were turned away")
        self.kept_from_us = Tally("Slack has kept events from us for a minute, since there were too many")
        self.busy = Tally("interactions were turned away, since there were too many at once")

    async def answer(self, payload: Payload, origin: Origin) -> BoltResponse:
        """Return what Slack is answered."""
        if isinstance(payload, SslCheck | AppRateLimited):
            return self._hear(payload)
        arrived_now()
        body = json.dumps(as_read(payload))
        if (known := self._under_way.get(body)) is not None:
            return await asyncio.shield(known)
        user = _actor(payload)
        if user and self._people.take(user.id, asyncio.get_running_loop().time()):
            self.too_fast.add()
            return self._turn_away(payload, user, TOO_FAST)
        if not await self._life.let_in(payload, origin):
            return BoltResponse(status=503, body="")
        if user is None or isinstance(payload, EventCallback):
            return await self._hand_on(body)
        if len(self._under_way) >= AT_ONCE + WAITING:
            return self._too_many(payload, user)
        task = self._under_way[body] = asyncio.create_task(self._admit(payload, user, body))
        task.add_done_callback(lambda _: self._under_way.pop(body, None))
        return await asyncio.shield(task)

    def _hear(self, payload: SslCheck | AppRateLimited) -> BoltResponse:
        """Take what asks for nothing; that events were kept from us is counted, for their people are not answered."""
        if isinstance(payload, AppRateLimited):
            self.kept_from_us.add()
        return BoltResponse(status=200, body="")

    async def _admit(self, payload: Payload, user: User, body: str) -> BoltResponse:
        """Work on it once there is a slot."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._slots.acquire()
        except TimeoutError:
            return self._too_many(payload, user)
        try:
            return await self._hand_on(body)
        finally:
            self._slots.release()

    def _too_many(self, payload: Payload, user: User) -> BoltResponse:
        self.busy.add()
        return self._turn_away(payload, user, BUSY)

    def _turn_away(self, payload: Payload, user: User, why: str) -> BoltResponse:
        """Answer in the acknowledgement where that can be, else in private; the latter once a minute for each."""
        match payload:
            case Submission():
                return kept_open(payload, why)
            case Command():
                body = json.dumps({"response_type": "ephemeral", "text": why})
                return BoltResponse(status=200, body=body, headers={"content-type": "application/json"})
            case EventCallback():
                return BoltResponse(status=200, body="")
            case Actions() | Shortcut() | MessageShortcut():
                self._tell(payload, user, why)
        return BoltResponse(status=503, body="")

    def _tell(self, payload: Actions | Shortcut | MessageShortcut, user: User, why: str) -> None:
        if self._told.take(user.id, asyncio.get_running_loop().time()):
            return
        place, occasion = None, payload.trigger_id
        if isinstance(payload, Actions):
            place = payload.place
        task = asyncio.create_task(self._answers.tell(user.id, place, why, occasion=occasion))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _actor(payload: Payload) -> User | None:
    """Return who did something, None for what nobody did or what is said of somebody."""
    match payload:
        case Command():
            return User(id=payload.user_id, team_id=payload.team_id)
        case EventCallback():
            return User(id=payload.event.user) if isinstance(payload.event.user, str) else None
        case Actions() | Shortcut() | MessageShortcut() | Submission():
            return payload.user
    return None
