"""What is said beside cards, for the gallery: in threads, to one person, and as answers to commands."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from bot.connector import message_blocks
from bot.views import command_replies
from bot.views.blocks import Block, section, utc
from bot.views.card import card
from bot.views.command_replies import HELP, STANDS_IN
from bot.views.messages import gathered_message, message_moments, message_text
from bot.views.states import sign_of
from bot.views.step_repair import repair_buttons
from bot.views.text import Shown, plain
from runtime.model.approval import AskKind, ResultCode
from runtime.model.chat_message import BreakGlassUsed, PolicyNotice, ReviewLate, RunName, Unfulfillable
from runtime.model.delivery import GatheredMessage, Gathering
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Blocked,
    Edited,
    EffectEnded,
    EvidenceSealed,
    EvidenceStuck,
    Note,
    NotStarted,
    Plain,
    QuestionAnswered,
    QuestionAsked,
    Reminder,
    RepairDone,
    RequestHanded,
    RunEnded,
    Said,
    StepNeedsAttention,
    TaskClaimed,
    TaskReleased,
    TimeRunsShort,
    VoteCounted,
    VoteWithdrawn,
)
from runtime.model.run import RepairAction
from runtime.model.search import EvidenceState, FoundRun, Page, PageEdge
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict
from runtime.services.home import Entry, Waiting
from runtime.services.requests import Runs, RunView, StepLine
from tools.samples import ASKED, DECLARED, NOW, SAMPLES


def replies() -> Iterator[tuple[str, command_replies.Reply]]:
    """Yield what commands answer, the delegate's notice too."""
    run = RunView(
        run_id=ASKED.run_id,
        reference="INC0010001",
        runbook="incident-triage v2",
        ending="waiting_approval",
        error="",
        requested_by="Rita Sommer",
        created_at=NOW,
        finished_at=None,
        steps=(StepLine("find", "succeeded", ""), StepLine("assignment", "waiting_approval", "")),
        link=ASKED.link,
    )
    edge = PageEdge(NOW, "apr-1", back=False)
    entries = (Entry(SAMPLES["pending"], None), Entry(SAMPLES["half-signed"], None))
    page = Page(entries, has_before=False, has_after=True, first=edge, last=edge)
    runs = [_found(ASKED.run_id, "waiting_approval", ""), _found("run_8a2d", "succeeded", "assigned")]
    yield "reply-pending", command_replies.pending_reply(Waiting(12, page), NOW)
    yield "reply-mine", command_replies.mine_reply(Runs(runs, has_more=True))
    yield "reply-request", command_replies.approval_reply(SAMPLES["half-signed"], NOW)
    yield "reply-run", command_replies.run_reply(run)
    yield "reply-why", command_replies.why_reply(SAMPLES["pending"])
    yield "reply-help", command_replies.text_reply(HELP)
    until = utc(NOW + timedelta(days=7))
    yield "reply-delegate", command_replies.text_reply(STANDS_IN.format("Boris Lind", utc(NOW), until, "desk-leads"))


def _found(run_id: str, status: str, outcome: str) -> FoundRun:
    return FoundRun(
        run_id=run_id,
        trigger_ref="INC0010001",
        reference="INC0010001",
        trigger_type="servicenow.incident",
        definition="incident-triage",
        definition_version=2,
        definition_digest="ab12" * 16,
        status=status,
        outcome=outcome,
        requested_by="rita",
        requester_name="Rita Sommer",
        created_at=NOW,
        finished_at=NOW if outcome else None,
        state=EvidenceState.OPEN,
        sha256=None,
        size=None,
        location=None,
        stored_at=None,
        leaves=3,
        log_index=None,
        open_for=None,
        tries=0,
        next_try_at=None,
        error="",
        waits_for=(),
    )


Message = tuple[str, str, list[Block]]

_RUN = RunName(title="Incident triage", reference="INC0010001")
_UNTIL = (NOW + timedelta(hours=8)).isoformat()
_OF: dict[str, Any] = {"run": _RUN, "step": "assignment"}
ATTENTION = StepNeedsAttention(
    run=_RUN,
    run_id=ASKED.run_id,
    step="labels",
    why="servicenow answered 403: no right to add labels",
    code="connector.refused",
)
_REMINDER = Reminder(**_OF, groups=["desk-leads"], until=_UNTIL)
_SHORT = TimeRunsShort(**_OF, groups=["heads"], until=_UNTIL)
NOTES: dict[str, list[Said]] = {
    "thread": [
        VoteCounted(
            ask=AskKind.EFFECT, person="Anna Berg", verdict=VoteVerdict.APPROVE, reason="As always.", count=1, quorum=2
        ),
        VoteWithdrawn(person="Anna Berg", reason="It is another tunnel.", count=0, quorum=2),
        RequestHanded(person="Anna Berg", to="Boris Lind", reason="He knows the tunnel.", mention=["U0BORIS"]),
        QuestionAsked(
            run=_RUN, approval_id="apr-1", question_id="que-1", person="Anna Berg", question="Which tunnel?", mention=[]
        ),
        QuestionAnswered(person="Rita Sommer", answer="The one in Oslo.", mention=["U0ANNA"]),
        TaskClaimed(person="Anna Berg", before="Boris Lind"),
        TaskReleased(person="Anna Berg"),
        _SHORT,
        EffectEnded(code=ResultCode.PERFORMED, about=[]),
    ],
    "to-requester": [
        ApprovalOpened(**_OF, groups=["desk-leads"], quorum=2, until=_UNTIL),
        Edited(**_OF, person="Carla Mota", reason="It is not as urgent as that.", params=["priority", "note"]),
        ApprovalEnded(
            **_OF, status=ApprovalStatus.REJECTED, votes=[Note(name="Boris Lind", why="The Service Desk has it.")]
        ),
        ApprovalEnded(**_OF, status=ApprovalStatus.REJECTED, votes=[], changes=True),
        RunEnded(
            run=_RUN,
            status=RunStatus.FAILED_TERMINAL,
            failed=[Note(name="labels", why="servicenow answered 403")],
            rejected=[],
            skipped=[Note(name="note", why="")],
        ),
        RunEnded(
            run=_RUN,
            status=RunStatus.SUCCEEDED,
            outcome="assigned",
            failed=[],
            rejected=[],
            skipped=[],
            response="Network has it.",
        ),
        EvidenceSealed(run=_RUN, status=RunStatus.SUCCEEDED, outcome="assigned", sha256="ab12" * 16),
    ],
    "to-approvers": [
        _REMINDER,
        _SHORT,
        BreakGlassUsed(**_OF, person="Anna Berg", why="The tunnel is down.", ticket="INC0010001"),
        ReviewLate(**_OF, groups=["internal-audit"], until=_UNTIL),
    ],
    "to-operators": [
        Blocked(**_OF, why="the channel #compliance is archived"),
        RepairDone(**_OF, act=RepairAction.RETRY, person="Olga Kern", why="ServiceNow gives the right now."),
        PolicyNotice(**_OF, body="Refunds over 1,000 EUR are told to treasury"),
        Unfulfillable(**_OF, why="it needs 2 distinct people, and 1 may decide"),
        NotStarted(**_OF, runbook="wake-the-heads", why="it is not active"),
        EvidenceStuck(run=_RUN, run_id=ASKED.run_id, why="the archive refuses it: no space is left"),
    ],
}


def messages() -> Iterator[Message]:
    """Yield each message: its name, its text and its blocks; what is said in one place stands together."""
    for name, view in SAMPLES.items():
        shown = card(view, now=NOW)
        yield name, shown.text, shown.blocks
    for name, told in NOTES.items():
        spoken = [(message_text(one, DECLARED.title), one) for one in told]
        yield name, spoken[0][0], [block for text, one in spoken for block in _message_of(text, one)]
    yield (
        "attention",
        message_text(ATTENTION),
        [section(plain(message_text(ATTENTION))), repair_buttons(ATTENTION.run_id, ATTENTION.step)],
    )
    text, blocks = gathered_message(_gathering_of(), Shown("<https://meridian.slack.com/|Open your Home>"))
    yield "digest", text, blocks
    for name, reply in replies():
        yield name, reply.text, list(reply.blocks)


def _message_of(text: str, said: Said) -> list[Block]:
    return message_blocks(f"{sign_of(said)}{text}", message_moments(said))


def _gathering_of() -> Gathering:
    asked = [Plain(text=f"Your decision is needed: Assign INC00100{number:02} to Network") for number in range(1, 6)]
    items = [
        GatheredMessage(said.model_dump(mode="json"), f"apr-{at}", asks=True, is_open=True, title=DECLARED.title)
        for at, said in enumerate([*asked, _REMINDER, _SHORT])
    ]
    return Gathering("gat-1", "U0ANNA", "key", None, items)
