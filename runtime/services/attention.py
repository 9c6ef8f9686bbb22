"""What needs attention: requests that wait for people, steps, effects, dead letters and bundles that do not go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.model.run import FoundStep
from runtime.model.states import EffectStatus, NotificationStatus
from runtime.store.bundles import OpenBundle, list_open
from runtime.store.database.pool import Conn
from runtime.store.operator_lists import Wanted, list_dead_letters, list_effects, list_retries
from runtime.store.request_lists import find_open
from runtime.store.step_repairs import BlockedEffects, list_blocked_effects, list_steps_needing_attention

Row = dict[str, Any]

LISTED = 50
"""Rows of each kind."""


@dataclass(frozen=True)
class Attention:
    """Rows of each kind, at most LISTED; `open_requests` counts all that wait for people, up to a bound."""

    requests: Sequence[Row]
    open_requests: int
    steps: Sequence[FoundStep]
    blocked: Sequence[BlockedEffects]
    doubts: Sequence[Row]
    retries: Sequence[Row]
    dead_letters: Sequence[Row]
    bundles: Sequence[OpenBundle]


async def find_attention(conn: Conn, tenant: str) -> Attention:
    """Return what needs attention now."""
    requests = await find_open(conn, tenant, LISTED)
    return Attention(
        requests=requests,
        open_requests=requests[0]["total"] if requests else 0,
        steps=await list_steps_needing_attention(conn, tenant, LISTED),
        blocked=(await list_blocked_effects(conn, tenant))[:LISTED],
        doubts=await list_effects(conn, tenant, Wanted(status=EffectStatus.IN_DOUBT, limit=LISTED)),
        retries=await list_retries(conn, tenant, LISTED),
        dead_letters=await list_dead_letters(conn, tenant, Wanted(status=NotificationStatus.DEAD_LETTER, limit=LISTED)),
        bundles=[one for one in await list_open(conn, tenant) if one.is_stuck or one.is_overdue][:LISTED],
    )
