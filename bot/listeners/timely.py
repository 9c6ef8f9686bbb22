"""Acknowledgements in time: Slack is answered within its three seconds, however long the work takes.

Work that was begun is not broken off: whether something is recorded would not be known. What takes longer is answered
with that it does, and what came of it is told as soon as it is known.
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

from bot.listeners.private import PrivateAnswers
from bot.payloads import Actions, Command, Payload, Shortcut, Submission, parse_payload
from bot.slack.client import FAILURES, error_code
from bot.slack.log import slack_logger
from bot.views.modals import note_modal

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


class Timely:
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
