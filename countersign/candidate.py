"""Candidate policies: vetted, then asked recorded questions in sets, and compared with the recorded answers."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from countersign.foreseen_errors import OperateError
from countersign.settings import ROOT
from evidence.replay import AskingError, NoAnswerError, Opa
from policy.answer import parse_answer
from policy.backtest.judging import JudgedDecision, RecordedDecision, judge, question_of
from policy.bootstrap import RecordedCase
from policy.bundle import PolicyFolders, build_bundle
from policy.confined import DESK, confinement
from policy.contract import PolicyText, PolicyUnavailableError
from policy.errors import PolicyError
from policy.vetting import sample_question, vet_bundle
from receipts.fields import timestamp
from runtime.clock import utc_now

SECONDS = 60
"""CPU time of a set of questions, each of which takes OPA milliseconds."""
PATIENCE = 600.0
"""Seconds by the clock, for what hangs and takes no CPU time; a busy machine needs a part of them."""


@dataclass(frozen=True)
class Candidate:
    """The text of a candidate policy, and the `opa` program that evaluates it."""

    opa: Opa
    text: PolicyText

    def judge(self, rows: Sequence[dict[str, Any]]) -> list[JudgedDecision]:
        """Ask the candidate about recorded decisions (database rows) and judge each; raise OperateError."""
        of_tenants = groupby(rows, key=lambda row: row["tenant"])
        return [one for _, of_tenant in of_tenants for one in self._of_tenant(map(recorded, of_tenant))]

    def _of_tenant(self, rows: Iterator[RecordedDecision]) -> Iterator[JudgedDecision]:
        decisions = list(rows)
        questions = [question_of(one) for one in decisions]
        asked = [one.question for one, question in zip(decisions, questions, strict=True) if question]
        answers = iter(self._answers([json.dumps(one).encode() for one in asked]))
        for decision, question in zip(decisions, questions, strict=True):
            document, fault = next(answers) if question else (None, "")
            yield judge(decision, question, document, fault)

    def cases(self, documents: Sequence[dict[str, Any]]) -> list[RecordedCase]:
        """Return test cases for recorded decisions; raise OperateError if the candidate has no answer to one."""
        found = self._answers([json.dumps(one["input"]).encode() for one in documents])
        return [_case(told, *answered) for told, answered in zip(documents, found, strict=True)]

    def _answers(self, questions: Sequence[bytes]) -> list[tuple[Any, str]]:
        """Return an answer or a fault for each question; raise OperateError if the candidate cannot be asked.

        One faulty question fails its whole set, so a failed set is halved until single questions are left.
        """
        if not questions:
            return []
        try:
            found = self.opa.ask(self.text.files, questions)
        except NoAnswerError as error:
            if len(questions) == 1:
                return [(None, str(error))]
            half = len(questions) // 2
            return [*self._answers(questions[:half]), *self._answers(questions[half:])]
        except AskingError as error:
            raise OperateError(f"the candidate cannot be asked: {error}") from error
        return [(found.get(str(place)), "") for place in range(len(questions))]


def without_answers(rows: Sequence[dict[str, Any]], fault: str) -> list[JudgedDecision]:
    """Judge decisions as `no-answer`, all with the same fault."""
    decisions = map(recorded, rows)
    return [judge(one, question_of(one), None, fault) for one in decisions]


def recorded(row: dict[str, Any]) -> RecordedDecision:
    """Return a decision of the database as it was recorded."""
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


def _case(told: dict[str, Any], document: Any, fault: str) -> RecordedCase:
    try:
        answer = parse_answer(document, "answer")
    except PolicyUnavailableError as error:
        raise OperateError(f"the policy has no answer for {told['id']}: {fault or error}") from error
    return RecordedCase(told["id"], told["input"], told["outcome"], answer)


async def vetted(opa: Path, folders: PolicyFolders, seconds: int = SECONDS) -> Candidate:
    """Vet a candidate as before serving it; raise PolicyError. `seconds` bounds the CPU time of a set of questions.

    The first evaluation runs without network built-ins: a candidate that uses one does not compile.
    """
    bundle = build_bundle(folders)
    question = sample_question("", "", "", "", "low", timestamp(utc_now())).model_dump_json().encode()
    try:
        await asyncio.to_thread(confined_opa(opa, seconds).ask, bundle.text.files, [question])
    except (AskingError, NoAnswerError) as error:
        raise PolicyError(str(error)) from error
    with TemporaryDirectory(prefix="countersign-candidate-") as made:
        file = Path(made) / "bundle.tar.gz"
        file.write_bytes(bundle.data)
        await vet_bundle(opa, bundle, file, ROOT / "rego/schemas")
    return Candidate(confined_opa(opa, seconds), bundle.text)


def confined_opa(program: Path, seconds: int = SECONDS) -> Opa:
    """Return an `opa` with the memory limit of `policy try` and so much CPU time, however busy the machine is."""
    return Opa(program, PATIENCE, *confinement(replace(DESK, seconds=seconds)))
