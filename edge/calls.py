"""Who calls, and what finds that out."""

from dataclasses import dataclass
from typing import Protocol

from fastapi import Request

from edge.problems import Denied
from runtime.services.callers import Grants


@dataclass(frozen=True)
class Caller:
    """A verified agent and what the directory lets it do."""

    id: str
    grants: Grants


def granted(caller: str, grants: Grants | None) -> Caller:
    """Return the caller with what the directory lets it do; raise Denied where that has no such agent."""
    if grants is None:
        raise Denied("caller.unknown", caller, f"the directory has no agent {caller}")
    return Caller(caller, grants)


class Verified(Protocol):
    """Finds out who signed a request, before the directory is asked what they may do."""

    async def __call__(self, request: Request, *, query: bool = False) -> tuple[str, bytes]:
        """Return the caller's name and the body that it signed; raise Problem. Without `query` there may be none."""
        ...


class Signed(Protocol):
    """Finds out who signed a request."""

    async def __call__(self, request: Request, *, query: bool = False) -> tuple[Caller, bytes]:
        """Return the caller and the body that it signed; raise Problem. Without `query` there may be none."""
        ...
