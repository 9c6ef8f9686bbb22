"""A card shows everything or says how much more there is, and what it shows is data."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from bot.cards.card import Card, card, confirmation
from bot.cards.details import details_modals
from bot.cards.home import HELD_SHOWN, SHOWN, home
from bot.cards.modals import reason_modal
from bot.cards.references import APPROVE, REJECT, SHOW_ALL
from bot.cards.wording import result_words
from runtime.desk.held.model import HeldView, HeldWaiting
from runtime.desk.model import ApprovalView, FieldView
from runtime.model.approval import ApprovalStatus, AskKind, Result, ResultCode, VoteVerdict
from sandbox.rules.blocks import check_message_blocks, check_view
from sandbox.rules.mrkdwn import parse, walk
from tests.unit.bot_samples import ANNA, BORIS, HOSTILE, KYC, NOW, everywhere, read, text_objects, value_of

# half a surrogate pair is refused where data comes in (runtime/model/json_limits.py)
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
OURS = {"text", "bold"}


def nobody(_: str) -> None:
    """Know no names."""


def shown(value: Any) -> str:
    return "\n".join(read(one["text"]) for one in text_objects(value))


def buttons(of: Card) -> dict[str, dict[str, Any]]:
    return {one["action_id"]: one for block in of.blocks if block["type"] == "actions" for one in block["elements"]}


NOTHING_HELD = HeldWaiting(0, ())


def held_with(text: str) -> HeldWaiting:
    view = HeldView(run_id="run_1", step="look", version=0, run_title=text, error=text, code="refused")
    return HeldWaiting(500, (view,) * HELD_SHOWN)


def details(view: ApprovalView) -> dict[str, list[Any]]:
    """Read the values back from all pages, by label."""
    found: dict[str, list[str]] = {}
    for modal in details_modals(view):
        blocks = [block for block in modal["blocks"][1:] if block["type"] != "actions"]
        for label, value in zip(blocks[::2], blocks[1::2], strict=True):
            words, _, part = label["elements"][0]["text"].strip("*").partition(" · part ")
            values = found.setdefault(words, [])
            if part and not part.startswith("1 "):
                values[-1] += value["text"]["text"]
            else:
                values.append(value["text"]["text"])
    return {label: [value_of(read(one)) for one in values] for label, values in found.items()}


def assert_fits(of: Card) -> None:
    check_message_blocks(of.blocks)
    for block in Block.parse_all(of.blocks):
        block.validate_json()
    assert len(json.dumps(of.blocks, ensure_ascii=False)) <= 12_000
    assert 0 < len(of.text) <= 4000


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", AskKind)
def test_a_card_fits_slack_whatever_the_data(text: str, kind: AskKind) -> None:
    assert_fits(card(replace(everywhere(text), kind=kind), now=NOW))
    assert_fits(card(replace(everywhere(text, 60), status=ApprovalStatus.APPROVED), now=NOW))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_modal_fits_slack_whatever_the_data(text: str) -> None:
    view = everywhere(text)
    for verdict in VoteVerdict:
        check_view(reason_modal(view, verdict, "C0APPROVALS"), "modal")
    for modal in details_modals(view):
        check_view(modal, "modal")
    for permalink in ("https://slack.example/archives/C1/p1", None):
        check_view(home([(view, permalink)] * SHOWN, 500, held_with(text), now=NOW), "home")


@settings(deadline=None)
@given(TEXTS)
def test_no_value_becomes_a_mention_a_link_an_emoji_or_a_format(text: str) -> None:
    view = everywhere(text, 2)
    seen = card(view, now=NOW)
    for one in [*text_objects(seen.blocks), *text_objects(reason_modal(view, VoteVerdict.REJECT, None))]:
        if one["type"] == "plain_text":
            assert one["emoji"] is False
            assert not set(one["text"]) & set("<>")
            continue
        for node in walk(parse(one["text"], nobody, verbatim=one["verbatim"])):
            assert node["t"] in OURS or node.get("url") == "https://console.example/"
    assert all(node["t"] == "text" for node in walk(parse(seen.text, nobody)))


@settings(deadline=None)
@given(TEXTS)
def test_every_value_is_recovered_from_the_pages_of_show_all(text: str) -> None:
    found = details(everywhere(text, 2))
    for label in ("Connector", "Operation", "Target", "Asked by", "Submitted by", "Why", "Tier", "Run", "Step"):
        assert found[label] == [text]
    assert found["Field 1 of 2 · name"] == [text]
    assert found["Field 1 of 2 · value"] == [text]
    assert found["Field 2 of 2 · value now"] == [[text]]
    assert found["Field 2 of 2 · value after"] == [text]
    assert found["Rule that asked"] == found["Its reason"] == [text, text]
    assert found["From any of these groups"] == [text, text]
    assert found["Vote 2 · reason"] == [text]
    assert (found["Reference 1 · name"], found["Reference 1 · address"]) == ([text], ["https://console.example/"])


def test_many_large_fields_are_recovered_over_many_pages() -> None:
    fields = tuple(FieldView(f"f{n}", None, f"{n}" + "ω" * 10_000) for n in range(60))
    view = replace(KYC, fields=fields)
    assert len(details_modals(view)) > 5
    found = details(view)
    assert [found[f"Field {n + 1} of 60 · value"] for n in range(60)] == [[field.after] for field in fields]


def test_what_a_card_leaves_out_is_counted_on_it() -> None:
    fields = (FieldView("note", None, "x" * 10_000), *(FieldView(f"f{n}", None, n) for n in range(30)))
    words = shown(card(replace(KYC, fields=fields), now=NOW).blocks)
    assert "x\n… 9,500 more characters — Show all" in words
    assert "*… 11 more fields — Show all*" in words


def test_a_card_shows_the_action_who_asks_why_and_what_is_needed() -> None:
    view = replace(KYC, votes=(ANNA,), revision=2, escalated=True)
    seen = card(view, now=NOW)
    words = shown(seen.blocks)
    for expected in (
        "Approval needed · high tier · escalated",
        "register::file_ubo_report",
        "LEI 5493001KJTIIGC8Y1R12",
        "share\n*Now*\n*→ After*\n25\n51",
        "*What it sets*\nnote\nNew owner",
        "Carla Mota",
        "kyc-agent",
        "The client asked for an account",
        "writes.high_tier\nHigh-tier writes need two signatures",
        "2 people from compliance",
        "1 of 2",
        "Anna Berg\napproved\nChecked the register",
        "Run run-1 · action abababababababab",
        "<https://console.example/runs/run-1|Open in the console>",
        f"Expires <!date^{int(KYC.expires_at.timestamp())}^{{date_short_pretty}} {{time}}|2026-03-02 17:00 UTC>",
    ):
        assert expected in words
    assert seen.text == (
        "Approval needed: register::file_ubo_report on LEI 5493001KJTIIGC8Y1R12, "
        "for Onboarding of Halden Shipping (1 of 2 approvals)"
    )


def test_buttons_carry_the_approval_its_stamp_and_the_head_of_its_digest() -> None:
    found = buttons(card(KYC, now=NOW))
    assert list(found) == [APPROVE, REJECT, SHOW_ALL]
    assert json.loads(found[APPROVE]["value"]) == {"id": "apr-1", "digest": "ab" * 8, "stamp": KYC.stamp}
    assert found[APPROVE]["confirm"] == confirmation(KYC)
    assert (found[APPROVE]["style"], found[REJECT]["style"]) == ("primary", "danger")


def test_a_required_reason_takes_the_place_of_the_confirmation() -> None:
    assert "confirm" not in buttons(card(replace(KYC, reason_required=True), now=NOW))[APPROVE]


def test_a_changed_card_has_new_block_ids() -> None:
    ids = {card(replace(KYC, revision=revision), now=NOW).blocks[-1]["block_id"] for revision in (1, 2)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (ApprovalStatus.APPROVED, "Approved"),
        (ApprovalStatus.REJECTED, "Rejected"),
        (ApprovalStatus.EXPIRED, "Expired without a decision"),
        (ApprovalStatus.CANCELED, "Canceled"),
    ],
)
def test_a_decided_card_offers_no_decision_and_says_what_became_of_it(status: ApprovalStatus, words: str) -> None:
    view = replace(KYC, status=status, votes=(ANNA, BORIS), result=Result(ResultCode.PERFORMED), revision=5)
    seen = card(view, now=NOW)
    assert list(buttons(seen)) == [SHOW_ALL]
    assert f"{words} · high tier: LEI 5493001KJTIIGC8Y1R12\n*What became of it*\nperformed" in shown(seen.blocks)
    assert "Boris Lind\nrejected\nWrong owner" in shown(seen.blocks)
    assert "Expires" not in shown(seen.blocks)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Result(ResultCode.PERFORMED), "performed"),
        (Result(ResultCode.PERFORMED_BEFORE), "performed before, under the same idempotency key"),
        (Result(ResultCode.CONFIRMED), "performed, as a person confirmed"),
        (Result(ResultCode.REJECTED, ("Anna", "Boris")), "not performed: rejected by Anna, Boris"),
        (Result(ResultCode.NOT_IN_TIME), "not performed: nobody decided in time; expiry is never consent"),
        (Result(ResultCode.NOT_PERFORMED, ("the register refused",)), "not performed: the register refused"),
        (Result(ResultCode.WORDED, ("performed",)), "performed"),
    ],
    ids=str,
)
def test_every_result_has_its_words(result: Result, words: str) -> None:
    assert result_words(result) == words
    assert Result.of(result.document()) == result


def test_a_card_past_its_time_offers_no_decision_even_before_the_sweep() -> None:
    seen = card(KYC, now=KYC.expires_at)
    assert list(buttons(seen)) == [SHOW_ALL]
    assert seen.text.startswith("Time has run out")
    assert APPROVE in buttons(card(KYC, now=KYC.expires_at - timedelta(seconds=1)))


def test_a_review_is_not_announced_as_a_change() -> None:
    words = shown(card(replace(KYC, kind=AskKind.TASK), now=NOW).blocks)
    assert "Review needed" in words
    assert "What is to be reviewed" in words


def test_a_doubt_asks_what_happened_and_explains_both_answers() -> None:
    seen = card(replace(KYC, kind=AskKind.IN_DOUBT), now=NOW)
    found = buttons(seen)
    assert [one["text"]["text"] for one in found.values()] == ["It happened", "It did not happen", "Show all"]
    assert not any("style" in one for one in found.values())
    assert "records it as done" in shown(seen.blocks)
    settled = card(replace(KYC, kind=AskKind.IN_DOUBT, status=ApprovalStatus.REJECTED, votes=(BORIS,)), now=NOW)
    assert "Settled: it did not happen" in shown(settled.blocks)
    assert "says it did not happen" in shown(settled.blocks)


def test_all_groups_are_said_to_be_needed() -> None:
    words = shown(card(replace(KYC, groups=("compliance", "legal"), all_groups=True), now=NOW).blocks)
    assert "2 people from compliance and legal; each of these groups must be among them" in words


def test_a_link_that_is_not_plainly_http_is_not_a_link() -> None:
    for url in ("javascript:alert(1)", "https://e.example/|x>", "https://e.example/ <!channel>", "http://é.example"):
        assert "|Open" not in shown(card(replace(KYC, links=(("Open", url),)), now=NOW).blocks)


def test_a_reference_without_an_address_is_shown_as_data() -> None:
    words = shown(card(replace(KYC, links=(("Trigger", "webhook <!here>"),)), now=NOW).blocks)
    assert "Trigger: webhook <!here>" in words


def test_home_says_when_nothing_waits_and_how_much_more_there_is() -> None:
    assert "Nothing waits for you" in shown(home([], 0, NOTHING_HELD, now=NOW))
    words = shown(home([(KYC, None)] * SHOWN, SHOWN + 3, NOTHING_HELD, now=NOW))
    assert f"{SHOWN + 3} requests for you" in words
    assert "… 3 more" in words
    assert "There is no card of this in its channel just now. You can decide here." in words
    assert "<https://s.example/p1|Open the card>" in shown(
        home([(KYC, "https://s.example/p1")], 1, NOTHING_HELD, now=NOW)
    )


def test_card_of_a_run_on_mocks_says_so_first_of_all() -> None:
    found = card(replace(KYC, mocked=True), now=NOW)
    assert found.text.startswith("On mocks: ")
    assert found.blocks[1]["text"]["text"] == "On mocks: whatever is decided here, nothing is done for real."
    assert "mocks" not in shown(card(KYC, now=NOW).json())


def test_card_says_that_nobody_can_fulfil_the_request() -> None:
    why = "it needs 2 distinct people, and 1 may decide"
    assert why in shown(card(replace(KYC, shortfall=why), now=NOW).blocks)
    assert "Nobody can fulfil" not in shown(card(KYC, now=NOW).blocks)


def test_what_cannot_be_undone_names_its_target_in_its_heading_and_people_are_called_while_it_is_open() -> None:
    final = card(replace(KYC, asked=("U0ANNA", "U0BORIS", "<!channel>")), now=NOW).blocks
    assert final[0]["text"]["text"] == "Approval needed · high tier: LEI 5493001KJTIIGC8Y1R12"
    assert final[1]["elements"][0]["text"] == "For <@U0ANNA> <@U0BORIS>"
    assert "<@" not in shown(card(replace(KYC, asked=("U0ANNA",), status=ApprovalStatus.APPROVED), now=NOW).blocks)
    undoable = card(replace(KYC, reversible_by="An opposite entry"), now=NOW).blocks
    assert undoable[0]["text"]["text"] == "Approval needed · high tier"
