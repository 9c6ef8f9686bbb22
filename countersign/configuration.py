"""Puts on record which of the tenant's files a start brought, where they are not those of the start before."""

import logging
from collections.abc import Iterable, Iterator

from receipts.loaded import LoadedAct, RoutingLoaded, SubscribedTo, SubscriptionsLoaded
from runtime.engine import Engine
from runtime.model.subscription import Subscription
from runtime.store.loaded_editions import put_if_other

log = logging.getLogger(__name__)


async def note_configuration(engine: Engine, *, routes: bool) -> None:
    """Put on the tenant's record what this process goes by; nothing is written where the record says so already.

    A process that `routes` no requests is not given the rules for it: what it has of them says nothing.
    """
    async with engine.pool.connection() as conn:
        for act in _brought(engine, routes=routes):
            if await put_if_other(conn, engine.tenant, act, engine.clock()):
                log.info("%s has changed since the last start; recorded", act.event)


def _brought(engine: Engine, *, routes: bool) -> Iterator[LoadedAct]:
    if routes:
        yield RoutingLoaded(process=engine.worker, digest=engine.routing.digest)
    yield SubscriptionsLoaded(process=engine.worker, subscriptions=_said(engine.subscriptions))


def _said(subscriptions: Iterable[Subscription]) -> list[SubscribedTo]:
    found = sorted(subscriptions, key=lambda one: one.name)
    return [SubscribedTo(name=one.name, target=one.target, configuration=one.digest) for one in found]
