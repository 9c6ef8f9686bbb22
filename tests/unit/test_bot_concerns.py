"""The list before several votes marks what speaks against deciding a request unseen."""

from dataclasses import replace
from datetime import timedelta

from bot.home.bulk_votes import marked, request_rows, warnings
from bot.views.text import Shown
from runtime.services.home import NO_CONCERNS, Concerns
from tests.unit.bot_samples import KYC, NOW, shown


def test_edits_and_what_is_missing_are_said_by_name_and_counted() -> None:
    concerns = Concerns(asked_by=("Ann", "Ben", "Cat", "Sue"), edited_by=("Pam",))
    assert warnings(KYC, concerns) == [
        "No answer yet to Ann, Ben, Cat and 1 more",
        "Edited by Pam since it was requested",
    ]
    (said,) = warnings(replace(KYC, shortfall="it needs 2"), NO_CONCERNS)
    assert said == "Not enough eligible approvers: it needs 2"


def test_a_name_cannot_pass_for_markup() -> None:
    said = warnings(KYC, Concerns(edited_by=("<!channel> *x*",)))
    assert "<!channel>" not in said[0]


def test_a_request_with_a_warning_or_little_time_left_is_marked() -> None:
    calm = replace(KYC, requested_at=NOW, expires_at=NOW + timedelta(hours=8))
    late = replace(calm, requested_at=NOW - timedelta(hours=7), expires_at=NOW + timedelta(hours=1))
    assert [marked(one, NO_CONCERNS, NOW) for one in (calm, late)] == ["", "⚠ "]
    assert marked(calm, Concerns(doubts=1), NOW) == "⚠ "


def test_a_hundred_requests_fit_a_modal_beside_what_else_it_holds() -> None:
    concerns = {KYC.approval_id: Concerns(own_question=True, asked_by=("Ann",), doubts=1, edited_by=("Pam",))}
    blocks = request_rows([KYC] * 100, [Shown("")] * 100, concerns, NOW)
    assert len(blocks) <= 25
    assert "Your question has no answer yet" in shown(blocks)
