"""A request's rows as the view that people see: never secrets, and what edits made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from runtime.approvals.rules import cast_of, counting, still_missing
from runtime.approvals.windows import next_opening
from runtime.engine import Engine
from runtime.model.approval import AskKind, Result, ResultCode, stamp
from runtime.model.requirement import ExecuteWhen, Requirement
from runtime.model.routing import NOWHERE, Route
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote, VoteVerdict
from runtime.model.wait import Progress
from runtime.services.approval_view import (
    NOTHING,
    ApprovalView,
    Declared,
    EditsView,
    ExecuteView,
    ProgressView,
    VoteView,
)
from runtime.services.editing import editable_verb
from runtime.services.fields import changed_by, edits_before, shown_fields
from runtime.store.database.pool import Conn
from runtime.store.edits import replacement_of
from runtime.store.metrics import NOTHING_KNOWN, Before

NOTHING_BEFORE: Mapping[tuple[str, str], Before] = {}


def view_of(
    row: dict[str, Any], votes: list[Vote], before: Mapping[tuple[str, str], Before] = NOTHING_BEFORE, *, mocked: bool
) -> ApprovalView:
    """Return what a card shows, never secrets; `before` is what came before votes, by request and person."""
    requirement = row["requirement"]
    kind = AskKind(row["kind"])
    route = route_of(row)
    signed = counting(Requirement.of(requirement), [cast_of(vote) for vote in votes])
    is_open = row["status"] == ApprovalStatus.REQUESTED
    counted = {vote.person for vote in votes if not is_open or vote.person in signed}
    what = _review(row) if kind is AskKind.TASK else {name: row[name] for name in ("connector", "operation", "target")}
    return ApprovalView(
        approval_id=row["approval_id"],
        kind=kind,
        status=ApprovalStatus(row["status"]),
        revision=row["revision"],
        stamp=stamp(row["digest"], Requirement.of(requirement), ApprovalStatus(row["status"])),
        tenant=row["tenant"],
        run_id=row["run_id"],
        run_title=f"{row['title']} ({row['definition_name']} v{row['definition_version']})",
        step=row["step"],
        **what,
        fields=shown_fields(row, kind),
        tier=row["tier"],
        reversible_by=row["reversible_by"],
        digest=row["digest"],
        requester=row["requester_name"] or row["requested_by"],
        submitted_by=row["submitted_by"],
        purpose=row["purpose"],
        reasons=tuple((reason["code"], reason["msg"]) for reason in row["reasons"]),
        quorum=requirement["quorum"],
        groups=tuple(requirement["groups"]),
        all_groups=requirement["all_groups"],
        reason_required=requirement["reason_required"],
        sign_with=requirement.get("sign_with", ""),
        asked=(),
        votes=_vote_views(votes, before, row["approval_id"], counted),
        missing=still_missing(Requirement.of(requirement), signed) if is_open else (),
        requested_at=row["requested_at"],
        expires_at=row["open_until"],
        escalated=not set(row["joined"]) <= set(route.fallback),
        result=Result.of(row["result"]) if row["result"] else None,
        shortfall=row["shortfall"],
        links=(("Trigger", f"{row['trigger_type']} {row['trigger_ref']}"),),
        mocked=mocked,
        assignee=row["assignee"],
        joined=tuple(row["joined"]),
        assignee_name=row["assignee_name"] or row["assignee"] or "",
        break_glass=tuple(requirement.get("break_glass", {}).get("groups", ())),
        leads=Requirement.of(requirement).leads if kind is AskKind.TASK else (),
        progress=_progress(row["progress"]),
        reference=row["reference"] or row["trigger_ref"],
        decided_at=row["decided_at"],
        declared=Declared.of(row["shown"]) if row["shown"] else NOTHING,
        execute=_execute(Requirement.of(requirement).execute, row["requested_at"]),
        fell_back=route.why,
        fallback=route.fallback,
    )


def _execute(when: ExecuteWhen | None, asked_at: datetime) -> ExecuteView | None:
    if when is None:
        return None
    return ExecuteView(
        windows=tuple(when.said.get("between", ())),
        time_zone=str(when.said.get("time_zone", "")),
        not_before=when.not_before,
        within=str(when.said["within"]),
        earliest=next_opening(when, asked_at) or asked_at,
    )


def route_of(row: dict[str, Any]) -> Route:
    """Return where its cards went."""
    return Route.of(row["route"]) if row["route"] else NOWHERE


def _vote_views(
    votes: list[Vote], before: Mapping[tuple[str, str], Before], approval_id: str, counted: set[str]
) -> tuple[VoteView, ...]:
    return tuple(
        vote_view(vote, before.get((approval_id, vote.person)), counts=vote.person in counted) for vote in votes
    )


def vote_view(vote: Vote, before: Before | None = None, *, counts: bool = True) -> VoteView:
    """Return a vote as people see it, with what came before it."""
    ticket = str(vote.break_glass["ticket"]) if vote.break_glass else ""
    return VoteView(
        vote.given_by, VoteVerdict(vote.verdict), vote.reason, vote.at, ticket, counts, *(before or NOTHING_KNOWN)
    )


def _progress(document: dict[str, Any] | None) -> ProgressView | None:
    if document is None:
        return None
    word = Progress.of(document)
    return ProgressView(word.message, word.data, word.at, word.count)


def _review(row: dict[str, Any]) -> dict[str, str]:
    """Return what a review's card is about: its title, not the posting of the card."""
    return {"connector": "", "operation": str(row["fields"].get("title") or row["step"]), "target": ""}


async def seen_edits(
    engine: Engine, conn: Conn, row: dict[str, Any], view: ApprovalView, edits: Sequence[Mapping[str, Any]]
) -> ApprovalView:
    """Return the view with what it says of the edits of its effect, and of what may be edited now."""
    if view.kind is not AskKind.EFFECT:
        return view
    if edits:
        known = {**row, "edits": edits}
        before = edits_before(known)
        view = replace(view, fields=shown_fields(known, view.kind), edited=_seen(before) if before else None)
    if view.result is not None and view.result.code is ResultCode.REPLACED:
        return replace(view, replaced_by=await replacement_of(conn, view.approval_id))
    return replace(view, can_edit=await editable_verb(engine, conn, row) is not None)


def _seen(edits: Sequence[Mapping[str, Any]]) -> EditsView:
    return EditsView(
        by=tuple(dict.fromkeys(edit["person_name"] for edit in edits)),
        changes=changed_by(edits),
        reasons=tuple((edit["person_name"], edit["reason"]) for edit in edits),
    )
