"""Legal holds in the console: which there are, and setting and lifting one, for auditors and on record."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.responses import Response

from console.forms import Reason, see_other
from console.pages import ROOT, message, page
from console.sign_in import SignIn
from evidence.archive import Archive
from evidence.errors import EvidenceError
from evidence.filters import capital
from runtime.services.console_sessions import ConsoleRole, ConsoleViewer
from runtime.services.legal_holds import HoldError, LegalHolds, Subject
from runtime.services.listings import list_holds

Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]


class SentHold(BaseModel):
    """A form: `act` on the hold of a run by its id, or of all runs with a business reference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    act: Literal["set", "lift"]
    kind: Literal["run", "reference"]
    subject: Name
    reason: Reason


class HoldPages:
    """The routes of holds, behind the door."""

    def __init__(self, door: SignIn, desk: LegalHolds, archive: Callable[[], Archive]) -> None:
        self._door = door
        self._desk = desk
        self._archive = archive

    def routes(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter()
        router.get("/holds")(self._show)
        router.post("/holds")(self._do)
        return router

    async def _show(self, request: Request) -> Response:
        viewer = await self._door.viewer(request)
        return page("holds", viewer, holds=await self._holds())

    async def _holds(self) -> list[dict[str, Any]]:
        async with self._desk.pool.connection() as conn:
            return await list_holds(conn, self._desk.tenant, lifted=False)

    async def _do(self, request: Request, sent: Annotated[SentHold, Form()]) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.AUDITOR)
        try:
            await self._put(sent, viewer)
        except EvidenceError as error:
            return message(viewer, 503, "Nothing was done", f"The archive keeps nothing from being deleted: {error}.")
        except HoldError as error:
            return message(viewer, 409, "Nothing was done", f"{capital(str(error))}.")
        return see_other(f"{ROOT}/holds")

    async def _put(self, sent: SentHold, viewer: ConsoleViewer) -> None:
        """Set or lift a hold; workers tell the archive. Raise EvidenceError or HoldError, and nothing is on record."""
        subject = Subject(sent.kind, sent.subject)
        if sent.act == "lift":
            await self._desk.lift(viewer.person, subject, sent.reason)
            return
        await asyncio.to_thread(lambda: self._archive().check_lock())
        await self._desk.hold(viewer.person, subject, sent.reason)
