"""Refused attempts that belong to no run, as auditors read them."""

from dataclasses import dataclass
from datetime import datetime

from receipts.refused import CommandRefused, DelegationRefused, RequestRefused
from receipts.tenant_acts import chain_of
from runtime.store.database.pool import Conn
from runtime.store.refused import refusals_between

Refused = CommandRefused | DelegationRefused | RequestRefused

_FORMS: dict[str, type[Refused]] = {form.event: form for form in (CommandRefused, DelegationRefused, RequestRefused)}


@dataclass(frozen=True)
class RefusedAttempt:
    """A refused attempt: when it was recorded (RFC 3339), by whom it was made, and the leaf that records it."""

    at: str
    actor: str
    act: Refused
    chain: str
    seq: int


async def find_refusals(conn: Conn, tenant: str, since: datetime, until: datetime) -> list[RefusedAttempt]:
    """Return what was refused outside runs and recorded from one moment until before another, oldest first."""
    found = []
    for row in await refusals_between(conn, tenant, since, until):
        leaf = row["leaf"]
        act = _FORMS[leaf["event"]].model_validate(leaf["data"])
        found.append(RefusedAttempt(leaf["at"], leaf["actor"]["id"], act, chain_of(tenant), row["seq"]))
    return found
