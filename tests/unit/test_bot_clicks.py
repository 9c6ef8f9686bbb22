"""What stands before a click and what it carries, when it is stale, and when two deliveries are the same click."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from bot.listeners.clicks import click
from bot.listeners.identity import Identity
from bot.payloads import parse_payload
from bot.views.buttons import confirmation
from bot.views.references import CardRef, ReasonRef, of, stale
from bot.views.refusals import refusal_words
from bot.views.vote_modals import reason_fault, reason_modal
from runtime.model.approval import AskKind
from runtime.model.person import Person, SlackAccount
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from tests.unit.bot_samples import ANNA as ANNAS_VOTE
from tests.unit.bot_samples import KYC

REF = CardRef(**of(KYC))
ANNA = Identity(SlackAccount("T1", "U1"), Person("p1", "Anna", ()), None)


def key(
    ref: CardRef = REF, identity: Identity = ANNA, verdict: VoteVerdict = VoteVerdict.APPROVE, at: str = "1.2"
) -> str:
    return click(ref, identity, verdict, occasion=at, reason="", refusal=None).dedupe_key


def test_deliveries_of_one_click_share_a_key_and_nothing_else_does() -> None:
    other_account = replace(ANNA, account=SlackAccount("T1", "U2"))
    other_team = replace(ANNA, account=SlackAccount("T2", "U1"))
    other_approval = CardRef(id="apr-2", digest="ab" * 8)
    keys = [
        key(),
        key(at="1.3"),
        key(verdict=VoteVerdict.REJECT),
        key(identity=other_account),
        key(identity=other_team),
        key(ref=other_approval),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == keys[0]


def test_a_refused_click_keeps_who_and_why() -> None:
    refusal = Refusal(RefusalCode.NOT_IN_DIRECTORY)
    nobody = Identity(SlackAccount("T1", "U9"), None, refusal)
    made = click(REF, nobody, VoteVerdict.REJECT, occasion="1", reason="", refusal=refusal)
    assert (made.account.user, made.person_id, made.refusal) == ("U9", None, refusal)


def test_a_click_on_the_card_as_it_is_now_is_not_stale() -> None:
    assert stale(REF, KYC) is None


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_is_one_or_two_sentences(code: RefusalCode) -> None:
    for about in ((), ("approved",)):
        assert refusal_words(Refusal(code, about)).endswith(".")


def test_whoever_is_in_none_of_the_groups_is_told_which_are_asked() -> None:
    said = refusal_words(Refusal(RefusalCode.NOT_IN_GROUP, ("compliance", "legal")))
    assert said == "This request is for members of: compliance, legal."


@pytest.mark.parametrize("status", [one for one in ApprovalStatus if one is not ApprovalStatus.REQUESTED])
def test_a_click_on_a_decided_request_changes_nothing_and_says_so(status: ApprovalStatus) -> None:
    refusal = stale(REF, replace(KYC, status=status, stamp="6" * 16))
    assert refusal
    assert refusal.code == "vote.closed"
    assert "changes nothing" in refusal_words(refusal)


def test_a_click_on_a_card_that_lacks_anothers_vote_is_not_stale() -> None:
    assert stale(REF, replace(KYC, revision=2, votes=(ANNAS_VOTE,))) is None


def test_a_button_of_an_earlier_version_still_works() -> None:
    old = CardRef.model_validate_json('{"id": "apr-1", "rev": 1, "digest": "abababababababab"}')
    assert stale(old, replace(KYC, revision=2)) is None


def test_a_click_on_an_older_or_forged_card_is_refused() -> None:
    for ref, view, expected in (
        (REF, None, "vote.unknown"),
        (REF, replace(KYC, stamp="6" * 16), "vote.stale"),
        (REF, replace(KYC, digest="cd" * 32), "vote.other_action"),
        (CardRef(id="apr-1", digest=""), KYC, "vote.other_action"),
        (CardRef(id="apr-1", digest="a", stamp=REF.stamp), KYC, "vote.other_action"),
        (CardRef(id="apr-1", digest="abababababababa", stamp=REF.stamp), KYC, "vote.other_action"),
    ):
        refusal = stale(ref, view)
        assert refusal
        assert refusal.code == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{}",
        "null",
        '{"id": "a", "stamp": 1, "digest": "x"}',
        '{"id": "a", "stamp": "s", "digest": "x", "person": "p"}',
    ],
)
def test_a_button_value_that_is_not_ours_is_not_read(value: str) -> None:
    with pytest.raises(ValidationError):
        CardRef.model_validate_json(value)


@pytest.mark.parametrize("reason", ["", "  ", "no", "\u200b\u200b\u200b\u200b", "a\u202e b", "x" * 2001])
def test_a_reason_needs_three_visible_characters_and_at_most_two_thousand(reason: str) -> None:
    assert reason_fault(reason)


def test_a_real_reason_is_accepted() -> None:
    assert reason_fault("why") is None
    assert reason_fault("x" * 2000) is None


def test_the_reason_modal_remembers_what_was_clicked() -> None:
    modal = reason_modal(KYC, VoteVerdict.REJECT, "C1")
    ref = ReasonRef.model_validate_json(modal["private_metadata"])
    assert (ref.id, ref.stamp, ref.verdict, ref.channel) == ("apr-1", KYC.stamp, VoteVerdict.REJECT, "C1")
    assert modal["blocks"][-1]["element"]["min_length"] == 3


def test_a_review_is_named_once_where_it_is_decided() -> None:
    review = replace(KYC, kind=AskKind.TASK, operation="Review Halden Shipping", target="")
    asked = (confirmation(review), reason_modal(review, VoteVerdict.REJECT, None))
    assert [json.dumps(one).count("Review Halden Shipping") for one in asked] == [1, 1]


def test_what_is_done_to_what_stands_beside_the_words_of_an_effect_where_it_is_decided() -> None:
    for one in (confirmation(KYC), reason_modal(KYC, VoteVerdict.REJECT, None)):
        assert KYC.operation in json.dumps(one)
        assert KYC.target in json.dumps(one)


def test_a_doubt_asks_how_one_knows() -> None:
    modal = reason_modal(replace(KYC, kind=AskKind.IN_DOUBT), VoteVerdict.REJECT, None)
    assert modal["title"]["text"] == "It did not happen"
    assert modal["blocks"][-1]["label"]["text"] == "How do you know?"


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"type": "shortcut"},
        {"type": "block_actions", "user": {"id": "U1"}, "actions": [], "trigger_id": "1"},
        {"type": "block_actions", "user": None, "actions": [{"action_id": "a", "action_ts": "1"}], "trigger_id": "1"},
        {"type": "block_actions", "user": {"id": "<@U>"}, "actions": [{"action_id": "a", "action_ts": "1"}]},
        {"type": "view_submission", "user": {"id": "U1"}, "view": {"id": "V1", "callback_id": "c"}},
        {"type": "event_callback", "team_id": "T1", "event": "x"},
        {"type": "url_verification"},
    ],
)
def test_a_payload_that_is_not_well_formed_is_refused(body: object) -> None:
    with pytest.raises(ValidationError):
        parse_payload(body)


def test_a_button_value_fits_slack() -> None:
    ref = CardRef(id="x" * 128, digest="ab" * 8, stamp="5" * 64)
    assert len(json.dumps(ref.model_dump())) < 2000
