"""What speaks against deciding requests unseen: open questions, edits, doubts, and reviews by the same person."""

from collections.abc import Sequence

from runtime.store.database.pool import Conn
from runtime.store.narrowing import Row


async def find_concerns(conn: Conn, tenant: str, person: str, approval_ids: Sequence[str]) -> list[Row]:
    """Return of each request, for the person who looks: questions without an answer, who edited it, doubts, a review.

    `doubts` counts other effects of its run in doubt; `reviewed_at` is when the person answered a review of its run.
    """
    query = """
        SELECT a.approval_id,
               (SELECT coalesce(json_agg(json_build_array(q.person, q.person_name) ORDER BY q.asked_at, q.question_id),
                                '[]')
                  FROM questions q WHERE q.approval_id = a.approval_id AND q.answer IS NULL) AS questions,
               (SELECT coalesce(json_agg(x.person_name ORDER BY x.seq), '[]')
                  FROM edits x WHERE x.effect_id = a.effect_id) AS edited_by,
               (SELECT count(*) FROM effects d WHERE d.run_id = a.run_id AND d.effect_id <> a.effect_id
                   AND d.status = 'in_doubt') AS doubts,
               (SELECT max(v.at) FROM votes v JOIN approvals t USING (approval_id)
                 WHERE t.run_id = a.run_id AND t.kind = 'task' AND v.withdrawn_at IS NULL
                   AND %(person)s IN (v.person, v.delegator)) AS reviewed_at
          FROM approvals a WHERE a.tenant = %(tenant)s AND a.approval_id = ANY(%(ids)s)
    """
    given = {"tenant": tenant, "person": person, "ids": list(approval_ids)}
    return await (await conn.execute(query, given)).fetchall()
