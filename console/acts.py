"""Operators' acts: the page that asks for a reason, and what became of it; of many, their count is typed."""

import json
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from console.forms import Key, Reason, SubjectId, new_key
from console.pages import message, page
from console.sign_in import SignIn
from runtime.model.limits import json_fault
from runtime.model.search import UnknownError
from runtime.services.console_acts import MOST, OF_MANY, ActForm, ActName, ConsoleActs, Subject
from runtime.services.console_sessions import ConsoleRole, ConsoleViewer

_WORDS = {
    ActName.CANCEL: ("Cancel this run", "Nothing more is done. What was done stays done."),
    ActName.UNDO: ("Undo what this run did", "A separate run undoes it, under policy."),
    ActName.RETRY: ("Retry now", "What is put off is tried now."),
    ActName.RETRY_STEP: ("Retry this step", "It begins again."),
    ActName.SUPPLY: ("Supply this step's result", "The step succeeds with it, and the record names you."),
    ActName.SKIP: ("Skip this step", "Steps that need it and have no condition are skipped, too."),
    ActName.END: ("End the run as failed", "Nothing more is done."),
    ActName.REQUEUE: ("Look at it again", "The dead letter is applied again."),
    ActName.DROP: ("Put it away", "The dead letter is not looked at again."),
    ActName.RETRY_BUNDLE: ("Retry the bundle", "The stuck bundle is sealed and stored again."),
}
_MANY = {
    ActName.CANCEL: "Cancel runs",
    ActName.RETRY: "Retry runs now",
    ActName.REQUEUE: "Look at dead letters again",
    ActName.DROP: "Put dead letters away",
}
Step = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{0,300}$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]{0,9}$")]
Listed = Annotated[str, StringConstraints(pattern=r"^[a-z]+_[0-9a-z]{1,60}:[0-9]{0,9}$")]


class SentAct(BaseModel):
    """A form about one subject."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: SubjectId
    step: Step = ""
    version: Version = ""
    reason: Reason
    result: Annotated[str, StringConstraints(max_length=100_000)] = ""
    key: Key


class SentActs(BaseModel):
    """A form about many: each as `ID:VERSION`, as the page listed them, and their count, typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subjects: Annotated[list[Listed], Field(min_length=1, max_length=MOST)]
    count: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}$")]
    reason: Reason
    key: Key


class ActPages:
    """The routes of acts, behind the door."""

    def __init__(self, door: SignIn, desk: ConsoleActs) -> None:
        self._door = door
        self._desk = desk

    def routes(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter()
        router.get("/acts/{name}")(self._show)
        router.post("/acts/{name}")(self._do)
        router.get("/acts/{name}/many")(self._show_many)
        router.post("/acts/{name}/many")(self._do_many)
        return router

    async def _show(
        self,
        request: Request,
        name: ActName,
        subject: Annotated[SubjectId, Query()],
        step: Annotated[Step, Query()] = "",
    ) -> Response:
        viewer = await self._door.viewer_as(request, ConsoleRole.OPERATOR)
        found = await self._desk.page(name, Subject(subject, step))
        if found is None:
            return message(viewer, 404, "Nothing like that", "There is nothing of this id, or it is not this tenant's.")
        title, says = _WORDS[name]
        return page("act", viewer, found=found, act=str(name), title=title, says=says, key=new_key())

    async def _do(self, request: Request, name: ActName, sent: Annotated[SentAct, Form()]) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.OPERATOR)
        try:
            result = _result(sent.result) if name is ActName.SUPPLY else None
        except ValueError as error:
            return message(viewer, 422, "Nothing was done", f"The result: {error}.")
        subject = Subject(sent.subject, sent.step, int(sent.version) if sent.version else None)
        try:
            found = await self._desk.do(ActForm(name, sent.reason, sent.key, result), subject, viewer)
        except UnknownError as error:
            return message(viewer, 404, "Nothing was done", f"{error}.")
        return page("acted", viewer, 409 if found.why and not found.is_open else 200, results=[found])

    async def _show_many(
        self, request: Request, name: ActName, subject: Annotated[list[SubjectId], Query(max_length=MOST)]
    ) -> Response:
        viewer = await self._door.viewer_as(request, ConsoleRole.OPERATOR)
        if refused := _refused_many(viewer, name):
            return refused
        ids = list(dict.fromkeys(subject))
        found = [(one, await self._desk.page(name, Subject(one))) for one in ids]
        able = [one for _, one in found if one is not None and not one.why_not]
        left = [(one, shown.why_not if shown else "There is no such thing.") for one, shown in found]
        left = [(one, why) for one, why in left if why]
        title, says = _MANY[name], _WORDS[name][1]
        return page("act_many", viewer, able=able, left=left, act=str(name), title=title, says=says, key=new_key())

    async def _do_many(self, request: Request, name: ActName, sent: Annotated[SentActs, Form()]) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.OPERATOR)
        if refused := _refused_many(viewer, name):
            return refused
        subjects = [_listed(one) for one in dict.fromkeys(sent.subjects)]
        if int(sent.count) != len(subjects):
            says = f"{len(subjects)} are listed, and {sent.count} were typed."
            return message(viewer, 422, "Nothing was done", says)
        try:
            results = await self._desk.do_many(ActForm(name, sent.reason, sent.key), subjects, viewer)
        except UnknownError as error:
            return message(viewer, 404, "Nothing was done", f"{error}.")
        return page("acted", viewer, results=results)


def _refused_many(viewer: ConsoleViewer, name: ActName) -> Response | None:
    if name in OF_MANY:
        return None
    return message(viewer, 422, "Not with many", "This is done to one at a time. Nothing was done.")


def _listed(said: str) -> Subject:
    subject, _, version = said.partition(":")
    return Subject(subject, version=int(version) if version else None)


def _result(text: str) -> dict[str, object]:
    """Return the object that is supplied; raise ValueError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    if wrong := json_fault(found):
        raise ValueError(wrong)
    return dict(found)
