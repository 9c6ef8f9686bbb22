"""A card says when what it asks for is carried out, where policy says so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.views.card import card
from bot.views.wording import execution_times
from runtime.model.approval import Result, ResultCode
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import ExecuteView
from tests.unit.bot_samples import KYC, NOW, shown

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


def test_a_card_without_times_says_nothing_of_them() -> None:
    seen = shown(card(KYC, now=NOW).blocks)
    assert "arried out" not in seen


def test_times_name_the_moment_before_which_nothing_begins_and_how_long_it_may() -> None:
    when = ExecuteView((), "", NOW + timedelta(days=1), "PT90M", NOW)
    assert (
        execution_times(replace(KYC, execute=when))
        == "not before 2026-03-03 09:00 UTC, within 90 minutes of the approval"
    )
