"""Reads what is to be known of an effect that is proposed in the transaction that ends the one before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.model.effect import Effect
from runtime.model.passage import EarlierSuccess, PassageFacts
from runtime.model.states import StepStatus
from runtime.store.database.pool import Conn
from runtime.store.passages import IS_WRITE


@dataclass(frozen=True)
class Following:
    """What follows from the effect that `ended`; the run's row as its lock found it, and how many writes it did."""

    run: Mapping[str, Any]
    writes: int
    ended: str
    effect: Effect


async def following_facts(conn: Conn, following: Sequence[Following]) -> list[PassageFacts]:
    """Return the facts of effects that nobody has seen: they have no approval, no task and no attempt behind them."""
    rows = await (
        await conn.look(
            f"""
            SELECT e.number, coalesce(who.groups, '[]'::json) AS requester_groups,
                   (SELECT count(*) FROM effects w WHERE w.run_id = e.run_id AND w.effect_id <> e.ended
                       AND {IS_WRITE} AND w.started_at IS NOT NULL) AS begun,
                   done.fingerprint AS done_fingerprint, done.response AS done_response
              FROM unnest(%(runs)b::text[], %(ended)b::text[], %(tenants)b::text[], %(requesters)b::text[],
                          %(keys)b::text[])
                   WITH ORDINALITY AS e (run_id, ended, tenant, requested_by, key, number)
              LEFT JOIN actors who ON who.tenant = e.tenant AND who.actor_id = e.requested_by
              LEFT JOIN LATERAL (SELECT fingerprint, response FROM receipts
                                  WHERE tenant = e.tenant AND idempotency_key = e.key AND outcome = 'success'
                                  LIMIT 1) AS done ON true
             ORDER BY e.number
            """,  # noqa: S608 - our own clause
            {
                "runs": [one.effect.run_id for one in following],
                "ended": [one.ended for one in following],
                "tenants": [one.effect.tenant for one in following],
                "requesters": [one.run["requested_by"] for one in following],
                "keys": [one.effect.idempotency_key for one in following],
            },
            table="actors",
            keys=(),
        )
    ).fetchall()
    return [_facts(one, row) for one, row in zip(following, rows, strict=True)]


def _facts(one: Following, row: Mapping[str, Any]) -> PassageFacts:
    run = one.run
    return PassageFacts(
        salt=run["salt"],
        version=run["version"],
        requested_by=run["requested_by"],
        requester_kind=run["requester_kind"],
        requester_groups=tuple(row["requester_groups"]),
        submitted_by=run["submitted_by"],
        definition_name=run["definition_name"],
        definition_version=run["definition_version"],
        trigger_type=run["trigger_type"],
        step_status=StepStatus.READY,
        writes=one.writes + row["begun"],
        task_id=None,
        approval=None,
        done=None if row["done_fingerprint"] is None else EarlierSuccess(row["done_fingerprint"], row["done_response"]),
    )
