"""The connector `definition`: it moves versions, as an effect that has passed the gate like any other."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from receipts.tenant_acts import DefinitionActivated, DefinitionRetired
from runtime.clock import Clock
from runtime.definitions.cel import functions
from runtime.definitions.model import Definition
from runtime.definitions.registry import RESERVED_NAMESPACES
from runtime.handlers import Call, Handler, JsonObject, RefusedError
from runtime.model.life import Life
from runtime.model.states import IllegalTransitionError
from runtime.services.definition_moves import Mover, TriggerTakenError
from runtime.store.database.pool import Conn, Pool
from runtime.store.definitions import Definitions
from runtime.store.lives import find_life, lives_of_name, lock_lives, moves_for, requester_of


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
    async def _moving(self, call: Call, params: _Params) -> AsyncIterator[tuple[Mover, Life]]:
        async with self.pool.connection() as conn, conn.transaction():
            await lock_lives(conn, call.tenant)
            life = await find_life(conn, call.tenant, params.name, params.version)
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
    return [one.version for one in await lives_of_name(conn, tenant, name) if one.is_active]


async def _expect_active(mover: Mover, params: _Params, expected: set[int]) -> None:
    """Raise RefusedError where other versions are active than those whom people were told of (design, D4)."""
    active = await _active(mover.conn, mover.tenant, params.name)
    if active != sorted(expected):
        raise RefusedError(f"{params.name} has moved on: active were {sorted(expected)}, and are {active}; ask again")
