"""Measures the coverage of a policy: recorded questions are asked of it, and the lines that they evaluate counted.

It cannot change anything: it loads no connector, reads in read-only transactions, opens no other connection, and its
OPA has no network.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from countersign.candidate import recorded, vetted
from countersign.connection import connected
from countersign.foreseen_errors import OperateError
from countersign.no_network import no_network
from countersign.settings import Settings
from policy.backtest.judging import question_of
from policy.bundle import PolicyFolders
from policy.contract import PolicyText, Question
from policy.coverage import CoverageOpa, FileCounts, Measured, SeenFile, Summary, add_all, coverage_opa, summarize
from receipts.fields import timestamp
from runtime.clock import utc_now
from runtime.services.recorded_decisions import Key, RecordedDecisions, Selected

TOGETHER = 100
"""Decisions that are read at once."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Wish:
    """Which decisions to ask: a period, and a sample of at most so many."""

    since: datetime | None
    until: datetime | None
    sample: int


async def measure(opa: Path, folders: PolicyFolders, settings: Settings, wish: Wish, progress: Progress) -> Summary:
    """Return the coverage of a policy; raise PolicyError if it could not be served, OperateError without decisions."""
    text = (await vetted(opa, folders)).text
    async with connected(settings) as conn, coverage_opa(opa, text.files, os.cpu_count() or 1) as asking:
        decisions = RecordedDecisions(conn)
        selected, count = await decisions.select(wish.since, wish.until or utc_now(), wish.sample)
        if not count:
            raise OperateError("no decision is on record in this period: there is nothing to ask")
        counts, measured = await _asked(asking, decisions, selected, wish, lambda done: progress(done, count))
        return summarize(text, measured, counts, await _trees(asking, text))


async def _asked(
    asking: CoverageOpa,
    decisions: RecordedDecisions,
    selected: Selected,
    wish: Wish,
    progress: Callable[[int], None],
) -> tuple[dict[str, FileCounts], Measured]:
    counts: dict[str, FileCounts] = {}
    questions = failed = not_replayable = 0
    with no_network():
        async for rows in _sets(decisions, selected):
            found = [question_of(recorded(row)) for row in rows]
            seen = await _each(asking, [one for one in found if one])
            add_all(counts, seen)
            questions, failed = questions + len(seen), failed + seen.count(None)
            not_replayable += found.count(None)
            progress(questions + not_replayable)
    since, until = (timestamp(one) if one else None for one in (wish.since, wish.until))
    return counts, Measured(questions, failed, not_replayable, since, until, wish.sample)


async def _sets(decisions: RecordedDecisions, selected: Selected) -> AsyncIterator[list[dict[str, Any]]]:
    after: Key | None = None
    while rows := await decisions.behind(after, selected, TOGETHER):
        after = rows[-1]["run_id"], rows[-1]["seq"]
        yield rows


async def _each(asking: CoverageOpa, questions: list[Question]) -> list[dict[str, SeenFile] | None]:
    """Ask questions side by side; if one cannot be asked at all, the others are ended."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asking.seen(one.model_dump(mode="json"))) for one in questions]
    return [task.result() for task in tasks]


async def _trees(asking: CoverageOpa, text: PolicyText) -> dict[str, Any]:
    names = [name for name in text.files if name.endswith(".rego")]
    return dict(zip(names, await asyncio.gather(*map(asking.tree, names)), strict=True))
