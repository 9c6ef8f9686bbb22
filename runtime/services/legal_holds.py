"""Legal holds: set and lifted, each an act of a person in the tenant's chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from receipts.chain import Actor
from receipts.privacy import Privacy
from receipts.tenant_acts import HoldLifted, HoldSet
from runtime.clock import Clock
from runtime.definitions.model import Retry
from runtime.engine import new_id
from runtime.model.limits import error_text
from runtime.outbox import retry
from runtime.services.people import person_of
from runtime.store import legal_holds
from runtime.store.database.pool import Conn, Pool
from runtime.store.legal_holds import Due, NewHold, Subject
from runtime.store.tenants import put_act

__all__ = [
    "Due",
    "Subject",
]


_PAUSES = Retry(1, "exponential", timedelta(seconds=1), timedelta(minutes=15))
"""How long the archive is left alone that could not be told of a hold: tried until it can."""


class HoldError(Exception):
    """The hold cannot be set, or lifted; the message says why."""


@dataclass(frozen=True)
class LegalHolds:
    """The legal holds of one tenant. It needs the database alone; `by` is always a person of the directory."""

    pool: Pool
    clock: Clock
    tenant: str
    privacy: Privacy

    async def hold(self, by: str, subject: Subject, reason: str) -> str:
        """Hold what the subject names, now and as long as the hold stands; return the hold's id.

        Raise UnknownPersonError or HoldError.
        """
        said = self._reason(reason)
        async with self.pool.connection() as conn, conn.transaction():
            actor = await person_of(conn, self.tenant, by)
            await legal_holds.lock_holds(conn, self.tenant)
            if not await legal_holds.runs_named(conn, self.tenant, subject):
                raise HoldError(f"there is no run {_named(subject)}")
            if known := await legal_holds.find_hold(conn, self.tenant, subject):
                raise HoldError(f"{subject.name} is held already, by {known}")
            hold = NewHold(new_id("hold"), subject, said, by, self.clock())
            await legal_holds.add_hold(conn, self.tenant, hold)
            await self._put(conn, HoldSet(**_members(hold.hold_id, subject, said)), actor)
            await legal_holds.note_act(conn, self.tenant, subject)
        return hold.hold_id

    async def lift(self, by: str, subject: Subject, reason: str) -> str:
        """Lift the hold on the subject; what another hold names stays held. Raise UnknownPersonError or HoldError."""
        said = self._reason(reason)
        async with self.pool.connection() as conn, conn.transaction():
            actor = await person_of(conn, self.tenant, by)
            await legal_holds.lock_holds(conn, self.tenant)
            hold_id = await legal_holds.find_hold(conn, self.tenant, subject)
            if hold_id is None:
                raise HoldError(f"there is no hold on {subject.kind} {subject.name}")
            await legal_holds.lift_hold(conn, hold_id, said, by, self.clock())
            await self._put(conn, HoldLifted(**_members(hold_id, subject, said)), actor)
            await legal_holds.note_act(conn, self.tenant, subject)
        return hold_id

    async def next_due(self, lease: timedelta, root: str) -> Due | None:
        """Return a bundle that the archive has to be told of within the lease, whose location begins so, or None."""
        async with self.pool.connection() as conn:
            return await legal_holds.lease_due(conn, self.tenant, lease, root)

    async def mark_told(self, due: Due) -> None:
        """Keep that the archive does what is wanted."""
        async with self.pool.connection() as conn:
            await legal_holds.mark_told(conn, due)

    async def mark_untold(self, due: Due, error: str) -> timedelta:
        """Keep why the archive could not be told; return the pause before the next try."""
        pause = retry.delay(_PAUSES, due.tries, 0.0)
        async with self.pool.connection() as conn:
            await legal_holds.mark_untold(conn, due, error_text(self.privacy.text(error)), pause)
        return pause

    def _reason(self, reason: str) -> str:
        if not reason.strip():
            raise HoldError("why is not said, and goes on record")
        return self.privacy.text(error_text(reason))

    async def _put(self, conn: Conn, act: HoldSet | HoldLifted, actor: Actor) -> None:
        await put_act(conn, self.tenant, act, actor, self.clock())


def _named(subject: Subject) -> str:
    return subject.name if subject.kind == "run" else f"with the reference {subject.name}"


def _members(hold_id: str, subject: Subject, reason: str) -> Mapping[str, Any]:
    return {"hold_id": hold_id, "kind": subject.kind, "subject": subject.name, "reason": reason}
