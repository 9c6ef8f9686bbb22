"""Admission: rate limits and overload at the entrance, and acknowledgements within Slack's three seconds.

Slack's requests are admitted no faster than they can be answered in time. Repeated deliveries come first, and share the
answer of what they repeat. Then each person's own limit applies, then the slots of this process. What gets no slot has
not begun: nothing of it is recorded, and the person is told exactly that.

Work that has begun is never broken off: nobody would know whether it is recorded. Work that takes longer is answered by
saying so, and the person is told the outcome as soon as it is known.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, Tally, error_code, slack_logger
from bot.listeners.installation import AppLifecycle
from bot.listeners.private_answers import PrivateAnswers
from bot.origin import Origin
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
    parse_payload,
)
from bot.views.vote_modals import note_modal
from runtime.model.limits import Rate, TokenBuckets

ANSWER_WITHIN = 2.3
"""Seconds from a request's arrival within which it is answered; Slack waits for three."""

LATE = "This takes longer than usual. You will be told here or in private what came of it."
RECORDED = "It is recorded. You can close this."
CLICK_RECORDED = "It took longer than usual, but your click was recorded."

_ARRIVED: ContextVar[float | None] = ContextVar("arrived", default=None)

Listener = Callable[[dict[str, Any], AsyncAck], Awaitable[None]]


def arrived_now() -> None:
    """Have the time run in which what is handled from here on is answered."""
    _ARRIVED.set(asyncio.get_running_loop().time())


def kept_open(payload: Submission, why: str) -> BoltResponse:
    """Return the answer that keeps a modal open and says why: at its first input, or in its place."""
    inputs = list(payload.view.state.values)
    said: dict[str, Any] = {"response_action": "errors", "errors": dict.fromkeys(inputs[:1], why)}
    if not inputs:
        said = {"response_action": "update", "view": note_modal(why)}
    return BoltResponse(status=200, body=json.dumps(said), headers={"content-type": "application/json"})


class _Ack(AsyncAck):
    """Takes the acknowledgement of a listener, and says when there is one.

    Where it comes too late, `show` shows it before the listener goes on: what the listener shows next stays on top.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Bolt's
        self.given = asyncio.Event()
        self.show: Callable[[BoltResponse], Awaitable[None]] | None = None

    async def __call__(self, *args: Any, **how: Any) -> BoltResponse:
        response = await super().__call__(*args, **how)
        self.given.set()
        if self.show:
            await self.show(response)
        return response


class TimelyAcks:
    """Wraps listeners so that each acknowledgement comes in time."""

    def __init__(self, client: AsyncWebClient, answers: PrivateAnswers) -> None:
        self._client = client
        self._answers = answers

    def __call__(self, listener: Listener) -> Listener:
        """Return the listener with an acknowledgement in time."""

        async def on_time(body: dict[str, Any], ack: AsyncAck) -> None:
            given = _Ack()
            work = asyncio.ensure_future(listener(body, given))
            said = asyncio.ensure_future(given.given.wait())
            await asyncio.wait({work, said}, timeout=_left(), return_when=asyncio.FIRST_COMPLETED)
            said.cancel()
            if given.response is not None or work.done():
                ack.response = given.response
                await work
                return
            payload = parse_payload(body)
            given.show = partial(self._tell, payload)
            ack.response = _late(payload)
            await work

        return on_time

    async def _tell(self, payload: Payload, response: BoltResponse) -> None:
        """Say what came of what was late."""
        said = json.loads(response.body) if response.body.startswith("{") else {}
        match payload:
            case Submission():
                await self._show(payload, said)
            case Command() if text := str(said.get("text", "")):
                await self._answers.tell(payload.user_id, payload.channel_id, text, occasion=payload.trigger_id)
            case Actions():
                await self._answers.tell(
                    payload.user.id, payload.place, CLICK_RECORDED, occasion=payload.action.action_ts
                )

    async def _show(self, payload: Submission, said: dict[str, Any]) -> None:
        """Show in the modal, which was kept open, what would have been shown; in private where it is gone."""
        if errors := said.get("errors"):
            await self._answers.tell(payload.user.id, None, "; ".join(errors.values()), occasion=payload.view.id)
            return
        try:
            await self._client.views_update(view_id=payload.view.id, view=said.get("view") or note_modal(RECORDED))
        except FAILURES as error:
            slack_logger().info("what a late submission led to is told in private: %s", error_code(error))
            words = "Your submission needs another step. Please start again." if said.get("view") else RECORDED
            await self._answers.tell(payload.user.id, None, words, occasion=payload.view.id)


def _left() -> float:
    now = asyncio.get_running_loop().time()
    return max(0.0, (_ARRIVED.get() or now) + ANSWER_WITHIN - now)


def _late(payload: Payload) -> BoltResponse:
    """Return the answer to what is not done yet. A late click is not acknowledged: it may not be recorded."""
    match payload:
        case Submission():
            return kept_open(payload, LATE)
        case Command():
            return BoltResponse(status=200, body=LATE)
        case Shortcut():
            return BoltResponse(status=200, body="")
    return BoltResponse(status=503, body="")


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


class Admission:
    """Lets in what Slack brings, over either transport; `hand_on` works on a payload, and `rate` is each person's."""

    def __init__(self, life: AppLifecycle, hand_on: HandOn, answers: PrivateAnswers, rate: Rate) -> None:
        self._life = life
        self._hand_on = hand_on
        self._answers = answers
        self._people, self._told = TokenBuckets(rate), TokenBuckets(_TOLD_AGAIN)
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
