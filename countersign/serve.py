"""Runs the roles of a process: edge, bot, worker and sweeps, together or apart, until told to stop; then drains."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from enum import StrEnum

import psycopg
import uvicorn
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from countersign.compose import System, compose
from countersign.doctor import readiness
from countersign.edge.app import build_edge
from countersign.settings import Settings
from runtime.engine import Engine
from runtime.sweeps import sweep
from runtime.worker import Worker

log = logging.getLogger(__name__)


class Role(StrEnum):
    """A part of the work that a process may take on."""

    EDGE = "edge"
    BOT = "bot"
    WORKER = "worker"
    SWEEPS = "sweeps"


async def serve(settings: Settings, roles: Iterable[Role]) -> None:
    """Run the roles until SIGTERM or SIGINT; what is under way then comes to its end."""
    wanted = set(roles)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with compose(settings) as system, contextlib.AsyncExitStack() as running:
        if Role.WORKER in wanted:
            await running.enter_async_context(_worker(system))
        if Role.SWEEPS in wanted:
            await running.enter_async_context(_sweeps(system.engine, settings.sweep_seconds))
        if Role.BOT in wanted and settings.slack_app_token is not None:
            await running.enter_async_context(_task(system.bot.run_socket_mode(), stop))
        if Role.EDGE in wanted or Role.BOT in wanted:
            await running.enter_async_context(_edge(system, stop, with_slack=Role.BOT in wanted))
        log.info("serving: %s", ", ".join(sorted(wanted)))
        await stop.wait()
        log.info("stopping: what is under way comes to its end")


@asynccontextmanager
async def _task(work: object, stop: asyncio.Event) -> AsyncIterator[None]:
    """Run a coroutine beside the block; if it ends by itself the process stops."""
    task = asyncio.ensure_future(work)  # type: ignore[call-overload]
    task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def _worker(system: System) -> AsyncIterator[None]:
    worker = Worker(system.engine, concurrency=system.settings.concurrency, jobs=[system.sealer])
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


@asynccontextmanager
async def _sweeps(engine: Engine, seconds: float) -> AsyncIterator[None]:
    """Tick the sweeps; two processes that tick at once do no harm, and a tick that is missed is made up by the next."""
    scheduler = AsyncIOScheduler(timezone="UTC")
    scheduler.add_job(_sweep, "interval", [engine], seconds=seconds, max_instances=1, coalesce=True)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)


async def _sweep(engine: Engine) -> None:
    try:
        await sweep(engine)
    except (psycopg.Error, OSError) as error:
        log.warning("a sweep failed and will be made up: %s", error)


class _Server(uvicorn.Server):
    """A server without signal handlers of its own: the process has one place that decides to stop."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # uvicorn's own signature
        yield


@asynccontextmanager
async def _edge(system: System, stop: asyncio.Event, *, with_slack: bool) -> AsyncIterator[None]:
    settings = system.settings
    app = build_edge(system, lambda: readiness(system), with_slack=with_slack)
    config = uvicorn.Config(
        app, host=settings.host, port=settings.port, log_config=None, access_log=False, timeout_graceful_shutdown=10
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve())
    task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        server.should_exit = True
        await task
