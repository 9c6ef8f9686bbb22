"""Signing in and out of the console: by an account of an identity provider, or in a sandbox by a link.

A cookie carries the secret of a session. A browser sends it with no request that another site makes
(`SameSite=Strict`), and a form counts only if the browser says that it stands on a page of ours (`Origin`). The cookie
of a sign-in that has begun is `Lax`: the provider's page leads back. It ties the answer to this browser.
"""

import hmac
import logging
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from console.forms import see_other
from console.pages import HEADERS, ROOT, message, page
from console.provider import Provider, ProviderError
from runtime.model.console import ConsoleRole, SignInRefusal
from runtime.services.console_sessions import (
    ConsoleSessions,
    ConsoleViewer,
    LinkUsedError,
    ProviderAccount,
    SignInRefusedError,
)
from runtime.services.people import UnknownPersonError

COOKIE = "countersign_console"
BEGUN = "countersign_console_begun"
CALLBACK = "/callback"
_MINUTES = 10
"""How long a sign-in that has begun may take."""
_FOUND = 302
_USED = "A link opens the console once. Start `countersign up` again for another one."
_WHY = {
    SignInRefusal.UNKNOWN: "This account is nobody's in the directory.",
    SignInRefusal.AMBIGUOUS: "The directory lists this account with more than one person.",
    SignInRefusal.UNVERIFIED: "The provider has not verified the mail address of this account.",
    SignInRefusal.UNTRUSTED: "This account is listed with nobody, and its mail address does not count here.",
    SignInRefusal.CHANGED: "Another account has signed in with this mail address before, or this one as somebody else.",
    SignInRefusal.NO_ROLE: "You are in no group that may use the console.",
}
_ASK = "Please ask the people who keep the directory. That this account was not let in is on record."

log = logging.getLogger(__name__)


class SignInNeededError(Exception):
    """Nobody has signed in, or the session is over."""


class NotFromHereError(Exception):
    """A form does not stand on a page of ours."""


class NotAllowedError(Exception):
    """Somebody has not the role that this is for."""

    def __init__(self, viewer: ConsoleViewer, role: ConsoleRole) -> None:
        super().__init__(role)
        self.viewer = viewer
        self.role = role


class SignIn:
    """The door of the console: its provider or its one link, who has a session, and which forms are ours."""

    def __init__(
        self, sessions: ConsoleSessions, origin: str, *, link: str | None = None, provider: Provider | None = None
    ) -> None:
        self.sessions = sessions
        self._origin = origin
        self._link = link
        self._provider = provider

    async def viewer(self, request: Request) -> ConsoleViewer:
        """Return whose session a request belongs to; raise SignInNeededError."""
        viewer = await self.sessions.find(request.cookies.get(COOKIE, ""))
        if viewer is None:
            raise SignInNeededError
        return viewer

    async def viewer_as(self, request: Request, role: ConsoleRole) -> ConsoleViewer:
        """Return whose session it is, who has a role; raise SignInNeededError or NotAllowedError."""
        viewer = await self.viewer(request)
        if role not in viewer.roles:
            raise NotAllowedError(viewer, role)
        return viewer

    async def sender(self, request: Request, role: ConsoleRole) -> ConsoleViewer:
        """Return who sends a form of ours, and has a role; raise NotFromHereError, too."""
        self.expect_own_form(request)
        return await self.viewer_as(request, role)

    def expect_own_form(self, request: Request) -> None:
        """Raise NotFromHereError where the request comes from no page of ours."""
        if request.headers.get("Origin") != self._origin:
            raise NotFromHereError

    async def refused(self, request: Request, error: NotAllowedError) -> Response:
        """Return the page that says that somebody may not, once it is on record."""
        await self.sessions.note_refused(error.viewer, _route_of(request), "role")
        return message(error.viewer, 403, "Not allowed", f"This is for {error.role}s. Nothing was done.")

    async def foreign(self, request: Request) -> Response:
        """Return the page that says that a form is not ours; whose session came with it is on record."""
        viewer = await self.sessions.find(request.cookies.get(COOKIE, ""))
        if viewer is not None:
            await self.sessions.note_refused(viewer, _route_of(request), "origin")
        return message(None, 403, "Not from this page", "This form was not sent from a page of ours. Nothing was done.")

    def needed(self) -> Response:
        """Return the page that says how to sign in."""
        if self._provider is not None:
            return page("sign_in", None, 401)
        says = "Open the link that `countersign up` printed. A session lasts twelve hours."
        return message(None, 401, "Please sign in", says)

    def routes(self) -> APIRouter:
        """Return the routes of signing in and out."""
        router = APIRouter()
        if self._provider is not None:
            router.get("/sign-in")(self._begin)
            router.get(CALLBACK)(self._finish)
        router.get("/enter/{link}")(self._choose)
        router.post("/enter/{link}")(self._enter)
        router.post("/leave")(self._leave)
        return router

    def _is_link(self, link: str) -> bool:
        return self._link is not None and hmac.compare_digest(link.encode(), self._link.encode())

    async def _begin(self) -> Response:
        """Lead the browser to the provider, with a cookie that ties its answer to this browser."""
        assert self._provider is not None  # noqa: S101 - the route is there only then
        try:
            began = await self._provider.begin()
        except ProviderError as error:
            return self._away(error)
        answer = RedirectResponse(began.url, _FOUND, HEADERS)
        value = f"{began.state}.{began.nonce}.{began.verifier}"
        answer.set_cookie(
            BEGUN, value, _MINUTES * 60, path=ROOT + CALLBACK, httponly=True, samesite="lax", secure=self._is_secure
        )
        return answer

    async def _finish(self, request: Request) -> Response:
        """Open a session for the account with which the provider's page leads back."""
        assert self._provider is not None  # noqa: S101 - the route is there only then
        state, _, tied = request.cookies.get(BEGUN, "").partition(".")
        nonce, _, verifier = tied.partition(".")
        asked = request.query_params
        is_ours = hmac.compare_digest(state.encode(), asked.get("state", "").encode())
        if not (is_ours and state and nonce and verifier):
            says = "It did not begin in this browser, or more than ten minutes ago. Nothing was opened."
            return self._ended(page("sign_in", None, 400, title="This sign-in does not count", says=says))
        if asked.get("iss", self._provider.issuer) != self._provider.issuer:
            says = "Nothing was opened."
            return self._ended(page("sign_in", None, 400, title="Another provider answered", says=says))
        if not asked.get("code"):
            says = "The provider did not sign you in. Nothing was opened."
            return self._ended(page("sign_in", None, 403, title="Not signed in", says=says))
        try:
            return self._ended(await self._open(await self._provider.finish(asked["code"], verifier, nonce)))
        except ProviderError as error:
            return self._ended(self._away(error))

    async def _open(self, account: ProviderAccount) -> Response:
        try:
            secret = await self.sessions.sign_in(account)
        except SignInRefusedError as error:
            says = f"{_WHY[error.code]} {_ASK}"
            return page("sign_in", None, 403, title="You were not let in", says=says)
        # a redirect would go on with the navigation that another site began: the browser would keep the cookie back
        return self._with_session(page("entered", None), secret)

    @staticmethod
    def _away(error: ProviderError) -> Response:
        log.warning("the identity provider did not sign somebody in: %s", error)
        says = "The identity provider does not answer as it should. Nothing was opened. The log says more."
        return page("sign_in", None, 502, title="Signing in did not work", says=says)

    @staticmethod
    def _ended(answer: Response) -> Response:
        answer.delete_cookie(BEGUN, path=ROOT + CALLBACK)
        return answer

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
        return self._with_session(see_other(f"{ROOT}/"), secret)

    async def _leave(self, request: Request) -> Response:
        self.expect_own_form(request)
        await self.sessions.end(await self.viewer(request))
        answer = message(None, 200, "You have signed out", "This session is over. Its cookie opens nothing any more.")
        answer.delete_cookie(COOKIE, path=ROOT)
        return answer

    def _with_session(self, answer: Response, secret: str) -> Response:
        answer.set_cookie(COOKIE, secret, path=ROOT, httponly=True, samesite="strict", secure=self._is_secure)
        return answer

    @property
    def _is_secure(self) -> bool:
        return self._origin.startswith("https:")


def _route_of(request: Request) -> str:
    """Return method and path of a route, with names in the place of ids."""
    route = request.scope.get("route")
    return f"{request.method} {getattr(route, 'path', request.url.path)}"
