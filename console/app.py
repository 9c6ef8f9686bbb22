"""The console's application: its routes, and what each shows."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from console.acts import ActPages
from console.figure_pictures import MOST_WEEKS, pictures_of
from console.figures import WEEK_ROWS, Period, table_of, weeks_table_of
from console.forms import PathId
from console.holds import HoldPages
from console.lists import SavedLists
from console.pages import attachment, message, page, stylesheet, verifier, words
from console.requests import RequestPages
from console.run_graph import draw
from console.run_states import words_of
from console.run_timeline import timeline_of
from console.run_trail import folded
from console.runs import PAGE, After, FilterError, RunFilters
from console.sign_in import NotAllowedError, NotFromHereError, SignIn, SignInNeededError
from evidence.archive import Archive, get_stored
from evidence.errors import EvidenceError
from runtime.model.search import EvidenceState, UnknownRowError
from runtime.services.attention import LISTED
from runtime.services.console_acts import ConsoleActs
from runtime.services.console_pages import STEPS, ConsolePages
from runtime.services.console_requests import ConsoleRequests
from runtime.services.console_sessions import ConsoleRole
from runtime.services.legal_holds import LegalHolds
from runtime.services.run_lists import RunLists

_NO_RUN = "There is no run of this id, or it is not this tenant's."


class _Console:
    """The routes behind the door."""

    def __init__(self, door: SignIn, pages: ConsolePages, archive: Callable[[], Archive]) -> None:
        self._door = door
        self._pages = pages
        self._archive = archive

    async def attention(self, request: Request) -> Response:
        """Show what needs attention."""
        viewer = await self._door.viewer(request)
        found = await self._pages.attention()
        return page("attention", viewer, found=found, now=self._pages.engine.clock(), listed=LISTED)

    async def runs(self, request: Request) -> Response:
        """Show runs, as the address narrows them."""
        viewer = await self._door.viewer(request)
        try:
            filters = RunFilters.of(dict(request.query_params))
            found = await self._pages.runs(filters.sought())
        except (FilterError, UnknownRowError) as error:
            return message(viewer, 422, "This list cannot be shown", f"{error}.")
        more = filters.behind(found[PAGE - 1].run_id) if len(found) > PAGE else None
        return page("runs", viewer, runs=found[:PAGE], filters=filters, more=more, states=list(EvidenceState))

    async def run(self, request: Request, run_id: PathId) -> Response:
        """Show a run in full."""
        viewer = await self._door.viewer(request)
        found = await self._pages.run(run_id)
        if found is None:
            return message(viewer, 404, "No such run", _NO_RUN)
        receipts = [one for effect in found.details.effects for one in effect.receipts]
        time = timeline_of(found.run, found.requests, receipts, self._pages.engine.clock())
        graph, trail = draw(found.details.graph, words_of(words)), folded(found.trail)
        return page("run", viewer, found=found, run=found.run, time=time, graph=graph, trail=trail, most=STEPS)

    async def trail(self, request: Request, run_id: PathId, after: After = 0) -> Response:
        """Show a part of a run's audit trail."""
        viewer = await self._door.viewer(request)
        found = await self._pages.trail(run_id, after)
        if found is None:
            return message(viewer, 404, "No such run", _NO_RUN)
        return page("trail", viewer, found=found, trail=folded(found.leaves))

    async def cards(self, request: Request, run_id: PathId, approval_id: PathId) -> Response:
        """Show the cards of a request as people saw them."""
        viewer = await self._door.viewer(request)
        found = await self._pages.cards(run_id, approval_id)
        if found is None:
            return message(viewer, 404, "No such request", "This run has no request of this id.")
        return page("cards", viewer, found=found)

    async def figures(self, request: Request) -> Response:
        """Show how long people took with what they were asked, as the address says when."""
        viewer = await self._door.viewer(request)
        try:
            period = Period.of(dict(request.query_params))
            since, until = period.moments(self._pages.engine.clock())
        except FilterError as error:
            return message(viewer, 422, "These figures cannot be shown", f"{error}.")
        weeks = await self._pages.weeks(since, until)
        if request.url.path.endswith("/weeks.csv"):
            return attachment(f"weeks-{since:%Y-%m-%d}.csv", weeks_table_of(weeks), "text/csv")
        found = await self._pages.figures(since, until)
        if request.url.path.endswith(".csv"):
            return attachment(f"figures-{since:%Y-%m-%d}.csv", table_of(found), "text/csv")
        bounds = {"most_weeks": MOST_WEEKS, "week_rows": WEEK_ROWS}
        pictures = pictures_of(weeks, found.people, since, until)
        return page("figures", viewer, found=found, period=period, weeks=weeks, pictures=pictures, **bounds)

    async def rules(self, request: Request) -> Response:
        """Show the versions of the policy and of runbooks."""
        return page("rules", await self._door.viewer(request), found=await self._pages.rules())

    async def people(self, request: Request) -> Response:
        """Show the directory."""
        return page("people", await self._door.viewer(request), people=await self._pages.people())

    async def verifier(self, request: Request) -> Response:
        """Give the page that verifies a bundle in the browser, by rules of its own."""
        await self._door.viewer(request)
        return verifier()

    async def bundle(self, request: Request, run_id: PathId) -> Response:
        """Give an auditor a run's bundle, after it is on record who got it."""
        viewer = await self._door.sender(request, ConsoleRole.AUDITOR)
        stored = await self._pages.bundle(run_id)
        if stored is None:
            return message(viewer, 404, "No bundle", "There is no stored bundle of this run.")
        try:
            data = await asyncio.to_thread(lambda: get_stored(self._archive(), stored.location, stored.sha256))
        except EvidenceError as error:
            return message(viewer, 503, "The archive does not give the bundle", f"{error}. Nothing was given out.")
        await self._pages.note_fetched(viewer.person, stored)
        return attachment(f"{run_id}.zip", data, "application/zip")


@dataclass(frozen=True)
class Desks:
    """What stands behind the pages; `archive` opens the archive in which bundles are."""

    pages: ConsolePages
    requests: ConsoleRequests
    acts: ConsoleActs
    holds: LegalHolds
    archive: Callable[[], Archive]


def build_console(door: SignIn, desks: Desks) -> FastAPI:
    """Return the application."""
    app = FastAPI(title="Console", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    console = _Console(door, desks.pages, desks.archive)
    app.include_router(door.routes())
    app.include_router(RequestPages(door, desks.requests).routes())
    app.include_router(ActPages(door, desks.acts).routes())
    app.include_router(HoldPages(door, desks.holds, desks.archive).routes())
    app.include_router(SavedLists(door, RunLists(desks.pages.engine, desks.pages.tenant)).routes())
    app.get("/console.css")(stylesheet)
    app.get("/")(console.attention)
    app.get("/runs")(console.runs)
    app.get("/runs/{run_id}")(console.run)
    app.get("/runs/{run_id}/trail")(console.trail)
    app.get("/runs/{run_id}/cards/{approval_id}")(console.cards)
    app.get("/figures")(console.figures)
    app.get("/figures.csv")(console.figures)
    app.get("/figures/weeks.csv")(console.figures)
    app.get("/rules")(console.rules)
    app.get("/people")(console.people)
    app.get("/verify")(console.verifier)
    app.post("/runs/{run_id}/bundle")(console.bundle)
    _handle(app, door)
    return app


def _handle(app: FastAPI, door: SignIn) -> None:
    """Have errors told on pages."""

    @app.exception_handler(SignInNeededError)
    async def sign_in(_: Request, __: Exception) -> Response:
        return door.needed()

    @app.exception_handler(NotFromHereError)
    async def foreign(request: Request, _: Exception) -> Response:
        return await door.foreign(request)

    @app.exception_handler(NotAllowedError)
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, NotAllowedError)  # noqa: S101 - starlette's signature
        return await door.refused(request, error)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == HTTPStatus.NOT_FOUND:
            return message(None, status, "No such page", "There is nothing here.")
        return message(None, status, "Not understood", "This address or form cannot be read. Nothing was done.")

    @app.exception_handler(psycopg.OperationalError)
    async def away(_: Request, __: Exception) -> Response:
        return message(None, 503, "Not available", "The database does not answer. Please try again in a moment.")

    @app.exception_handler(Exception)  # it is logged all the same
    async def failed(_: Request, __: Exception) -> Response:
        return message(None, 500, "This did not work", "The program has a fault, which its log describes.")

    @app.exception_handler(RequestValidationError)
    async def wrong(_: Request, __: Exception) -> Response:
        return message(None, 422, "Not understood", "This address or form cannot be read. Nothing was done.")
