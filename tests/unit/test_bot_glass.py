"""Broken glass on the card: who may is offered it, what was done is said plainly, and its review stays open."""

from dataclasses import replace
from datetime import timedelta

from bot.views.card import card
from runtime.model.approval import AskKind
from runtime.model.states import ApprovalStatus
from tests.unit.bot_samples import ANNA, BORIS, KYC, NOW, shown
from tests.unit.test_bot_cards import buttons


def test_a_review_of_broken_glass_asks_whether_it_was_right_and_does_so_when_it_is_late() -> None:
    review = replace(KYC, kind=AskKind.AFTERWARDS, break_glass=())
    for now in (NOW, KYC.expires_at + timedelta(days=9)):
        seen = card(review, now=now)
        found = buttons(seen)
        assert [one["text"]["text"] for one in found.values()] == ["Justified", "Not justified", "Show all 3 fields"]
        assert "Break-glass: review needed" in shown(seen.blocks)
        assert "What happened" in shown(seen.blocks)
        assert "Due <!date^" in str(seen.blocks)
    settled = card(replace(review, status=ApprovalStatus.REJECTED, votes=(BORIS,)), now=NOW)
    assert "Reviewed: not justified" in shown(settled.blocks)
    assert "says it was not justified" in shown(settled.blocks)


def test_broken_glass_is_said_in_strong_words_with_its_ticket() -> None:
    broke = replace(ANNA, ticket="INC-7")
    seen = shown(card(replace(KYC, status=ApprovalStatus.APPROVED, votes=(broke,)), now=NOW).blocks)
    assert "Break-glass: approved by one person alone" in seen
    assert "used break-glass (INC-7)" in seen


def test_the_menu_offers_to_break_the_glass_where_policy_lets_somebody() -> None:
    for glass in ((), ("commanders",)):
        assert ("Break-glass…" in str(card(replace(KYC, break_glass=glass), now=NOW).blocks)) is bool(glass)
