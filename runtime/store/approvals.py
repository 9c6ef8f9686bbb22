"""Approvals and votes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.action import Tier
from runtime.model.approval import Approval, AskKind, NewApproval, Result
from runtime.model.requirement import Requirement
from runtime.model.routing import Route
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Via, Vote, VoteVerdict
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind
from runtime.store.delegations import GROUPS_NOW
from runtime.store.edits import EDITS_OF

_EXPIRES = "coalesce(prolonged_until, expires_at)"
_COLUMNS = ", ".join(Approval.__dataclass_fields__).replace("expires_at", f"{_EXPIRES} AS expires_at")
_COUNTED = WriteKind(
    "counted",
    "votes",
    """
    INSERT INTO votes (approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at,
                       via, brought_by, delegator, delegation, passkey, together, break_glass, console)
    SELECT * FROM {r}
    """,
    (
        ("approval_id", "text"),
        ("person", "text"),
        ("person_name", "text"),
        ("groups", "json"),
        ("verdict", "text"),
        ("reason", "text"),
        ("team", "text"),
        ("account", "text"),
        ("notification_id", "text"),
        ("at", "timestamptz"),
        ("via", "text"),
        ("brought_by", "text"),
        ("delegator", "text"),
        ("delegation", "json"),
        ("passkey", "json"),
        ("together", "json"),
        ("break_glass", "json"),
        ("console", "json"),
    ),
    key=2,
)
_TOUCHED = WriteKind(
    "touched",
    "approvals",
    """
    UPDATE approvals SET revision = revision + 1, result = coalesce(r.result, approvals.result)
      FROM {r} WHERE approvals.approval_id = r.approval_id
    """,
    (("approval_id", "text"), ("result", "json")),
    key=1,
)


class ApprovalEndedError(Exception):
    """An approval that was to be ended had ended before."""


_CLOSED = WriteKind(
    "closed",
    "approvals",
    """
    UPDATE approvals SET status = r.status, decided_at = r.now, revision = revision + 1,
           result = coalesce(r.result, approvals.result)
      FROM {r} WHERE approvals.approval_id = r.approval_id AND (approvals.status = 'requested') IS TRUE
    RETURNING approvals.approval_id AS id
    """,
    (("approval_id", "text"), ("status", "text"), ("now", "timestamptz"), ("result", "json")),
    key=1,
    lost=ApprovalEndedError,
)

_VOTES = f"""
    SELECT v.approval_id, v.person, v.person_name, {GROUPS_NOW} AS groups, v.verdict, v.reason, v.team, v.account, v.at,
           v.delegation, v.passkey, v.together, v.break_glass, v.console
      FROM votes v JOIN approvals USING (approval_id) JOIN runs r USING (run_id)
      LEFT JOIN actors p ON p.tenant = r.tenant AND p.actor_id = v.person
     WHERE v.withdrawn_at IS NULL
"""  # noqa: S608 - our own clauses


def vote_of(row: Mapping[str, Any]) -> Vote:
    """Return the vote in a row that has no other columns than a vote."""
    via = {"via": Via(row["via"])} if "via" in row else {}
    return Vote(**{**row, "verdict": VoteVerdict(row["verdict"]), **via})


def _vote(row: Mapping[str, Any]) -> Vote:
    return vote_of({name: value for name, value in row.items() if name != "approval_id"})


def _approval(row: Mapping[str, Any]) -> Approval:
    typed = {
        "kind": AskKind(row["kind"]),
        "tier": Tier(row["tier"]),
        "requirement": Requirement.of(row["requirement"]),
        "status": ApprovalStatus(row["status"]),
        "route": Route.of(row["route"]),
    }
    return Approval(**{**row, **typed})


def approval_in(row: Mapping[str, Any]) -> Approval:
    """Return the approval in a row of `approval_view_rows`."""
    columns = {name: row[name] for name in Approval.__dataclass_fields__}
    return _approval({**columns, "expires_at": row["open_until"]})


def insert_approval(conn: Conn, run_id: str, tenant: str, new: NewApproval, now: datetime) -> None:
    """Write a new approval, open from now on."""
    conn.put(
        """
        INSERT INTO approvals (approval_id, tenant, run_id, effect_id, step, kind, digest, tier, requirement, reasons,
                               before, purpose, shortfall, shown, route, joined, status, cards, requested_at,
                               expires_at)
        VALUES (%(approval_id)s, %(tenant)s, %(run_id)s, %(effect_id)s, %(step)s, %(kind)s, %(digest)s, %(tier)s,
                %(requirement)s, %(reasons)s, %(before)s, %(purpose)s, %(shortfall)s, %(shown)s, %(route)s, %(joined)s,
                'requested', '[]', %(now)s, %(expires_at)s)
        """,
        {
            **vars(new),
            "run_id": run_id,
            "tenant": tenant,
            "requirement": json.dumps(new.requirement.document()),
            "reasons": json.dumps([dict(reason) for reason in new.reasons]),
            "before": json.dumps(dict(new.before)),
            "shown": None if new.shown is None else json.dumps(new.shown),
            "route": json.dumps(new.route.document()),
            "joined": json.dumps(list(new.joined)),
            "now": now,
            "expires_at": now + new.requirement.lasts,
        },
    )


async def get_approval(conn: Conn, approval_id: str) -> Approval | None:
    """Return an approval, or None."""
    (found,) = await get_approvals(conn, [approval_id])
    return found


async def get_approvals(conn: Conn, approval_ids: Sequence[str]) -> list[Approval | None]:
    """Return approvals as they are in the caller's transaction, which has locked their runs."""
    rows = await conn.look(
        f"SELECT {_COLUMNS} FROM approvals WHERE approval_id = ANY(%(ids)s)",  # noqa: S608 - our own columns
        {"ids": list(approval_ids)},
        table="approvals",
        keys=set(approval_ids),
    )
    found = {row["approval_id"]: _approval(row) for row in rows}
    return [found.get(approval_id) for approval_id in approval_ids]


async def find_open(conn: Conn, effect_id: str, kind: AskKind) -> Approval | None:
    """Return the open approval of this kind on an effect, or None."""
    row = await conn.row(
        f"SELECT {_COLUMNS} FROM approvals"  # noqa: S608 - our own columns
        " WHERE effect_id = %s AND kind = %s AND status = 'requested'",
        (effect_id, kind),
    )
    return _approval(row) if row else None


async def close_approval(
    conn: Conn, approval_id: str, status: ApprovalStatus, now: datetime, result: Result | None = None
) -> None:
    """Compare and set: end an approval, which the caller has seen open under its run's lock; ApprovalEndedError.

    A result that is not given stays.
    """
    await conn.gather(_CLOSED, (approval_id, status, now, _document(result)))


async def touch(conn: Conn, approval_id: str, *, result: Result | None = None) -> None:
    """Raise the revision because what the card shows has changed; a result that is not given stays."""
    await conn.gather(_TOUCHED, (approval_id, _document(result)))


def _document(result: Result | None) -> str | None:
    return json.dumps(result.document()) if result else None


async def join(conn: Conn, approval_id: str, groups: Sequence[str], until: datetime | None) -> None:
    """Let further groups decide an open approval, each named once, and `until` a later time where that is given."""
    await conn.execute(
        """
        UPDATE approvals SET revision = revision + 1, prolonged_until = coalesce(%(until)s, prolonged_until),
               joined = (SELECT coalesce(json_agg(name ORDER BY place), '[]'::json)
                           FROM (SELECT name, min(place) AS place
                                   FROM jsonb_array_elements_text(joined::jsonb || %(groups)s::jsonb)
                                        WITH ORDINALITY AS each (name, place)
                                  GROUP BY name) AS named)
         WHERE approval_id = %(id)s AND status = 'requested'
        """,
        {"id": approval_id, "groups": json.dumps(list(groups)), "until": until},
    )


async def move_deadline(conn: Conn, approval_id: str, until: datetime) -> None:
    """Give an open approval another deadline; the caller holds its run."""
    await conn.execute(
        "UPDATE approvals SET prolonged_until = %s WHERE approval_id = %s AND status = 'requested'",
        (until, approval_id),
    )


async def consume(conn: Conn, approval_id: str, now: datetime, until: datetime) -> bool:
    """Use an approval up: one attempt, while it is usable, `until` then. False if it cannot be used any more."""
    done = await conn.execute(
        "UPDATE approvals SET consumed_at = %(now)s WHERE approval_id = %(id)s AND status = 'approved'"
        " AND consumed_at IS NULL AND %(until)s > %(now)s",
        {"now": now, "id": approval_id, "until": until},
    )
    return done.rowcount == 1


async def give_back(conn: Conn, approval_id: str) -> None:
    """Let an approval be used again: the attempt that had used it up is known to have done nothing."""
    await conn.execute("UPDATE approvals SET consumed_at = NULL WHERE approval_id = %s", (approval_id,))


async def end_waiting(conn: Conn, approval_ids: Sequence[str], result: Result) -> list[str]:
    """Say of those whose effects waited for a window what became of them; return their ids in order."""
    rows = await conn.rows(
        "UPDATE approvals SET result = %s, revision = revision + 1 WHERE approval_id = ANY(%b)"
        " AND status = 'approved' AND result ->> 'code' = 'window' RETURNING approval_id",
        (json.dumps(result.document()), list(approval_ids)),
    )
    return sorted(row["approval_id"] for row in rows)


async def cancel_open(conn: Conn, run_id: str, now: datetime, step: str | None = None) -> list[str]:
    """Cancel what a finished run, or step, still asks people; return the ids in order.

    What happened is asked about even so.
    """
    rows = await conn.rows(
        "UPDATE approvals SET status = 'canceled', decided_at = %(now)s, revision = revision + 1"
        " WHERE run_id = %(run_id)s AND (%(step)s::text IS NULL OR step = %(step)s)"
        " AND status = 'requested' AND kind NOT IN ('in_doubt', 'afterwards') RETURNING approval_id",
        {"now": now, "run_id": run_id, "step": step},
    )
    return sorted(row["approval_id"] for row in rows)


async def open_of(conn: Conn, run_id: str) -> list[str]:
    """Return the requests of a run that end with it: not those about what has happened already."""
    query = (
        "SELECT approval_id FROM approvals WHERE run_id = %s AND status = 'requested'"
        " AND kind NOT IN ('in_doubt', 'afterwards') ORDER BY approval_id"
    )
    return [row["approval_id"] for row in await conn.rows(query, (run_id,))]


async def insert_vote(conn: Conn, approval_id: str, vote: Vote, notification_id: str) -> None:
    """Count one person's verdict; the database refuses a second by the same person, or from the same account."""
    groups = json.dumps(list(vote.groups))
    who = (vote.person, vote.person_name, groups, vote.verdict, vote.reason, vote.team, vote.account)
    delegated = (vote.delegator, json.dumps(dict(vote.delegation)) if vote.delegation else None)
    together = json.dumps(dict(vote.together)) if vote.together else None
    break_glass = json.dumps(dict(vote.break_glass)) if vote.break_glass else None
    signed = json.dumps(dict(vote.passkey)) if vote.passkey else None
    console = json.dumps(dict(vote.console)) if vote.console else None
    way = (notification_id, vote.at, vote.via, vote.brought_by, *delegated, signed, together, break_glass, console)
    await conn.gather(_COUNTED, (approval_id, *who, *way))


@dataclass(frozen=True)
class VoteKey:
    """Identifies a counted vote: its request and its person."""

    approval_id: str
    person: str


async def given_vote(conn: Conn, key: VoteKey) -> Vote | None:
    """Return a person's vote as it was given, as long as it counts; or None."""
    names = ", ".join(name for name in Vote.__dataclass_fields__)
    row = await conn.read_row(
        f"SELECT {names} FROM votes WHERE approval_id = %s AND person = %s AND withdrawn_at IS NULL",  # noqa: S608 - our own columns
        (key.approval_id, key.person),
    )
    return vote_of(row) if row else None


def withdraw_vote(conn: Conn, key: VoteKey, now: datetime) -> None:
    """Have a person's vote count no more. The caller has seen, under the run's lock, that there is one."""
    conn.put(
        "UPDATE votes SET withdrawn_at = %(now)s"
        " WHERE approval_id = %(approval_id)s AND person = %(person)s AND withdrawn_at IS NULL",
        {**vars(key), "now": now},
    )


async def withdrawn_votes(conn: Conn, approval_id: str) -> list[Vote]:
    """Return the votes that were withdrawn, the one given first before the others."""
    names = ", ".join(name for name in Vote.__dataclass_fields__)
    rows = await conn.read(
        f"SELECT {names} FROM votes WHERE approval_id = %(id)s AND withdrawn_at IS NOT NULL"  # noqa: S608 - ours
        " ORDER BY at, person",
        {"id": approval_id},
    )
    return [vote_of(row) for row in rows]


async def assign(conn: Conn, approval_id: str, person: str | None) -> None:
    """Note who works on a review, or that nobody does; the caller holds its run's row, and has looked who did."""
    await conn.execute(
        "UPDATE approvals SET assignee = %s, revision = revision + 1 WHERE approval_id = %s", (person, approval_id)
    )


async def votes_of(conn: Conn, approval_id: str) -> list[Vote]:
    """Return the counted votes, oldest first, with the groups for which each counts now."""
    (found,) = await counted_votes(conn, [approval_id])
    return found


async def signers_of(conn: Conn, run_id: str) -> dict[str, list[str]]:
    """Return who signed for each step of a run, in order: of its newest request that was approved."""
    query = """
        SELECT a.step, array_agg(v.person ORDER BY v.at, v.person) AS signers
          FROM (SELECT DISTINCT ON (step) step, approval_id FROM approvals
                 WHERE run_id = %s AND status = 'approved' AND kind IN ('effect', 'task') AND step <> ''
                 ORDER BY step, decided_at DESC, approval_id DESC) a
          JOIN votes v USING (approval_id)
         WHERE v.withdrawn_at IS NULL AND v.verdict = 'approve'
         GROUP BY a.step
    """
    rows = await conn.rows(query, (run_id,))
    return {row["step"]: row["signers"] for row in rows}


async def counted_votes(conn: Conn, approval_ids: Sequence[str]) -> list[list[Vote]]:
    """Return, of each approval, the counted votes as `votes_of` does."""
    rows = await conn.look(
        f"{_VOTES} AND v.approval_id = ANY(%(ids)s) ORDER BY v.at, v.person",
        {"ids": list(approval_ids)},
        table="votes",
        keys=set(approval_ids),
    )
    found: dict[str, list[Vote]] = {approval_id: [] for approval_id in approval_ids}
    for row in rows:
        found[row["approval_id"]].append(_vote(row))
    return [found[approval_id] for approval_id in approval_ids]


SHOWN = """
    a.*, r.definition_name, r.definition_version, r.requested_by, r.submitted_by, r.requester_accounts, r.salt,
    r.trigger_type, r.trigger_ref, r.reference, e.connector, e.operation, e.target, e.fields, e.redact, e.forgotten,
    e.idempotency_key, e.tier AS effect_tier, e.reversible_by,
    who.name AS requester_name, holder.name AS assignee_name,
    (SELECT w.progress FROM waits w WHERE a.kind = 'task' AND w.run_id = a.run_id AND w.step = a.step
        AND w.status = 'active' AND w.type <> 'approval') AS progress,
    convert_from(d.canonical, 'UTF8')::json ->> 'title' AS title,
    coalesce(a.prolonged_until, a.expires_at) AS open_until
"""
"""What a card shows of the approval `a`."""
JOINED = """
      FROM approvals a JOIN runs r USING (run_id) JOIN effects e USING (effect_id)
      JOIN definitions d ON d.name = r.definition_name AND d.version = r.definition_version
      LEFT JOIN actors who ON who.tenant = r.tenant AND who.actor_id = r.requested_by
      LEFT JOIN actors holder ON holder.tenant = r.tenant AND holder.actor_id = a.assignee
"""
VIEW = f"SELECT {SHOWN}, {EDITS_OF.format(effect='a.effect_id')} AS edits {JOINED}"


async def approval_view_rows(conn: Conn, approval_ids: Sequence[str]) -> list[dict[str, Any] | None]:
    """Return what `approval_view_row` does, of many."""
    rows = await conn.read(f"{VIEW} WHERE a.approval_id = ANY(%(ids)s)", {"ids": list(approval_ids)})
    found = {row["approval_id"]: row for row in rows}
    return [found.get(approval_id) for approval_id in approval_ids]


async def approval_view_row(conn: Conn, approval_id: str) -> dict[str, Any] | None:
    """Return everything that a card shows of an approval, joined, with the edits of its effect (`edits`), or None."""
    (found,) = await approval_view_rows(conn, [approval_id])
    return found


async def votes_of_all(conn: Conn, approval_ids: Sequence[str]) -> dict[str, list[Vote]]:
    """Return the counted votes of several approvals, oldest first, with the groups for which each counts now."""
    return dict(zip(approval_ids, await counted_votes(conn, approval_ids), strict=True))
