"""Questions about requests, and their answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.model.questions import Question
from runtime.store.database.pool import Conn

_COLUMNS = "question_id, person, person_name, question, asked_at, answer"


async def insert_question(conn: Conn, tenant: str, approval_id: str, new: Question) -> None:
    """Write a question; the database refuses a second one of a person as long as their first is open."""
    await conn.execute(
        "INSERT INTO questions (question_id, tenant, approval_id, person, person_name, question, asked_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (new.question_id, tenant, approval_id, new.person, new.person_name, new.question, new.asked_at),
    )


async def answer_question(conn: Conn, question_id: str, answer: Mapping[str, Any]) -> None:
    """Write the answer; the caller holds the run's row, and has looked that there is none."""
    await conn.execute(
        "UPDATE questions SET answer = %s WHERE question_id = %s AND answer IS NULL",
        (json.dumps(dict(answer)), question_id),
    )


async def questions_of(conn: Conn, approval_id: str) -> list[Question]:
    """Return the questions about a request, in the order in which they were asked."""
    (found,) = await questions_of_all(conn, [approval_id])
    return found


async def questions_of_all(conn: Conn, approval_ids: Sequence[str]) -> list[list[Question]]:
    """Return what `questions_of` does, of many."""
    query = (
        f"SELECT approval_id, {_COLUMNS} FROM questions WHERE approval_id = ANY(%(ids)s) ORDER BY asked_at, question_id"  # noqa: S608 - ours
    )
    rows = await conn.read(query, {"ids": list(approval_ids)})
    found: dict[str, list[Question]] = {approval_id: [] for approval_id in approval_ids}
    for row in rows:
        found[row.pop("approval_id")].append(Question(**row))
    return [found[approval_id] for approval_id in approval_ids]


async def open_questions(conn: Conn, tenant: str, asker: str) -> Sequence[dict[str, Any]]:
    """Return the open questions about requests of runs that somebody asked for, or sent, oldest first."""
    return await conn.rows(
        """
        SELECT q.question_id, q.approval_id, a.run_id, a.step, q.person, q.question, q.asked_at
          FROM questions q JOIN approvals a USING (approval_id) JOIN runs r USING (run_id)
         WHERE q.tenant = %(tenant)s AND q.answer IS NULL AND a.status = 'requested'
           AND %(asker)s IN (r.requested_by, r.submitted_by)
         ORDER BY q.asked_at, q.question_id LIMIT 200
        """,
        {"tenant": tenant, "asker": asker},
    )
