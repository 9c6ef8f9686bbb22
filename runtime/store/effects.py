"""The outbox: effects and their leases. Every write by a worker names its lease and attempt."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from runtime.model.action import Action, Tier
from runtime.model.effect import (
    ChainedLease,
    Effect,
    KeyInUseError,
    LeaseLostError,
    LeaseSlot,
    NewEffect,
    OnDoubt,
    Purpose,
)
from runtime.model.states import EFFECT, EffectStatus, check
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, document_of, json_text, rows_of

_LEASE = (("effect_id", "text"), ("attempt", "int"), ("owner", "text"))
# What has an owner is leased: the table's check says so, and the planner is not led to look among all that is leased.
_IS_OURS = "effects.effect_id = r.effect_id AND effects.attempt = r.attempt AND effects.lease_owner = r.owner"
_TAKEN = ("uq_effects_claimed_key", KeyInUseError)
_BEGUN = WriteKind(
    "begun",
    "effects",
    f"""
    UPDATE effects SET claimed = true, started_at = r.now, tries = tries + 1, decision_id = r.decision_id,
           digest = r.digest, before = r.before
      FROM {{r}} WHERE {_IS_OURS} RETURNING effects.effect_id AS id
    """,  # noqa: S608 - our own conditions
    (*_LEASE, ("now", "timestamptz"), ("decision_id", "text"), ("digest", "text"), ("before", "json")),
    key=1,
    lost=LeaseLostError,
    taken=_TAKEN,
)
_SETTLED = WriteKind(
    "settled",
    "effects",
    f"""
    UPDATE effects SET status = r.status, error = r.error, lease_owner = NULL, lease_expires_at = NULL,
           claimed = effects.claimed AND r.claimed,
           started_at = CASE WHEN r.status = 'in_doubt' THEN started_at END,
           next_try_at = coalesce(r.next_try_at, effects.next_try_at),
           approval_id = coalesce(r.approval_id, effects.approval_id), digest = coalesce(r.digest, effects.digest),
           postponed = CASE WHEN r.postponed THEN effects.postponed + 1 ELSE 0 END,
           tries = tries - CASE WHEN r.uncounted THEN 1 ELSE 0 END, asked = r.asked, was_blocked = r.was_blocked
      FROM {{r}} WHERE {_IS_OURS} RETURNING effects.effect_id AS id
    """,  # noqa: S608 - our own conditions
    (
        *_LEASE,
        ("status", "text"),
        ("error", "text"),
        ("claimed", "bool"),
        ("next_try_at", "timestamptz"),
        ("approval_id", "text"),
        ("digest", "text"),
        ("postponed", "bool"),
        ("uncounted", "bool"),
        ("asked", "bool"),
        ("was_blocked", "bool"),
    ),
    key=1,
    lost=LeaseLostError,
)

_RELEASED = WriteKind(
    "released",
    "effects",
    """
    UPDATE effects SET status = r.status, error = r.error, next_try_at = r.now, give_up_at = r.give_up_at,
           claimed = effects.claimed AND r.status = 'dispatched', tries = 0, started_at = NULL, asked = false,
           approval_id = CASE WHEN r.before = 'in_doubt' THEN NULL ELSE effects.approval_id END
      FROM {r} WHERE effects.effect_id = r.effect_id AND effects.status = r.before RETURNING effects.effect_id AS id
    """,
    (
        ("effect_id", "text"),
        ("before", "text"),
        ("status", "text"),
        ("error", "text"),
        ("now", "timestamptz"),
        ("give_up_at", "timestamptz"),
    ),
    key=1,
    lost=LeaseLostError,
)
_PROPOSED = WriteKind(
    "proposed",
    "effects",
    """
    INSERT INTO effects (effect_id, dedupe_key, run_id, tenant, purpose, step, connector, operation, target, fields,
        tier, reversible_by, redact, idempotency_key, on_doubt, digest, correlation_key, timeout_s, settles_s, retry,
        hides, next_try_at, give_up_at, created_at, status, attempt, lease_owner, lease_expires_at, claimed, started_at,
        tries, decision_id)
    SELECT * FROM {r}
    """,
    (
        ("effect_id", "text"),
        ("dedupe_key", "text"),
        ("run_id", "text"),
        ("tenant", "text"),
        ("purpose", "text"),
        ("step", "text"),
        ("connector", "text"),
        ("operation", "text"),
        ("target", "text"),
        ("fields", "json"),
        ("tier", "text"),
        ("reversible_by", "text"),
        ("redact", "json"),
        ("idempotency_key", "text"),
        ("on_doubt", "text"),
        ("digest", "text"),
        ("correlation_key", "text"),
        ("timeout_s", "float"),
        ("settles_s", "float"),
        ("retry", "json"),
        ("hides", "bool"),
        ("next_try_at", "timestamptz"),
        ("give_up_at", "timestamptz"),
        ("created_at", "timestamptz"),
        ("status", "text"),
        ("attempt", "int"),
        ("lease_owner", "text"),
        ("lease_expires_at", "timestamptz"),
        ("claimed", "bool"),
        ("started_at", "timestamptz"),
        ("tries", "int"),
        ("decision_id", "text"),
    ),
    key=1,
    taken=_TAKEN,
)
_NOT_BEGUN = (False, None, 0, None)  # the last four columns

COLUMNS = ", ".join(Effect.__dataclass_fields__)


@dataclass(frozen=True)
class Times:
    """When an effect is proposed, until when it is tried, and from when, where that is later."""

    now: datetime
    give_up_at: datetime
    not_before: datetime | None = None


def effect_of(row: Mapping[str, Any]) -> Effect:
    """Return the effect in a row that has the columns."""
    typed = {
        "tier": Tier(row["tier"]),
        "purpose": Purpose(row["purpose"]),
        "on_doubt": OnDoubt(row["on_doubt"]),
        "status": EffectStatus(row["status"]),
    }
    return Effect(**{**row, **typed})


async def insert_step_effect(
    conn: Conn, run_id: str, tenant: str, effect: NewEffect, action: Action, times: Times, slot: LeaseSlot | None
) -> None:
    """Put the effect that a step wants into the outbox; leased at once where a slot is free for it."""
    values = _values(run_id, tenant, effect, action, times)
    if slot is None:
        await conn.gather(_PROPOSED, (*values, EffectStatus.PENDING, 0, None, None, *_NOT_BEGUN))
    else:
        slot.chained = ChainedLease(leased(run_id, tenant, effect, action, times, slot))
        await conn.gather(_PROPOSED, (*values, EffectStatus.LEASED, 1, slot.owner, slot.until, *_NOT_BEGUN))


def leased(run_id: str, tenant: str, new: NewEffect, action: Action, times: Times, slot: LeaseSlot) -> Effect:
    """Return the row as it will be read once it is committed."""
    return Effect(
        **{name: value for name, value in vars(new).items() if name in Effect.__dataclass_fields__},
        run_id=run_id,
        tenant=tenant,
        digest=action.digest,
        status=EffectStatus.LEASED,
        attempt=1,
        tries=0,
        postponed=0,
        was_blocked=False,
        lease_owner=slot.owner,
        give_up_at=times.give_up_at,
        started_at=None,
        approval_id=None,
        decision_id=None,
        before=None,
        error="",
        created_at=times.now,
    )


def _values(run_id: str, tenant: str, effect: NewEffect, action: Action, times: Times) -> tuple[Any, ...]:
    row = {
        **vars(effect),
        "digest": action.digest,
        "hides": bool(action.redacted),
        "fields": json_text(effect.fields),
        "redact": json_text(effect.redact),
        "retry": json_text(dict(effect.retry)),
        "run_id": run_id,
        "tenant": tenant,
        "next_try_at": times.not_before or times.now,
        "give_up_at": times.give_up_at,
        "created_at": times.now,
    }
    return tuple(row[name] for name, _ in _PROPOSED.columns[:-8])


def message_row(run_id: str, tenant: str, effect: NewEffect, action: Action, times: Times) -> Sequence[Any]:
    """Return a message as `insert_messages` takes it."""
    return (*_values(run_id, tenant, effect, action, times), EffectStatus.PENDING, 0, None, None, *_NOT_BEGUN)


async def insert_message(conn: Conn, row: Sequence[Any]) -> None:
    """Put a message into the outbox, which the database refuses if it is there already."""
    await conn.gather(_PROPOSED, row)


async def insert_messages(conn: Conn, rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Put messages into the outbox; False of what is there already (same dedupe key), and then stays as it is."""
    done = await conn.rows(
        f"{_PROPOSED.sql.format(r=rows_of(_PROPOSED))} ON CONFLICT (run_id, dedupe_key) DO NOTHING RETURNING effect_id",
        {_PROPOSED.name: document_of(_PROPOSED.columns, rows)},
    )
    put = {row["effect_id"] for row in done}
    return [row[0] in put for row in rows]


async def get_effect(conn: Conn, effect_id: str) -> Effect:
    """Return an effect as it is, locking it in the caller's transaction."""
    row = await conn.read_row(
        f"SELECT {COLUMNS} FROM effects WHERE effect_id = %s FOR UPDATE",  # noqa: S608 - our own columns
        (effect_id,),
    )
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
    """Claim the idempotency key and note that an attempt begins; KeyInUseError or LeaseLostError at the commit.

    `before` is what the target holds now: it must be on record before anything changes it. What is proposed in this
    transaction is written as begun, but not with what was before it.
    """
    begun = {"claimed": True, "started_at": now, "tries": 1, "decision_id": decision_id}
    if before is None and conn.amend(_PROPOSED, (effect.effect_id,), **begun):
        return
    row = (
        effect.effect_id,
        effect.attempt,
        effect.lease_owner,
        now,
        decision_id,
        digest,
        None if before is None else json.dumps(dict(before)),
    )
    await conn.gather(_BEGUN, row)


class SettledWith(TypedDict, total=False):
    """What is written with an effect's new status, each only where there is something to say."""

    next_try_at: datetime | None
    approval_id: str
    digest: str
    postponed: bool
    uncounted: bool
    asked: bool
    is_blocked: bool


async def settle(
    conn: Conn, effect: Effect, status: EffectStatus, *, error: str = "", **more: Unpack[SettledWith]
) -> None:
    """End this worker's lease with a new status; LeaseLostError at the commit if the lease is no longer ours.

    Only `dispatched` and `in_doubt` keep the idempotency key: everything else says that nothing was done. An
    `uncounted` try is as if it had not been.
    """
    check(EFFECT, EffectStatus.LEASED, status)
    lease = (effect.effect_id, effect.attempt, effect.lease_owner)
    keeps_key = status in (EffectStatus.DISPATCHED, EffectStatus.IN_DOUBT)
    moved = (more.get("next_try_at"), more.get("approval_id"), more.get("digest"))
    flags = (more.get(name, False) for name in ("postponed", "uncounted", "asked", "is_blocked"))
    await conn.gather(_SETTLED, (*lease, status, error, keeps_key, *moved, *flags))


async def try_until(conn: Conn, effect_id: str, give_up_at: datetime) -> None:
    """Say until when an effect, which the caller has leased, is tried."""
    await conn.execute("UPDATE effects SET give_up_at = %s WHERE effect_id = %s", (give_up_at, effect_id))


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
    """Move an unleased effect on a person's word or a deadline: deferred or in_doubt to its next status.

    LeaseLostError at the commit if it has moved on.
    """
    check(EFFECT, before, status)
    await conn.gather(_RELEASED, (effect_id, before, status, error, now, give_up_at))


async def list_hiding(conn: Conn, run_ids: Collection[str]) -> list[Effect]:
    """Return the effects of runs' steps whose fields hold what nobody may see, locked in the transaction."""
    rows = await conn.rows(
        f"SELECT {COLUMNS} FROM effects WHERE run_id = ANY(%s) AND purpose = 'step'"  # noqa: S608 - our own
        " AND hides AND forgotten IS NULL ORDER BY effect_id FOR UPDATE",
        (list(run_ids),),
    )
    return [effect_of(row) for row in rows]


async def forget_fields(conn: Conn, effect_id: str, public: Action) -> None:
    """Keep of an effect's fields what anybody may see; its digest stays what it was."""
    await conn.execute(
        "UPDATE effects SET fields = %s, forgotten = %s WHERE effect_id = %s",
        (json.dumps(public.fields), json.dumps(list(public.redacted)), effect_id),
    )


async def run_of(conn: Conn, tenant: str, effect_id: str) -> str:
    """Return the run of an effect of a tenant."""
    row = await conn.row("SELECT run_id FROM effects WHERE tenant = %s AND effect_id = %s", (tenant, effect_id))
    if row is None:
        raise LookupError(f"no effect {effect_id}")
    return str(row["run_id"])


async def expired(conn: Conn, effect_id: str, now: datetime) -> Effect | None:
    """Return an effect whose lease has run out, locked in the caller's transaction, or None if it has been settled."""
    row = await conn.row(
        f"SELECT {COLUMNS} FROM effects WHERE effect_id = %s"  # noqa: S608 - our own columns
        " AND status = 'leased' AND lease_expires_at < %s FOR UPDATE",
        (effect_id, now),
    )
    return effect_of(row) if row else None


async def wake(conn: Conn, run_id: str, effect_id: str | None, now: datetime) -> list[str]:
    """Let what waits for a pause to pass be tried now: one effect of a run, or all; return the ids."""
    rows = await conn.rows(
        "UPDATE effects SET next_try_at = %(now)s WHERE run_id = %(run_id)s AND status IN ('pending', 'blocked')"
        " AND next_try_at > %(now)s AND effect_id = coalesce(%(effect_id)s, effect_id) RETURNING effect_id",
        {"run_id": run_id, "effect_id": effect_id, "now": now},
    )
    return [row["effect_id"] for row in rows]


async def reject_open(conn: Conn, run_id: str, reason: str, step: str | None = None) -> dict[str, str | None]:
    """Reject what a finished run, or step, still had in its outbox; cards still go out.

    Return the ids in their order, each with its newest approval.
    """
    rows = await conn.rows(
        "UPDATE effects SET status = 'rejected', error = %(reason)s WHERE run_id = %(run_id)s"
        " AND purpose = 'step' AND (%(step)s::text IS NULL OR step = %(step)s)"
        " AND status IN ('pending', 'blocked', 'deferred') RETURNING effect_id, approval_id",
        {"reason": reason, "run_id": run_id, "step": step},
    )
    return dict(sorted((row["effect_id"], row["approval_id"]) for row in rows))
