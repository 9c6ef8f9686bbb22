"""Signing in and out of the console. A link opens one session; a cookie carries its secret.

A browser sends that cookie with no request that another site makes (`SameSite=Strict`), and a form counts only if the
browser says that it stands on a page of ours (`Origin`).
"""

import hmac
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from console.pages import HEADERS, ROOT, message, page
from runtime.services.console_sessions import ConsoleSessions, ConsoleViewer, LinkUsedError
from runtime.services.people import UnknownPersonError

COOKIE = "countersign_console"
_SEE_OTHER = 303
_USED = "A link opens the console once. Start `countersign up` again for another one."


class SignInNeededError(Exception):
    """Nobody has signed in, or the session is over."""


class NotFromHereError(Exception):
    """A form does not stand on a page of ours."""


class SignIn:
    """The door of the console: its one link, who has a session, and which forms are ours."""

    def __init__(self, sessions: ConsoleSessions, link: str, origin: str) -> None:
        self.sessions = sessions
        self._link = link
        self._origin = origin

    async def viewer(self, request: Request) -> ConsoleViewer:
        """Return whose session a request belongs to; raise SignInNeededError."""
        viewer = await self.sessions.find(request.cookies.get(COOKIE, ""))
        if viewer is None:
            raise SignInNeededError
        return viewer

    def expect_own_form(self, request: Request) -> None:
        """Raise NotFromHereError where the request comes from no page of ours."""
        if request.headers.get("Origin") != self._origin:
            raise NotFromHereError

    def routes(self) -> APIRouter:
        """Return the routes of signing in and out."""
        router = APIRouter()
        router.get("/enter/{link}")(self._choose)
        router.post("/enter/{link}")(self._enter)
        router.post("/leave")(self._leave)
        return router

    def _is_link(self, link: str) -> bool:
        return hmac.compare_digest(link.encode(), self._link.encode())

    async def _choose(self, link: str) -> Response:
        if not self._is_link(link):
            return message(None, 404, "No such page", "This link leads nowhere.")
        if await self.sessions.is_used(link):
            return message(None, 410, "This link was used before", _USED)
        return page("enter", None, link=link, people=await self.sessions.people())

    async def _enter(self, request: Request, link: str, person: Annotated[str, Form(max_length=200)]) -> Response:
        self.expect_own_form(request)
        if not self._is_link(link):
            return message(None, 404, "No such page", "This link leads nowhere.")
        try:
            secret = await self.sessions.open(link, person)
        except LinkUsedError:
            return message(None, 410, "This link was used before", _USED)
        except UnknownPersonError:
            return message(None, 403, "Not allowed", "This person may not use the console. Nothing was opened.")
        return self._led_in(secret)

    async def _leave(self, request: Request) -> Response:
        self.expect_own_form(request)
        await self.sessions.end(await self.viewer(request))
        answer = message(None, 200, "You have signed out", "This session is over. Its cookie opens nothing any more.")
        answer.delete_cookie(COOKIE, path=ROOT)
        return answer

    def _led_in(self, secret: str) -> Response:
        answer = RedirectResponse(f"{ROOT}/", _SEE_OTHER, HEADERS)
        secure = self._origin.startswith("https:")
        answer.set_cookie(COOKIE, secret, path=ROOT, httponly=True, samesite="strict", secure=secure)
        return answer
