"""A process that serves: the parts that its roles need, put together."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.app import Bot, build_bot
from bot.connector import slack_handlers
from countersign.engine import (
    bind_tenant,
    keep_definitions,
    load_overlay,
    load_packs,
    make_engine,
    make_policy,
    make_routing,
    offered_handlers,
    policy_keys,
)
from countersign.loaded_files import expect_loaded, note_configuration
from countersign.parts import Role
from countersign.settings import Settings
from countersign.slack import bot_settings, check_hearing, make_places
from countersign.storage import await_database, open_storage
from countersign.subscriptions import SubscriptionEntry, load_subscriptions
from edge.signing import webhook_secret
from edge.webhooks import PATIENCE, Receiver, webhook_handlers
from policy.client import OpaEngine
from runtime.definitions.loading.catalog import Catalog
from runtime.engine import Engine
from runtime.mocks import completing, overlaid
from runtime.outbox.entities import entity_handlers
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards
from runtime.services.child_runs import child_handlers
from runtime.services.definition_versions import definition_handlers
from runtime.services.policy_versions import policy_handlers
from runtime.services.requests import RequestService
from runtime.store.database.signals import announcing

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class System:
    """The parts of a process. `bot` is there where clicks are heard or cards are posted."""

    settings: Settings
    roles: frozenset[Role]
    engine: Engine
    catalog: Catalog
    bot: Bot | None
    policy: OpaEngine


@asynccontextmanager
async def compose(settings: Settings, roles: frozenset[Role]) -> AsyncIterator[System]:
    """Build what the roles need, writing nothing, and take it apart at the end."""
    routing, policy = make_routing(settings), make_policy(settings)
    subscriptions = load_subscriptions(settings)
    receivers = {entry.name: _receiver(settings, entry) for entry in subscriptions.subscriptions}
    if Role.BOT in roles:
        check_hearing(settings)
    slack = bot_settings(settings) if roles & {Role.BOT, Role.WORKER} else None
    handlers = offered_handlers(settings)
    catalog = load_packs(settings, handlers)
    catalog.require(settings.definitions)
    overlay = load_overlay(settings, handlers, catalog)
    await asyncio.to_thread(await_database, settings)
    async with policy, open_storage(settings) as storage:
        engine = make_engine(settings, storage, policy, handlers, routing, subscriptions.of_runtime())
        desk, cards = ApprovalService(engine, settings.tenant), StoredCards(engine)
        front = RequestService(engine, settings.tenant, catalog)
        places = make_places(settings, engine)
        bot = build_bot(slack, desk, front, cards, engine.clock, places) if slack is not None else None
        if (
            bot is not None and Role.WORKER in roles
        ):  # these handlers work with the engine, so they join its mapping now
            handlers.update(entity_handlers(storage.pool, catalog.entities))
            handlers.update(slack_handlers(bot.client, desk, cards, engine.clock, mocked=engine.mocked))
            handlers.update(webhook_handlers(receivers, engine.clock, PATIENCE))
            handlers.update(child_handlers(engine))
            handlers.update(definition_handlers(engine.pool, engine.clock, engine.definitions, handlers))
            handlers.update(policy_handlers(engine.pool, engine.clock, policy_keys(settings)))
        if overlay is not None:
            handlers.update(overlaid(handlers, overlay, completing(engine)))
        async with announcing(storage.pool, engine.worker, engine.wakeup.announce):
            yield System(settings, roles, engine, catalog, bot, policy)


def _receiver(settings: Settings, entry: SubscriptionEntry) -> Receiver:
    secrets = (settings.webhook_secrets[name].get_secret_value() for name in entry.secret)
    return Receiver(entry.to, tuple(map(webhook_secret, secrets)), entry.inside)


async def prepare(system: System) -> None:
    """Write what a start writes: definitions, and what files say. Callers are heard on the loaded directory alone."""
    settings, engine = system.settings, system.engine
    await bind_tenant(engine)
    if engine.mocked:
        log.warning("this program runs on mocks: nothing is written for real")
    for problem in system.catalog.problems:
        log.warning("not available: %s", problem)
    await keep_definitions(engine, system.catalog, settings.activation)
    await note_configuration(engine, routes=not system.roles <= {Role.BOT, Role.CONSOLE})
    if Role.EDGE in system.roles and settings.directory is not None:
        async with engine.pool.connection() as conn:
            await expect_loaded(conn, settings.tenant, settings.directory)
