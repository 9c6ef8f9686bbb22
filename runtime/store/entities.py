"""Business entities, and the changes that were made to them, each once under its idempotency key."""

from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Json

from runtime.store.database.pool import Conn

_SELECT = "SELECT version, deleted, fields FROM entities WHERE tenant = %s AND entity = %s AND entity_id = %s"


@dataclass(frozen=True)
class EntityKey:
    """Which entity of a tenant: its kind and its id."""

    tenant: str
    entity: str
    entity_id: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the primary key."""
        return self.tenant, self.entity, self.entity_id


@dataclass(frozen=True)
class EntityRow:
    """An entity as it stands; `version` counts its changes from 1."""

    version: int
    deleted: bool
    fields: dict[str, Any]


@dataclass(frozen=True)
class EntityChange:
    """A change that was made under a key: the fingerprint of what was asked, and what was answered."""

    key: str
    digest: str
    result: dict[str, Any]


async def find_entity(conn: Conn, place: EntityKey) -> EntityRow | None:
    """Return the entity, or None."""
    row = await conn.row(_SELECT, place.key)
    return EntityRow(**row) if row else None


async def lock_entity(conn: Conn, place: EntityKey) -> EntityRow | None:
    """Return the entity, or None, and keep others from changing it until the transaction ends."""
    row = await conn.row(f"{_SELECT} FOR UPDATE", place.key)
    return EntityRow(**row) if row else None


async def find_change(conn: Conn, tenant: str, key: str) -> EntityChange | None:
    """Return what was done under a key, or None."""
    row = await conn.row(
        "SELECT idempotency_key AS key, digest, result FROM entity_changes WHERE tenant = %s AND idempotency_key = %s",
        (tenant, key),
    )
    return EntityChange(**row) if row else None


async def put_entity(conn: Conn, place: EntityKey, row: EntityRow, done: EntityChange) -> bool:
    """Write the entity's next version, and what was done; False where another has written that version meanwhile."""
    written = await conn.execute(
        "INSERT INTO entities (tenant, entity, entity_id, version, deleted, fields) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, entity, entity_id) DO UPDATE"
        " SET version = excluded.version, deleted = excluded.deleted, fields = excluded.fields"
        " WHERE entities.version = excluded.version - 1",
        (*place.key, row.version, row.deleted, Json(row.fields)),
    )
    if written.rowcount == 0:
        return False
    await conn.execute(
        "INSERT INTO entity_changes (tenant, idempotency_key, entity, entity_id, version, digest, result)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (place.tenant, done.key, place.entity, place.entity_id, row.version, done.digest, Json(done.result)),
    )
    return True
