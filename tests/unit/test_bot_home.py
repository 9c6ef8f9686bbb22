"""The Home and bulk votes: what waits, what several requests share, and warnings before votes.

A Home says what waits, and how much of it.

What several requests have in common, and what not: nothing that differs is shown as the same.

The list before several votes marks what speaks against deciding a request unseen.

What is gathered for one person is a count, a line for each as data, and the way to their Home.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.views.blocks import date
from bot.views.bulk_votes import marked, request_rows, sort, warnings
from bot.views.comparison import compare
from bot.views.home import SHOWN
from bot.views.messages import MOST_LINES, gathered_message
from bot.views.text import Shown
from runtime.model.approval import AskKind
from runtime.model.chat_message import RunName
from runtime.model.delivery import GatheredMessage, Gathering
from runtime.model.messages import Plain, Reminder, TimeRunsShort
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import FieldView
from runtime.services.home import NO_CONCERNS, Concerns, Entry, HomeStanding
from tests.unit.bot_samples import KYC, NOW, home_of, shown


def test_home_says_when_nothing_waits_and_how_much_there_is() -> None:
    assert "Nothing is waiting for you" in shown(home_of(KYC, 0))
    words = shown(home_of(KYC, SHOWN, SHOWN + 3))
    assert f"{SHOWN + 3} requests for you" in words
    assert "No card in its channel right now." in words
    assert "<https://s.example/archives/C1/p17|Open the card>" in shown(home_of(KYC, card=("C1", "1.7")))


def test_home_counts_as_far_as_it_counts() -> None:
    assert "500 requests for you" in shown(home_of(KYC, SHOWN, 500))
    assert "500+ requests for you" in shown(home_of(KYC, SHOWN, 501))


def both(*values: Any) -> tuple[str, str]:
    """Return in what requests with these values are alike, and in what they differ."""
    views = [replace(KYC, fields=(FieldView("limit", None, value),)) for value in values]
    same, other, _ = compare(views)
    return json.dumps(same, ensure_ascii=False), json.dumps(other, ensure_ascii=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        ("x" * 500 + "a", "x" * 500 + "b"),
        (["a", "b"], ["a · b"]),
        ([{"name": "Ann", "part": 1}], [{"name": "Ann", "part": 2}]),
        ({"deep": {"er": None}}, {"deep": {"er": False}}),
        ("", None),
    ],
)
def test_values_that_differ_are_never_shown_as_the_same(one: Any, other: Any) -> None:
    same, differs = both(one, other)
    assert "Limit" in differs
    assert "Limit" not in same


def test_values_that_are_the_same_stand_once() -> None:
    same, differs = both(7, 7, 7)
    assert "Limit" in same
    assert differs == "[]"


def test_a_field_that_one_request_does_not_have_is_a_difference() -> None:
    _, other, _ = compare([KYC, replace(KYC, fields=())])
    assert "—" in json.dumps(other, ensure_ascii=False)


def test_what_has_no_room_is_counted() -> None:
    view = replace(KYC, fields=tuple(FieldView(f"f{number}", None, number) for number in range(40)))
    assert "more fields — Show all" in json.dumps(compare([view, view]).same, ensure_ascii=False)


def test_what_has_to_be_signed_what_is_in_doubt_and_reviews_are_left_out_and_why() -> None:
    views = [
        KYC,
        replace(KYC, sign_with="passkey"),
        replace(KYC, kind=AskKind.IN_DOUBT),
        replace(KYC, kind=AskKind.TASK),
    ]
    standings = [HomeStanding(view.approval_id, Entry(view, None), None) for view in views]
    found = sort(standings, VoteVerdict.APPROVE)
    assert list(found.together) == [KYC]
    passkey, doubt, review = (why for _, why in found.apart)
    assert "passkey" in passkey
    assert "decided one by one" in doubt
    assert "cannot be decided together" in review
    assert len(sort(standings, VoteVerdict.REJECT).together) == 2  # a rejection needs no passkey


def test_what_tells_a_request_apart_stands_beside_it_and_ids_are_only_counted() -> None:
    places = ("Network", "Database")
    views = [
        replace(KYC, target=f"incident:{place:032x}", fields=(FieldView("group", None, name),))
        for place, name in enumerate(places)
    ]
    found = compare(views)
    assert found.lines == [f"Group: {name}" for name in places]
    assert "2 different" in json.dumps(found.other)
    assert "0" * 31 not in json.dumps(found.other)


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


UNTIL = datetime(2026, 1, 5, 9, tzinfo=UTC)
HOSTILE = "<!channel> *bold* <https://evil.example|click> :tada: \u202e\nOpen your Home"
RUN = RunName(title=HOSTILE, reference="R1")


def _reminder(about: str, *, is_open: bool = True) -> GatheredMessage:
    said = Reminder(run=RUN, step="file", groups=["compliance"], until="2026-01-05T09:00:00.000000Z")
    return GatheredMessage(said.model_dump(mode="json"), about, asks=True, is_open=is_open)


def _shown(*items: GatheredMessage, home: Shown | None = None) -> tuple[str, str]:
    text, blocks = gathered_message(Gathering("g1", "U1", "m1", None, items), home)
    return text, json.dumps(blocks, ensure_ascii=False)


PLAIN = GatheredMessage(Plain(text="It has ended").model_dump(mode="json"), None, asks=False, is_open=True)


@pytest.mark.parametrize(
    ("items", "title"),
    [
        ([_reminder("a1"), _reminder("a2")], "2 more requests for you"),
        ([_reminder("a1")], "1 more request for you"),
        ([_reminder("a1"), PLAIN], "2 more messages for you"),
        ([PLAIN], "1 more message for you"),
        ([_reminder("a1"), _reminder("a1")], "1 more request for you"),
        ([_reminder("a1", is_open=False)], "Nothing is waiting for you now"),
    ],
)
def test_it_says_how_much_there_is_each_request_once_and_none_that_is_decided(
    items: list[GatheredMessage], title: str
) -> None:
    assert _shown(*items)[0] == title


def test_of_what_is_said_again_of_a_request_the_last_stands() -> None:
    later = TimeRunsShort(run=RUN, step="file", groups=["leads"])
    item = GatheredMessage(later.model_dump(mode="json"), "a1", asks=True, is_open=True)
    _, blocks = _shown(_reminder("a1"), item)
    assert "Escalated to" in blocks
    assert "Still open" not in blocks


def test_of_many_the_first_are_listed_and_the_rest_is_counted() -> None:
    title, blocks = _shown(*(_reminder(f"a{number}") for number in range(MOST_LINES + 7)))
    assert title == f"{MOST_LINES + 7} more requests for you"
    assert (blocks.count("Still open"), "… and 7 more" in blocks) == (MOST_LINES, True)


def test_the_most_urgent_stand_first_and_of_these_the_newest() -> None:
    late = TimeRunsShort(run=RunName(title="Wire", reference="R2"), step="file", groups=["leads"])
    urgent = GatheredMessage(late.model_dump(mode="json"), "urgent", asks=True, is_open=True)
    reminders = [replace(_reminder(f"a{number}"), title=f"Request {number}") for number in range(MOST_LINES + 5)]
    _, blocks = gathered_message(Gathering("g1", "U1", "m1", None, [PLAIN, urgent, *reminders]), None)
    lines = [block["text"]["text"] for block in blocks[1 : MOST_LINES + 1]]
    assert lines[0].startswith("Escalated to leads: file of Wire")
    newest = range(MOST_LINES + 4, MOST_LINES + 4 - (MOST_LINES - 1), -1)
    assert [line.split('"')[1] for line in lines[1:]] == [f"Request {number}" for number in newest]


def test_each_line_leads_to_what_it_is_about() -> None:
    item = replace(_reminder("a1"), card=("C0APPROVALS", "12.34"), link="https://countersign.example/requests/a1")
    _, blocks = gathered_message(Gathering("g1", "U1", "m1", None, [item]), None, "https://acme.slack.com/")
    told = blocks[1]["text"]["text"]
    assert "<https://acme.slack.com/archives/C0APPROVALS/p1234|Open the card>" in told
    assert "<https://countersign.example/requests/a1|" in told


def test_what_is_said_is_data() -> None:
    text, blocks = gathered_message(Gathering("g1", "U1", "m1", None, [_reminder("a1")]), None)
    line = blocks[1]["text"]
    assert (line["type"], line["verbatim"], line["text"].count("\n")) == ("mrkdwn", True, 0)
    told = line["text"].replace(date(UNTIL), "")
    assert told != line["text"], "the reader has its moment in their own time zone"
    assert not [one for one in ("\u202e", "<", "*", ":tada:") if one in told]
    assert "channel" not in text


def test_without_a_link_it_says_where_to_look() -> None:
    assert "this app's Home tab" in _shown(PLAIN)[1]
    assert "this app's Home tab" not in _shown(PLAIN, home=Shown("<slack://app|Open your Home>"))[1]


def test_a_line_names_a_request_by_its_title() -> None:
    _, told = _shown(replace(_reminder("a1"), title="Assign INC-7"))
    assert 'Still open: \\"Assign INC-7\\" of' in told
