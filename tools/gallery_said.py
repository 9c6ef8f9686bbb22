"""What is said beside cards, for the gallery: in threads, to one person, and as answers to commands."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from bot.slack.connector import message_blocks
from bot.views.blocks import Block, section
from bot.views.card import card
from bot.views.gathered import gathered_message
from bot.views.held import held_buttons
from bot.views.messages import moments, words
from bot.views.states import sign_of
from bot.views.text import Shown, plain
from runtime.model.approval import AskKind, ResultCode
from runtime.model.delivery import Gathered, Gathering
from runtime.model.message import RunName
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Edited,
    EffectEnded,
    EvidenceSealed,
    EvidenceStuck,
    GlassBroken,
    Held,
    HeldSettled,
    Note,
    NotStarted,
    Plain,
    QuestionAnswered,
    QuestionAsked,
    Reminder,
    RequestHanded,
    ReviewLate,
    RunEnded,
    Said,
    StepHeld,
    TaskClaimed,
    TaskReleased,
    TimeRunsShort,
    Unfulfillable,
    VoteCounted,
    VoteWithdrawn,
)
from runtime.model.run import HeldAct
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict
from tools.replies import replies
from tools.samples import ASKED, DECLARED, NOW, SAMPLES

Message = tuple[str, str, list[Block]]

_RUN = RunName(title="Incident triage", reference="INC0010001")
_UNTIL = (NOW + timedelta(hours=8)).isoformat()
_OF: dict[str, Any] = {"run": _RUN, "step": "assignment"}
HELD = StepHeld(
    run=_RUN,
    run_id=ASKED.run_id,
    step="labels",
    why="servicenow answered 403: no right to add labels",
    code="connector.refused",
)
_REMINDER = Reminder(**_OF, groups=["desk-leads"], until=_UNTIL)
_SHORT = TimeRunsShort(**_OF, groups=["heads"], until=_UNTIL)
SAID: dict[str, list[Said]] = {
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
        GlassBroken(**_OF, person="Anna Berg", why="The tunnel is down.", ticket="INC0010001"),
        ReviewLate(**_OF, groups=["internal-audit"], until=_UNTIL),
    ],
    "to-operators": [
        Held(**_OF, why="the channel #compliance is archived"),
        HeldSettled(**_OF, act=HeldAct.RETRY, person="Olga Kern", why="ServiceNow gives the right now."),
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
    for name, told in SAID.items():
        spoken = [(words(one, DECLARED.title), one) for one in told]
        yield name, spoken[0][0], [block for text, one in spoken for block in _message(text, one)]
    yield "held", words(HELD), [section(plain(words(HELD))), held_buttons(HELD.run_id, HELD.step)]
    text, blocks = gathered_message(_gathering(), Shown("<https://meridian.slack.com/|Open your Home>"))
    yield "digest", text, blocks
    for name, reply in replies():
        yield name, reply.text, list(reply.blocks)


def _message(text: str, said: Said) -> list[Block]:
    return message_blocks(f"{sign_of(said)}{text}", moments(said))


def _gathering() -> Gathering:
    asked = [Plain(text=f"Your decision is needed: Assign INC00100{number:02} to Network") for number in range(1, 6)]
    items = [
        Gathered(said.model_dump(mode="json"), f"apr-{at}", asks=True, is_open=True, title=DECLARED.title)
        for at, said in enumerate([*asked, _REMINDER, _SHORT])
    ]
    return Gathering("gat-1", "U0ANNA", "key", None, items)
