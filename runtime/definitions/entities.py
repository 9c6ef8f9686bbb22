"""Business entities that packs declare, and that the operations of the connector `crud` keep (seed 1, section 2.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

WRITE, READ = "crud::execute", "crud::read"
"""The two operations: the one that changes passes the gate, and the one that looks does not."""
RESERVED = frozenset({"deleted", "entity", "expected_version", "operation", "version"})
"""Names that mean something beside an entity's fields."""


class Operation(StrEnum):
    """What `crud::execute` does. Nothing is deleted but by a mark, which `restore` takes away again."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESTORE = "restore"


@dataclass(frozen=True)
class Entity:
    """A kind of thing. `id` names the field by which it is found; `schema` is closed, and its own id is required."""

    name: str
    description: str
    id: str
    schema: Mapping[str, Any]
