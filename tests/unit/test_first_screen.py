"""What a person decides by stands above the buttons of a card, in its forms, and on the Home."""

from dataclasses import replace

from bot.views.buttons import confirmation
from bot.views.card import card
from bot.views.vote_modals import reason_modal, signing_modal
from runtime.model.approval import AskKind
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, Declared, DeclaredField, FieldView
from tests.unit.bot_samples import ANNA, KYC, NOW, home_of, shown

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
