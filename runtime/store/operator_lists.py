"""Operators' lists: a tenant's runs, waits, effects, dead letters and webhook subscriptions, newest first.

Of one run also its open break-glass reviews, and the questions about its requests. Nothing secret is read. What narrows
these lists narrows others, too, by their runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.model.search import RunFilter, UnknownRowError
from runtime.model.subscription import CONNECTOR, Subscription
from runtime.store.database.pool import Conn
from runtime.store.dead_letters import has_dead_letter


@dataclass(frozen=True, kw_only=True)
class Wanted(RunFilter):
    """What a list is narrowed to, and which part of it is wanted; None leaves it wide."""

    status: str | None = None
    run_id: str | None = None
    after: str | None = None  # id of the row behind which the list goes on
    limit: int


_RUN = (
    "r.run_id, r.status, r.version, r.definition_name, r.definition_version, r.trigger_type, r.trigger_ref,"
    " r.reference, r.outcome, r.requested_by, coalesce((SELECT nullif(p.name, '') FROM actors p WHERE p.tenant ="
    " r.tenant AND p.actor_id = r.requested_by), r.requested_by) AS requester_name,"
    " r.submitted_by, r.error, r.created_at, r.updated_at, r.finished_at"
)
_WAIT = (
    "w.wait_id, w.status, w.run_id, w.step, r.definition_name, w.type, w.correlation_key, w.correlate, w.deadline,"
    " w.escalate_at, w.approval_id, w.created_at, w.resolved_at, w.progress"
)
_EFFECT = (
    "e.effect_id, e.status, e.run_id, e.purpose, e.step, r.definition_name, e.connector, e.operation, e.target,"
    " e.tries, e.postponed, e.next_try_at, e.give_up_at, e.error, e.created_at"
)
_EFFECT_IN_FULL = (
    f"{_EFFECT}, e.tier, e.reversible_by, e.idempotency_key, e.on_doubt, e.digest, e.correlation_key, e.attempt,"
    " e.lease_owner, e.lease_expires_at, e.started_at, e.approval_id, e.decision_id"
)
_DEAD_LETTER = (
    "notification_id, status, kind, correlation_key, actor ->> 'id' AS actor, received_at, deliveries, failures,"
    " next_try_at, coalesce(nullif(error, ''), outcome ->> 'reason', outcome ->> 'text', '') AS reason"
)


_OF_RUN = "JOIN runs r USING (run_id)"

REFERENCE = "coalesce(nullif(r.reference, ''), r.trigger_ref)"
"""What people call a run by: its business reference, and as long as it has none, its trigger's."""

_OF_RUNS = {
    # as above, but each by an index
    "reference": "(r.reference = %(reference)s OR r.reference = '' AND r.trigger_ref = %(reference)s)",
    "requester": """
        (r.requested_by = %(requester)s OR r.requested_by IN (
            SELECT q.actor_id FROM actors q WHERE q.tenant = r.tenant AND lower(q.name) = lower(%(requester)s)))
    """.strip(),
    "trigger": "r.trigger_type = %(trigger)s",
    "definition": "r.definition_name = %(definition)s",
    "since": "{at} >= %(since)s",
    "until": "{at} < %(until)s",
}


def narrowed(by: RunFilter, at: str) -> str:
    """Return the clauses of what the filter names, joined: of runs as `r`, and of `at`, the column of its moments."""
    wanted = vars(by)
    return " AND ".join(one.format(at=at) for name, one in _OF_RUNS.items() if wanted[name] is not None) or "true"


async def list_runs(conn: Conn, tenant: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the tenant's runs; raise UnknownRowError where `after` is none, and so do the other lists."""
    return await _list_of_runs(conn, _RUN, "runs r", "r.created_at, r.run_id", tenant, wanted)


async def list_waits(conn: Conn, tenant: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the waits of the tenant's runs, without their tokens."""
    return await _list_of_runs(conn, _WAIT, f"waits w {_OF_RUN}", "w.created_at, w.wait_id", tenant, wanted)


async def list_effects(conn: Conn, tenant: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the effects of the tenant's runs, without what they would write."""
    return await _list_of_runs(conn, _EFFECT, f"effects e {_OF_RUN}", "e.created_at, e.effect_id", tenant, wanted)


async def list_retries(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return effects that are tried again, as the list of effects does; those whose turn comes first, first."""
    query = f"""
        SELECT {_EFFECT} FROM effects e {_OF_RUN}
         WHERE r.tenant = %s AND e.status = 'pending' AND e.tries > 0
         ORDER BY e.next_try_at, e.effect_id LIMIT %s
    """  # noqa: S608 - our own columns
    return await conn.rows(query, (tenant, limit))


async def _list_of_runs(
    conn: Conn, columns: str, tables: str, keys: str, tenant: str, wanted: Wanted
) -> list[dict[str, Any]]:
    """Return rows of the tenant's runs, the newest first; `keys` are the moment and the id of a row."""
    at = keys.partition(",")[0]
    where = narrowed(wanted, at)
    where += f" AND {at[0]}.status = %(status)s" if wanted.status else ""
    where += " AND r.run_id = %(run_id)s" if wanted.run_id else ""
    source = f"{tables} WHERE r.tenant = %(tenant)s"
    return await _page(conn, columns, source, where, keys, {"tenant": tenant, **vars(wanted)})


async def _page(
    conn: Conn, columns: str, source: str, where: str, keys: str, given: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return at most `limit` rows of a source, the newest first, behind the row whose id is `after`.

    That row may have ceased to match `where` since it was read: a run ends, a letter is requeued.
    """
    at, key = keys.split(", ")
    behind = ""
    if given["after"] is not None:
        row = await conn.row(f"SELECT {at} AS at FROM {source} AND {key} = %(after)s", given)  # noqa: S608 - our own clauses
        if row is None:
            raise UnknownRowError(f"there is no {given['after']} in this list to continue behind")
        given, behind = {**given, "after_at": row["at"]}, f" AND ({keys}) < (%(after_at)s, %(after)s)"
    query = f"SELECT {columns} FROM {source} AND {where}{behind} ORDER BY {at} DESC, {key} DESC LIMIT %(limit)s"  # noqa: S608
    return await conn.rows(query, given)


async def list_dead_letters(conn: Conn, tenant: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Return what could not be applied: dead letters, early answers, and what a fault of ours holds up.

    They are narrowed by their status and the moment in which they came.
    """
    where = """
        status = coalesce(%(status)s, status)
        AND (status IN ('dead_letter', 'early') OR status = 'received' AND failures > 0)
        AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
    """
    given = {"tenant": tenant, **vars(wanted)}
    keys = "received_at, notification_id"
    return await _page(conn, _DEAD_LETTER, "notifications WHERE tenant = %(tenant)s", where, keys, given)


async def find_run(conn: Conn, tenant: str, run_id: str) -> dict[str, Any] | None:
    """Return a run with its business state and what it gave, or None."""
    what = (
        f"{_RUN}, r.state, r.output, r.parent ->> 'run_id' AS started_by, r.parent ->> 'step' AS started_by_step"
        " FROM runs r"
    )
    return await _first_row(conn, what, "r.tenant = %s AND r.run_id = %s", tenant, run_id)


_STEP = (
    "path, status, verb, attempt, next_try_at, error, error_code, coalesce(kept ->> 'branch', '') AS branch, version,"
    " started_at, finished_at"
)


async def find_steps(conn: Conn, run_id: str, most: int | None) -> list[dict[str, Any]]:
    """Return a run's steps, in the runbook's order; at most so many, those first that have not ended well."""
    query = f"""
        SELECT {_STEP} FROM (
            SELECT * FROM steps WHERE run_id = %s
             ORDER BY status IN ('succeeded', 'skipped'), position, length(path), path LIMIT %s) s
         ORDER BY position, length(path), path
    """  # noqa: S608 - our own columns
    return await conn.rows(query, (run_id, most))


async def why_not_yet(conn: Conn, run_id: str) -> dict[str, str]:
    """Return for each step of a run whose effect is tried later why that is: its window, a target that is away."""
    query = (
        "SELECT step, error FROM effects WHERE run_id = %s AND purpose = 'step' AND error <> ''"
        " AND status IN ('pending', 'blocked')"
    )
    rows = await conn.rows(query, (run_id,))
    return {row["step"]: row["error"] for row in rows}


_STARTED = "c.run_id, c.status, c.definition_name, c.outcome, c.error"


async def find_started(conn: Conn, run_id: str, most: int | None) -> list[dict[str, Any]]:
    """Return the runs that steps of a run have started, at most so many, in their order, each with its step."""
    query = f"""
        SELECT e.step, {_STARTED} FROM effects e
          JOIN receipts r ON r.run_id = e.run_id AND r.effect_id = e.effect_id AND r.outcome = 'success'
          JOIN runs c ON c.run_id = r.response ->> 'run_id'
         WHERE e.run_id = %s AND e.connector = 'run' ORDER BY r.seq LIMIT %s
    """  # noqa: S608 - our own columns
    return await conn.rows(query, (run_id, most))


async def find_named(conn: Conn, tenant: str, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return runs by their ids, as if no step had started them."""
    query = f"""
        SELECT '' AS step, {_STARTED} FROM runs c WHERE c.tenant = %s AND c.run_id = ANY(%s)
         ORDER BY c.created_at, c.run_id
    """  # noqa: S608 - our own columns
    return await conn.rows(query, (tenant, list(run_ids)))


async def find_wait(conn: Conn, tenant: str, wait_id: str) -> dict[str, Any] | None:
    """Return a wait, without its token, or None."""
    what = f"{_WAIT} FROM waits w {_OF_RUN}"
    return await _first_row(conn, what, "r.tenant = %s AND w.wait_id = %s", tenant, wait_id)


async def find_effect(conn: Conn, tenant: str, effect_id: str) -> dict[str, Any] | None:
    """Return an effect, without what it would write, or None."""
    what = f"{_EFFECT_IN_FULL} FROM effects e {_OF_RUN}"
    return await _first_row(conn, what, "r.tenant = %s AND e.effect_id = %s", tenant, effect_id)


_DECISIONS = {
    "run": "d.run_id = %(id)s AND d.document ->> 'step' <> ''",
    "eff": "d.run_id = (SELECT run_id FROM effects WHERE effect_id = %(id)s) AND d.effect_id = %(id)s",
    "apr": "(d.run_id, d.effect_id) = (SELECT run_id, effect_id FROM approvals WHERE approval_id = %(id)s)",
    "dec": "d.decision_id = %(id)s",
}


async def find_decision(conn: Conn, tenant: str, id_: str) -> dict[str, Any] | None:
    """Return a decision of policy by its id, or the last one on an approval, an effect or a run's steps, or None.

    It is what is on record of it, with the text of the policy that gave it (`files`), and the `version` that has this
    text, None where none has.
    """
    narrowed = _DECISIONS.get(id_.partition("_")[0])
    if narrowed is None:
        return None
    query = f"""
        SELECT d.document, d.at, t.files, v.version, r.reference, r.definition_name
          FROM policy_decisions d JOIN runs r USING (run_id) JOIN policy_texts t ON t.digest = d.policy_digest
          LEFT JOIN policy_versions v ON v.digest = d.policy_digest
         WHERE r.tenant = %(tenant)s AND {narrowed} ORDER BY d.seq DESC LIMIT 1
    """  # noqa: S608 - our own words
    return await conn.row(query, {"tenant": tenant, "id": id_})


async def find_policy(conn: Conn, tenant: str, digest: str) -> dict[str, str] | None:  # noqa: ARG001 - of all tenants
    """Return the text of a policy that has decided, by the beginning of its digest; None unless that names one."""
    rows = await conn.rows("SELECT files FROM policy_texts WHERE starts_with(digest, %s) LIMIT 2", (digest,))
    return rows[0]["files"] if len(rows) == 1 else None


async def find_dead_letter(conn: Conn, tenant: str, notification_id: str) -> dict[str, Any] | None:
    """Return a notification with what it says, without its token, or None."""
    what = f"{_DEAD_LETTER}, payload::jsonb - 'token' AS payload, outcome, applied_at FROM notifications"
    return await _first_row(conn, what, "tenant = %s AND notification_id = %s", tenant, notification_id)


async def _first_row(conn: Conn, what: str, where: str, *values: str) -> dict[str, Any] | None:
    return await conn.row(f"SELECT {what} WHERE {where}", values)


async def list_subscriptions(conn: Conn, tenant: str, declared: Sequence[Subscription]) -> list[dict[str, Any]]:
    """Return each subscription: whether it is sent to, and how many deliveries wait, or are dead letters."""
    return [await _subscription(conn, tenant, one) for one in declared]


async def _subscription(conn: Conn, tenant: str, one: Subscription) -> dict[str, Any]:
    query = """
        SELECT (SELECT count(*) FROM effects
                 WHERE tenant = %(tenant)s AND purpose = 'message' AND connector = %(connector)s
                   AND status IN ('pending', 'leased', 'blocked', 'in_doubt') AND fields ->> 'subscription' = %(name)s)
                   AS waiting,
               (SELECT count(*) FROM notifications
                 WHERE tenant = %(tenant)s AND status = 'dead_letter' AND kind = 'delivery'
                   AND payload ->> 'subscription' = %(name)s) AS dead_letters
    """
    values = {"tenant": tenant, "connector": CONNECTOR, "name": one.name}
    counts = await conn.row(query, values)
    return {
        "name": one.name,
        "on": sorted(one.on),
        "target": one.target,
        "sends": not await has_dead_letter(conn, tenant, one.gone_key),
        **(counts or {}),
    }


async def open_reviews(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    """Return break-glass reviews in a run that are open, the oldest first: who used it, when, on which ticket.

    `until` is when the review is late; `may_close` are the groups of which one closes it, `but` who may not of them.
    """
    return await conn.rows(
        """
        SELECT a.approval_id, a.step, v.person_name AS broken_by, v.at AS broken_at,
               v.break_glass ->> 'ticket' AS ticket,
               a.expires_at AS until, a.requirement -> 'groups' AS may_close, a.requirement -> 'exclude' AS but
          FROM approvals a
          JOIN approvals o ON o.effect_id = a.effect_id AND o.kind = 'effect' AND o.decided_at = a.requested_at
          JOIN votes v ON v.approval_id = o.approval_id AND v.break_glass IS NOT NULL
         WHERE a.run_id = %s AND a.status = 'requested' AND a.kind = 'afterwards'
         ORDER BY a.requested_at, a.approval_id
        """,
        (run_id,),
    )


async def questions_in(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    """Return the questions about the requests of a run, in the order in which they were asked, with their answers.

    The `state` of one is `answered`, `open` as long as an answer is taken, and then `not answered`.
    """
    return await conn.rows(
        """
        SELECT a.step, q.person_name AS asked_by, q.asked_at, q.question,
               CASE WHEN q.answer IS NOT NULL THEN 'answered' WHEN a.status = 'requested' THEN 'open'
                    ELSE 'not answered' END AS state,
               coalesce(q.answer ->> 'name', '') AS answered_by, coalesce(q.answer ->> 'text', '') AS answer
          FROM questions q JOIN approvals a USING (approval_id) WHERE a.run_id = %s
         ORDER BY q.asked_at, q.question_id
        """,
        (run_id,),
    )
