"""The composition root: the only place that builds pools, clients, keys and engines."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from bot.app import Bot, BotSettings, build_bot
from bot.client import slack_client
from bot.connector import slack_handlers
from countersign.directory import load_directory, read_directory
from countersign.errors import CountersignError
from countersign.logs import first_line
from countersign.settings import ConfigError, Settings, variable
from evidence.archive import Archive
from evidence.archive_local import LocalArchive
from evidence.sealer import Sealer
from policy.client import OpaEngine
from receipts.signing import load_or_create
from runtime.clock import utc_now
from runtime.definitions.catalog import Catalog, load_catalog
from runtime.definitions.registry import discover
from runtime.desk import EngineDesk, StoredCards
from runtime.engine import Engine, Routing, Timing
from runtime.handlers import Handler
from runtime.store import migrate
from runtime.store.pool import make_pool
from runtime.store.runs import DefinitionChangedError, keep_definition
from runtime.store.signals import announcing

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = logging.getLogger(__name__)


class DatabaseError(CountersignError):
    """The database cannot be used as it is; the message says why and what to do."""


@dataclass(frozen=True)
class System:
    """The parts, put together."""

    settings: Settings
    engine: Engine
    catalog: Catalog
    bot: Bot


@asynccontextmanager
async def compose(settings: Settings) -> AsyncIterator[System]:
    """Build everything that `settings` describe, and take it apart at the end."""
    dsn = required(settings, "database_url")
    token = required(settings, "slack_bot_token")
    routing = make_routing(settings)
    handlers: dict[str, Handler] = dict(discover(settings.pack))
    await asyncio.to_thread(check_migrations, dsn)
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
            routing=routing,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            timing=Timing(lease=timedelta(seconds=settings.lease_seconds)),
        )
        desk, cards = EngineDesk(engine, settings.tenant), StoredCards(engine)
        # The chat's handlers read what the engine writes, so they join its mapping when it is there.
        handlers.update(slack_handlers(slack_client(token, settings.slack_api_url), desk, cards, utc_now))
        catalog = load_catalog(settings.packs, handlers)
        await _start(settings, engine, catalog)
        bot = build_bot(_bot_settings(settings, token), desk, cards)
        async with announcing(pool, engine.wakeup.announce):
            yield System(settings, engine, catalog, bot)


def required(settings: Settings, name: str) -> str:
    """Return a setting that there is no doing without, as text; raise ConfigError naming it."""
    value = getattr(settings, name)
    if value is None:
        raise ConfigError(f"{variable(name)} is not set; `countersign up` runs without settings")
    return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)


def check_migrations(dsn: str) -> None:
    """Raise DatabaseError unless the database is at the migration that this program was written for."""
    current, newest = database_versions(dsn)
    if current != newest:
        raise DatabaseError(
            f"the database is at migration {current or 'none'} and this program needs {newest}:"
            " run `countersign migrate`"
        )


def database_versions(dsn: str) -> tuple[str | None, str | None]:
    """Return (the database's migration, the newest one), or raise DatabaseError."""
    try:
        return migrate.versions(dsn)
    except SQLAlchemyError as error:
        raise _unusable(error) from error


def migrate_database(dsn: str) -> None:
    """Bring the database to the newest migration, or raise DatabaseError."""
    try:
        migrate.migrate(dsn)
    except SQLAlchemyError as error:
        raise _unusable(error) from error
    except CommandError as error:
        raise DatabaseError(f"the database belongs to a newer program; update this one ({error})") from error


def _unusable(error: SQLAlchemyError) -> DatabaseError:
    return DatabaseError(f"the database cannot be used: {first_line(getattr(error, 'orig', None) or error)}")


async def _start(settings: Settings, engine: Engine, catalog: Catalog) -> None:
    """Keep the definitions that may execute, and load the directory."""
    catalog.require(settings.definitions)
    for problem in catalog.problems:
        log.warning("not available: %s", problem)
    directory = await asyncio.to_thread(read_directory, settings.directory) if settings.directory else None
    async with engine.pool.connection() as conn:
        for definition in catalog.definitions.values():
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
    return load_catalog(settings.packs, {**discover(settings.pack), **chat})


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
    return Sealer(system.engine, make_archive(system.settings), load_or_create(system.settings.key_path))


def make_archive(settings: Settings) -> Archive:
    """Return the archive that the settings describe: a bucket, or a local folder."""
    if settings.s3_bucket is None:
        return LocalArchive(settings.home / "evidence")
    from evidence.archive_s3 import Retention, S3Archive  # noqa: PLC0415 - boto3 is large, and few processes need it

    retention = Retention(settings.retention_mode, settings.retention_days)
    return S3Archive(make_s3(settings), settings.s3_bucket, settings.s3_prefix, retention, utc_now)


def make_s3(settings: Settings) -> "S3Client":
    """Return a client of the bucket's store."""
    import boto3  # noqa: PLC0415 - see make_archive
    from botocore.config import Config  # noqa: PLC0415

    access, secret = settings.s3_access_key, settings.s3_secret_key
    return boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        region_name=settings.s3_region,
        aws_access_key_id=access.get_secret_value() if access else None,
        aws_secret_access_key=secret.get_secret_value() if secret else None,
        config=Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 2}),
    )
