"""Who calls, and what finds that out."""

from dataclasses import dataclass
from typing import Protocol

from fastapi import Request

from runtime.desk.callers import Grants


@dataclass(frozen=True)
class Caller:
    """A verified agent and what the directory lets it do."""

    id: str
    grants: Grants


class Signed(Protocol):
    """Finds out who signed a request."""

    async def __call__(self, request: Request, *, query: bool = False) -> tuple[Caller, bytes]:
        """Return the caller and the body that it signed; raise Problem. Without `query` there may be none."""
        ...
