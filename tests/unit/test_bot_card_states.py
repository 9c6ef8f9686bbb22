"""Cards by state: the first line, the facts above the buttons, break-glass, windows, undo and size.

The first line of a card says its state by a sign and in words, and so do Home, lists and threads.

What a person decides by stands above the buttons of a card, in its forms, and on the Home.

Broken glass on the card: who may is offered it, what was done is said plainly, and its review stays open.

A card says when what it asks for is carried out, where policy says so.

The modal before an undo says of everything that stays why it does.

Evidence holds any card that the bot makes: a verifier takes cards of eight times the bytes of the largest.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.views.buttons import confirmation
from bot.views.cancel_undo import undo_modal
from bot.views.card import card
from bot.views.command_replies import approval_reply
from bot.views.vote_modals import reason_modal, signing_modal
from bot.views.wording import execution_times, result_words
from receipts import canonical
from receipts.chain import MAX_CARD
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, Declared, DeclaredField, ExecuteView, FieldView
from runtime.services.compensation import Item, Standing, UndoView
from tests.unit.bot_samples import ANNA, BORIS, HOSTILE, KYC, NOW, everywhere, home_of, shown
from tests.unit.test_bot_cards import buttons

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


FACTS = tuple(DeclaredField(f"Fact {number}", number, "number") for number in range(6))
VIEW = replace(KYC, declared=Declared(title="File the owners", fields=FACTS), votes=(ANNA,))
WARNING = "⚠️ Cannot be undone."
UUID = "0d9e5b8e-3a4b-4c1d-9f5e-2b7c6d8e9f01"


def above_and_below(view: ApprovalView) -> tuple[str, str]:
    blocks = card(view, now=NOW).blocks
    at = next(at for at, one in enumerate(blocks) if one["type"] == "actions")
    return shown(blocks[:at]), shown(blocks[at + 1 :])


def test_three_facts_and_both_consequences_stand_above_the_buttons_and_ids_below() -> None:
    above, below = above_and_below(VIEW)
    assert "Fact 0\n" in above.replace("*", "")
    assert "Fact 2\n" in above.replace("*", "")
    assert "Fact 3" not in above
    assert f"Approving does this once. Rejecting cancels it. {WARNING}" in above
    assert "Requested by Carla Mota via kyc-agent" in above
    assert "Changes" not in above
    assert "Changes" in below
    assert "register::file_ubo_report" in below


def test_what_changes_stands_above_the_buttons_where_its_author_names_no_facts() -> None:
    above, _ = above_and_below(KYC)
    assert "*Changes*" in above


def test_ids_are_short_and_last_beside_the_link_to_copy() -> None:
    view = replace(KYC, run_id="run_0123456789abcdef97639", link="https://c.example/r/1")
    last = card(view, now=NOW).blocks[-1]["elements"][-1]["text"]
    assert last == "Run …def97639 · <https://c.example/r/1|Copy link>"
    assert "run_0123" not in shown(card(view, now=NOW).blocks)


def test_an_author_says_what_either_choice_leads_to() -> None:
    declared = Declared(approve="we prepare the filing.", reject="the onboarding stops.")
    above, _ = above_and_below(replace(KYC, kind=AskKind.TASK, declared=declared))
    assert "Approve: we prepare the filing.\nReject: the onboarding stops." in above
    half, _ = above_and_below(replace(KYC, declared=Declared(approve="it is filed.")))
    assert "Approving does this once." in half


def test_every_form_in_which_one_signs_repeats_the_facts_and_the_warning() -> None:
    for form in (reason_modal(VIEW, VoteVerdict.APPROVE, None), signing_modal(VIEW, "https://c.example/s")):
        words = shown(form)
        assert WARNING in words
        assert "Fact 2" in words
    assert "Cannot be undone." in confirmation(VIEW)["text"]["text"]
    undoable = replace(VIEW, reversible_by="an opposite entry")
    assert WARNING not in shown(reason_modal(undoable, VoteVerdict.APPROVE, None))


def test_home_shows_the_deciding_fact_the_warning_and_who_has_signed_and_no_id() -> None:
    words = shown(home_of(replace(VIEW, reference=UUID)))
    assert "Fact 0: 0" in words
    assert WARNING in words
    assert "Anna Berg approved" in words
    assert UUID not in words


def test_the_button_says_how_many_fields_it_shows() -> None:
    fields = tuple(FieldView(f"f{number}", None, number) for number in range(49))
    assert "Show all 49 fields" in str(card(replace(KYC, fields=fields), now=NOW).blocks)


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


TUESDAY = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)
WORK = {"days": ["tue", "wed"], "from": "09:00", "until": "17:00"}
TIMED = replace(KYC, execute=ExecuteView((WORK,), "Europe/Oslo", None, "P3D", TUESDAY))
DATE = f"<!date^{int(TUESDAY.timestamp())}^{{date_short_pretty}} {{time}}|2026-03-03 08:00 UTC>"
LINE = f"*Carried out {DATE} at the earliest*"


def test_an_open_card_says_from_when_on_it_is_carried_out_and_in_which_times() -> None:
    seen = shown(card(TIMED, now=NOW).blocks)
    assert LINE in seen
    assert "Tue, Wed 09:00 to 17:00 (Europe/Oslo), within 3 days of the approval" in seen


def test_a_card_whose_window_is_open_names_its_times_alone() -> None:
    assert TIMED.execute is not None
    seen = shown(card(replace(TIMED, execute=replace(TIMED.execute, earliest=NOW)), now=NOW).blocks)
    assert "at the earliest" not in seen
    assert "09:00 to 17:00" in seen


def test_a_card_of_what_waits_says_until_when() -> None:
    result = Result(ResultCode.WINDOW, ("2026-03-03T08:00:00.000000Z",))
    waits = replace(TIMED, status=ApprovalStatus.APPROVED, result=result, decided_at=NOW)
    assert LINE in shown(card(waits, now=NOW).blocks)


def test_a_card_of_what_waits_for_its_budget_says_until_when_and_for_which() -> None:
    result = Result(ResultCode.BUDGET, ("2026-03-03T08:00:00.000000Z", "refunds"))
    waits = replace(KYC, status=ApprovalStatus.APPROVED, result=result, decided_at=NOW)
    seen = shown(card(waits, now=NOW).blocks)
    assert LINE in seen
    assert "the budget refunds is used up until then" in seen
    assert result_words(result) == (
        "Approved; carried out from 2026-03-03 08:00 UTC on, since its budget refunds is used up until then"
    )


def test_a_card_without_times_says_nothing_of_them() -> None:
    seen = shown(card(KYC, now=NOW).blocks)
    assert "arried out" not in seen


def test_times_name_the_moment_before_which_nothing_begins_and_how_long_it_may() -> None:
    when = ExecuteView((), "", NOW + timedelta(days=1), "PT90M", NOW)
    assert (
        execution_times(replace(KYC, execute=when))
        == "not before 2026-03-03 09:00 UTC, within 90 minutes of the approval"
    )


WHY = "omar supplied its result"


def texts(item: Item) -> str:
    return json.dumps(undo_modal(UndoView("apr_1", "run_1", "put", [item]), None)["blocks"])


@pytest.mark.parametrize("standing", [one for one in Standing if one is not Standing.POSSIBLE])
def test_what_stays_is_named_with_its_reason(standing: Standing) -> None:
    item = Item("put", "servicenow::add_work_note", "incident:I1", standing, WHY)
    assert f"add work note (servicenow) on incident:I1: {WHY}" in texts(item)


def test_what_was_supplied_before_anything_was_wanted_names_no_target() -> None:
    item = Item("put", "servicenow::add_work_note", "", Standing.SUPPLIED, WHY)
    assert f"add work note (servicenow): {WHY}" in texts(item)
    assert "supplied by a person, who must undo it" in texts(item)


LONG = [*(text for text in HOSTILE if len(text) > 5000), "\x01" * 5000, "\\" * 5000]
"""One text for each way in which a character takes more bytes than one; a shorter text makes a smaller card."""


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
@pytest.mark.parametrize("status", ApprovalStatus)
def test_no_card_has_an_eighth_of_the_bytes_that_a_verifier_takes(text: str, status: ApprovalStatus) -> None:
    shown = card(replace(everywhere(text, 60), status=status), now=NOW)
    assert len(canonical.dumps(shown.json())) < MAX_CARD // 8
