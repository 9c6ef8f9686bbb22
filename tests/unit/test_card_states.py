"""The first line of a card says its state by a sign and in words, and so do Home, lists and threads."""

from dataclasses import replace

import pytest

from bot.home.command_replies import approval_reply
from bot.views.card import card
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import ApprovalView
from tests.unit.bot_samples import ANNA, BORIS, KYC, NOW, home_of, shown

CANCELED = replace(KYC, status=ApprovalStatus.CANCELED)
GLASS = replace(KYC, status=ApprovalStatus.APPROVED, votes=(replace(ANNA, ticket="INC-7"),))
STATES = {
    "pending": (KYC, "🟡 Approval needed"),
    "review": (replace(KYC, kind=AskKind.TASK), "🟡 Review needed"),
    "too few": (replace(KYC, shortfall="it needs 2 people"), "⚠️ Approval needed"),
    "in doubt": (replace(KYC, kind=AskKind.IN_DOUBT), "⚠️ Did this happen?"),
    "overdue": (replace(KYC, expires_at=NOW), "⌛ Time is up"),
    "approved": (replace(KYC, status=ApprovalStatus.APPROVED, votes=(ANNA,)), "✅ Approved"),
    "rejected": (replace(KYC, status=ApprovalStatus.REJECTED, votes=(BORIS,)), "⛔ Rejected"),
    "expired": (replace(KYC, status=ApprovalStatus.EXPIRED), "⌛ Expired without a decision"),
    "canceled": (CANCELED, "🚫 Canceled"),
    "replaced": (replace(CANCELED, result=Result(ResultCode.REPLACED, ("Ann",))), "🚫 Replaced by an edited version"),
    "glass": (GLASS, "🚨 Break-glass: approved by one person alone"),
    "afterwards": (replace(KYC, kind=AskKind.AFTERWARDS), "🚨 Break-glass: review needed"),
}


@pytest.mark.parametrize(("view", "signed"), STATES.values(), ids=STATES.keys())
def test_a_card_begins_with_the_sign_and_the_words_of_its_state(view: ApprovalView, signed: str) -> None:
    assert card(view, now=NOW).blocks[0]["text"]["text"].startswith(f"*{signed}")


@pytest.mark.parametrize(("view", "signed"), STATES.values(), ids=STATES.keys())
def test_home_and_lists_show_the_sign_of_the_card(view: ApprovalView, signed: str) -> None:
    assert signed in shown(home_of(view))
    assert signed in shown(approval_reply(view, NOW).blocks)


@pytest.mark.parametrize("view", [one for one, _ in STATES.values()], ids=STATES.keys())
def test_a_notification_is_read_aloud_without_the_sign(view: ApprovalView) -> None:
    assert card(view, now=NOW).text.isascii()


def test_broken_glass_has_no_sign_of_an_approval() -> None:
    assert "✅" not in shown(card(GLASS, now=NOW).blocks)
