"""Saved lists of runs in the console: an auditor saves what filters find, and sees later what differs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from console.forms import PathId, see_other
from console.pages import ROOT, attachment, message, page
from console.runs import FilterError, RunFilters
from console.sign_in import SignIn
from evidence.filters import capital
from runtime.services.console_sessions import ConsoleRole
from runtime.services.run_lists import MOST_RUNS, SHOWN, RunListError, RunLists

_NOT_SAVED, _NOT_DELETED = "The list was not saved", "The list was not deleted"
_NO_LIST = "There is no list of this id, or it was deleted."
First = Annotated[int, Query(ge=0, lt=MOST_RUNS)]
"""The place in a list from which a page shows it."""


class SavedLists:
    """The routes of saved lists, behind the door."""

    def __init__(self, door: SignIn, lists: RunLists) -> None:
        self._door = door
        self._lists = lists

    def routes(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter()
        router.get("/lists")(self._all)
        router.post("/lists")(self._save)
        router.get("/lists/{list_id}")(self._show)
        router.get("/lists/{list_id}/ids")(self._ids)
        router.post("/lists/{list_id}/delete")(self._delete)
        return router

    async def _all(self, request: Request) -> Response:
        viewer = await self._door.viewer(request)
        return page("lists", viewer, lists=await self._lists.all())

    async def _show(self, request: Request, list_id: PathId, first: First = 0) -> Response:
        viewer = await self._door.viewer(request)
        saved = await self._lists.find(list_id)
        if saved is None:
            return message(viewer, 404, "No such list", _NO_LIST)
        found = await self._lists.today(saved, RunFilters.of(saved.filters).sought(), first)
        return page("list", viewer, found=found, saved=saved, most=MOST_RUNS, shown=SHOWN)

    async def _ids(self, request: Request, list_id: PathId) -> Response:
        """Give the ids as a file, whose SHA-256 is the digest on record."""
        viewer = await self._door.viewer(request)
        saved = await self._lists.find(list_id)
        if saved is None:
            return message(viewer, 404, "No such list", _NO_LIST)
        lines = "".join(f"{run_id}\n" for run_id in sorted(saved.run_ids))
        return attachment(f"{list_id}.txt", lines, "text/plain")

    async def _save(self, request: Request) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.AUDITOR)
        said = {name: str(value) for name, value in (await request.form()).items()}
        name = said.pop("name", "")
        try:
            filters = RunFilters.of(said)
            list_id = await self._lists.save(viewer.person, name, filters.said, filters.sought())
        except FilterError as error:
            return message(viewer, 422, _NOT_SAVED, f"{error}.")
        except RunListError as error:
            return message(viewer, 422, _NOT_SAVED, f"{capital(str(error))}.")
        return see_other(f"{ROOT}/lists/{list_id}")

    async def _delete(self, request: Request, list_id: PathId) -> Response:
        viewer = await self._door.sender(request, ConsoleRole.AUDITOR)
        try:
            name = await self._lists.delete(viewer.person, list_id)
        except RunListError as error:
            return message(viewer, 404, _NOT_DELETED, f"{capital(str(error))}.")
        return message(viewer, 200, "The list was deleted", f"{name} is no more; that it was there stays on record.")
