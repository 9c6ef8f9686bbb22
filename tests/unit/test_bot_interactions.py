"""Interactions: clicks, form fields and what the manifest asks Slack for.

What stands before a click and what it carries, when it is stale, and when two deliveries are the same click.

What of a trigger's schema is which field of a form, and what can be none.

The manifest asks for what the code uses, and for nothing else.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

import bot
from bot.doctor import SCOPES
from bot.listeners.card_watch import EVENTS as CARD_EVENTS
from bot.listeners.clicks import click
from bot.listeners.commands import NAME
from bot.listeners.forms import ASK_APPROVAL, NEW_REQUEST, payload_of
from bot.listeners.identity import Identity
from bot.listeners.installation import EVENTS
from bot.listeners.unfurls import EVENT as SHARED_EVENT
from bot.listeners.user_groups import CHANGED
from bot.payloads import Input, Option, parse_payload
from bot.views.buttons import confirmation
from bot.views.forms import FieldKind, fields_of, form_modal
from bot.views.references import CardRef, ReasonRef, of, stale
from bot.views.vote_modals import reason_fault, reason_modal
from countersign.slack import manifest_of
from runtime.definitions.schemas import for_people, violations
from runtime.model.approval import AskKind
from runtime.model.person import Person, SlackAccount
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.services.refusal_words import refusal_words
from runtime.services.requests import Form
from sandbox.block_kit import check_view
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


def test_a_click_on_an_older_or_forged_card_is_refused() -> None:
    for ref, view, expected in (
        (REF, None, "vote.unknown"),
        (REF, replace(KYC, stamp="6" * 16), "vote.stale"),
        (REF, replace(KYC, digest="cd" * 32), "vote.other_action"),
        (CardRef(id="apr-1", digest=""), KYC, "vote.other_action"),
        (CardRef(id="apr-1", digest="abababababababab"), KYC, "vote.stale"),
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
        '{"id": "a", "rev": 1, "digest": "x"}',
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


def schema(spec: Any, name: str = "one", **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: spec}, **more}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "maxLength": 200}, FieldKind.TEXT),
        ({"type": "string", "maxLength": 201}, FieldKind.LONG_TEXT),
        ({"type": "string", "format": "uuid"}, FieldKind.TEXT),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "string", "format": "date-time"}, FieldKind.MOMENT),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": "number"}, FieldKind.NUMBER),
        ({"type": "boolean"}, FieldKind.CHOICE),
        ({"enum": ["a", 1, None]}, FieldKind.CHOICE),
        ({"const": 3}, FieldKind.CHOICE),
        ({"type": "array", "items": {"type": "string"}}, FieldKind.LIST),
    ],
)
def test_what_is_which_field(spec: dict[str, Any], kind: FieldKind) -> None:
    ((one,), unfit) = fields_of(schema(spec))
    assert (one.kind, unfit) == (kind, [])


@pytest.mark.parametrize(
    "spec",
    [
        True,
        {},
        {"type": "object"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "array"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "string", "anyOf": [{"minLength": 2}]},
        {"$ref": "#/$defs/x"},
        {"enum": list(range(101))},
    ],
)
def test_what_can_be_no_field_is_named(spec: Any) -> None:
    assert fields_of(schema(spec)) == ([], ["one"])


def test_what_is_required_and_not_described_or_composed_cannot_be_filled_in() -> None:
    assert fields_of({"type": "object", "required": ["x"]})[1] == ["x"]
    assert fields_of({"type": "object", "oneOf": [{}]})[1] == ["oneOf"]
    assert fields_of(schema({"type": "string"}, "n" * 201))[1] == ["n" * 201]
    many = {f"f{number:03}": {"type": "string"} for number in range(92)}
    assert fields_of({"type": "object", "properties": many})[1] == ["f090", "f091"]


def test_required_fields_come_first_in_their_order() -> None:
    properties = {name: {"type": "string"} for name in "abcd"}
    fields, _ = fields_of({"type": "object", "required": ["d", "b"], "properties": properties})
    assert [one.name for one in fields] == ["d", "b", "a", "c"]


@pytest.mark.parametrize("index", ["2", "-1", "x", "", "²"])
def test_an_option_that_was_not_offered_is_refused(index: str) -> None:
    fields, _ = fields_of(schema({"type": "boolean"}))
    entered = {"one": {"one": Input(selected_option=Option(value=index))}}
    assert payload_of(fields, entered) == ({}, {"one": "Please choose one of the options."})


@pytest.mark.parametrize("text", ["<!channel> *x* \u202e", "x" * 5000, "\U0001d54f" * 80, "&" * 80, ""])
def test_words_of_a_runbook_are_data_and_fit_what_slack_takes(text: str) -> None:
    spec = {"title": text, "description": text, "enum": [text, text + "2"]}
    form = Form("n", 1, text or "t", text, "t", schema(spec))
    modal = check_view(form_modal(form, fields_of(form.schema)[0], None), "modal")
    assert "\u202e" not in str(modal)
    assert "<!channel>" not in str(modal)


def _inputs(spec: dict[str, Any], quoted: str = "") -> list[dict[str, Any]]:
    trigger = schema(spec, required=["one"])
    form = Form("r", 1, "R", "", "r.r", trigger)
    view = form_modal(form, fields_of(trigger)[0], None, quoted)
    check_view(view, "modal")
    return [block for block in view["blocks"] if block["type"] == "input"]


def test_a_text_takes_as_many_characters_as_its_schema_says() -> None:
    (limited,) = _inputs({"type": "string", "minLength": 2, "maxLength": 1000})
    (free,) = _inputs({"type": "string"})
    assert (limited["element"]["min_length"], limited["element"]["max_length"]) == (2, 1000)
    assert (free["element"].get("min_length"), free["element"]["max_length"]) == (None, 3000)


def test_a_message_is_cut_to_what_its_field_takes_and_the_form_says_so() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 1000}, "x" * 2700)
    assert one["element"]["initial_value"] == "x" * 1000
    assert one["hint"]["text"] == "The message was cut: the first 1,000 of 2,700 characters."


def test_a_cut_parts_no_character() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 3}, "a\U0001f600\U0001f600")
    assert one["element"]["initial_value"] == "a\U0001f600"


def test_a_message_that_fits_is_not_cut() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 1000}, "as it was")
    assert (one["element"]["initial_value"], "hint" in one) == ("as it was", False)


def test_no_regular_expression_is_shown_to_people() -> None:
    (fault,) = violations(schema({"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"}), {"one": "Ivan P."})
    assert for_people(fault) == "is not in the expected format"
    (other,) = violations(schema({"type": "integer", "maximum": 50}), {"one": 51})
    assert for_people(other) == "51 is greater than the maximum of 50"


ROOT = Path(bot.__file__).parent
# Which scopes a method that we call needs; methods that need none are not named.
NEEDS = {
    "chat_postMessage": {"chat:write"},
    "chat_update": {"chat:write"},
    "chat_unfurl": {"links:write"},
    "chat_postEphemeral": {"chat:write"},
    "conversations_history": {"channels:history", "groups:history", "im:history"},
    "conversations_info": {"channels:read", "groups:read"},
    "conversations_replies": {"channels:history", "groups:history", "im:history"},
    "conversations_open": {"im:write"},
    "users_info": {"users:read"},
    "bots_info": {"users:read"},
    "usergroups_list": {"usergroups:read"},
    "usergroups_users_list": {"usergroups:read"},
}
NEED_NONE = {"auth_test", "apps_connections_open", "chat_getPermalink", "api_call"} | {  # api_call: oauth.v2.access
    f"views_{act}" for act in ("open", "push", "update", "publish")
}

OF_FEATURES = {"commands", "app_mentions:read", "links:read"}
"""Scopes that no method needs: for what people bring to us."""


def called() -> set[str]:
    source = "".join(path.read_text() for path in ROOT.rglob("*.py"))
    return set(re.findall(r"client\.([a-z]+_[A-Za-z_]+)\(", source))


def test_the_manifest_asks_for_exactly_the_scopes_that_the_methods_need() -> None:
    assert called() == set(NEEDS) | NEED_NONE
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    asked = set(manifest["oauth_config"]["scopes"]["bot"])
    assert asked == set().union(*NEEDS.values(), OF_FEATURES) == SCOPES


def test_the_manifest_names_the_command_and_the_shortcut_that_the_bot_answers() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    assert [one["command"] for one in manifest["features"]["slash_commands"]] == [NAME]
    assert [one["callback_id"] for one in manifest["features"]["shortcuts"]] == [NEW_REQUEST, ASK_APPROVAL]


def test_the_manifest_asks_for_the_events_that_the_bot_takes() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {
        "app_home_opened",
        "app_mention",
        SHARED_EVENT,
        *EVENTS,
        *CHANGED,
        *CARD_EVENTS,
    }


def test_the_manifest_is_printed_with_the_domain_of_our_links_where_there_are_any() -> None:
    as_it_is = (ROOT / "manifest.yaml").read_text()
    assert manifest_of(None) == as_it_is
    printed = yaml.safe_load(manifest_of("https://countersign.example:8443"))
    assert printed["features"].pop("unfurl_domains") == ["countersign.example"]
    assert printed == yaml.safe_load(as_it_is)
