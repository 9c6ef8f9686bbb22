"""A request's rows as the view that people see: never secrets, and what edits made of it; and reviews, looked up."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.approvals.rules import cast_of, counting, leaves_open, missing_classes, still_missing
from runtime.approvals.windows import next_opening
from runtime.model.action import Acting, Action, Tier
from runtime.model.approval import AskKind, Change, Result, as_before, stamp
from runtime.model.requirement import ExecuteWhen, Requirement
from runtime.model.routing import Route
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote, VoteVerdict
from runtime.model.wait import Progress
from runtime.services.approval_view import (
    NOTHING,
    ApprovalView,
    Declared,
    EditsView,
    ExecuteView,
    FieldView,
    ProgressView,
    VoteView,
)
from runtime.store import approvals
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn
from runtime.store.metrics import NOTHING_KNOWN, Before
from runtime.store.request_lists import SoughtTasks, find_tasks
from runtime.store.tenants import is_mocked

__all__ = [
    "SoughtTasks",
]

_AS_STORED = (
    *("approval_id", "tenant", "run_id", "step", "revision", "tier", "reversible_by", "digest", "submitted_by"),
    *("purpose", "shortfall", "requested_at", "decided_at", "assignee"),
)
NOTHING_BEFORE: Mapping[tuple[str, str], Before] = {}
_PLUMBING = ("approval_id", "channel", "groups", "title")
"""Params of a review that say how to ask, not what to look at."""


def view_of(
    row: Mapping[str, Any],
    votes: Sequence[Vote],
    before: Mapping[tuple[str, str], Before] = NOTHING_BEFORE,
    *,
    mocked: bool,
) -> ApprovalView:
    """Return what a card shows, never secrets; `before` is what came before votes, by request and person."""
    wanted, status = Requirement.of(row["requirement"]), ApprovalStatus(row["status"])
    kind = AskKind(row["kind"])
    route = Route.of(row["route"])
    signed = counting(wanted, [cast_of(vote) for vote in votes])
    is_open = status is ApprovalStatus.REQUESTED
    counted = {vote.person for vote in votes if not is_open or vote.verdict.is_no or vote.person in signed}
    what = _review(row) if kind is AskKind.TASK else {name: row[name] for name in ("connector", "operation", "target")}
    return ApprovalView(
        **{name: row[name] for name in _AS_STORED},
        **what,
        kind=kind,
        status=status,
        stamp=stamp(row["digest"], wanted, status),
        run_title=f"{row['title']} ({row['definition_name']} v{row['definition_version']})",
        fields=shown_fields(row, kind),
        requester=row["requester_name"] or row["requested_by"],
        reasons=tuple((reason["code"], reason["msg"]) for reason in row["reasons"]),
        quorum=wanted.quorum,
        groups=wanted.groups,
        all_groups=wanted.all_groups,
        reason_required=wanted.reason_required,
        sign_with=wanted.sign_with,
        asked=(),
        votes=_vote_views(wanted, votes, before, row["approval_id"], counted),
        missing=still_missing(wanted, signed) if is_open else (),
        classes=tuple(one.words for one in wanted.classes),
        missing_classes=missing_classes(wanted, signed) if is_open else (),
        veto=wanted.veto,
        expires_at=row["open_until"],
        escalated=not set(row["joined"]) <= set(route.fallback),
        result=Result.of(row["result"]) if row["result"] else None,
        links=(("Trigger", f"{row['trigger_type']} {row['trigger_ref']}"),),
        mocked=mocked,
        joined=tuple(row["joined"]),
        assignee_name=row["assignee_name"] or row["assignee"] or "",
        break_glass=wanted.break_glass.groups if wanted.break_glass else (),
        leads=wanted.leads if kind is AskKind.TASK else (),
        progress=_progress(row["progress"]),
        reference=row["reference"] or row["trigger_ref"],
        declared=Declared.of(row["shown"]) if row["shown"] else NOTHING,
        execute=_execute(wanted.execute, row["requested_at"]),
        fell_back=route.why,
        fallback=route.fallback,
        edited=_edited(row),
    )


def _execute(said: Mapping[str, Any] | None, asked_at: datetime) -> ExecuteView | None:
    if said is None:
        return None
    when = ExecuteWhen.of(said)
    return ExecuteView(
        windows=tuple(said.get("between", ())),
        time_zone=str(said.get("time_zone", "")),
        not_before=when.not_before,
        within=str(said["within"]),
        earliest=next_opening(when, asked_at) or asked_at,
    )


def _vote_views(
    wanted: Requirement,
    votes: Sequence[Vote],
    before: Mapping[tuple[str, str], Before],
    approval_id: str,
    counted: set[str],
) -> tuple[VoteView, ...]:
    return tuple(
        vote_view(wanted, vote, before.get((approval_id, vote.person)), counts=vote.person in counted) for vote in votes
    )


def vote_view(wanted: Requirement, vote: Vote, before: Before | None = None, *, counts: bool = True) -> VoteView:
    """Return a vote as people see it, with what came before it."""
    ticket = str(vote.break_glass["ticket"]) if vote.break_glass else ""
    known = before or NOTHING_KNOWN
    is_open = leaves_open(wanted, vote)
    return VoteView(vote.given_by, VoteVerdict(vote.verdict), vote.reason, vote.at, ticket, counts, *known, is_open)


def _progress(document: dict[str, Any] | None) -> ProgressView | None:
    if document is None:
        return None
    word = Progress.of(document)
    return ProgressView(word.message, word.data, word.at, word.count)


def _review(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what a review's card is about: its title, not the posting of the card."""
    return {"connector": "", "operation": str(row["fields"].get("title") or row["step"]), "target": ""}


def _edited(row: Mapping[str, Any]) -> EditsView | None:
    """Return what people made of what the run asked for, None where that is what is asked about."""
    edits = _edits_before(row) if row.get("edits") else ()
    if not edits or row["kind"] != AskKind.EFFECT:
        return None
    return EditsView(
        by=tuple(dict.fromkeys(edit["person_name"] for edit in edits)),
        changes=_changed_by(edits),
        reasons=tuple((edit["person_name"], edit["reason"]) for edit in edits),
    )


def shown_fields(row: Mapping[str, Any], kind: AskKind) -> tuple[FieldView, ...]:
    """Return the fields of an approval's effect, each with its present value where that was known.

    `row` has the effect's columns (its tier as `effect_tier`), the run's `salt`, and `digest` and `before` of the
    approval, and `edits` of the effect where it was read with them.
    """
    action, _ = _as_asked(row)
    if action is None:
        return (FieldView("Do not approve", None, "The action was changed after this request was made."),)
    shown = {name: value for name, value in action.fields.items() if kind is not AskKind.TASK or name not in _PLUMBING}
    return tuple(FieldView(name, row["before"].get(name), value) for name, value in shown.items())


def _edits_before(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the edits by which the effect became what the approval is about, the oldest first."""
    _, since = _as_asked(row)
    edits = row.get("edits") or []
    return edits[: len(edits) - since]


def _changed_by(edits: Sequence[Mapping[str, Any]]) -> tuple[FieldView, ...]:
    """Return what is another than the run had asked for: each param once, as it was asked for, and as it is now."""
    first: dict[str, Change] = {}
    last: dict[str, Change] = {}
    for change in (change for edit in edits for change in edit["changes"]):
        first.setdefault(change["param"], change)
        last[change["param"]] = change
    found = (FieldView(name, first[name].get("before"), last[name].get("after")) for name in sorted(first))
    return tuple(field for field in found if field.before != field.after)


def _as_asked(row: Mapping[str, Any]) -> tuple[Action | None, int]:
    """Return the action that the approval is about, and how many edits came since; None where there is none such."""
    fields, edits = dict(row["fields"]), row.get("edits") or []
    for since in range(len(edits) + 1):
        action = _action(row, fields)
        if action.digest == row["digest"]:
            return action, since
        if since < len(edits):
            fields = as_before(fields, edits[-1 - since]["changes"])
    return None, 0


def _action(row: Mapping[str, Any], fields: Mapping[str, Any]) -> Action:
    acting = Acting(
        connector=row["connector"],
        operation=row["operation"],
        target=row["target"],
        fields=fields,
        tier=Tier(row["effect_tier"]),
        reversible_by=row["reversible_by"],
        redact=row["redact"],
        idempotency_key=row["idempotency_key"],
        forgotten=row["forgotten"],
    )
    return acting.action(row["salt"])


async def list_tasks(conn: Conn, tenant: str, sought: SoughtTasks, now: datetime) -> list[ApprovalView]:
    """Return the open reviews that are sought, the first to expire first."""
    mocked = await is_mocked(conn, tenant)
    return [view_of(row, [], mocked=mocked) for row in await find_tasks(conn, tenant, sought, now)]


async def show_task(conn: Conn, tenant: str, task_id: str) -> ApprovalView | None:
    """Return a review of the tenant as it is now, open or not, or None."""
    row, votes, mocked = await at_once(
        approvals.approval_view_row(conn, task_id), approvals.votes_of(conn, task_id), is_mocked(conn, tenant)
    )
    if row is None or row["tenant"] != tenant or row["kind"] != AskKind.TASK:
        return None
    return view_of(row, votes, mocked=mocked)
