"""Runs the roles of a process: edge, bot, worker and sweeps, together or apart, until told to stop; then drains."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator

import psycopg
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from fastapi import FastAPI

from console.pages import ROOT
from countersign.archive import check_lock, make_jobs
from countersign.console import make_console
from countersign.doctor.readiness import Readiness
from countersign.parts import Part, Patience, Role, ServeError, end_soon, listen, run_parts
from countersign.settings import START_HEADER, Settings
from countersign.system import System, compose, prepare
from edge.app import Api, build_edge
from edge.callers import LAST_LIMIT, Refusals
from edge.links import LinkPage
from edge.policy_bundle import BundleDownloads
from edge.server import Limits, Server
from runtime.engine import Engine
from runtime.model.limits import Rate, first_line
from runtime.services.approvals import ApprovalService
from runtime.services.caller_acts import CompensationApi
from runtime.services.callers import TriggerApi
from runtime.services.passkey_ceremonies import PasskeyCeremonies
from runtime.services.policy_bundles import PolicyBundles
from runtime.services.policy_previews import PolicyPreviews
from runtime.services.sequencer import Sequencer
from runtime.services.signals import SignalService
from runtime.services.tasks import TaskService
from runtime.sweeps import SWEEPS
from runtime.worker import Worker

log = logging.getLogger(__name__)


async def serve(settings: Settings, roles: Iterable[Role]) -> None:
    """Run the roles until SIGTERM or SIGINT; what is under way then comes to its end."""
    async with compose(settings, frozenset(roles)) as system:
        await prepare(system)
        if Role.WORKER in system.roles:
            await asyncio.to_thread(check_lock, settings, system.engine.clock)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            await run_parts(list(_parts(system)), stop, Patience(stop=settings.stop_seconds))
        except ServeError as error:
            end_soon(error)
            raise
        end_soon(None)


def _parts(system: System) -> Iterator[Part]:
    """Yield what the roles need. Every process answers probes."""
    settings, wanted, bot = system.settings, system.roles, system.bot
    yield _http(system)
    if bot is not None:
        yield Part("watch of Slack", bot.watch)
        if Role.BOT in wanted:
            yield Part("user groups", bot.groups.run)
        if Role.BOT in wanted and settings.slack_app_token is not None:
            yield Part("socket mode", bot.run_socket_mode, is_connected=bot.is_connected)
    if Role.SWEEPS in wanted:
        yield Part("sweeps", lambda: _tick(system.engine, settings.sweep_seconds))
    if Role.WORKER in wanted:
        jobs = make_jobs(settings, system.engine)
        worker = Worker(system.engine, concurrency=settings.concurrency, jobs=jobs)
        yield Part("worker", worker.run, worker.stop)
        sequencer = Sequencer(system.engine)
        yield Part("sequencer", sequencer.run, sequencer.stop)


async def _tick(engine: Engine, seconds: float) -> None:
    """Tick the sweeps; two processes that tick at once do no harm, and a tick that is missed is made up by the next."""
    scheduler = AsyncIOScheduler(timezone="UTC")
    for one in SWEEPS:
        scheduler.add_job(_sweep, "interval", [one, engine], seconds=seconds, max_instances=1, coalesce=True)
    scheduler.start()
    try:
        await asyncio.Event().wait()
    finally:
        scheduler.shutdown(wait=False)


async def _sweep(sweep: Callable[[Engine], Awaitable[int]], engine: Engine) -> None:
    try:
        await sweep(engine)
    except (psycopg.Error, OSError) as error:
        log.warning("a sweep failed and will be repeated: %s", first_line(error))


def _http(system: System) -> Part:
    settings = system.settings
    refusals = make_refusals(system)
    app = make_edge(system, Readiness(system, system.bot.health if system.bot is not None else list), refusals)
    headers = [(START_HEADER, settings.start)] if settings.start else []
    server = Server(app, Limits(settings.http_connections, settings.request_seconds), headers)
    listener = listen(settings.host, settings.port, "name others with COUNTERSIGN_HOST and COUNTERSIGN_PORT")
    log.info("listening on %s port %s", *listener.getsockname()[:2])

    async def work() -> None:
        async with refusals.recorded(LAST_LIMIT):
            await server.serve([listener])

    return Part("http", work, lambda: setattr(server, "should_exit", True))


def make_refusals(system: System) -> Refusals:
    """Return what records the requests that callers may not make."""
    desk = TriggerApi(system.engine, system.settings.tenant, system.catalog)
    return Refusals(desk.put_refused, desk.now)


def make_edge(system: System, ready: Readiness, refusals: Refusals) -> FastAPI:
    """Return the HTTP application of a process; `refusals` is told of requests that their callers may not make."""
    settings = system.settings
    hears = system.bot if Role.BOT in system.roles and settings.slack_signing_secrets else None
    secrets = {name: secret.get_secret_value() for name, secret in settings.callers.items()}
    rate = Rate(settings.caller_rate, settings.caller_burst)
    desk = TriggerApi(system.engine, settings.tenant, system.catalog)
    signals = SignalService(system.engine, settings.tenant)
    tasks = TaskService(system.engine, settings.tenant)
    taking_back = CompensationApi(system.engine, settings.tenant)
    api = Api(desk, signals, tasks, taking_back, secrets, rate, refusals, _previews(system))
    app = build_edge(
        ready,
        api=api if Role.EDGE in system.roles else None,
        slack=hears.asgi if hears is not None else None,
        install=system.bot.pages if Role.BOT in system.roles and system.bot is not None else None,
        passkeys=_passkeys(system) if Role.EDGE in system.roles else None,
        links=_links(settings) if Role.EDGE in system.roles else None,
        bundles=_bundles(system) if Role.EDGE in system.roles else None,
        counts=lambda: {**(system.bot.counts() if system.bot is not None else {}), **ready.counts()},
    )
    if Role.CONSOLE in system.roles and (console := make_console(system)) is not None:
        app.mount(ROOT, console)
    return app


def _previews(system: System) -> PolicyPreviews | None:
    """Return what previews policies, where there is a program to do so."""
    settings = system.settings
    if settings.opa is None:
        return None
    return PolicyPreviews(system.engine, settings.tenant, settings.opa, system.policy.in_force)


def _bundles(system: System) -> BundleDownloads | None:
    """Return the downloads of the policy in force, if there is a token for them."""
    token = system.settings.policy_token
    return BundleDownloads(PolicyBundles(system.engine.pool), token.get_secret_value()) if token else None


def _links(settings: Settings) -> LinkPage | None:
    """Return the page behind our links, where people's browsers reach the edge."""
    return LinkPage(settings.slack_app_id) if settings.public_url else None


def _passkeys(system: System) -> PasskeyCeremonies | None:
    """Return the service for passkeys, where people's browsers reach the edge."""
    settings = system.settings
    if settings.public_url is None:
        return None
    return PasskeyCeremonies(ApprovalService(system.engine, settings.tenant), settings.public_url)
