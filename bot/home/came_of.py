"""What came of several votes, request by request."""

from collections.abc import Sequence
from typing import Any

from bot.home.boxes import modal
from bot.home.several import DONE_MODAL
from bot.views.blocks import plain_text, rows, section
from bot.views.refusals import refusal_words
from bot.views.text import Shown, inline, short
from bot.views.wording import headline, how_far
from runtime.services.clicks import ClickOutcome
from runtime.services.home_model import Entry

_WHY = 300


def counting_modal(count: int) -> dict[str, Any]:
    """Return what stands until all votes are counted: they are recorded, whatever happens to this window."""
    recorded = "Your vote is recorded and" if count == 1 else f"{count:,} votes are recorded and"
    words = f"{recorded} being counted. You can close this."
    return modal(DONE_MODAL, "Decide several", None, None, [section(Shown(words))])


def done_words(outcomes: Sequence[ClickOutcome | None]) -> str:
    """Say how many votes counted."""
    if len(outcomes) == 1:
        return _one(outcomes[0])
    counted = sum(one is not None and one.counted for one in outcomes)
    later = sum(one is None for one in outcomes)
    recorded = "1 is recorded and will be" if later == 1 else f"{later:,} are recorded and will be"
    waits = f" {recorded} counted shortly." if later else ""
    return f"{counted:,} of {len(outcomes):,} votes counted.{waits}"


def _one(outcome: ClickOutcome | None) -> str:
    if outcome is None:
        return "Your vote is recorded and will be counted shortly."
    return "Your vote counted." if outcome.counted else "Your vote did not count."


def done_modal(
    entries: Sequence[Entry | None], ids: Sequence[str], outcomes: Sequence[ClickOutcome | None]
) -> dict[str, Any]:
    """Return what came of each vote: what did not count first, with the reason, and then what did."""
    told = [
        (headline(entry.view) if entry else some_id, _came_of(outcome, entry), bool(outcome and outcome.counted))
        for some_id, entry, outcome in zip(ids, entries, outcomes, strict=True)
    ]
    order = sorted(told, key=lambda one: one[2])
    shown = [(plain_text(inline(what, 80)), short(came, _WHY)) for what, came, _ in order]
    return modal(DONE_MODAL, "Decide several", None, None, [section(Shown(done_words(outcomes))), *rows(shown)])


def _came_of(outcome: ClickOutcome | None, entry: Entry | None) -> str:
    if outcome is None:
        return "Recorded; will be counted shortly."
    if outcome.refusal:
        return refusal_words(outcome.refusal)
    how = f": {how_far(entry.view)}" if entry else ""
    return f"Counted{how}."
