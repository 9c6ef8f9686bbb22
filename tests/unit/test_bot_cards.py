"""A card shows everything or says how much more there is, and what it shows is data."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from bot.views.buttons import confirmation
from bot.views.card import Card, card
from bot.views.details import details_modal, details_modals
from bot.views.home import ATTENTION_SHOWN, SHOWN
from bot.views.references import APPROVE, REJECT, SHOW_ALL
from bot.views.vote_modals import reason_modal
from bot.views.wording import progress_words, result_words
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, FieldView
from runtime.services.step_repair import StepRepairView, StepsNeedingAttention
from sandbox.block_kit import check_message_blocks, check_view
from sandbox.mrkdwn import parse, walk
from tests.unit.bot_samples import (
    ANNA,
    BORIS,
    HOSTILE,
    KYC,
    NOW,
    everywhere,
    home_of,
    read_cell,
    shown,
    text_in,
    text_objects,
)

# half a surrogate pair is refused where data comes in (runtime/model/limits.py)
EXPIRES = int(KYC.expires_at.timestamp())
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
OURS = {"text", "bold", "date"}


def nobody(_: str) -> None:
    """Know no names."""


def buttons(of: Card) -> dict[str, dict[str, Any]]:
    found = (one for block in of.blocks if block["type"] == "actions" for one in block["elements"])
    return {one["action_id"]: one for one in found if one["type"] == "button"}


def held_with(text: str) -> StepsNeedingAttention:
    view = StepRepairView(run_id="run_1", step="look", version=0, run_title=text, error=text, code="refused")
    return StepsNeedingAttention(500, (view,) * ATTENTION_SHOWN)


def key_of(label: dict[str, Any]) -> str:
    """Return a label of ours, which is in bold; what is data says so."""
    words: str = label["text"]
    return words.strip("*") if label["type"] == "mrkdwn" else f"data: {words}"


def details(view: ApprovalView) -> dict[str, list[Any]]:
    """Read the values back from all pages, by label."""
    found: dict[str, list[Any]] = {}
    label, number, parts = "", "", list[str]()
    for modal in details_modals(view):
        for block in modal["blocks"][1:]:
            cells = block.get("fields", [])
            if shown(cells[:2]) == "*Now*\n*→ After*":
                found[f"{block['text']['text']}: now, after"] = [read_cell(cell) for cell in cells[2:]]
                cells = []
            for name, value in zip(cells[::2], cells[1::2], strict=True):
                found.setdefault(key_of(name), []).append(read_cell(value))
            if block["type"] == "context":
                label, number = key_of(block["elements"][0]), block["elements"][1]["text"].strip("*")
                parts = [] if number.startswith("part 1 of ") else parts
            elif block["type"] == "section" and "fields" not in block and block["text"]["type"] == "plain_text":
                parts.append(block["text"]["text"])
                if parts and number == f"part {len(parts)} of {len(parts)}":
                    found.setdefault(label, []).append(text_in("".join(parts)))
    return found


def assert_fits(of: Card) -> None:
    check_message_blocks(of.blocks)
    for block in Block.parse_all(of.blocks):
        block.validate_json()
    assert len(json.dumps(of.blocks, ensure_ascii=False)) <= 12_000
    assert 0 < len(of.text) <= 4000


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_card_fits_slack_whatever_the_data(text: str) -> None:
    view = everywhere(text)
    for kind in AskKind:
        assert_fits(card(replace(view, kind=kind), now=NOW))
    assert_fits(card(replace(everywhere(text, 60), status=ApprovalStatus.APPROVED), now=NOW))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_modal_fits_slack_whatever_the_data(text: str) -> None:
    view = everywhere(text)
    for verdict in VoteVerdict:
        check_view(reason_modal(view, verdict, "C0APPROVALS"), "modal")
    for modal in details_modals(view):
        check_view(modal, "modal")
    for card_at in (("C1", "1.1"), None):
        check_view(home_of(view, SHOWN, 500, held_with(text), card_at), "home")


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
            assert node.get("at", EXPIRES) == EXPIRES or node["at"] == int(NOW.timestamp())
            assert node["t"] in OURS or node.get("url") == "https://console.example/"
    assert all(node["t"] == "text" for node in walk(parse(seen.text, nobody)))


@settings(deadline=None)
@given(TEXTS)
def test_every_value_is_recovered_from_the_pages_of_show_all(text: str) -> None:
    view = everywhere(text, 0)
    nested = {"list": [text, {"deep": text}], "flat": [text, text], "table": [{"a": text, "b": 1}, {"a": text}]}
    known = FieldView("changed", {"deep": ["x", text]}, {"deep": [text, f"{text}!"]})
    found = details(replace(view, fields=(FieldView("plain", None, text), FieldView("nested", None, nested), known)))
    for label in ("Connector", "Operation", "Target", "Requested by", "Submitted by", "Why", "Tier", "Run", "Step"):
        assert found[label] == [text]
    assert found["data: Plain"] == found["data: Nested · list · 1"] == found["data: Nested · list · 2 · deep"] == [text]
    assert found["data: Nested · flat · 1"] == found["data: Nested · flat · 2"] == [text]
    assert found["data: Changed · deep · 1"] == [text, "x"]
    assert found["data: Changed · deep · 2"] == [f"{text}!", text]
    assert found["From any of these groups"] == [text, text]
    assert (found["Reference"][-1:], found["Trigger ID"]) == ([text], ["https://console.example/"])


@settings(deadline=None)
@given(TEXTS)
def test_rules_votes_and_words_are_recovered_from_the_pages_of_show_all(text: str) -> None:
    found = details(everywhere(text, 2))
    assert found["Rule"] == found["Rule ID"] == [text, text]
    assert found["Reason"] == [text, text]
    said = "Used break-glass" if text else "Approved"
    assert found[f"{said} · 2026-03-02 09:00 UTC"] == [text, text]
    assert found.get("Ticket", []) == [text, text] * bool(text)


def test_many_large_fields_are_recovered_over_many_pages() -> None:
    fields = tuple(FieldView(f"f{n}", None, f"{n}" + "ω" * 10_000) for n in range(60))
    view = replace(KYC, fields=fields)
    assert len(list(details_modals(view))) > 2
    found = details(view)
    assert [found[f"data: F{n}"] for n in range(60)] == [[field.after] for field in fields]


def test_what_a_card_leaves_out_is_counted_on_it() -> None:
    owners = [{"name": f"Owner {n}", "share": n} for n in range(9)]
    fields = (FieldView("note", None, "x" * 10_000), *(FieldView(f"f{n}", None, n) for n in range(30)))
    view = replace(KYC, fields=(*fields, FieldView("owners", None, owners)))
    words = shown(card(view, now=NOW).blocks)
    assert "x\n… 9,880 more characters — Show all" in words
    assert "*… 28 more values — Show all*" in words
    assert "*… 4 more lines — Show all*" in words
    assert "Owner 4\n4" in words
    assert "Owner 5" not in words
    # where something changes, that takes the place of the table
    changing = replace(view, fields=(*view.fields, FieldView("share", 25, 51)))
    assert "*… 37 more values — Show all*" in shown(card(changing, now=NOW).blocks)


def test_a_card_shows_the_action_who_asks_why_and_what_is_needed() -> None:
    view = replace(KYC, votes=(ANNA,), revision=2, escalated=True)
    seen = card(view, now=NOW)
    words = shown(seen.blocks)
    for expected in (
        "*🟡 Approval needed · high risk · escalated*",
        "Approving does this once. Rejecting cancels it. ⚠️ Cannot be undone.",
        "*New values*\nNote\nNew owner",
        "*Changes*\nOwners · 2\n→ Bo\nShare\n25 → 51\n*1 value unchanged*",
        "Requested by Carla Mota via kyc-agent · Onboarding of Halden Shipping",
        "1 of 2 approvals · Anna Berg approved · needed: 2 people from compliance",
        "Why: High-tier writes need two signatures",
        "Anna Berg\nChecked the register",
        "register · register::file_ubo_report · LEI 5493001KJTIIGC8Y1R12 · step file · rule writes.high_tier",
        "action abababababababab",
        "Run …run-1",
        "<https://console.example/runs/run-1|Open in the console>",
        f"Expires <!date^{int(KYC.expires_at.timestamp())}^{{date_short_pretty}} {{time}}|2026-03-02 17:00 UTC>",
    ):
        assert expected in words
    assert seen.text == (
        "Approval needed: The client asked for an account: LEI 5493001KJTIIGC8Y1R12. "
        "Requested by Carla Mota, for Onboarding of Halden Shipping (1 of 2 approvals)"
    )


def test_how_far_a_request_has_come_is_said_with_what_is_counted() -> None:
    assert progress_words(replace(KYC, votes=(ANNA,))) == "1 of 2 approvals"
    assert progress_words(replace(KYC, quorum=1, votes=())) == "0 of 1 approval"
    assert progress_words(replace(KYC, kind=AskKind.IN_DOUBT, quorum=1)) == "0 of 1 answer"


def test_no_two_lines_of_a_card_have_the_same_label() -> None:
    """Whom it is for is said by the line of mentions; what it belongs to has a name of its own."""
    words = shown(card(replace(KYC, asked=("U0ANNA",)), now=NOW).blocks)
    assert "For <@U0ANNA>" in words
    assert "*For*" not in words


def test_buttons_carry_the_approval_its_stamp_and_the_head_of_its_digest() -> None:
    found = buttons(card(KYC, now=NOW))
    assert list(found) == [APPROVE, REJECT, SHOW_ALL]
    assert json.loads(found[APPROVE]["value"]) == {"id": "apr-1", "digest": "ab" * 8, "stamp": KYC.stamp}
    assert found[APPROVE]["confirm"] == confirmation(KYC)
    assert (found[APPROVE]["style"], found[REJECT]["style"]) == ("primary", "danger")


@pytest.mark.parametrize("names", [{"votes_for": "W" * 200}, {"stand_ins": (("<!channel>\n" * 9, "Ann; Ben"),) * 5}])
def test_the_question_before_a_vote_says_in_whose_name_within_what_slack_takes(names: dict[str, Any]) -> None:
    long = "<&>\n" * 99
    text = confirmation(replace(KYC, purpose=long, operation=long, target=long, **names))["text"]
    assert text["type"] == "plain_text"
    assert len(text["text"]) <= 300
    assert text["text"].count("\n") == 3
    said = "the signature of W" if "votes_for" in names else "your signature, or: "
    assert said in text["text"]


def test_a_required_reason_takes_the_place_of_the_confirmation() -> None:
    assert "confirm" not in buttons(card(replace(KYC, reason_required=True), now=NOW))[APPROVE]


def test_a_changed_card_has_new_block_ids() -> None:
    both = [one for revision in (1, 2) for one in card(replace(KYC, revision=revision), now=NOW).blocks]
    ids = {one["block_id"] for one in both if one["type"] == "actions"}
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
    assert f" {words} · high risk*\nThe client asked for an account: LEI 5493001KJTIIGC8Y1R12\n" in shown(seen.blocks)
    assert "\nDone" in shown(seen.blocks)
    assert "Boris Lind\nrejected\nWrong owner" in shown(seen.blocks)
    assert "Expires" not in shown(seen.blocks)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Result(ResultCode.PERFORMED), "Done"),
        (Result(ResultCode.PERFORMED_BEFORE), "Done before, under the same idempotency key"),
        (Result(ResultCode.CONFIRMED), "Done, as a person confirmed"),
        (Result(ResultCode.REJECTED, ("Anna", "Boris")), "Not done: rejected by Anna, Boris"),
        (Result(ResultCode.NOT_IN_TIME), "Not done: nobody decided in time"),
        (Result(ResultCode.NOT_PERFORMED, ("the register refused",)), "Not done: the register refused"),
        (
            Result(ResultCode.WINDOW, ("2026-03-03T08:00:00.000000Z",)),
            "Approved; carried out from 2026-03-03 08:00 UTC on",
        ),
    ],
    ids=str,
)
def test_every_result_has_its_words(result: Result, words: str) -> None:
    assert result_words(result) == words
    assert Result.of(result.document()) == result


def test_a_card_past_its_time_offers_no_decision_even_before_the_sweep() -> None:
    seen = card(KYC, now=KYC.expires_at)
    assert list(buttons(seen)) == [SHOW_ALL]
    assert seen.text.startswith("Time is up")
    assert APPROVE in buttons(card(KYC, now=KYC.expires_at - timedelta(seconds=1)))


def test_a_review_is_not_announced_as_a_change() -> None:
    words = shown(card(replace(KYC, kind=AskKind.TASK), now=NOW).blocks)
    assert "Review needed" in words
    assert "To review" in words


def test_a_doubt_asks_what_happened_and_explains_both_answers() -> None:
    seen = card(replace(KYC, kind=AskKind.IN_DOUBT), now=NOW)
    found = buttons(seen)
    assert [one["text"]["text"] for one in found.values()] == ["It happened", "It did not happen", "Show all 3 fields"]
    assert not any("style" in one for one in found.values())
    assert "records it as done" in shown(seen.blocks)
    settled = card(replace(KYC, kind=AskKind.IN_DOUBT, status=ApprovalStatus.REJECTED, votes=(BORIS,)), now=NOW)
    assert "Settled: it did not happen" in shown(settled.blocks)
    assert "says it did not happen" in shown(settled.blocks)


def test_all_groups_are_said_to_be_needed() -> None:
    words = shown(card(replace(KYC, groups=("compliance", "legal"), all_groups=True), now=NOW).blocks)
    assert "1 from compliance and 1 from legal" in words


def test_a_link_that_is_not_plainly_http_is_not_a_link() -> None:
    for url in ("javascript:alert(1)", "https://e.example/|x>", "https://e.example/ <!channel>", "http://é.example"):
        assert "|Open" not in shown(card(replace(KYC, links=(("Open", url),)), now=NOW).blocks)


def test_a_reference_without_an_address_is_shown_as_data() -> None:
    words = shown(card(replace(KYC, links=(("Trigger", "webhook <!here>"),)), now=NOW).blocks)
    assert "Trigger: webhook <!here>" in words


def test_card_of_a_run_on_mocks_says_so_first_of_all() -> None:
    found = card(replace(KYC, mocked=True), now=NOW)
    assert found.text.startswith("On mocks: ")
    assert found.blocks[1]["text"]["text"] == "On mocks: whatever is decided here, nothing is done for real."
    assert "mocks" not in shown(card(KYC, now=NOW).json())


def test_card_says_that_nobody_can_fulfil_the_request() -> None:
    why = "it needs 2 distinct people, and 1 may decide"
    assert why in shown(card(replace(KYC, shortfall=why), now=NOW).blocks)


def test_a_card_says_to_whom_it_went_as_well_and_that_they_may_decide() -> None:
    why = "it needs 2 distinct people, and 1 may decide"
    told = shown(card(replace(KYC, fell_back=why, fallback=("seniors",), joined=("seniors",)), now=NOW).blocks)
    assert f"Too few of those asked can decide: {why}. Also sent to seniors." in told
    assert "May also decide" in told
    to_a_channel = shown(card(replace(KYC, fell_back=why), now=NOW).blocks)
    assert "Also sent to others." in to_a_channel
    assert "May also decide" not in to_a_channel


def test_what_a_card_says_of_others_is_data() -> None:
    hostile = "a. Nobody has to sign. <!channel> *b*"
    blocks = card(replace(KYC, fell_back=hostile, fallback=(hostile,), joined=(hostile,)), now=NOW).blocks
    assert all(one["type"] == "plain_text" for one in text_objects(blocks) if "Nobody has to sign" in one["text"])


def test_a_card_calls_people_and_user_groups_and_nothing_else() -> None:
    blocks = card(replace(KYC, asked=("U0ANNA", "S0LEADS", "C0GENERAL", "!channel")), now=NOW).blocks
    assert [one["text"] for one in text_objects(blocks) if "<@" in one["text"]] == ["For <@U0ANNA> <!subteam^S0LEADS>"]
    assert "Not enough eligible approvers" not in shown(card(KYC, now=NOW).blocks)


def test_what_cannot_be_undone_names_its_target_in_its_heading_and_people_are_called_while_it_is_open() -> None:
    final = card(replace(KYC, asked=("U0ANNA", "U0BORIS", "<!channel>")), now=NOW).blocks
    assert final[1]["text"]["text"].endswith(": LEI 5493001KJTIIGC8Y1R12")
    assert "For <@U0ANNA> <@U0BORIS>" in shown(final)
    assert "Cannot be undone." in shown(final)
    assert "<@" not in shown(card(replace(KYC, asked=("U0ANNA",), status=ApprovalStatus.APPROVED), now=NOW).blocks)
    undoable = card(replace(KYC, reversible_by="An opposite entry"), now=NOW).blocks
    assert "Cannot be undone." not in shown(undoable)
    assert "*To undo*\nAn opposite entry" in shown(undoable)
    long = card(replace(KYC, purpose="x" * 1000), now=NOW).blocks
    assert long[1]["text"]["text"].endswith(": LEI 5493001KJTIIGC8Y1R12")


class Read(str):
    """A text that counts how often it is laid out."""

    __slots__ = ()
    times: ClassVar[int] = 0

    def strip(self, chars: str | None = None) -> str:
        Read.times += 1
        return super().strip(chars)


def test_everything_that_has_one_page_counts_no_pages() -> None:
    assert "Page" not in shown(details_modal(KYC, 0))


def test_one_page_of_everything_is_made_without_those_behind_it() -> None:
    lines = [{"name": Read(f"Client {number}"), "amount": number} for number in range(20_000)]
    view = replace(KYC, fields=(FieldView("lines", None, lines),))
    assert "Page 1, more follow" in shown(details_modal(view, 0))
    assert 0 < Read.times < 5_000
    pages = list(details_modals(view))
    assert f"Page {len(pages)} of {len(pages)}" in shown(pages[-1])
    assert details_modal(view, 10_000) == pages[-1]  # beyond the last is the last
