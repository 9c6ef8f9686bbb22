"""What is gathered for one person is a count, a line for each as data, and the way to their Home."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.views.blocks import date
from bot.views.messages import MOST_LINES, gathered_message
from bot.views.text import Shown
from runtime.model.chat_message import RunName
from runtime.model.delivery import GatheredMessage, Gathering
from runtime.model.messages import Plain, Reminder, TimeRunsShort

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
