"""Runs a backtest: decisions on record are asked again of a candidate policy, in sets, and judged.

It has no hands: no connector is loaded, the database is read in transactions that cannot write, OPA has no network, and
nothing else is reached. What was judged is written down set by set, so that an interrupted backtest can go on.
"""

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from countersign.connection import connected
from countersign.foreseen_errors import OperateError
from countersign.no_network import no_network
from countersign.settings import ROOT, Settings
from evidence.replay import AskingError, FlawedConfigurationError, NoAnswerError, Opa
from policy.answer import parse_answer
from policy.backtest.differences import DifferenceClass
from policy.backtest.judging import JudgedDecision, RecordedDecision, judge, question_of
from policy.backtest.ledger import Ledger, Plan
from policy.backtest.report import html_report, json_report, markdown_report
from policy.backtest.summary import Asked, GroupBy, Summary, summarize
from policy.bootstrap import RecordedCase
from policy.bundle import PolicyFolders, build_bundle
from policy.contract import PolicyText, PolicyUnavailableError
from policy.errors import PolicyError
from policy.vetting import sample_question, vet_bundle
from receipts.fields import timestamp
from runtime.clock import utc_now
from runtime.services.recorded_decisions import Key, RecordedDecisions, Selected

TOGETHER = 500
"""Decisions of one set: each costs OPA about a millisecond, and a set a tenth of a second more."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Backtest:
    """A candidate policy, the `opa` that answers for it, and who is told how far it is."""

    opa: Opa
    candidate: PolicyText
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
                candidate=self.candidate.digest,
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
        """Go on where an earlier backtest of the same candidate was interrupted; raise OperateError at another."""
        plan, last, done = self.ledger.plan(), None, 0
        self.ledger.repair()
        if plan.candidate != self.candidate.digest:
            raise OperateError(f"that backtest is of the policy {plan.candidate}, and this is {self.candidate.digest}")
        for done, last in enumerate(self.ledger.judged(), 1):  # noqa: B007 - the last one is wanted
            pass
        async with connected(settings) as conn:
            await self._judge_all(RecordedDecisions(conn), plan, (last.run_id, last.seq) if last else None, done)

    async def _judge_all(self, decisions: RecordedDecisions, plan: Plan, after: Key | None, done: int) -> None:
        self.progress(done, plan.decisions)
        with no_network():
            async for judged, seconds, recorded_us in self._sets(decisions, plan, after):
                self.ledger.append(judged, seconds, recorded_us)
                done += len(judged)
                self.progress(done, max(done, plan.decisions))

    async def _sets(
        self, decisions: RecordedDecisions, plan: Plan, after: Key | None
    ) -> AsyncIterator[tuple[list[JudgedDecision], float, int]]:
        """Yield sets in their order, as many being asked at a time as there are processors."""
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
        """Ask about a set, judge it, and say how long both policies took."""
        started = time.perf_counter()
        judged = [
            one for _, of_tenant in groupby(rows, key=lambda row: row["tenant"]) for one in self._of_tenant(of_tenant)
        ]
        return judged, time.perf_counter() - started, sum(row["document"]["latency_us"] for row in rows)

    def _of_tenant(self, rows: Iterator[dict[str, Any]]) -> Iterator[JudgedDecision]:
        decisions = [_recorded(row) for row in rows]
        questions = [question_of(one) for one in decisions]
        asked = [
            json.dumps(one.question).encode() for one, question in zip(decisions, questions, strict=True) if question
        ]
        answers = iter(_answers(self.opa, self.candidate, asked))
        for decision, question in zip(decisions, questions, strict=True):
            document, fault = next(answers) if question else (None, "")
            yield judge(decision, question, document, fault)


def _recorded(row: dict[str, Any]) -> RecordedDecision:
    told = row["document"]
    effect = told["input"]["effect"]
    return RecordedDecision(
        decision_id=told["id"],
        run_id=row["run_id"],
        seq=row["seq"],
        tenant=row["tenant"],
        operation=f"{effect['connector']}::{effect['operation']}",
        at=timestamp(row["at"]),
        policy_digest=told["policy_digest"],
        question=told["input"],
        answer=told["answer"],
    )


def _answers(opa: Opa, candidate: PolicyText, questions: Sequence[bytes]) -> list[tuple[Any, str]]:
    """Return for each question the answer, or the fault that left it without one; raise OperateError.

    One that OPA finds faulty spoils its set: the halves of that are asked again, down to the one.
    """
    if not questions:
        return []
    try:
        found = opa.ask(candidate.files, questions)
    except FlawedConfigurationError as error:
        return [(None, str(error))] * len(questions)
    except NoAnswerError as error:
        if len(questions) == 1:
            return [(None, str(error))]
        half = len(questions) // 2
        return [*_answers(opa, candidate, questions[:half]), *_answers(opa, candidate, questions[half:])]
    except AskingError as error:
        raise OperateError(f"the candidate cannot be asked: {error}") from error
    return [(found.get(str(place)), "") for place in range(len(questions))]


async def vetted(opa: Path, folders: PolicyFolders) -> PolicyText:
    """Return the text of a candidate, which is fit to be served; raise PolicyError.

    It is compiled without what reaches for a network before anything of it is evaluated.
    """
    bundle = build_bundle(folders)
    question = sample_question("", "", "", "", "low", timestamp(utc_now())).model_dump_json().encode()
    try:
        with suppress(FlawedConfigurationError):  # nobody is a tenant without a name
            await asyncio.to_thread(Opa(opa).ask, bundle.text.files, [question])
    except (AskingError, NoAnswerError) as error:
        raise PolicyError(str(error)) from error
    with TemporaryDirectory(prefix="countersign-candidate-") as made:
        file = Path(made) / "bundle.tar.gz"
        file.write_bytes(bundle.data)
        await vet_bundle(opa, bundle, file, ROOT / "rego/schemas")
    return bundle.text


def write_reports(folder: Path, by: GroupBy) -> Summary:
    """Write the reports on what was judged, in place of those that are there; return what they tell."""
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
    """Return the first example of each class of changes that a backtest has found, by its decision's id."""
    summary = _summary(Ledger(folder), GroupBy.RULE)
    changed = [one for one in summary.document["classes"] if one["class"] not in _WITHOUT_ANSWERS and one["examples"]]
    return [one["examples"][0]["decision_id"] for one in changed]


_WITHOUT_ANSWERS = (DifferenceClass.NO_ANSWER, DifferenceClass.NOT_REPLAYABLE)


def answers_to(opa: Opa, candidate: PolicyText, documents: Sequence[dict[str, Any]]) -> list[RecordedCase]:
    """Return decisions with what a policy answers to their questions; raise OperateError where it gives no answer."""
    found = _answers(opa, candidate, [json.dumps(one["input"]).encode() for one in documents])
    cases = []
    for told, (document, fault) in zip(documents, found, strict=True):
        try:
            answer = parse_answer(document, "answer")
        except PolicyUnavailableError as error:
            raise OperateError(f"the policy has no answer for {told['id']}: {fault or error}") from error
        cases.append(RecordedCase(told["id"], told["input"], told["outcome"], answer))
    return cases
