"""The engine as the settings describe it: handlers, definitions and routing over the store and policy."""

import logging
import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from countersign.foreseen_errors import OperateError
from countersign.routing import RoutingFile, read_routing
from countersign.setting_secrets import make_privacy
from countersign.settings import ConfigError, Settings, required, variable
from countersign.slack import unconnected_handlers
from countersign.storage import Storage
from policy.client import OpaEngine
from policy.keys import VerificationKey, load_verification_key
from policy.transport import Access
from policy.unserved import UnservedPolicies
from receipts.signing import public_path
from runtime.definitions.cel.expressions import install
from runtime.definitions.entities import READ, WRITE
from runtime.definitions.loading.catalog import OWN, Catalog, load_catalog
from runtime.definitions.registry import discover, discover_functions
from runtime.engine import Engine, Routing, Timing, new_id
from runtime.evaluator import Evaluator
from runtime.handlers import Handler
from runtime.mocks import Overlay, read_overlay
from runtime.model.limits import first_line
from runtime.model.runbook_version import Activation
from runtime.model.subscription import Subscription
from runtime.outbox.entities import entity_handlers
from runtime.outbox.webhooks import tell_subscribers
from runtime.services.definition_versions import definition_handlers, keep_own, take_in
from runtime.services.policy_versions import policy_handlers
from runtime.store import tenants as rows
from runtime.store.database.pool import Conn
from runtime.store.definitions import DefinitionChangedError

log = logging.getLogger(__name__)


def make_policy(settings: Settings) -> OpaEngine:
    """Return the policy engine, not yet connected; raise ConfigError where a certificate cannot be read."""
    token = settings.opa_token.get_secret_value() if settings.opa_token else None
    access = Access(token, settings.opa_ca, settings.opa_certificate, settings.opa_key)
    try:
        return OpaEngine(required(settings, "opa_url"), timeout=settings.opa_timeout, access=access)
    except OSError as error:
        files = [name for name in ("opa_ca", "opa_certificate", "opa_key") if getattr(settings, name)]
        named = ", ".join(map(variable, files))
        raise ConfigError(f"{named}: cannot be read as a certificate or key in PEM ({first_line(error)})") from error


def policy_keys(settings: Settings) -> list[VerificationKey]:
    """Return the keys whose bundles are taken; raise KeyFileError."""
    own = public_path(settings.policy_key_path)
    return [load_verification_key(file) for file in settings.policy_keys or ([own] if own.exists() else [])]


def expect_trusted(settings: Settings, key: VerificationKey) -> None:
    """Raise OperateError if bundles that this key signs would be refused."""
    if key not in (policy_keys(settings) or [key]):
        told = f"{variable('policy_keys')}, or of the home"
        raise OperateError(f"the signing key {key.key_id[:16]} is not trusted: it is none of {told}")


def make_routing(settings: Settings) -> Routing:
    """Return where cards go; raise RoutingError over any fault in the file of rules."""
    channel = required(settings, "slack_channel")
    said = read_routing(settings.routing) if settings.routing else RoutingFile()
    rules, fallback = said.of_runtime()
    groups, url = tuple(settings.doubt_groups), settings.public_url or ""
    return Routing(channel, settings.slack_channels, groups, rules, fallback, public_url=url, digest=said.digest)


def make_engine(
    settings: Settings,
    storage: Storage,
    policy: OpaEngine,
    handlers: Mapping[str, Handler],
    routing: Routing,
    subscriptions: tuple[Subscription, ...],
) -> Engine:
    """Return the engine of this process."""
    return Engine(
        dsn=storage.dsn,
        listen_dsn=storage.listen_dsn,
        pool=storage.pool,
        tenant=settings.tenant,
        handlers=handlers,
        policy=policy,
        clock=storage.clock,
        routing=routing,
        worker=new_id(f"{socket.gethostname()}:{os.getpid()}"),
        privacy=make_privacy(settings),
        mocked=settings.overlay is not None,
        timing=Timing(lease=timedelta(seconds=settings.lease_seconds)),
        subscriptions=subscriptions,
        listener=tell_subscribers if subscriptions else None,
        unserved=UnservedPolicies(settings.opa),
        evaluator=Evaluator([folder.name for folder in settings.packs]),
    )


def validated_catalog(settings: Settings) -> Catalog:
    """Load the packs as a start does, but without any server."""
    return load_packs(settings, offered_handlers(settings))


def load_packs(settings: Settings, handlers: Mapping[str, Handler]) -> Catalog:
    """Load the packs beside the handlers that they offer and those that are ours, which are called by nobody yet.

    From then on expressions know the functions of these packs.
    """
    nobody: Any = None
    install_functions(settings)
    return load_catalog(settings.packs, {**handlers, **unconnected_handlers(), **entity_handlers(nobody, {})})


def offered_handlers(settings: Settings) -> dict[str, Handler]:
    """Return the handlers of the packs that the settings list: a pack goes by the name of its folder."""
    return discover(settings.pack, [folder.name for folder in settings.packs])


def install_functions(settings: Settings) -> None:
    """Have expressions know the functions of the same packs."""
    install(discover_functions([folder.name for folder in settings.packs]))


def load_overlay(settings: Settings, handlers: Mapping[str, Handler], catalog: Catalog) -> Overlay | None:
    """Return the mocks that the settings name, or None; raise InvalidDefinitionsError over any problem in the file."""
    if settings.overlay is None:
        return None
    return read_overlay(settings.overlay, {*handlers, WRITE, READ}, catalog.definitions.values())


async def bind_tenant(engine: Engine) -> None:
    """Raise ConfigError where the tenant's runs are on mocks and this process is not, or the other way round."""
    async with engine.pool.connection() as conn:
        await bind(conn, engine.tenant, mocked=engine.mocked)


async def bind(conn: Conn, tenant: str, *, mocked: bool) -> None:
    """Bind a tenant to its kind over one connection; raise ConfigError if it is of the other kind."""
    if await rows.bind_tenant(conn, tenant, mocked=mocked):
        return
    runs = "were never on mocks" if mocked else "are on mocks"
    remedy = "give the overlay a tenant or a database of its own" if mocked else "set COUNTERSIGN_OVERLAY"
    raise ConfigError(f"the runs of tenant {tenant} {runs}, and this program must not go on with them: {remedy}")


async def keep_definitions(engine: Engine, catalog: Catalog, rule: Activation) -> None:
    """Store the definitions that may execute, and let come active what the rule says.

    Raise ConfigError where one changed under its version.
    """
    own = load_catalog([OWN], unmoving_handlers())
    own.require("strict")
    now = engine.clock()
    async with engine.pool.connection() as conn:
        try:
            await keep_own(conn, engine.tenant, own.definitions.values(), now)
            for told in await take_in(conn, engine.tenant, catalog, rule, now):
                log.info("%s is active from now on", told)
        except DefinitionChangedError as error:
            raise ConfigError(str(error)) from error


def unmoving_handlers() -> dict[str, Handler]:
    """Return the handlers of the program's own definitions where none is called: only their names are looked at."""
    nothing: Any = None
    return {**definition_handlers(nothing, nothing, nothing, {}), **policy_handlers(nothing, nothing, ())}
