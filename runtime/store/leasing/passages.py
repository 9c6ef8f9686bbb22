"""Reads what a passage through the gate needs to know beside its effect."""

from runtime.model.effect import Effect
from runtime.model.passage import PassageFacts, passage_facts
from runtime.store.database.pool import Conn


async def read_facts(conn: Conn, effect: Effect) -> PassageFacts:
    """Return, in one read: the effect's run, requester, approval with votes, task and receipt."""
    row = await (
        await conn.execute(
            """
            SELECT r.salt, r.requested_by, r.requester_kind, r.submitted_by, r.definition_name,
                   r.definition_version, r.trigger_type,
                   (SELECT status FROM steps s WHERE s.run_id = r.run_id AND s.path = %(step)s) AS step_status,
                   (SELECT count(*) FROM effects w WHERE w.run_id = r.run_id AND w.effect_id <> %(effect_id)s
                       AND w.purpose = 'step'
                       AND (w.status = 'dispatched' OR w.started_at IS NOT NULL)) AS writes,
                   coalesce(who.groups, '[]'::json) AS requester_groups,
                   (SELECT approval_id FROM approvals t WHERE t.effect_id = %(effect_id)s AND t.kind = 'task'
                     ORDER BY requested_at DESC LIMIT 1) AS task_id,
                   a.status AS approval_status, a.digest AS approval_digest, a.requested_at AS approval_requested_at,
                   a.expires_at AS approval_expires_at, a.consumed_at AS approval_consumed_at,
                   coalesce((SELECT json_agg(json_build_object('person', v.person, 'verdict', v.verdict, 'at', v.at,
                                                               'groups', coalesce(p.groups, '[]'::json))
                                             ORDER BY v.at, v.person)
                               FROM votes v LEFT JOIN actors p ON p.tenant = r.tenant AND p.actor_id = v.person
                              WHERE v.approval_id = a.approval_id), '[]'::json) AS votes,
                   done.fingerprint AS done_fingerprint, done.response AS done_response
              FROM runs r
              LEFT JOIN actors who ON who.tenant = r.tenant AND who.actor_id = r.requested_by
              LEFT JOIN approvals a ON a.approval_id = %(approval_id)s AND a.effect_id = %(effect_id)s
              LEFT JOIN receipts done ON done.tenant = r.tenant AND done.idempotency_key = %(key)s
                                     AND done.outcome = 'success'
             WHERE r.run_id = %(run_id)s
            """,
            {
                "effect_id": effect.effect_id,
                "approval_id": effect.approval_id,
                "key": effect.idempotency_key,
                "run_id": effect.run_id,
                "step": effect.step,
            },
        )
    ).fetchone()
    if row is None:
        raise LookupError(f"no run {effect.run_id}")
    return passage_facts(row)


async def count_writes(conn: Conn, effect: Effect) -> int:
    """Return how many other writes the run has done or begun, as `read_facts` counts them; messages are none."""
    row = await (
        await conn.execute(
            "SELECT count(*) AS n FROM effects WHERE run_id = %s AND effect_id <> %s AND purpose = 'step'"
            " AND (status = 'dispatched' OR started_at IS NOT NULL)",
            (effect.run_id, effect.effect_id),
        )
    ).fetchone()
    return int(row["n"]) if row else 0
