"""Requests in the console: the page of one, its forms, and what they are answered with."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.responses import Response

from console.forms import Key, PathId, new_key, see_other
from console.pages import message, page
from console.sign_in import SignIn
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.approval_view import Act
from runtime.services.clicks import ClickOutcome
from runtime.services.console_requests import ConsoleRequests, PageChangedError, RequestForm, Said, SignHere
from runtime.services.console_sessions import ConsoleRole, ConsoleViewer
from runtime.services.refusal_words import refusal_reason

_UNKNOWN = "There is no request of this id, or it is not this tenant's."
_DONE = {
    Said.APPROVE: "Your approval counts.",
    Said.REJECT: "Your rejection counts.",
    Said.CHANGES: "You asked for changes.",
    Said.WITHDRAW: "Your vote is withdrawn.",
    Said.CLAIM: "You have claimed this review.",
    Said.RELEASE: "You have given this review back.",
}

_HERE = {
    RefusalCode.STALE: "The request has changed since you opened its page. Please read it again, then answer.",
    RefusalCode.PASSKEY_NEEDED: "This needs a passkey signature, and there is no address at which you could sign.",
    RefusalCode.DEACTIVATED: "All your Slack accounts are deactivated, so you cannot decide.",
    RefusalCode.NOT_IN_DIRECTORY: "Countersign's directory has no such person any more, so you cannot decide.",
}
"""Words for refusals that speak of cards and clicks in Slack."""


class SentForm(BaseModel):
    """A form as it comes in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: Said
    reason: Annotated[str, StringConstraints(max_length=2000)] = ""
    stamp: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    shown: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    key: Key


class RequestPages:
    """The routes of requests, behind the door."""

    def __init__(self, door: SignIn, desk: ConsoleRequests) -> None:
        self._door = door
        self._desk = desk

    def routes(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter()
        router.get("/requests/{approval_id}")(self._show)
        router.post("/requests/{approval_id}")(self._send)
        return router

    async def _show(self, request: Request, approval_id: PathId) -> Response:
        viewer = await self._door.viewer(request)
        found = await self._desk.page(approval_id, viewer)
        if found is None:
            return message(viewer, 404, "No such request", _UNKNOWN)
        acts = found.acts if viewer.is_officer else frozenset()
        why = _why(found.refusal) if found.refusal and viewer.is_officer else ""
        return page("request", viewer, found=found, view=found.view, acts=acts, why=why, key=new_key(), Act=Act)

    async def _send(self, request: Request, approval_id: PathId, sent: Annotated[SentForm, Form()]) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.OFFICER)
        form = RequestForm(approval_id, **sent.model_dump())
        try:
            return _answer(viewer, form, await self._desk.send(form, viewer))
        except PageChangedError:
            return _back(
                viewer, form, 409, "Nothing was done", "The page would show something else now. Read it again."
            )


def _answer(viewer: ConsoleViewer, form: RequestForm, found: ClickOutcome | SignHere | None) -> Response:
    """Return what the person is told; a vote that has to be signed leads to the page for that."""
    if found is None:
        return message(viewer, 404, "No such request", _UNKNOWN)
    if isinstance(found, SignHere):
        return see_other(found.link)
    if found.refusal is not None:
        return _back(viewer, form, 409, "This does not count", _why(found.refusal))
    return _back(viewer, form, 200, "Done", _DONE[form.says])


def _why(refusal: Refusal) -> str:
    """Return why something does not count, in words that fit a page."""
    return _HERE.get(refusal.code) or refusal_reason(refusal)


def _back(viewer: ConsoleViewer, form: RequestForm, status: int, title: str, says: str) -> Response:
    return page("answered", viewer, status, title=title, says=says, approval_id=form.approval_id)
