"""Edits: each is written once, with the approval that it voids, in the transaction that changes the effect."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.model.approval import Edit
from runtime.model.effect import LeaseLostError
from runtime.model.states import EFFECT, EffectStatus, check
from runtime.store.database.pool import Conn

EDITS_OF = """
    (SELECT json_agg(json_build_object('approval_id', x.approval_id, 'person', x.person, 'person_name', x.person_name,
                                       'reason', x.reason, 'changes', x.changes) ORDER BY x.seq)
       FROM edits x WHERE x.effect_id = {effect})
"""
"""The edits of an effect, oldest first, NULL where there are none."""


async def replacement_of(conn: Conn, approval_id: str) -> str:
    """Return the request about what somebody made of one by editing it; "" where nobody was asked, or is yet."""
    row = await conn.row(
        """
        SELECT n.approval_id FROM edits x JOIN approvals n ON n.effect_id = x.effect_id AND n.digest = x.digest
         WHERE x.approval_id = %(id)s AND n.approval_id <> %(id)s AND n.kind = 'effect'
         ORDER BY n.requested_at DESC, n.approval_id DESC LIMIT 1
        """,
        {"id": approval_id},
    )
    return str(row["approval_id"]) if row else ""


async def insert_edit(conn: Conn, run_id: str, seq: int, edit: Edit, notification_id: str) -> None:
    """Write who edited what, with the number of its leaf; the database refuses a second edit of one request."""
    await conn.execute(
        """
        INSERT INTO edits (approval_id, run_id, effect_id, seq, person, person_name, groups, reason, team, account,
                           replaced, digest, changes, notification_id, at)
        VALUES (%(approval_id)s, %(run_id)s, %(effect_id)s, %(seq)s, %(person)s, %(person_name)s, %(groups)s,
                %(reason)s, %(team)s, %(account)s, %(replaced)s, %(digest)s, %(changes)s, %(notification_id)s, %(at)s)
        """,
        {
            **vars(edit),
            "run_id": run_id,
            "seq": seq,
            "groups": json.dumps(list(edit.groups)),
            "changes": json.dumps([dict(change) for change in edit.changes]),
            "notification_id": notification_id,
        },
    )


async def change_effect(
    conn: Conn, edit: Edit, fields: Mapping[str, Any], *, now: datetime, give_up_at: datetime
) -> None:
    """Make a deferred effect anew with other fields, to be put to policy again; LeaseLostError if it has moved on."""
    check(EFFECT, EffectStatus.DEFERRED, EffectStatus.PENDING)
    done = await conn.execute(
        """
        UPDATE effects SET fields = %(fields)s, digest = %(digest)s, status = 'pending', error = '', tries = 0,
               next_try_at = %(now)s, give_up_at = %(give_up_at)s
         WHERE effect_id = %(effect_id)s AND approval_id = %(approval_id)s AND status = 'deferred'
           AND digest = %(replaced)s
        """,
        {
            "fields": json.dumps(fields),
            "digest": edit.digest,
            "now": now,
            "give_up_at": give_up_at,
            "effect_id": edit.effect_id,
            "approval_id": edit.approval_id,
            "replaced": edit.replaced,
        },
    )
    if done.rowcount != 1:
        raise LeaseLostError(edit.effect_id)
