"""What is gathered for one person is a count, a line for each as data, and the way to their Home."""

import json
from dataclasses import replace

import pytest

from bot.cards.gathered import MOST_LINES, gathered_message
from bot.cards.text import Shown
from runtime.model.messages import Plain, Reminder, RunName, TimeRunsShort
from runtime.model.notices.told import Gathered, Gathering

HOSTILE = "<!channel> *bold* <https://evil.example|click> :tada: \u202e\nOpen your Home"
RUN = RunName(title=HOSTILE, reference="R1")


def _reminder(about: str, *, is_open: bool = True) -> Gathered:
    said = Reminder(run=RUN, step="file", groups=["compliance"], until="2026-01-05T09:00:00.000000Z")
    return Gathered(said.model_dump(mode="json"), about, asks=True, is_open=is_open)


def _shown(*items: Gathered, home: Shown | None = None) -> tuple[str, str]:
    text, blocks = gathered_message(Gathering("g1", "U1", "m1", None, items), home)
    return text, json.dumps(blocks, ensure_ascii=False)


PLAIN = Gathered(Plain(text="It has ended").model_dump(mode="json"), None, asks=False, is_open=True)


@pytest.mark.parametrize(
    ("items", "title"),
    [
        ([_reminder("a1"), _reminder("a2")], "2 more requests wait for you"),
        ([_reminder("a1")], "1 more request waits for you"),
        ([_reminder("a1"), PLAIN], "2 more messages for you"),
        ([PLAIN], "1 more message for you"),
        ([_reminder("a1"), _reminder("a1")], "1 more request waits for you"),
        ([_reminder("a1", is_open=False)], "Nothing waits for you any more"),
    ],
)
def test_it_says_how_much_there_is_each_request_once_and_none_that_is_decided(
    items: list[Gathered], title: str
) -> None:
    assert _shown(*items)[0] == title


def test_of_what_is_said_again_of_a_request_the_last_stands() -> None:
    later = TimeRunsShort(run=RUN, step="file", groups=["leads"])
    item = Gathered(later.model_dump(mode="json"), "a1", asks=True, is_open=True)
    _, blocks = _shown(_reminder("a1"), item)
    assert "Time runs short" in blocks
    assert "Still open" not in blocks


def test_of_many_the_first_are_listed_and_the_rest_is_counted() -> None:
    title, blocks = _shown(*(_reminder(f"a{number}") for number in range(MOST_LINES + 7)))
    assert title == f"{MOST_LINES + 7} more requests wait for you"
    assert (blocks.count("Still open"), "… and 7 more" in blocks) == (MOST_LINES, True)


def test_what_is_said_is_data() -> None:
    text, blocks = gathered_message(Gathering("g1", "U1", "m1", None, [_reminder("a1")]), None)
    line = blocks[1]["text"]
    assert (line["type"], line["text"].count("\n"), "\u202e" in line["text"]) == ("plain_text", 0, False)
    assert "channel" not in text


def test_without_a_link_it_says_where_to_look() -> None:
    assert "tab Home of this app" in _shown(PLAIN)[1]
    assert "tab Home of this app" not in _shown(PLAIN, home=Shown("<slack://app|Open your Home>"))[1]


def test_a_line_names_a_request_by_its_title() -> None:
    _, told = _shown(replace(_reminder("a1"), title="Assign INC-7"))
    assert 'Still open: \\"Assign INC-7\\" of' in told
