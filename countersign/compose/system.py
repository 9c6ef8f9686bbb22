"""The composition root: the only place that builds pools, clients, keys and engines."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from bot.listeners.app import Bot, BotSettings, build_bot
from bot.slack.client import slack_client
from bot.slack.connector import slack_handlers
from countersign.compose.archive import make_archive
from countersign.compose.database import check_migrations
from countersign.compose.directory import load_directory
from countersign.config.directory import read_directory
from countersign.config.settings import ConfigError, Settings, required
from evidence.bundle.sealer import Sealer
from policy.client import OpaEngine
from receipts.signing import load_or_create
from runtime.clock import SharedClock, since_boot, utc_now
from runtime.definitions.registry import discover
from runtime.definitions.sources.catalog import Catalog, load_catalog
from runtime.desk.desk import EngineDesk, StoredCards
from runtime.desk.evidence import EvidenceDesk
from runtime.engine import Engine, Routing, Timing, new_id
from runtime.handlers import Handler
from runtime.store.database.health import set_right
from runtime.store.database.pool import Pool, make_pool
from runtime.store.database.signals import announcing, beside
from runtime.store.definitions import DefinitionChangedError, keep_definition

CLOCK_SECONDS = 30.0
"""Seconds between two looks at the database's clock."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class System:
    """The parts, put together."""

    settings: Settings
    engine: Engine
    catalog: Catalog
    bot: Bot


@asynccontextmanager
async def compose(settings: Settings) -> AsyncIterator[System]:
    """Build everything that `settings` describe, writing nothing, and take it apart at the end."""
    dsn = required(settings, "database_url")
    token = required(settings, "slack_bot_token")
    routing = make_routing(settings)
    handlers: dict[str, Handler] = dict(offered_handlers(settings))
    await asyncio.to_thread(check_migrations, dsn)
    async with (
        OpaEngine(required(settings, "opa_url"), timeout=settings.opa_timeout) as policy,
        make_pool(dsn, size=settings.database_connections) as pool,
    ):
        clock = SharedClock(utc_now, since_boot)
        async with pool.connection() as conn:
            await set_right(conn, clock)
        engine = Engine(
            dsn=dsn,
            pool=pool,
            handlers=handlers,
            policy=policy,
            clock=clock,
            routing=routing,
            worker=new_id(f"{socket.gethostname()}:{os.getpid()}"),
            timing=Timing(lease=timedelta(seconds=settings.lease_seconds)),
        )
        desk, cards = EngineDesk(engine, settings.tenant), StoredCards(engine)
        # The chat's handlers read what the engine writes, so they join its mapping when it is there.
        handlers.update(slack_handlers(slack_client(token, settings.slack_api_url), desk, cards, clock))
        catalog = load_catalog(settings.packs, handlers)
        catalog.require(settings.definitions)
        bot = build_bot(_bot_settings(settings, token), desk, cards)
        async with announcing(pool, engine.wakeup.announce), beside(_keep_right(pool, clock)):
            yield System(settings, engine, catalog, bot)


async def _keep_right(pool: Pool, clock: SharedClock) -> None:
    """Set the clock right again and again; while the database is away it runs on as it was."""
    while True:
        await asyncio.sleep(CLOCK_SECONDS)
        with suppress(psycopg.Error, OSError):
            async with pool.connection() as conn:
                await set_right(conn, clock)


async def prepare(system: System) -> None:
    """Write what a start writes: the definitions that may execute, and the directory."""
    settings, engine = system.settings, system.engine
    for problem in system.catalog.problems:
        log.warning("not available: %s", problem)
    directory = await asyncio.to_thread(read_directory, settings.directory) if settings.directory else None
    async with engine.pool.connection() as conn:
        for definition in system.catalog.definitions.values():
            try:
                await keep_definition(conn, definition, engine.clock())
            except DefinitionChangedError as error:
                raise ConfigError(str(error)) from error
        if directory is not None:
            await load_directory(conn, settings.tenant, directory)


def validated_catalog(settings: Settings) -> Catalog:
    """Load the packs as a start does, but without any server."""
    nobody: Any = None  # nothing is called here, so there is nobody to ask
    chat = slack_handlers(slack_client(None), nobody, nobody, utc_now)
    return load_catalog(settings.packs, {**offered_handlers(settings), **chat})


def offered_handlers(settings: Settings) -> dict[str, Handler]:
    """Return the handlers of the packs that the settings list: a pack goes by the name of its folder."""
    return discover(settings.pack, [folder.name for folder in settings.packs])


def make_routing(settings: Settings) -> Routing:
    """Return where cards go."""
    channel = required(settings, "slack_channel")
    return Routing(channel, settings.slack_channels, tuple(settings.doubt_groups))


def _bot_settings(settings: Settings, token: str) -> BotSettings:
    return BotSettings(
        token=token,
        signing_secrets=tuple(secret.get_secret_value() for secret in settings.slack_signing_secrets),
        app_token=settings.slack_app_token.get_secret_value() if settings.slack_app_token else None,
        base_url=settings.slack_api_url,
    )


def make_sealer(system: System) -> Sealer:
    """Return the worker's job that seals evidence; its key is made on first use."""
    return Sealer(EvidenceDesk(system.engine), make_archive(system.settings), load_or_create(system.settings.key_path))
