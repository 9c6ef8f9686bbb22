"""Runs a backtest: recorded questions are asked of a candidate policy, and the answers compared.

It cannot change anything: it loads no connector, reads in read-only transactions, opens no other connection, and its
OPA has no network. Judged decisions are written set by set, so that an interrupted backtest can resume.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from countersign.candidate import Candidate
from countersign.connection import connected
from countersign.foreseen_errors import OperateError
from countersign.no_network import no_network
from countersign.settings import Settings
from policy.backtest.judging import JudgedDecision
from policy.backtest.ledger import Ledger, Plan
from policy.backtest.report import html_report, json_report, markdown_report
from policy.backtest.summary import Asked, GroupBy, Summary, summarize
from policy.differences import DifferenceClass
from receipts.fields import timestamp
from runtime.clock import utc_now
from runtime.services.recorded_decisions import Key, RecordedDecisions, Selected

TOGETHER = 500
"""Decisions in a set. A decision takes OPA up to 1 ms, starting OPA 0.1 s."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Backtest:
    """A candidate policy, the files of its backtest, and a callback for progress."""

    candidate: Candidate
    ledger: Ledger
    progress: Progress

    async def begin(
        self, settings: Settings, since: datetime | None, until: datetime | None, sample: int | None
    ) -> None:
        """Judge the decisions of a period, or a sample of them."""
        async with connected(settings) as conn:
            decisions = RecordedDecisions(conn)
            selected, count = await decisions.select(since, until or utc_now(), sample)
            plan = Plan(
                candidate=self.candidate.text.digest,
                since=since,
                until=until,
                read_until=selected.until,
                sample=sample,
                cutoff=selected.cutoff,
                decisions=count,
            )
            self.ledger.begin(plan)
            await self._judge_all(decisions, plan, None, 0)

    async def resume(self, settings: Settings) -> None:
        """Resume an interrupted backtest; raise OperateError if it was of another candidate."""
        plan, last, done = self.ledger.plan(), None, 0
        self.ledger.repair()
        if plan.candidate != self.candidate.text.digest:
            raise OperateError(
                f"that backtest is of the policy {plan.candidate}, and this is {self.candidate.text.digest}"
            )
        for done, last in enumerate(self.ledger.judged(), 1):  # noqa: B007 - the last one is wanted
            pass
        async with connected(settings) as conn:
            await self._judge_all(RecordedDecisions(conn), plan, (last.run_id, last.seq) if last else None, done)

    async def _judge_all(self, decisions: RecordedDecisions, plan: Plan, after: Key | None, done: int) -> None:
        with no_network():
            self.progress(done, plan.decisions)
            async for judged, seconds, recorded_us in self._sets(decisions, plan, after):
                self.ledger.append(judged, seconds, recorded_us)
                done += len(judged)
                self.progress(done, max(done, plan.decisions))

    async def _sets(
        self, decisions: RecordedDecisions, plan: Plan, after: Key | None
    ) -> AsyncIterator[tuple[list[JudgedDecision], float, int]]:
        """Yield judged sets in order; as many run in parallel as there are processors."""
        selected = Selected(plan.since, plan.read_until, plan.cutoff)
        asking: deque[asyncio.Task[tuple[list[JudgedDecision], float, int]]] = deque()
        try:
            while rows := await decisions.behind(after, selected, TOGETHER):
                after = rows[-1]["run_id"], rows[-1]["seq"]
                asking.append(asyncio.create_task(asyncio.to_thread(self._judged, rows)))
                if len(asking) > (os.cpu_count() or 1):
                    yield await asking.popleft()
            while asking:
                yield await asking.popleft()
        finally:
            for task in asking:
                task.cancel()

    def _judged(self, rows: Sequence[dict[str, Any]]) -> tuple[list[JudgedDecision], float, int]:
        """Judge a set; return also the seconds of the candidate, and the microseconds of the recorded answers."""
        started = time.perf_counter()
        judged = self.candidate.judge(rows)
        return judged, time.perf_counter() - started, sum(row["document"]["latency_us"] for row in rows)


def write_reports(folder: Path, by: GroupBy) -> Summary:
    """Write or overwrite the reports on the judged decisions; return their summary."""
    summary = _summary(Ledger(folder), by)
    (folder / "report.json").write_bytes(json_report(summary))
    (folder / "report.md").write_bytes(markdown_report(summary))
    (folder / "report.html").write_bytes(html_report(summary))
    return summary


def _summary(ledger: Ledger, by: GroupBy) -> Summary:
    plan = ledger.plan()
    asked = Asked(plan.candidate, _told(plan.since), _told(plan.until), plan.sample)
    return summarize(asked, ledger.judged(), by)


def _told(moment: datetime | None) -> str | None:
    return timestamp(moment) if moment else None


def examples_of(folder: Path) -> list[str]:
    """Return the decision id of the first example in each class of changes of a backtest."""
    summary = _summary(Ledger(folder), GroupBy.RULE)
    changed = [one for one in summary.document["classes"] if one["class"] not in _WITHOUT_ANSWERS and one["examples"]]
    return [one["examples"][0]["decision_id"] for one in changed]


_WITHOUT_ANSWERS = (DifferenceClass.NO_ANSWER, DifferenceClass.NOT_REPLAYABLE)
