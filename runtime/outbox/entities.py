"""Business entities: the connector `crud`, by which one entity is looked at, or changed in a transaction of its own.

A change is decided without any database: what is asked, what follows from it, and what is answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from receipts.canonical import digest
from runtime.definitions.entities import READ, WRITE, Entity, Operation
from runtime.definitions.schemas import violations
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
from runtime.store import entities as rows
from runtime.store.database.pool import AWAY, Pool

_FIXED = ("entity", "operation", "expected_version")


@dataclass(frozen=True)
class State:
    """An entity as it stands. `version` counts its changes from 1; a deleted one keeps its fields."""

    version: int
    deleted: bool
    fields: JsonObject


@dataclass(frozen=True)
class Change:
    """What a call asks for. `fields` are those given, without the id; null takes one away."""

    entity: Entity
    operation: Operation
    id: str
    fields: JsonObject
    expected_version: int | None

    @property
    def target(self) -> str:
        """Return what is changed, as policy is asked about it."""
        return f"{self.entity.name}:{self.id}"

    @cached_property
    def digest(self) -> str:
        """Return the fingerprint of all that is asked."""
        asked = {"operation": self.operation, "fields": self.fields, "expected_version": self.expected_version}
        return digest({"entity": self.entity.name, "id": self.id, **asked})


def entity_of(call: Call, entities: Mapping[str, Entity]) -> Entity:
    """Return the entity that a call is about, or raise RefusedError: a run may be older than the packs are now."""
    found = entities.get(str(call.params.get("entity")))
    if found is None:
        raise RefusedError(f"no pack declares the entity {call.params.get('entity')!r}")
    return found


def id_of(call: Call, entity: Entity) -> str:
    """Return the id that a call names, or raise RefusedError."""
    found = call.params.get(entity.id)
    if not isinstance(found, str) or not found:
        raise RefusedError(f"{entity.name}: the params have no {entity.id}")
    return found


def asked(call: Call, entities: Mapping[str, Entity]) -> Change:
    """Return what a call asks for, or raise RefusedError; what policy was asked about has to be what is changed."""
    entity, params = entity_of(call, entities), call.params
    fields = {name: value for name, value in params.items() if name not in (*_FIXED, entity.id)}
    operation, expected = params.get("operation"), params.get("expected_version")
    if operation not in [*Operation]:
        raise RefusedError(f"{entity.name}: {operation!r} is none of {', '.join(Operation)}")
    change = Change(entity, Operation(str(operation)), id_of(call, entity), fields, expected)
    if call.target != change.target:
        raise RefusedError(f"the target {call.target!r} is not what would be changed, {change.target!r}")
    return change


def applied(change: Change, present: State | None, before: JsonObject | None) -> State:
    """Return the entity after the change.

    `before` is what was on record when the attempt began. Raise RefusedError where the change does not fit the entity,
    and TransientError where somebody else was there since: then it is looked at anew.
    """
    state = _standing(change, present)
    if change.expected_version not in (None, state.version):
        found = f"{change.target} is at version {state.version}, not at {change.expected_version}"
        raise RefusedError(f"{found}: somebody has changed it")
    if before is not None and before.get("version") != state.version:
        raise TransientError(f"{change.target} was changed since it was looked at")
    if change.operation in (Operation.DELETE, Operation.RESTORE):
        return State(state.version + 1, change.operation is Operation.DELETE, state.fields)
    merged = {**state.fields, **change.fields, change.entity.id: change.id}
    fields = {name: value for name, value in merged.items() if value is not None}
    for path, _, message in violations(change.entity.schema, fields):
        raise RefusedError(f"{change.target}: {'.'.join(map(str, path)) or 'the whole'}: {message}")
    return State(state.version + 1, deleted=False, fields=fields)


def _standing(change: Change, present: State | None) -> State:
    """Return what the operation starts from, or raise RefusedError where that is not there, or is."""
    if change.operation is Operation.CREATE:
        if present is not None:
            raise RefusedError(f"{change.target} {'was deleted' if present.deleted else 'is there already'}")
        return State(0, deleted=False, fields={})
    if present is None:
        raise RefusedError(f"there is no {change.target}")
    if present.deleted != (change.operation is Operation.RESTORE):
        raise RefusedError(f"{change.target} {'was deleted' if present.deleted else 'is not deleted'}")
    return present


def told(change: Change, present: State | None, after: State) -> JsonObject:
    """Return the result of a change: the fields that were given, as they were (null: not there) and as they are."""
    earlier = present.fields if present else {}
    before = {name: earlier.get(name) for name in change.fields}
    now = {name: after.fields.get(name) for name in change.fields}
    return {"version": after.version, "deleted": after.deleted, "before": before, "after": now}


def shown(names: JsonObject, present: State | None) -> JsonObject:
    """Return the present values of the fields in `names`, with version and whether it is deleted; 0 for none yet."""
    state = present or State(0, deleted=False, fields={})
    kept = {name: state.fields[name] for name in names if name in state.fields}
    return {**kept, "version": state.version, "deleted": state.deleted}


def same(state: State | None, before: JsonObject | None) -> bool:
    """Return whether the entity is as it was when the attempt began."""
    return before is not None and before.get("version") == (state.version if state else 0)


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
        place = rows.EntityKey(call.tenant, change.entity.name, change.id)
        async with self._pool.connection() as conn, conn.transaction():
            found = await rows.lock_entity(conn, place)
            done = await rows.find_change(conn, call.tenant, call.key)
            if done is not None:
                return _repeated(done, change.digest)
            present = _state(found)
            after = applied(change, present, call.before)
            result = told(change, present, after)
            row = rows.EntityRow(after.version, after.deleted, after.fields)
            if not await rows.put_entity(conn, place, row, rows.EntityChange(call.key, change.digest, result)):
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
            return _state(await rows.find_entity(conn, rows.EntityKey(call.tenant, entity.name, id_)))


def _state(row: rows.EntityRow | None) -> State | None:
    return State(row.version, row.deleted, row.fields) if row else None


def _repeated(done: rows.EntityChange, digest: str) -> JsonObject:
    if done.digest != digest:
        raise RefusedError("the idempotency key was used for another change")
    return done.result
