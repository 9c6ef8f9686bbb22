"""The connector `crud`: one entity looked at, or changed, in a transaction of its own.

A change happens once under its key: what was done under it stands in `entity_changes`, written with the change, and is
what an attempt without an answer is read back from.
"""

from collections.abc import Mapping

from runtime.definitions.entities import READ, WRITE, Entity
from runtime.handlers import (
    Call,
    Changed,
    Done,
    Handler,
    JsonObject,
    Reconciled,
    RefusedError,
    TransientError,
    Untouched,
)
from runtime.outbox.entity_changes import State, applied, asked, entity_of, id_of, same, shown, told
from runtime.store import entities as rows
from runtime.store.database.pool import AWAY, Pool


def entity_handlers(pool: Pool, entities: Mapping[str, Entity]) -> dict[str, Handler]:
    """Return the operations of the connector `crud` on the entities that the packs declare."""
    store = _Store(pool, entities)
    return {
        WRITE: Handler(store.execute, reconcile=store.find, before=store.present),
        READ: Handler(store.read, writes=False),
    }


class _Store:
    """The entities of all tenants."""

    def __init__(self, pool: Pool, entities: Mapping[str, Entity]) -> None:
        self._pool = pool
        self._entities = entities

    async def execute(self, call: Call) -> JsonObject:
        """Make the change, or return what was made under the same key."""
        change = asked(call, self._entities)
        place = rows.Place(call.tenant, change.entity.name, change.id)
        async with self._pool.connection() as conn, conn.transaction():
            found = await rows.lock(conn, place)
            done = await rows.find_change(conn, call.tenant, call.key)
            if done is not None:
                return _repeated(done, change.digest)
            present = _state(found)
            after = applied(change, present, call.before)
            result = told(change, present, after)
            row = rows.Row(after.version, after.deleted, after.fields)
            if not await rows.put(conn, place, row, rows.Done(call.key, change.digest, result)):
                raise TransientError(f"{change.target} was made by somebody else meanwhile")
        return result

    async def present(self, call: Call) -> JsonObject:
        """Return the values that a change would take the place of."""
        change = asked(call, self._entities)
        return shown(change.fields, await self._state(call, change.entity, change.id))

    async def find(self, call: Call) -> Reconciled:
        """Say what became of a change that was not answered."""
        change = asked(call, self._entities)
        async with self._pool.connection() as conn:
            done = await rows.find_change(conn, call.tenant, call.key)
        if done is not None and done.digest == change.digest:
            return Done(done.result)
        state = await self._state(call, change.entity, change.id)
        return Untouched() if same(state, call.before) else Changed(shown(change.fields, state))

    async def read(self, call: Call) -> JsonObject:
        """Return an entity, or that there is none."""
        entity = entity_of(call, self._entities)
        try:
            state = await self._state(call, entity, id_of(call, entity))
        except AWAY as error:
            raise TransientError(f"the entities cannot be read: {type(error).__name__}") from error
        found = state is not None and not state.deleted
        return {
            "found": found,
            "version": state.version if state else 0,
            "value": state.fields if state and found else {},
        }

    async def _state(self, call: Call, entity: Entity, id_: str) -> State | None:
        async with self._pool.connection() as conn:
            return _state(await rows.find(conn, rows.Place(call.tenant, entity.name, id_)))


def _state(row: rows.Row | None) -> State | None:
    return State(row.version, row.deleted, row.fields) if row else None


def _repeated(done: rows.Done, digest: str) -> JsonObject:
    if done.digest != digest:
        raise RefusedError("the idempotency key was used for another change")
    return done.result
