"""The composition root: the only place that builds pools, clients, keys and engines."""

import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import boto3
from botocore.config import Config
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import Bot, BotSettings, build_bot
from bot.client import slack_client
from bot.connector import slack_handlers
from countersign.directory import load_directory, read_directory
from countersign.errors import CountersignError
from countersign.settings import Settings
from evidence.archive import Archive
from evidence.archive_local import LocalArchive
from evidence.archive_s3 import Retention, S3Archive
from evidence.sealer import Sealer
from policy.client import OpaEngine
from receipts.signing import SigningKey, load_or_create
from runtime.clock import utc_now
from runtime.definitions.catalog import Catalog, load_catalog
from runtime.definitions.registry import discover
from runtime.desk import EngineDesk, StoredCards
from runtime.engine import Engine, Routing, Timing
from runtime.handlers import Handler
from runtime.store.pool import make_pool
from runtime.store.runs import keep_definition
from runtime.store.signals import announcing

log = logging.getLogger(__name__)


class NotConfiguredError(CountersignError):
    """A part that is needed has no setting; the message names it."""


@dataclass(frozen=True)
class System:
    """The parts, put together."""

    settings: Settings
    engine: Engine
    catalog: Catalog
    desk: EngineDesk
    bot: Bot
    slack: AsyncWebClient
    sealer: Sealer


@asynccontextmanager
async def compose(settings: Settings) -> AsyncIterator[System]:
    """Build everything that `settings` describe, and take it apart at the end."""
    dsn = required(settings, "database_url")
    token = required(settings, "slack_bot_token")
    slack = slack_client(token, settings.slack_api_url)
    handlers: dict[str, Handler] = dict(discover(settings.pack))
    async with (
        OpaEngine(required(settings, "opa_url")) as policy,
        make_pool(dsn, size=settings.database_connections) as pool,
    ):
        engine = Engine(
            dsn=dsn,
            pool=pool,
            handlers=handlers,
            policy=policy,
            clock=utc_now,
            routing=Routing(settings.slack_channel, settings.slack_channels, tuple(settings.doubt_groups)),
            worker=f"{socket.gethostname()}:{os.getpid()}",
            timing=Timing(lease=timedelta(seconds=settings.lease_seconds)),
        )
        desk, cards = EngineDesk(engine, settings.tenant), StoredCards(engine)
        handlers.update(slack_handlers(slack, desk, cards, utc_now))
        system = System(
            settings=settings,
            engine=engine,
            catalog=await _definitions(settings, engine),
            desk=desk,
            bot=build_bot(_bot_settings(settings, token), desk, cards),
            slack=slack,
            sealer=Sealer(engine, make_archive(settings), signing_key(settings)),
        )
        async with announcing(pool, engine.wakeup.announce):
            yield system


def required(settings: Settings, name: str) -> str:
    """Return a setting that there is no doing without, as text; raise NotConfiguredError naming it."""
    value = getattr(settings, name)
    if value is None:
        raise NotConfiguredError(f"COUNTERSIGN_{name.upper()} is not set; `countersign up` runs without settings")
    return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)


def _bot_settings(settings: Settings, token: str) -> BotSettings:
    return BotSettings(
        token=token,
        signing_secrets=tuple(secret.get_secret_value() for secret in settings.slack_signing_secrets),
        app_token=settings.slack_app_token.get_secret_value() if settings.slack_app_token else None,
        base_url=settings.slack_api_url,
    )


async def _definitions(settings: Settings, engine: Engine) -> Catalog:
    """Load the packs and the directory, and keep the definitions that may execute."""
    catalog = load_catalog(settings.packs, engine.handlers)
    catalog.require(settings.definitions)
    for problem in catalog.problems:
        log.warning("not available: %s", problem)
    async with engine.pool.connection() as conn:
        for definition in catalog.definitions.values():
            await keep_definition(conn, definition, engine.clock())
        if settings.directory is not None:
            await load_directory(conn, settings.tenant, read_directory(settings.directory))
    return catalog


def signing_key(settings: Settings) -> SigningKey:
    """Return the key of evidence, made on first use."""
    return load_or_create(settings.key_path)


def make_archive(settings: Settings) -> Archive:
    """Return the archive that the settings describe: a bucket, or a local folder."""
    if settings.s3_bucket is None:
        return LocalArchive(Path(settings.home) / "evidence")
    access, secret = settings.s3_access_key, settings.s3_secret_key
    client = boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        region_name=settings.s3_region,
        aws_access_key_id=access.get_secret_value() if access else None,
        aws_secret_access_key=secret.get_secret_value() if secret else None,
        config=Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 2}),
    )
    retention = Retention(settings.retention_mode, settings.retention_days)
    return S3Archive(client, settings.s3_bucket, settings.s3_prefix, retention, utc_now)
