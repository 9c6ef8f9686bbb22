"""How a version comes active or retires, in the caller's transaction, which has the tenant's lives locked."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from receipts.chain import Actor
from runtime.model.life import Life
from runtime.model.states import DefinitionStatus
from runtime.store.database.pool import Conn
from runtime.store.database.round_trips import at_once
from runtime.store.lives import lives_of_name, lives_of_trigger, move


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

    async def activate(self, life: Life, *, beside: bool) -> list[int]:
        """Let new runs start with a version; return the versions that retire for it: none if it comes `beside` them.

        Raise TriggerTakenError or IllegalTransitionError.
        """
        same_type, same_name = await at_once(
            lives_of_trigger(self.conn, self.tenant, life.trigger_type),
            lives_of_name(self.conn, self.tenant, life.name),
        )
        _expect_free(life, same_type)
        others = [one for one in same_name if one.version != life.version]
        retiring = [one for one in others if one.is_active and not beside]
        for one in retiring:
            await self._move(one, DefinitionStatus.RETIRED)
        await self._move(life, DefinitionStatus.ACTIVE)
        return [one.version for one in retiring]

    async def retire(self, life: Life) -> None:
        """Let no new run start with a version; raise IllegalTransitionError."""
        await self._move(life, DefinitionStatus.RETIRED)

    async def _move(self, life: Life, to: DefinitionStatus) -> None:
        await move(self.conn, self.tenant, life, to, self.by, self.run_id, self.now)


def _expect_free(life: Life, others: Iterable[Life]) -> None:
    for other in others:
        if other.is_active and other.name != life.name and _contend(life, other):
            message = f"triggers of type {life.trigger_type} start {other}, which is active: retire it first"
            raise TriggerTakenError(message)


def _contend(one: Life, other: Life) -> bool:
    """Return whether two runbooks would take the same triggers, as far as that can be told without any."""
    return None in (one.when, other.when) or one.when == other.when
