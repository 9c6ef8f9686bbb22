"""Requests in each of their states, for the gallery, and links of ours that somebody has shared.

Links are those of a request that waits, of one that is over, and of a run.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.client import SlackClient
from bot.views.links import card_link, request_unfurl, run_unfurl
from runtime.clock import utc_now
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.questions import Question
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import (
    ApprovalView,
    Declared,
    DeclaredField,
    DeclaredTable,
    EditsView,
    ExecuteView,
    FieldView,
    ProgressView,
    VoteView,
)
from runtime.services.links import request_link, run_link
from runtime.services.requests import RunView
from sandbox.harness import SandboxUser

DOMAIN = "countersign.example"
ADDRESS = f"https://{DOMAIN}"


async def share(
    anna: SandboxUser, client: SlackClient, channel: str, views: tuple[ApprovalView, ApprovalView], now: datetime
) -> None:
    """Have somebody share links, and the app say what they lead to."""
    waits, over = request_link(ADDRESS, "apr_1f9c"), request_link(ADDRESS, "apr_2e8b")
    run = RunView("run_7f1c", "INC0010001", "incident-triage v2", "waiting_approval", "", "rita", now, None, ())
    of_run = run_link(ADDRESS, run.run_id)
    await anna.say(channel, f"Can somebody look at {waits}? The one before, {over}, is done. All of it: {of_run}")
    card = card_link("https://meridian.slack.com/", (channel, "1.0"))
    shown: dict[str, dict[str, Any]] = {
        waits: {"blocks": request_unfurl(views[0], card, now)},
        over: {"blocks": request_unfurl(views[1], card, now)},
        of_run: {"blocks": run_unfurl(run, card, now)},
    }
    message = await anna.find_card(lambda one: one["user"] == anna.user_id)
    await client.chat_unfurl(channel=channel, ts=message["ts"], unfurls=shown)


NOW = utc_now()
ASKED = ApprovalView(
    approval_id="apr-1",
    kind=AskKind.EFFECT,
    status=ApprovalStatus.REQUESTED,
    revision=1,
    stamp="5" * 16,
    tenant="meridian",
    run_id="run_7f1c2b9e4f0d4f5b9b570a3f",
    run_title="Incident triage (incident-triage v2)",
    step="assignment",
    connector="servicenow",
    operation="assign",
    target="incident:9d385017c611228701d22104cc95c371",
    fields=(
        FieldView("assignment_group", "Service Desk", "Network"),
        FieldView("category", "inquiry", "network"),
        FieldView("watchers", ["Ann Berg", "Carla Mota"], ["Ann Berg", "Tobias Lindqvist", "Carla Mota"]),
        FieldView("number", None, "INC0010001"),
        FieldView("priority", None, 2),
        FieldView("contacts", None, [{"name": "Ann", "phone": "100", "site": "Oslo"}, {"name": "Bo", "phone": "200"}]),
    ),
    tier="medium",
    reversible_by="set category and assignment group back to the former values in the result",
    digest="ab12" * 16,
    requester="Rita Sommer",
    submitted_by="servicenow",
    purpose="Set the category and the assignment group of an incident",
    reasons=(("incident.priority", "Incidents of priority 1 and 2 are assigned by the desk's leads"),),
    quorum=2,
    groups=("desk-leads",),
    all_groups=False,
    reason_required=False,
    asked=("U0ANNA", "U0BORIS"),
    votes=(),
    requested_at=NOW,
    expires_at=NOW + timedelta(hours=8),
    escalated=False,
    result=None,
    shortfall="",
    links=(("Trigger", "servicenow.incident INC0010001"),),
    mocked=False,
    reference="INC0010001",
    link=request_link(ADDRESS, "apr_1f9c"),
)
DECLARED = Declared(title="Assign INC0010001 to Network", fields=(DeclaredField("Priority", 2, "text"),))
ANNA = VoteView("Anna Berg", VoteVerdict.APPROVE, "It is the tunnel again.", NOW)
BORIS = VoteView("Boris Lind", VoteVerdict.REJECT, "The Service Desk has it under way.", NOW)
CARLA = VoteView("Carla Mota", VoteVerdict.APPROVE, "", NOW)
QUESTION = Question("que-1", "anna", "Anna Berg", "Is the tunnel in Oslo meant, or the one in Bergen?", NOW)
OVER = replace(ASKED, declared=DECLARED, revision=4, decided_at=NOW)
NIGHT = {"days": ["mon", "tue", "wed"], "from": "22:00", "until": "04:00"}
TIMES = ExecuteView((NIGHT,), "Europe/Oslo", None, "P3D", NOW + timedelta(hours=11))
REVIEW = replace(
    ASKED, kind=AskKind.TASK, operation="Review Halvorsen Seefracht GmbH", target="", connector="", quorum=1
)
OWNERS = Declared(
    title="File beneficial owners: Halvorsen Seefracht GmbH",
    summary="The company register receives the names and shares below.",
    fields=(
        DeclaredField("LEI", "98450000000000000129", "code"),
        DeclaredField("Ownership threshold", "25", "percent"),
        DeclaredField("Unidentified ownership", "20", "percent"),
    ),
    tables=(
        DeclaredTable(
            "Beneficial owners",
            (("Name", "text"), ("Share", "percent"), ("Country", "text"), ("Basis", "text")),
            (("Ingrid Halvorsen", "36", "NO", "ownership"), ("Tobias Lindqvist", "30.8", "SE", "ownership")),
            2,
        ),
    ),
)
FILING = replace(
    ASKED,
    declared=OWNERS,
    connector="register",
    operation="file_report",
    target="98450000000000000129",
    fields=tuple(FieldView(f"field {number}", None, number) for number in range(49)),
    tier="high",
    reversible_by=None,
    run_title="Corporate onboarding (kyc-onboarding v4)",
    reference="6f1c2b9e-4f0d-4f5b-9b57-0a3f6a1d2c44",
    submitted_by="onboarding-portal",
    reasons=(("kyc.filing", "High-tier writes need signatures"),),
    groups=("compliance",),
)
HASTY = replace(ANNA, opened_at=NOW - timedelta(seconds=4), reviewed_at=NOW - timedelta(seconds=6))
SAMPLES = {
    "table": FILING,
    "table-undeclared": replace(ASKED, fields=ASKED.fields[3:]),
    "hasty": replace(FILING, votes=(HASTY,)),
    "hasty-approved": replace(
        FILING,
        revision=4,
        decided_at=NOW,
        status=ApprovalStatus.APPROVED,
        votes=(HASTY, CARLA),
        result=Result(ResultCode.PERFORMED),
    ),
    "pending": replace(ASKED, declared=DECLARED),
    "default": ASKED,
    "to-sign": replace(ASKED, declared=DECLARED, sign_with="passkey"),
    "timed": replace(ASKED, declared=DECLARED, execute=TIMES),
    "waiting": replace(
        OVER,
        status=ApprovalStatus.APPROVED,
        votes=(ANNA,),
        execute=TIMES,
        result=Result(ResultCode.WINDOW, (TIMES.earliest.isoformat(),)),
    ),
    "paused": replace(ASKED, declared=DECLARED, questions=(QUESTION,), paused_until=NOW + timedelta(hours=2)),
    "answered": replace(
        ASKED,
        declared=DECLARED,
        questions=(
            replace(QUESTION, answer={"text": "The one in Oslo.", "name": "Rita Sommer", "at": NOW.isoformat()}),
        ),
    ),
    "stood-in-for": replace(
        ASKED,
        declared=DECLARED,
        votes=(replace(ANNA, person_name="Ben Lee for Anna Berg"),),
        stand_ins=(("Ben Lee", "Anna Berg"),),
    ),
    "on-mocks": replace(ASKED, declared=DECLARED, mocked=True),
    "nobody": replace(ASKED, declared=DECLARED, shortfall="it needs 2 distinct people, and 1 may decide"),
    "changes-wanted": replace(
        OVER,
        status=ApprovalStatus.REJECTED,
        votes=(replace(BORIS, verdict=VoteVerdict.CHANGES, reason="Say which tunnel."),),
        result=Result(ResultCode.CHANGES_REQUESTED, ("Boris Lind",)),
    ),
    "canceled": replace(
        OVER, status=ApprovalStatus.CANCELED, result=Result(ResultCode.NOT_PERFORMED, ("the run was canceled",))
    ),
    "half-signed": replace(ASKED, declared=DECLARED, votes=(ANNA,), escalated=True),
    "committee": replace(
        ASKED,
        declared=DECLARED,
        quorum=5,
        groups=("risk", "legal", "operations"),
        classes=("2 of risk", "1 of legal"),
        missing_classes=("1 of legal",),
        veto=("legal",),
        votes=(ANNA, CARLA, replace(BORIS, leaves_open=True)),
    ),
    "called": replace(ASKED, declared=DECLARED, asked=("U0ANNA", "S0ONCALL")),
    "fell-back": replace(
        ASKED,
        declared=DECLARED,
        fell_back="it needs 2 distinct people, and 1 may decide",
        fallback=("heads",),
        joined=("heads",),
    ),
    "approved": replace(OVER, status=ApprovalStatus.APPROVED, votes=(ANNA, CARLA), result=Result(ResultCode.PERFORMED)),
    "rejected": replace(
        OVER, status=ApprovalStatus.REJECTED, votes=(BORIS,), result=Result(ResultCode.REJECTED, ("Boris Lind",))
    ),
    "edited": replace(
        ASKED,
        declared=DECLARED,
        can_edit=True,
        edited=EditsView(
            ("Carla Mota",),
            (FieldView("priority", 1, 2), FieldView("note", None, "Only the tunnel in Oslo")),
            (("Carla Mota", "It is not as urgent as that."),),
        ),
    ),
    "replaced": replace(
        OVER,
        status=ApprovalStatus.CANCELED,
        result=Result(ResultCode.REPLACED, ("Carla Mota",)),
        replaced_by="apr-2",
    ),
    "break-glass-allowed": replace(ASKED, declared=DECLARED, tier="high", break_glass=("commanders",)),
    "break-glass": replace(
        OVER,
        tier="high",
        status=ApprovalStatus.APPROVED,
        votes=(replace(ANNA, reason="The tunnel is down, and nobody of the desk answers.", ticket="INC0010001"),),
        result=Result(ResultCode.PERFORMED),
    ),
    "break-glass-review": replace(
        ASKED,
        declared=DECLARED,
        tier="high",
        kind=AskKind.AFTERWARDS,
        quorum=1,
        groups=("internal-audit",),
        reason_required=True,
        purpose="Look at what was done without the signatures of others, and say whether that was right.",
        reasons=(
            (
                "break_glass.used",
                "Anna Berg used break-glass (INC0010001): The tunnel is down, and nobody of the desk answers.",
            ),
        ),
    ),
    "expired": replace(OVER, status=ApprovalStatus.EXPIRED, result=Result(ResultCode.NOT_IN_TIME)),
    "undoable": replace(
        OVER, status=ApprovalStatus.APPROVED, votes=(ANNA,), result=Result(ResultCode.PERFORMED), can_undo=True
    ),
    "undo": replace(ASKED, purpose="Set category and assignment group back, unless somebody has changed them since"),
    "in-doubt": replace(ASKED, declared=DECLARED, kind=AskKind.IN_DOUBT, quorum=1, reason_required=True),
    "review": REVIEW,
    "claimed": replace(
        REVIEW,
        assignee="anna",
        assignee_name="Anna Berg",
        progress=ProgressView("Two of three registers are read.", {"registers_read": 2}, NOW, 4),
    ),
}
