"""What is said in a thread or to a person has the sign of the state that it tells."""

import pytest

from bot.views.states import sign_of
from runtime.model.approval import AskKind, ResultCode
from runtime.model.chat_message import RunName
from runtime.model.messages import ApprovalEnded, BreakGlassUsed, EffectEnded, Reminder, Said, VoteCounted
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict

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
