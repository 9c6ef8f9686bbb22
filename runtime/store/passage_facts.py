"""Passage facts: what the gate must know beside an effect, read when its passage begins.

`read_all_facts` reads what is committed. `facts_following` is for an effect that is proposed in the transaction that
ends the one before it: what that reads (`run_facts`) is known before the effect is, and `expect_as_told` has that
transaction fail where it is no longer so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.model.effect import Effect
from runtime.model.passage_facts import PassageFacts, passage_facts
from runtime.model.states import StepStatus
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, json_text
from runtime.store.delegations import GROUPS_NOW
from runtime.store.edits import EDITS_OF

IS_WRITE = "w.purpose = 'step' AND w.on_doubt <> 'repeat'"
"""Neither a message nor a read, of which none is a write."""


_FACTS = f"""
    SELECT e.number, r.salt, r.version, r.requested_by, r.requester_kind, r.submitted_by, r.definition_name,
           r.definition_version, r.trigger_type,
           (SELECT status FROM steps s WHERE s.run_id = r.run_id AND s.path = e.step) AS step_status,
           r.writes + (SELECT count(*) FROM effects w WHERE w.run_id = r.run_id AND w.effect_id <> e.effect_id
                          AND {IS_WRITE} AND w.started_at IS NOT NULL) AS writes,
           coalesce(who.groups, '[]'::json) AS requester_groups,
           (SELECT approval_id FROM approvals t WHERE t.effect_id = e.effect_id AND t.kind = 'task'
             ORDER BY requested_at DESC, approval_id LIMIT 1) AS task_id,
           a.status AS approval_status, a.digest AS approval_digest, a.requested_at AS approval_requested_at,
           coalesce(a.prolonged_until, a.expires_at) AS approval_expires_at,
           a.consumed_at AS approval_consumed_at,
           a.requirement -> 'execute' AS approval_execute,
           EXISTS (SELECT FROM waits t WHERE t.run_id = e.run_id AND t.step = e.step AND t.status = 'active'
                      AND t.type = 'approval' AND t.approval_id = a.approval_id) AS approval_is_awaited,
           coalesce((SELECT json_agg(json_build_object('person', v.person, 'verdict', v.verdict, 'at', v.at,
                                                       'groups', {GROUPS_NOW}, 'delegation', v.delegation,
                                                       'break_glass', v.break_glass,
                                                       'is_signed', v.passkey IS NOT NULL,
                                                       'is_from_console', v.console IS NOT NULL)
                                     ORDER BY v.at, v.person)
                       FROM votes v LEFT JOIN actors p ON p.tenant = r.tenant AND p.actor_id = v.person
                      WHERE v.approval_id = a.approval_id AND v.withdrawn_at IS NULL), '[]'::json) AS votes,
           CASE WHEN e.approval_id IS NOT NULL THEN {EDITS_OF.format(effect="e.effect_id")} END AS edits,
           done.fingerprint AS done_fingerprint, done.response AS done_response
      FROM {{effects}}
      JOIN runs r ON r.run_id = e.run_id
      LEFT JOIN actors who ON who.tenant = r.tenant AND who.actor_id = r.requested_by
      LEFT JOIN approvals a ON a.approval_id = e.approval_id AND a.effect_id = e.effect_id
      LEFT JOIN LATERAL (SELECT fingerprint, response FROM receipts
                          WHERE tenant = r.tenant AND idempotency_key = e.key AND outcome = 'success'
                          LIMIT 1) AS done ON true
     ORDER BY e.number
"""  # noqa: S608 - our own clauses
_FACTS_OF_MANY = _FACTS.format(
    effects="""
    unnest(%(effects)b::text[], %(approvals)b::text[], %(keys)b::text[], %(runs)b::text[], %(steps)b::text[])
    WITH ORDINALITY AS e (effect_id, approval_id, key, run_id, step, number)
"""
)
_FACTS_OF_ONE = _FACTS.format(
    effects="""
    (SELECT effect_id, approval_id, idempotency_key AS key, run_id, step, 1 AS number FROM effects
      WHERE effect_id = %(effect_id)s) AS e
"""
)


async def facts_of(conn: Conn, effect_id: str) -> PassageFacts:
    """Return what `read_facts` does, by the id of an effect that need not be known beside it."""
    row = await conn.read_row(_FACTS_OF_ONE, {"effect_id": effect_id})
    if row is None:
        raise LookupError(f"no effect {effect_id}")
    return passage_facts(row)


async def read_facts(conn: Conn, effect: Effect) -> PassageFacts:
    """Return what there is to know about one effect; raise LookupError where its run is not there."""
    (facts,) = await read_all_facts(conn, [effect])
    return facts


async def read_all_facts(conn: Conn, effects: Sequence[Effect]) -> list[PassageFacts]:
    """Return, in one read, of each effect: its run, requester, approval with votes, task and receipt."""
    rows = await conn.rows(
        _FACTS_OF_MANY,
        {
            "effects": [effect.effect_id for effect in effects],
            "approvals": [effect.approval_id for effect in effects],
            "keys": [effect.idempotency_key for effect in effects],
            "runs": [effect.run_id for effect in effects],
            "steps": [effect.step for effect in effects],
        },
    )
    if len(rows) < len(effects):
        raise LookupError(f"no run of one of {', '.join(effect.effect_id for effect in effects)}")
    return [passage_facts(row) for row in rows]


async def count_writes(conn: Conn, effect: Effect) -> int:
    """Return how many other writes the run has done or begun, as `read_facts` counts them.

    Those done are counted on the run, as their receipts are written: only what goes on is looked for.
    """
    row = await conn.row(
        f"""
        SELECT r.writes + (SELECT count(*) FROM effects w WHERE w.run_id = r.run_id AND w.effect_id <> %s
                              AND {IS_WRITE} AND w.started_at IS NOT NULL) AS n
          FROM runs r WHERE r.run_id = %s
        """,  # noqa: S608 - our own clause
        (effect.effect_id, effect.run_id),
    )
    return int(row["n"]) if row else 0


@dataclass(frozen=True)
class EndedEffect:
    """Identifies the facts of what follows in a run: after the effect that `ended`, for this requester."""

    tenant: str
    run_id: str
    requester: str
    ended: str


@dataclass(frozen=True)
class RunFacts:
    """The groups of the run's requester, and how many other writes the run has begun."""

    requester_groups: tuple[str, ...]
    begun: int


async def run_facts(conn: Conn, ended: Sequence[EndedEffect]) -> list[RunFacts]:
    """Return the facts of what follows, in one read, before it is known what follows."""
    rows = await conn.look(
        f"""
        SELECT coalesce(who.groups, '[]'::json) AS requester_groups,
               (SELECT count(*) FROM effects w WHERE w.run_id = e.run_id AND w.effect_id <> e.ended
                   AND {IS_WRITE} AND w.started_at IS NOT NULL) AS begun
          FROM unnest(%(runs)b::text[], %(ended)b::text[], %(tenants)b::text[], %(requesters)b::text[])
               WITH ORDINALITY AS e (run_id, ended, tenant, requested_by, number)
          LEFT JOIN actors who ON who.tenant = e.tenant AND who.actor_id = e.requested_by
         ORDER BY e.number
        """,  # noqa: S608 - our own clause
        {
            "runs": [one.run_id for one in ended],
            "ended": [one.ended for one in ended],
            "tenants": [one.tenant for one in ended],
            "requesters": [one.requester for one in ended],
        },
        table="actors",
        keys=(),
    )
    return [RunFacts(tuple(row["requester_groups"]), row["begun"]) for row in rows]


def facts_following(run: Mapping[str, Any], writes: int, known: RunFacts) -> PassageFacts:
    """Return the facts of an effect that nobody has seen: it has no approval, no task and no attempt behind it.

    `run` is the run's row, with how many `writes` it did. Whether its key succeeded before is not among them
    (`expect_as_told`, `done_before`).
    """
    nothing_yet = {"approval_status": None, "task_id": None, "edits": None, "done_fingerprint": None}
    read = {"requester_groups": known.requester_groups, "writes": writes + known.begun}
    return passage_facts({**run, **nothing_yet, **read, "step_status": StepStatus.READY})


class ToldOtherwiseError(Exception):
    """What policy was told of an effect, or that nothing was done under its key, is not so any more."""


_AS_TOLD = WriteKind(
    "as_told",
    "what policy was told",
    """
    SELECT r.effect_id AS id FROM {r}
     WHERE coalesce((SELECT groups FROM actors WHERE actors.tenant = r.tenant AND actor_id = r.requested_by),
                    '[]')::jsonb = r.groups::jsonb
       AND (SELECT 1 FROM receipts WHERE receipts.tenant = r.tenant AND idempotency_key = r.key
               AND outcome = 'success') IS NULL
    """,  # no joins: a planner that takes the tables for empty would read their indexes from end to end for each row
    (("effect_id", "text"), ("tenant", "text"), ("requested_by", "text"), ("groups", "json"), ("key", "text")),
    key=1,
    lost=ToldOtherwiseError,
)


async def expect_as_told(conn: Conn, effect: Effect, facts: PassageFacts) -> None:
    """Have the commit fail unless the requester is in these groups, and no success stands under the effect's key."""
    groups = json_text(list(facts.requester_groups))
    await conn.gather(_AS_TOLD, (effect.effect_id, effect.tenant, facts.requested_by, groups, effect.idempotency_key))


async def done_before(conn: Conn, keys: Sequence[tuple[str, str]]) -> list[bool]:
    """Return of each (tenant, idempotency key) whether a success stands under it."""
    rows = await conn.look(
        """
        SELECT EXISTS (SELECT FROM receipts r WHERE r.tenant = k.tenant AND r.idempotency_key = k.key
                          AND r.outcome = 'success') AS done
          FROM unnest(%(tenants)b::text[], %(keys)b::text[]) WITH ORDINALITY AS k (tenant, key, number)
         ORDER BY k.number
        """,
        {"tenants": [tenant for tenant, _ in keys], "keys": [key for _, key in keys]},
        table="receipts",
        keys=(),
    )
    return [row["done"] for row in rows]
