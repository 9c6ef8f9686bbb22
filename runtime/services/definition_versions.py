"""How versions of definitions arrive, come active and retire.

What a start brings is stored, and known as drafts; some come active. A version moves in the caller's transaction, which
has locked the tenant's versions. The connector `definition` moves them as an effect that has passed the gate like any
other.
"""

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from receipts.chain import PROGRAM, Actor
from receipts.tenant_acts import DefinitionActivated, DefinitionRetired
from runtime.clock import Clock
from runtime.definitions.cel import functions
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.model import Definition
from runtime.definitions.registry import RESERVED_NAMESPACES
from runtime.handlers import Call, Handler, JsonObject, RefusedError
from runtime.model.runbook_version import Activation, RunbookVersion, activates_by_itself
from runtime.model.states import DefinitionStatus, IllegalTransitionError
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn, Pool
from runtime.store.definitions import (
    Definitions,
    add_drafts,
    find_version,
    keep_definitions,
    lock_versions,
    move_version,
    moves_for,
    requester_of,
    versions_of_runbook,
    versions_of_runbooks,
    versions_of_trigger,
)


class TriggerTakenError(Exception):
    """Triggers of the version's type start a runbook of another name, which is active."""


@dataclass(frozen=True)
class Mover:
    """Who moves a tenant's versions, and the run that asked for it; None where a start does it."""

    conn: Conn
    tenant: str
    by: Actor
    run_id: str | None
    now: datetime

    async def activate(self, life: RunbookVersion, *, beside: bool) -> list[int]:
        """Let new runs start with a version; return the versions that retire for it: none if it comes `beside` them.

        Raise TriggerTakenError or IllegalTransitionError.
        """
        same_type, same_name = await at_once(
            versions_of_trigger(self.conn, self.tenant, life.trigger_type),
            versions_of_runbook(self.conn, self.tenant, life.name),
        )
        _expect_free(life, same_type)
        others = [one for one in same_name if one.version != life.version]
        retiring = [one for one in others if one.is_active and not beside]
        for one in retiring:
            await self._move(one, DefinitionStatus.RETIRED)
        await self._move(life, DefinitionStatus.ACTIVE)
        return [one.version for one in retiring]

    async def retire(self, life: RunbookVersion) -> None:
        """Let no new run start with a version; raise IllegalTransitionError."""
        await self._move(life, DefinitionStatus.RETIRED)

    async def _move(self, life: RunbookVersion, to: DefinitionStatus) -> None:
        await move_version(self.conn, self.tenant, life, to, self.by, self.run_id, self.now)


def _expect_free(life: RunbookVersion, others: Iterable[RunbookVersion]) -> None:
    for other in others:
        if other.is_active and other.name != life.name and _contend(life, other):
            message = f"triggers of type {life.trigger_type} start {other}, which is active: retire it first"
            raise TriggerTakenError(message)


def _contend(one: RunbookVersion, other: RunbookVersion) -> bool:
    """Return whether two runbooks would take the same triggers, as far as that can be told without any."""
    return None in (one.when, other.when) or one.when == other.when


log = logging.getLogger(__name__)


async def keep_own(conn: Conn, tenant: str, definitions: Collection[Definition], now: datetime) -> None:
    """Store the program's own definitions: they may always run, and have no status. Raise DefinitionChangedError."""
    await keep_definitions(conn, tenant, definitions, now)


async def take_in(conn: Conn, tenant: str, catalog: Catalog, rule: Activation, now: datetime) -> list[str]:
    """Store what the packs declare, and let come active what the rule says; return what it is called.

    Safe to do again, and by many processes at once: what was moved since stays where it is. Nothing comes active under
    a name that has a problem. Raise DefinitionChangedError.
    """
    definitions = list(catalog.definitions.values())
    await keep_definitions(conn, tenant, definitions, now)
    async with conn.transaction():
        await lock_versions(conn, tenant)
        arrived = await add_drafts(conn, tenant, definitions, now)
        mover = Mover(conn, tenant, PROGRAM, None, now)
        names = sorted({definition.name for definition in definitions})
        newest = [one for one in map(catalog.latest, names) if one]
        known = await versions_of_runbooks(conn, tenant, [one.name for one in newest])
        began = [await _begin(mover, one, rule, arrived, known[one.name]) for one in newest]
        return [str(life) for life in began if life]


async def _begin(
    mover: Mover,
    newest: Definition,
    rule: Activation,
    arrived: Collection[tuple[str, int]],
    known: Sequence[RunbookVersion],
) -> RunbookVersion | None:
    """Let the newest version in the files come active where the rule says so, and return it then.

    `known` are all versions of its name: those of other names move none of them.
    """
    new = {version for name, version in arrived if name == newest.name}
    life = next(one for one in known if one.version == newest.version)
    if not activates_by_itself(rule, life.version, known, new):
        if life.version in new:
            log.info("%s is a draft: nothing starts with it until somebody activates it", life)
        return None
    try:
        await mover.activate(life, beside=False)
    except TriggerTakenError as error:
        log.warning("%s stays a draft: %s", life, error)
        return None
    return life


class _Params(BaseModel):
    """What people sign. `active` are the versions that are to be active then."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    version: int
    digest: str
    active: list[int]
    reason: str


class _ActivateParams(_Params):
    in_place_of: list[int]
    changes: str


@dataclass(frozen=True)
class DefinitionConnector:
    """The operations. `handlers` are those of this process: what it could not run, it lets nobody start."""

    pool: Pool
    clock: Clock
    definitions: Definitions
    handlers: Mapping[str, Handler]

    async def activate(self, call: Call) -> JsonObject:
        """Let new runs start with a version, if all is still as it was when people were asked.

        What an earlier attempt at this very effect has done, whatever others have moved since, is returned and not done
        again: a run has one effect, and its moves are on record.
        """
        params = _ActivateParams.model_validate(call.params)
        async with self._moving(call, params) as (mover, life):
            done = await moves_for(mover.conn, call.tenant, call.run_id)
            if (DefinitionActivated.event, life.version) in done:
                return {"retired": [version for event, version in done if event == DefinitionRetired.event]}
            self._expect_handlers(await self.definitions.get(mover.conn, life.name, life.version))
            await _expect_active(mover, params, {*params.active, *params.in_place_of} - {life.version})
            return {"retired": await mover.activate(life, beside=not params.in_place_of)}

    async def retire(self, call: Call) -> JsonObject:
        """Let no new run start with a version."""
        params = _Params.model_validate(call.params)
        async with self._moving(call, params) as (mover, life):
            done = await moves_for(mover.conn, call.tenant, call.run_id)
            if (DefinitionRetired.event, life.version) not in done:
                await _expect_active(mover, params, {*params.active, *([life.version] if life.is_active else ())})
                await mover.retire(life)
        return {}

    async def before(self, call: Call) -> JsonObject:
        """Return which versions are active."""
        async with self.pool.connection() as conn:
            return {"active": await _active(conn, call.tenant, call.params["name"])}

    @asynccontextmanager
    async def _moving(self, call: Call, params: _Params) -> AsyncIterator[tuple[Mover, RunbookVersion]]:
        async with self.pool.connection() as conn, conn.transaction():
            await lock_versions(conn, call.tenant)
            life = await find_version(conn, call.tenant, params.name, params.version)
            if life is None or life.digest != params.digest:
                raise RefusedError(
                    f"there is no {params.name} version {params.version} with the digest {params.digest}"
                )
            mover = Mover(conn, call.tenant, await requester_of(conn, call.run_id), call.run_id, self.clock())
            try:
                yield mover, life
            except (TriggerTakenError, IllegalTransitionError) as error:
                raise RefusedError(str(error)) from error

    def _expect_handlers(self, definition: Definition) -> None:
        needed = {verb.handler for verb in definition.verbs.values()}
        of_packs = {handler for handler in needed if handler.partition("::")[0] not in RESERVED_NAMESPACES}
        if missing := sorted(of_packs - self.handlers.keys()):
            raise RefusedError(f"the packs that run here have no {', '.join(missing)}, which the version needs")
        if absent := functions.missing(definition.functions):
            raise RefusedError(f"the packs that run here have no function {', '.join(absent)}, which the version needs")


def definition_handlers(
    pool: Pool, clock: Clock, definitions: Definitions, handlers: Mapping[str, Handler]
) -> dict[str, Handler]:
    """Return the connector's handlers."""
    connector = DefinitionConnector(pool, clock, definitions, handlers)
    return {
        "definition::activate": Handler(connector.activate, before=connector.before),
        "definition::retire": Handler(connector.retire, before=connector.before),
    }


async def _active(conn: Conn, tenant: str, name: str) -> list[int]:
    return [one.version for one in await versions_of_runbook(conn, tenant, name) if one.is_active]


async def _expect_active(mover: Mover, params: _Params, expected: set[int]) -> None:
    """Raise RefusedError where other versions are active than those whom people were told of (design, D4)."""
    active = await _active(mover.conn, mover.tenant, params.name)
    if active != sorted(expected):
        raise RefusedError(f"{params.name} has moved on: active were {sorted(expected)}, and are {active}; ask again")
