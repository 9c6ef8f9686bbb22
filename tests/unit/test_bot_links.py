"""What Slack shows under a link of ours: how it stands in a line or two, and nothing to decide by or with."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.views.links import card_link, joined_links, link_line, request_unfurl, run_unfurl
from bot.views.wording import status_words
from runtime.model.states import ApprovalStatus, RunStatus, StepStatus
from runtime.services.approval_view import ApprovalView
from runtime.services.requests import RunView
from tests.unit.bot_samples import ANNA, KYC, NOW, text_objects

CARD = card_link("https://acme.slack.com/", ("C1", "12.34"))


def shown(blocks: Any) -> str:
    return "\n".join(one["text"] for one in text_objects(blocks))


def of(**changes: Any) -> tuple[ApprovalView, str]:
    view = replace(KYC, **changes)
    return view, shown(request_unfurl(view, CARD, NOW))


def test_what_waits_says_who_is_asked_how_far_it_is_and_until_when() -> None:
    view, words = of(votes=(ANNA,))
    assert words.startswith("🟡 Approval needed: ")
    assert "2 people from compliance · 1 of 2 approvals" in words
    assert f"expires <!date^{int(view.expires_at.timestamp())}^" in words
    assert "<https://acme.slack.com/archives/C1/p1234|Open the card>" in words


def test_what_is_over_says_how_and_when_and_asks_nobody() -> None:
    decided = NOW + timedelta(minutes=5)
    _, words = of(status=ApprovalStatus.REJECTED, votes=(ANNA,), decided_at=decided)
    assert words.startswith("⛔ Rejected: ")
    assert f"decided <!date^{int(decided.timestamp())}^" in words
    assert "people from" not in words


def test_what_has_run_out_of_time_does_not_look_as_if_it_waited() -> None:
    assert of(expires_at=NOW)[1].startswith("⌛ Time is up: ")


def test_it_says_of_when_it_is_and_that_it_is_on_mocks() -> None:
    _, words = of(mocked=True)
    assert words.startswith("On mocks: 🟡 Approval needed: ")
    assert f"as of <!date^{int(NOW.timestamp())}^" in words


def test_no_param_no_reason_and_no_vote_is_shown() -> None:
    view, words = of(votes=(ANNA,))
    told = [str(field.after) for field in view.fields] + [ANNA.reason, ANNA.person_name, *map(str, view.reasons)]
    assert not [one for one in told if one in words]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("waiting_approval", "waits for approval"),
        ("failed_terminal", "failed"),
        ("succeeded", "succeeded"),
        ("timed_out", "timed out"),
    ],
)
def test_a_run_says_how_it_stands_or_ended(ending: str, words: str) -> None:
    run = RunView("run_1", "REF-1", "kyc v2", ending, "an error", "rita", NOW, None, ())
    said = shown(run_unfurl(run, None, NOW))
    assert said.startswith(f"REF-1: {words}\nkyc v2\n")
    assert "an error" not in said
    assert "Open the card" not in said


@pytest.mark.parametrize("status", [*RunStatus, *StepStatus])
def test_no_state_is_told_as_the_database_writes_it(status: str) -> None:
    assert "_" not in status_words(status)
    assert not {"retryable", "terminal", "parked", "pending"} & set(status_words(status).split())


def test_where_there_is_no_link_nothing_is_shown_of_one() -> None:
    assert link_line("") == []
    assert joined_links(None, "") == ""
    assert joined_links(CARD, "") == CARD
