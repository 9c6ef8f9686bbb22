"""The workspace as an aiohttp application."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from aiohttp import web

from runtime.clock import Clock
from sandbox import response_urls
from sandbox.admin_changes import as_changed
from sandbox.authorize import Authorize
from sandbox.core import Sandbox, Sleep
from sandbox.delivery import HttpCourier
from sandbox.human import STATIC, Human
from sandbox.limits import Limits, RateLimiter
from sandbox.methods import WebApi
from sandbox.people import People
from sandbox.socket_mode import Hub
from sandbox.state import Store
from sandbox.workspace import Workspace

_AUTHORIZE = "/oauth/v2/authorize"
LARGEST_BODY = 4 * 1024 * 1024
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


SANDBOX = web.AppKey("sandbox", Sandbox)
API = web.AppKey("api", WebApi)


def create_app(
    workspace: Workspace,
    *,
    clock: Clock,
    sleep: Sleep,
    limits: Limits | None = None,
    state: Path | None = None,
) -> web.Application:
    """Build the workspace. `clock` and `sleep` may be moved by hand; `state` names a file that survives a restart."""
    store = Store(state)
    sandbox = Sandbox(as_changed(workspace, store.data), store, clock, sleep, RateLimiter(limits or Limits(), clock))
    hub = Hub(sandbox)
    url = workspace.app.request_url
    people = People(sandbox, HttpCourier(sandbox, url) if url else hub)

    @web.middleware
    async def keep(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Save before answering: what was answered survives a crash."""
        response = await handler(request)
        store.save()
        return response

    app = web.Application(middlewares=[keep], client_max_size=LARGEST_BODY)
    app.on_response_prepare.append(_add_headers)
    app.on_shutdown.extend([store.close, hub.close])
    app[SANDBOX], app[API] = sandbox, WebApi(sandbox, hub)
    _add_routes(app, sandbox, hub, Human(sandbox, people))
    return app


def create_gateway(workspaces: Sequence[web.Application]) -> web.Application:
    """Return one Web API, and one page to install the app from, for workspaces that are served beside it."""

    async def call(request: web.Request) -> web.Response:
        apis = [one[API] for one in workspaces]
        known = [api for api in apis if await api.knows(request)]
        return await (known or apis)[0].handle(request)

    page = Authorize([one[SANDBOX] for one in workspaces])
    app = web.Application(client_max_size=LARGEST_BODY)
    app.add_routes([web.get("/api/{method}", call), web.post("/api/{method}", call)])
    app.add_routes([web.get(_AUTHORIZE, page.ask), web.post(_AUTHORIZE, page.answered), web.static("/static", STATIC)])
    return app


def _add_routes(app: web.Application, sandbox: Sandbox, hub: Hub, human: Human) -> None:
    async def respond(request: web.Request) -> web.Response:
        return await response_urls.handle(request, sandbox)

    api, page = app[API].handle, Authorize([sandbox])
    app.add_routes(
        [
            web.get(_AUTHORIZE, page.ask),
            web.post(_AUTHORIZE, page.answered),
            web.get("/api/{method}", api),
            web.post("/api/{method}", api),
            web.get("/link/", hub.handle),
            web.post("/actions/{team}/{key}", respond),
            web.get("/sandbox/state", human.state),
            web.post("/sandbox/act", human.act),
            web.get("/sandbox/events", human.events),
            web.post("/sandbox/verify-url", human.verify_url),
            web.get("/", human.page),
            web.get("/archives/{channel}/{message}", human.page),
            web.static("/static", STATIC),
        ]
    )


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
