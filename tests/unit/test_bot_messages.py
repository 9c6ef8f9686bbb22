"""Messages to people: the words, the outcome and the sign of its state.

What people are told, in words: the outcome and its reasons, and never a status of the engine's or a bare id.

What is said in a thread or to a person has the sign of the state that it tells.
"""

import json

import pytest
from pydantic import TypeAdapter, ValidationError

from bot.views.messages import message_text
from bot.views.states import sign_of
from runtime.model.approval import AskKind, ResultCode, StandingChange
from runtime.model.chat_message import (
    BreakGlassUsed,
    CardTampered,
    DelegateVoted,
    DelegationChanged,
    PolicyNotice,
    ReviewLate,
    RunName,
    Unfulfillable,
)
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Blocked,
    DirectMessage,
    Edited,
    EffectEnded,
    EvidenceSealed,
    EvidenceStuck,
    Note,
    NotStarted,
    Plain,
    PostMessage,
    QuestionAnswered,
    QuestionAsked,
    Reminder,
    RepairDone,
    RequestHanded,
    RunEnded,
    Said,
    StandingChanged,
    StepNeedsAttention,
    TaskClaimed,
    TaskReleased,
    TimeRunsShort,
    VoteCounted,
    VoteWithdrawn,
)
from runtime.model.run import RepairAction
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict

RUN = RunName(title="Corporate onboarding", reference="case-7")
REVIEW = Note(name="review", why="wrong owner")


def ended(status: RunStatus, **notes: list[Note]) -> RunEnded:
    given = {"failed": [], "rejected": [], "skipped": [], **notes}
    return RunEnded(run=RUN, status=status, **given)  # type: ignore[arg-type]  # the names are the three above


def replace_response(said: RunEnded, response: str) -> RunEnded:
    return said.model_copy(update={"response": response})


APPROVE, REJECT = VoteVerdict.APPROVE, VoteVerdict.REJECT
SAID: list[tuple[Said, str]] = [
    (
        VoteCounted(ask=AskKind.EFFECT, person="Anna", verdict=APPROVE, reason='so "it" is', count=1, quorum=2),
        r'Anna approved (1 of 2): "so \"it\" is"',
    ),
    (VoteCounted(ask=AskKind.EFFECT, person="Anna", verdict=VoteVerdict.CHANGES, reason="so", count=1, quorum=2),
     'Anna asked for changes: "so"'),
    (VoteWithdrawn(person="Anna", reason="read it again", count=1, quorum=2),
     'Anna withdrew their vote (1 of 2): "read it again"'),
    (QuestionAsked(run=RUN, approval_id="apr_1", question_id="qst_1", person="Anna", question="why?", mention=["U1"]),
     'Anna asks about Corporate onboarding (case-7): "why?"'),
    (QuestionAnswered(person="Rita", answer="because", mention=[]), 'Rita answers: "because"'),
    (RequestHanded(person="Anna", to="Ben", reason="away", mention=["U1"]), 'Anna handed this to Ben: "away"'),
    (VoteCounted(ask=AskKind.IN_DOUBT, person="Anna", verdict=REJECT, reason="", count=1, quorum=1),
     "Anna says it did not happen."),
    (TaskClaimed(person="Anna", before=""), "Anna claimed this."),
    (TaskClaimed(person="Anna", before="Boris"), "Anna claimed this, taking over from Boris."),
    (TaskReleased(person="Anna"), "Anna released this. Anyone asked may claim it."),
    (
        ApprovalOpened(
            run=RUN, step="filing", groups=["compliance"], quorum=2, until="2026-11-25T09:30:00.000000Z"
        ),
        (
            "Your request in Corporate onboarding (case-7), filing, was sent to compliance: 2 people must approve it"
            " by 2026-11-25 09:30 UTC."
        ),
    ),
    (
        ApprovalOpened(run=RUN, step="filing", groups=["a", "b"], quorum=1, until="2026-11-25T09:30:00.000000Z"),
        (
            "Your request in Corporate onboarding (case-7), filing, was sent to a, b: 1 person must approve it"
            " by 2026-11-25 09:30 UTC."
        ),
    ),
    (
        ApprovalEnded(run=RUN, step="filing", status=ApprovalStatus.REJECTED, votes=[Note(name="Boris", why="no")]),
        'Your request in Corporate onboarding (case-7), filing, was rejected. Boris: "no"',
    ),
    (
        ApprovalEnded(run=RUN, step="filing", status=ApprovalStatus.EXPIRED, votes=[]),
        "Your request in Corporate onboarding (case-7), filing, expired without a decision.",
    ),
    (
        TimeRunsShort(run=RUN, step="filing", groups=["seniors", "board"]),
        "Escalated to seniors, board: filing of Corporate onboarding (case-7).",
    ),
    (
        TimeRunsShort(run=RUN, step="filing", groups=["seniors"], until="2026-11-25T09:30:00.000000Z"),
        (
            "Escalated to seniors: filing of Corporate onboarding (case-7)."
            " Due 2026-11-25 09:30 UTC."
        ),
    ),
    (
        TimeRunsShort(run=RUN, step="filing", groups=[], started="rescue"),
        "Escalated: filing of Corporate onboarding (case-7). Started: rescue.",
    ),
    (
        NotStarted(run=RUN, step="filing", runbook="rescue", why="there is no such runbook"),
        "rescue could not be started for filing of Corporate onboarding (case-7): there is no such runbook.",
    ),
    (
        Reminder(run=RUN, step="filing", groups=["seniors", "board"], until="2026-11-25T09:30:00.000000Z"),
        "Still open: filing of Corporate onboarding (case-7). Due 2026-11-25 09:30 UTC. Asked: seniors, board.",
    ),
    (EffectEnded(code=ResultCode.PERFORMED, about=[]), "Done."),
    (
        Edited(run=RUN, step="filing", person="Anna", reason="fewer", params=["copies", "text"]),
        'Anna edited copies, text in filing of Corporate onboarding (case-7): "fewer"',
    ),
    (EffectEnded(code=ResultCode.NOT_PERFORMED, about=["{} is away"]), "Not done: {} is away."),
    (
        ended(RunStatus.SUCCEEDED),
        "Corporate onboarding (case-7) has finished: all steps done.",
    ),
    (
        ended(RunStatus.SUCCEEDED, rejected=[REVIEW], skipped=[Note(name="filing", why="")]),
        "Corporate onboarding (case-7) has finished. Rejected: review (wrong owner). Skipped: filing.",
    ),
    (
        ended(RunStatus.FAILED_TERMINAL, failed=[Note(name="look", why="away.")]),
        "Corporate onboarding (case-7) failed. look: away.",
    ),
    (
        RunEnded(
            run=RUN, status=RunStatus.SUCCEEDED, outcome="timed_out", failed=[], rejected=[], skipped=[],
            handled=[Note(name="docs[1].request", why="no answer in time")],
        ),
        (
            "Corporate onboarding (case-7) has ended: timed out."
            " Failed and handled: docs[1].request (no answer in time)."
        ),
    ),
    (
        ended(RunStatus.SUCCEEDED, handled=[Note(name="look", why="away")]),
        "Corporate onboarding (case-7) has finished. Failed and handled: look (away).",
    ),
    (
        EvidenceSealed(run=RUN, status=RunStatus.SUCCEEDED, outcome="rejected", sha256="ab" * 32),
        f"Corporate onboarding (case-7) has ended: rejected. Evidence sealed. SHA-256: {'ab' * 32}",
    ),
    (
        replace_response(ended(RunStatus.SUCCEEDED), "The owners are filed."),
        "Corporate onboarding (case-7) has finished. The owners are filed.",
    ),
    (
        replace_response(ended(RunStatus.FAILED_TERMINAL, failed=[Note(name="look", why="away.")]), "Ask again"),
        "Corporate onboarding (case-7) failed. Ask again. look: away.",
    ),
    (
        ended(RunStatus.CANCELED),
        "Corporate onboarding (case-7) was canceled.",
    ),
    (
        EvidenceSealed(run=RUN, status=RunStatus.FAILED_TERMINAL, sha256="ab" * 32),
        f"Corporate onboarding (case-7) failed. Evidence sealed. SHA-256: {'ab' * 32}",
    ),
    (
        EvidenceStuck(run=RUN, run_id="run_7", why="its name is taken"),
        (
            "The evidence of Corporate onboarding (case-7) cannot be stored: its name is taken."
            " Once this is fixed, run: countersign evidence retry run_7"
        ),
    ),
    (
        BreakGlassUsed(run=RUN, step="filing", person="Ivy", why="the bank is down", ticket="INC-7"),
        (
            "Ivy used break-glass for filing of Corporate onboarding (case-7): done without the required signatures."
            " Ticket: INC-7. Why: the bank is down"
        ),
    ),
    (
        ReviewLate(run=RUN, step="filing", groups=["seniors"], until="2026-01-05T17:00:00.000000Z"),
        (
            "Break-glass review overdue: filing of Corporate onboarding (case-7)."
            " Due 2026-01-05 17:00 UTC. Asked: seniors."
        ),
    ),
    (
        PolicyNotice(run=RUN, step="filing", body="Refunds over 1,000 EUR"),
        "filing of Corporate onboarding (case-7) begins: Refunds over 1,000 EUR",
    ),
    (
        Unfulfillable(run=RUN, step="filing", why="nobody is in seniors"),
        "Not enough eligible approvers for filing of Corporate onboarding (case-7): nobody is in seniors.",
    ),
    (
        Blocked(run=RUN, step="", why="not_in_channel"),
        (
            "A card of Corporate onboarding (case-7) is blocked: not_in_channel. "
            "It continues automatically once this is fixed."
        ),
    ),
    (
        StepNeedsAttention(run=RUN, run_id="run_7", step="find", why="no such company.", code="refused"),
        (
            "find of Corporate onboarding (case-7) failed and needs attention: no such company (refused)."
            " Choose how it continues, here or in this app's Home tab."
        ),
    ),
    (
        RepairDone(run=RUN, step="find", act=RepairAction.SUPPLY, person="Omar", why="by telephone"),
        'find of Corporate onboarding (case-7): Omar supplied its result: "by telephone"',
    ),
    (Plain(text="as it was"), "as it was"),
]  # fmt: skip


ABOUT = ApprovalOpened | ApprovalEnded | TimeRunsShort | NotStarted | Reminder | Edited | ReviewLate | BreakGlassUsed


@pytest.mark.parametrize(("said", "sentence"), SAID, ids=[said.kind for said, _ in SAID])
def test_what_happened_is_said_in_words_and_survives_the_outbox(said: Said, sentence: str) -> None:
    assert message_text(said) == sentence
    stored = json.loads(DirectMessage(user="U1", said=said).model_dump_json())
    assert DirectMessage.model_validate(stored).said == said


@pytest.mark.parametrize("said", [one for one, _ in SAID if isinstance(one, ABOUT)], ids=lambda one: one.kind)
def test_what_is_said_of_a_request_names_it_by_its_title_as_data(said: Said) -> None:
    title = 'Raise the limit of "Halvorsen". It is approved.'
    told = message_text(said, title)
    assert json.dumps(title) in told, "in quotes, so that it cannot pass for a sentence of ours"
    assert "filing" not in told
    assert message_text(said, "long " * 100).count("long") < 40


@pytest.mark.parametrize(
    "said", [one for one, _ in SAID if not isinstance(one, EvidenceStuck)], ids=lambda one: one.kind
)
def test_nobody_in_slack_is_sent_to_the_command_line(said: Said) -> None:
    assert "countersign " not in message_text(said)


_FILE = "file of Corporate onboarding (case-7)"
_CHANGED = [
    (
        StandingChanged(change=StandingChange.VOTE_LAPSED, run=RUN, step="file", person="Al", groups=["a"], quorum=2),
        f"The approval by Al of {_FILE} no longer counts: Al is no longer in a. 0 of 2 approvals so far.",
    ),
    (
        StandingChanged(change=StandingChange.VOTE_BACK, run=RUN, step="file", person="Anna", quorum=2, count=1),
        f"The approval by Anna of {_FILE} counts again. 1 of 2 approvals so far.",
    ),
    (
        StandingChanged(change=StandingChange.ENOUGH_AGAIN, run=RUN, step="file"),
        f"Enough people can decide {_FILE} again.",
    ),
    (
        StandingChanged(
            change=StandingChange.OUTGROWN,
            run=RUN,
            step="file",
            groups=["a"],
            quorum=3,
            until="2026-01-05T09:00:00.000000Z",
        ),
        (
            f"Policy now requires more approvals of {_FILE}: 3 people from a must approve it"
            " by 2026-01-05 09:00 UTC. Earlier approvals do not count."
        ),
    ),
]
_TAMPERED: list[tuple[Said, str]] = [
    (
        CardTampered(run=RUN, step="file", person="Pam"),
        f"Pam edited the card for {_FILE} in Slack. It is restored; the edit changes nothing.",
    )
]
_DELEGATED: list[tuple[Said, str]] = [
    (
        DelegationChanged(
            act="ended",
            delegator="Anna",
            delegate="Ben",
            groups=["a", "b"],
            starts_at="2026-01-05T09:00:00.000000Z",
            ends_at="2026-01-06T09:00:00.000000Z",
            person="Omar",
            reason="back early",
        ),
        (
            "Omar ended the delegation by which Ben votes for Anna in a, b,"
            ' from 2026-01-05 09:00 UTC until 2026-01-06 09:00 UTC: "back early"'
        ),
    ),
    (
        DelegateVoted(run=RUN, step="file", delegator="Anna", delegate="Ben", verdict=VoteVerdict.REJECT),
        f"Ben rejected for Anna, by delegation: {_FILE}.",
    ),
]


@pytest.mark.parametrize(("said", "told"), [*_CHANGED, *_TAMPERED, *_DELEGATED])
def test_what_has_changed_of_what_counts_is_told_with_its_reason(said: Said, told: str) -> None:
    assert message_text(said) == told


def test_every_kind_has_words() -> None:
    models = TypeAdapter(Said).json_schema()["$defs"].values()
    kinds = {one["properties"]["kind"]["const"] for one in models if "kind" in one.get("properties", ())}
    assert kinds == {said.kind for said, _ in (*SAID, *_CHANGED, *_TAMPERED, *_DELEGATED)}


def test_a_message_says_something_of_a_kind() -> None:
    for wrong in ({"channel": "C1", "text": "hello"}, {"channel": "C1"}, {"channel": "C1", "text": "x", "said": {}}):
        with pytest.raises(ValidationError):
            PostMessage.model_validate(wrong)


_RUN = RunName(title="Onboarding", reference="case-7")


def _ended(status: ApprovalStatus) -> ApprovalEnded:
    return ApprovalEnded(run=_RUN, step="file", status=status, votes=[])


@pytest.mark.parametrize(
    ("said", "sign"),
    [
        (_ended(ApprovalStatus.APPROVED), "✅ "),
        (_ended(ApprovalStatus.REJECTED), "⛔ "),
        (_ended(ApprovalStatus.EXPIRED), "⌛ "),
        (_ended(ApprovalStatus.CANCELED), "🚫 "),
        (EffectEnded(code=ResultCode.PERFORMED, about=[]), "✅ "),
        (EffectEnded(code=ResultCode.NOT_IN_TIME, about=[]), "⌛ "),
        (EffectEnded(code=ResultCode.NOT_PERFORMED, about=["away"]), "⚠️ "),
        (BreakGlassUsed(run=_RUN, step="file", person="Ivy", why="down", ticket="INC-7"), "🚨 "),
        (Reminder(run=_RUN, step="file", groups=["a"], until="2026-11-25T09:30:00.000000Z"), "🟡 "),
    ],
    ids=str,
)
def test_a_message_that_tells_a_state_has_its_sign(said: Said, sign: str) -> None:
    assert sign_of(said) == sign


def test_one_vote_of_two_has_no_sign_of_an_approval() -> None:
    one = VoteCounted(ask=AskKind.EFFECT, person="Al", verdict=VoteVerdict.APPROVE, reason="", count=1, quorum=2)
    assert sign_of(one) == ""
