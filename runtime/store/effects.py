"""The outbox: effects and their leases. Every write by a worker names its lease and attempt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation

from runtime.model.action import Action, Tier
from runtime.model.effect import Effect, KeyInUseError, LeaseLostError, NewEffect, OnDoubt, Purpose
from runtime.model.states import EFFECT, EffectStatus, check
from runtime.store.database.pool import Conn

COLUMNS = ", ".join(Effect.__dataclass_fields__)


def effect_of(row: Mapping[str, Any]) -> Effect:
    """Return the effect in a row that has the columns."""
    typed = {
        "tier": Tier(row["tier"]),
        "purpose": Purpose(row["purpose"]),
        "on_doubt": OnDoubt(row["on_doubt"]),
        "status": EffectStatus(row["status"]),
    }
    return Effect(**{**row, **typed})


async def insert_effect(
    conn: Conn, run_id: str, tenant: str, effect: NewEffect, action: Action, now: datetime, give_up_at: datetime
) -> bool:
    """Put an effect into the outbox; False if it is there already (same dedupe key), and then stays as it is."""
    done = await conn.execute(
        """
        INSERT INTO effects (effect_id, dedupe_key, run_id, tenant, purpose, step, connector, operation, target, fields,
            tier, reversible_by, redact, idempotency_key, on_doubt, digest, correlation_key, timeout_s,
            settles_s, retry, hides, status, next_try_at, give_up_at, created_at)
        VALUES (%(effect_id)s, %(dedupe_key)s, %(run_id)s, %(tenant)s, %(purpose)s, %(step)s, %(connector)s,
            %(operation)s, %(target)s, %(fields)s, %(tier)s, %(reversible_by)s, %(redact)s, %(idempotency_key)s,
            %(on_doubt)s, %(digest)s, %(correlation_key)s, %(timeout_s)s, %(settles_s)s, %(retry)s, %(hides)s,
            'pending', %(now)s, %(give_up_at)s, %(now)s)
        ON CONFLICT (dedupe_key) DO NOTHING
        """,
        {
            **vars(effect),
            "digest": action.digest,
            "hides": bool(action.redacted),
            "fields": json.dumps(effect.fields),
            "redact": json.dumps(list(effect.redact)),
            "retry": json.dumps(dict(effect.retry)),
            "run_id": run_id,
            "tenant": tenant,
            "now": now,
            "give_up_at": give_up_at,
        },
    )
    return done.rowcount == 1


async def get_effect(conn: Conn, effect_id: str) -> Effect:
    """Return an effect as it is, locking it in the caller's transaction."""
    row = await (
        await conn.execute(
            f"SELECT {COLUMNS} FROM effects WHERE effect_id = %s FOR UPDATE",  # noqa: S608 - our own columns
            (effect_id,),
        )
    ).fetchone()
    if row is None:
        raise LookupError(f"no effect {effect_id}")
    return effect_of(row)


async def begin_attempt(
    conn: Conn,
    effect: Effect,
    *,
    now: datetime,
    decision_id: str,
    digest: str,
    before: Mapping[str, Any] | None = None,
) -> None:
    """Claim the idempotency key and note that an attempt begins; raise KeyInUseError or LeaseLostError.

    `before` is what the target holds now: it must be on record before anything changes it.
    """
    try:
        async with conn.transaction():
            done = await conn.execute(
                """
                UPDATE effects SET claimed = true, started_at = %s, tries = tries + 1, decision_id = %s, digest = %s,
                       before = %s
                 WHERE effect_id = %s AND attempt = %s AND lease_owner = %s AND status = 'leased'
                """,
                (
                    now,
                    decision_id,
                    digest,
                    None if before is None else json.dumps(dict(before)),
                    effect.effect_id,
                    effect.attempt,
                    effect.lease_owner,
                ),
            )
    except UniqueViolation as error:
        raise KeyInUseError(effect.idempotency_key) from error
    _fenced(done.rowcount, effect)


async def settle(
    conn: Conn,
    effect: Effect,
    status: EffectStatus,
    *,
    error: str = "",
    next_try_at: datetime | None = None,
    approval_id: str | None = None,
    digest: str | None = None,
    postponed: bool = False,
    uncounted: bool = False,
    asked: bool = False,
    held: bool = False,
) -> None:
    """End this worker's lease with a new status; raise LeaseLostError if the lease is no longer ours.

    Only `dispatched` and `in_doubt` keep the idempotency key: everything else says that nothing was done. An
    `uncounted` try is as if it had not been.
    """
    check(EFFECT, EffectStatus.LEASED, status)
    done = await conn.execute(
        """
        UPDATE effects SET status = %(status)s, error = %(error)s, lease_owner = NULL, lease_expires_at = NULL,
               claimed = claimed AND %(claimed)s,
               started_at = CASE WHEN %(status)s = 'in_doubt' THEN started_at END,
               next_try_at = coalesce(%(next_try_at)s, next_try_at),
               approval_id = coalesce(%(approval_id)s, approval_id), digest = coalesce(%(digest)s, digest),
               postponed = CASE WHEN %(postponed)s THEN postponed + 1 ELSE 0 END,
               tries = tries - CASE WHEN %(uncounted)s THEN 1 ELSE 0 END, asked = %(asked)s, held = %(held)s
         WHERE effect_id = %(effect_id)s AND attempt = %(attempt)s AND lease_owner = %(owner)s AND status = 'leased'
        """,
        {
            "status": status,
            "error": error,
            "claimed": status in (EffectStatus.DISPATCHED, EffectStatus.IN_DOUBT),
            "next_try_at": next_try_at,
            "approval_id": approval_id,
            "digest": digest,
            "postponed": postponed,
            "uncounted": uncounted,
            "asked": asked,
            "held": held,
            "effect_id": effect.effect_id,
            "attempt": effect.attempt,
            "owner": effect.lease_owner,
        },
    )
    _fenced(done.rowcount, effect)


def _fenced(rowcount: int, effect: Effect) -> None:
    if rowcount != 1:
        raise LeaseLostError(effect.effect_id)


async def release(
    conn: Conn,
    effect_id: str,
    before: EffectStatus,
    status: EffectStatus,
    *,
    now: datetime,
    give_up_at: datetime,
    error: str = "",
) -> None:
    """Move an unleased effect on a person's word or a deadline: deferred or in_doubt to its next status."""
    check(EFFECT, before, status)
    done = await conn.execute(
        """
        UPDATE effects SET status = %(status)s, error = %(error)s, next_try_at = %(now)s, give_up_at = %(give_up_at)s,
               claimed = claimed AND %(status)s = 'dispatched', tries = 0, started_at = NULL, asked = false,
               approval_id = CASE WHEN %(before)s = 'in_doubt' THEN NULL ELSE approval_id END
         WHERE effect_id = %(effect_id)s AND status = %(before)s
        """,
        {
            "status": status,
            "error": error,
            "now": now,
            "give_up_at": give_up_at,
            "effect_id": effect_id,
            "before": before,
        },
    )
    if done.rowcount != 1:
        raise LeaseLostError(effect_id)


async def list_hiding(conn: Conn, run_id: str) -> list[Effect]:
    """Return the effects of a run's steps whose fields hold what nobody may see, locked in the transaction."""
    rows = await (
        await conn.execute(
            f"SELECT {COLUMNS} FROM effects WHERE run_id = %s AND purpose = 'step'"  # noqa: S608 - our own columns
            " AND hides AND forgotten IS NULL FOR UPDATE",
            (run_id,),
        )
    ).fetchall()
    return [effect_of(row) for row in rows]


async def forget_fields(conn: Conn, effect_id: str, public: Action) -> None:
    """Keep of an effect's fields what anybody may see; its digest stays what it was."""
    await conn.execute(
        "UPDATE effects SET fields = %s, forgotten = %s WHERE effect_id = %s",
        (json.dumps(public.fields), json.dumps(list(public.redacted)), effect_id),
    )


async def run_of(conn: Conn, effect_id: str) -> str:
    """Return the run of an effect."""
    row = await (await conn.execute("SELECT run_id FROM effects WHERE effect_id = %s", (effect_id,))).fetchone()
    if row is None:
        raise LookupError(f"no effect {effect_id}")
    return str(row["run_id"])


async def expired(conn: Conn, effect_id: str, now: datetime) -> Effect | None:
    """Return an effect whose lease has run out, locked in the caller's transaction, or None if it has been settled."""
    row = await (
        await conn.execute(
            f"SELECT {COLUMNS} FROM effects WHERE effect_id = %s"  # noqa: S608 - our own columns
            " AND status = 'leased' AND lease_expires_at < %s FOR UPDATE",
            (effect_id, now),
        )
    ).fetchone()
    return effect_of(row) if row else None


async def wake(conn: Conn, run_id: str, effect_id: str | None, now: datetime) -> list[str]:
    """Let what waits for a pause to pass be tried now: one effect of a run, or all; return the ids."""
    rows = await (
        await conn.execute(
            "UPDATE effects SET next_try_at = %(now)s WHERE run_id = %(run_id)s AND status IN ('pending', 'held')"
            " AND next_try_at > %(now)s AND effect_id = coalesce(%(effect_id)s, effect_id) RETURNING effect_id",
            {"run_id": run_id, "effect_id": effect_id, "now": now},
        )
    ).fetchall()
    return [row["effect_id"] for row in rows]


async def reject_open(conn: Conn, run_id: str, reason: str, step: str | None = None) -> list[str]:
    """Reject what a finished run, or step, still had in its outbox; return the ids. Cards still go out."""
    rows = await (
        await conn.execute(
            "UPDATE effects SET status = 'rejected', error = %(reason)s WHERE run_id = %(run_id)s"
            " AND purpose = 'step' AND (%(step)s::text IS NULL OR step = %(step)s)"
            " AND status IN ('pending', 'held', 'deferred') RETURNING effect_id",
            {"reason": reason, "run_id": run_id, "step": step},
        )
    ).fetchall()
    return [row["effect_id"] for row in rows]


@dataclass(frozen=True)
class Held:
    """Effects that wait for somebody to mend the same thing outside."""

    operation: str  # with its connector: ``slack::post_card``
    target: str
    error: str  # what the other side said last
    count: int


async def list_held(conn: Conn, tenant: str) -> list[Held]:
    """Return what the tenant's effects are held for, the most frequent first."""
    rows = await (
        await conn.execute(
            """
            SELECT connector || '::' || operation AS operation, target, error, count(*) AS count FROM effects
             WHERE tenant = %s AND status = 'held' GROUP BY connector, operation, target, error
             ORDER BY count(*) DESC, connector, operation, target, error
            """,
            (tenant,),
        )
    ).fetchall()
    return [Held(**row) for row in rows]
