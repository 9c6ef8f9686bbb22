"""What may have happened: one filing each, whatever comes between the act and its answer, and receipts that say so."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from countersign_kyc.handlers import handlers as kyc
from countersign_kyc.seed_data import CLIENT
from countersign_kyc.standins import build, settings

from policy.contract import Outcome, Question, Verdict
from runtime.clock import SharedClock
from runtime.gate import gate
from runtime.handlers import (
    Call,
    Changed,
    Done,
    Handler,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    Reconciled,
    Untouched,
)
from runtime.worker import Worker
from tests.bench import Bench, HandClock, Target, with_handlers
from tests.integration.conftest import Targets
from tests.opa_server import Between

CASE = {"case_id": "c", "lei": CLIENT, "report": {"owners": []}}
NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
KEY = "acme:await_answer:C1"
TIMES = 10


class KilledError(BaseException):
    """The worker is gone in the middle of a call."""


@dataclass
class LateRegister:
    """Gives no answer within anybody's patience, and files `late` after it was asked. It honours no key."""

    clock: HandClock
    late: timedelta = timedelta(seconds=14)
    error: BaseException = field(default_factory=lambda: OutcomeUnknownError("no answer in time"))
    asked: list[tuple[str, datetime]] = field(default_factory=list)

    async def run(self, call: Call) -> JsonObject:
        self.asked.append((call.key, self.clock()))
        raise self.error

    async def reconcile(self, call: Call) -> Reconciled:
        return Done({"filed": True}) if self.filed(call.key) else Untouched()

    def filed(self, key: str) -> int:
        return sum(one == key and at + self.late <= self.clock() for one, at in self.asked)

    def handlers(self) -> dict[str, Handler]:
        return {"register::file_report": Handler(self.run, reconcile=self.reconcile)}


class Allowing(Between):
    """A policy that has come to ask nobody: it allows everything."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:  # noqa: ARG002 - whatever it is about
        answer = verdict.answer.model_copy(update={"outcome": Outcome.ALLOW, "requirement": None})
        return verdict.model_copy(update={"answer": answer})


def _allowing(bench: Bench) -> Bench:
    engine = replace(bench.engine, policy=Allowing(bench.engine.policy))
    return replace(bench, engine=engine, worker=Worker(engine))


async def _sign(bench: Bench) -> None:
    """Have everything that is asked for signed by two people."""
    asked = "SELECT approval_id FROM approvals WHERE kind = 'effect' AND status = 'requested'"
    for row in await bench.rows(asked):
        for person in ("ann", "ben"):
            assert (await bench.click(person, row["approval_id"])).counted
    await bench.settle()


async def _file(bench: Bench, refs: Sequence[str]) -> list[str]:
    """Bring in cases and have their filings signed."""
    found = [(await bench.start("bench.file_for_good", CASE, ref=ref)).run_id for ref in refs]
    await bench.settle()
    await _sign(bench)
    return found


async def _outcomes(bench: Bench, run_id: str) -> list[str]:
    query = "SELECT outcome FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq"
    return [row["outcome"] for row in await bench.rows(query, run_id)]


async def _for_minutes(bench: Bench, minutes: int) -> None:
    for seconds in (8, 8, 44, *[60] * (minutes - 1)):
        await bench.later(seconds=seconds)


async def test_a_filing_that_lands_late_is_found_and_never_made_again(bench: Bench) -> None:
    register = LateRegister(bench.clock)
    other = with_handlers(bench, register.handlers())
    run_ids = await _file(other, [str(n) for n in range(TIMES)])
    await _for_minutes(other, 2 * TIMES)  # the breaker lets one through at a time
    assert [register.filed(f"file:{run_id}") for run_id in run_ids] == [1] * TIMES
    for run_id in run_ids:
        assert (await other.run(run_id))["status"] == "succeeded"
        assert await _outcomes(other, run_id) == ["in_doubt", "success"]


async def test_a_worker_killed_during_a_call_that_lands_late_files_once(bench: Bench) -> None:
    register = LateRegister(bench.clock, error=KilledError())
    other = with_handlers(bench, register.handlers())
    run_id = (await other.start("bench.file_for_good", CASE)).run_id
    await other.settle()
    approval = await other.approval_id()
    for person in ("ann", "ben"):
        assert (await other.click(person, approval)).counted
    (leased,) = await other.lease("bench", bench.engine.timing.lease)
    with pytest.raises(KilledError):
        await gate.perform(other.engine, leased)
    await _for_minutes(other, 8)
    assert register.filed(f"file:{run_id}") == 1
    assert await _outcomes(other, run_id) == ["in_doubt", "success"]


class SteppedClock(HandClock):
    """The clock of a machine whose wall clock somebody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.boot = 0.0
        self.shared = SharedClock(lambda: self.now, lambda: self.boot)

    def __call__(self) -> datetime:
        return self.shared()

    def move(self, **by: float) -> None:
        super().move(**by)
        self.boot += timedelta(**by).total_seconds()

    def step(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.mark.parametrize("minutes", [10, -10])
async def test_a_clock_that_is_set_by_ten_minutes_clears_no_doubt(bench: Bench, minutes: int) -> None:
    clock = SteppedClock()
    register = LateRegister(clock)
    engine = replace(bench.engine, clock=clock, handlers={**bench.engine.handlers, **register.handlers()})
    other = replace(with_handlers(bench, register.handlers()), clock=clock, engine=engine, worker=Worker(engine))
    other.desk.engine = engine
    (run_id,) = await _file(other, ["1"])
    clock.step(minutes=minutes)
    await _for_minutes(other, 8)
    assert register.filed(f"file:{run_id}") == 1


async def test_what_was_never_done_is_asked_about_anew_before_a_second_attempt(bench: Bench, targets: Targets) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    (run_id,) = await _file(bench, ["1"])
    first = await bench.approval_id(status="approved")
    await _for_minutes(bench, 6)
    assert len(targets.file.calls) == 1, "one attempt uses an approval up"
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    await _sign(bench)
    assert len(targets.file.calls) == 2
    assert (await bench.run(run_id))["status"] == "succeeded"
    told = "SELECT document FROM receipts WHERE run_id = %s AND outcome <> 'refusal' ORDER BY seq"
    receipts = await bench.rows(told, run_id)
    under = [row["document"]["approval_id"] for row in receipts if row["document"]["step"]]
    assert under[0] == first
    assert len(set(under)) == 2
    cleared = "SELECT 1 FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'effect.cleared'"
    assert len(await bench.rows(cleared, run_id)) == 1


async def test_what_cannot_be_undone_is_not_tried_again_without_a_person_though_policy_allows(
    bench: Bench, targets: Targets
) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    other = _allowing(bench)
    run_id = (await other.start("bench.file_for_good", CASE)).run_id
    await other.settle()
    await _for_minutes(other, 6)
    assert len(targets.file.calls) == 1
    question = await other.approval_id("in_doubt")
    assert (await other.click("omar", question, "reject", "it is not there")).counted
    await other.settle()
    assert len(targets.file.calls) == 2
    assert (await other.run(run_id))["status"] == "succeeded"


async def test_an_attempt_that_was_not_even_taken_gives_its_approval_back(bench: Bench, targets: Targets) -> None:
    targets.file.answers = [NotTakenError("429"), NotTakenError("refused")]
    (run_id,) = await _file(bench, ["1"])
    await _for_minutes(bench, 2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(await bench.rows("SELECT 1 FROM approvals")) == 1
    assert await _outcomes(bench, run_id) == ["failure", "failure", "success"]


async def test_an_approval_that_may_have_been_acted_under_is_never_given_back(bench: Bench, targets: Targets) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    await _file(bench, ["1"])
    async with bench.engine.pool.connection() as conn:
        with pytest.raises(Exception, match="written once"):
            await conn.execute("UPDATE approvals SET consumed_at = NULL")


async def test_an_expired_approval_lets_nothing_pass_even_if_policy_allows(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file_for_good", CASE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    bench.clock.move(hours=9)
    other = _allowing(bench)
    await other.settle()
    assert targets.file.calls == []
    assert "expired before it was used" in (await other.run(run_id))["error"]


@pytest.fixture
async def standin() -> AsyncIterator[str]:
    """The register's stand-in, which files again whenever it is asked."""
    async with TestServer(build()) as server:
        base = str(server.make_url("")).rstrip("/")
        await _tell(base, "keys", {"honoured": False})
        yield base


async def _tell(base: str, path: str, body: JsonObject) -> None:
    async with aiohttp.ClientSession() as session, session.post(f"{base}/__standin/{path}", json=body) as response:
        assert response.status == 204


async def _filings(base: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{base}/__standin/actions") as response:
        return int((await response.json())["count"])


AFTER_THE_ACT = [
    *(f"{status}_after_commit" for status in (408, 500, 502, 503, 504)),
    "garbage_after_commit",
    "drop_reply_after_commit",
]


@pytest.mark.parametrize("fault", AFTER_THE_ACT)
async def test_whatever_is_answered_after_the_act_there_is_one_filing(bench: Bench, standin: str, fault: str) -> None:
    pack: Mapping[str, Handler] = kyc(settings(standin))
    other = with_handlers(bench, {"register::file_report": pack["register::file_report"]})
    for n in range(3):
        await _tell(standin, "faults", {"next": fault})
        (run_id,) = await _file(other, [f"{fault} {n}"])
        await _for_minutes(other, 7)
        await _sign(other)  # had it been asked for again, it would be signed again
        assert await _filings(standin) == n + 1
        assert await _outcomes(other, run_id) == ["in_doubt", "success"]
        assert (await other.run(run_id))["status"] == "succeeded"


@dataclass
class Field:
    """A field that somebody else may set as well; the reply to our first write is lost."""

    value: str = "old"
    lands: bool = True
    writes: int = 0

    async def run(self, call: Call) -> JsonObject:
        former, self.writes = self.value, self.writes + 1
        if self.lands:
            self.value = call.params["text"]
        if self.writes == 1:
            raise OutcomeUnknownError("reset")
        return {"former": former}

    async def before(self, _call: Call) -> JsonObject:
        return {"text": self.value}

    async def reconcile(self, call: Call) -> Reconciled:
        assert call.before is not None
        if self.value == call.params["text"]:
            return Done({"former": call.before["text"]})
        return Untouched() if self.value == call.before["text"] else Changed({"text": self.value})

    def handlers(self) -> dict[str, Handler]:
        return {"servicenow::add_work_note": Handler(self.run, reconcile=self.reconcile, before=self.before)}


async def _responses(bench: Bench, run_id: str, step: str = "note") -> list[Any]:
    query = "SELECT document FROM receipts WHERE run_id = %s AND outcome = 'success' ORDER BY seq"
    documents = [row["document"] for row in await bench.rows(query, run_id)]
    return [document["response"] for document in documents if document["step"] == step]


async def test_the_way_back_survives_a_read_back(bench: Bench) -> None:
    note = Field()
    other = with_handlers(bench, note.handlers())
    run_id = (await other.start("bench.note", NOTE)).run_id
    await other.settle()
    await _for_minutes(other, 2)
    assert note.writes == 1
    assert await _responses(other, run_id) == [{"former": "old"}]


async def test_what_a_person_did_meanwhile_is_not_overwritten_but_asked_about(bench: Bench) -> None:
    note = Field(lands=False)
    other = with_handlers(bench, note.handlers())
    await other.start("bench.note", NOTE)
    await other.settle()
    note.value = "a person's"
    await _for_minutes(other, 2)
    assert (note.value, note.writes) == ("a person's", 1)
    (asked,) = await other.rows("SELECT before FROM approvals WHERE kind = 'in_doubt' AND status = 'requested'")
    assert asked["before"] == {"text": "a person's"}


async def test_what_stands_as_before_is_attempted_again(bench: Bench) -> None:
    note = Field(lands=False)
    other = with_handlers(bench, note.handlers())
    run_id = (await other.start("bench.note", NOTE)).run_id
    await other.settle()
    note.lands = True
    await _for_minutes(other, 2)
    assert note.writes == 2
    assert await _responses(other, run_id) == [{"former": "old"}]


@pytest.mark.parametrize("error", [NotTakenError("429"), OutcomeUnknownError("503")])
async def test_an_answer_between_two_tries_of_its_request_is_taken(
    bench: Bench, targets: Targets, error: Exception
) -> None:
    targets.portal.answers = [error]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    assert (await bench.complete(KEY, {"answer": "yes"}))["status"] == "applied"
    await _for_minutes(bench, 2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.portal.calls) == 1
    assert len(await bench.rows("SELECT 1 FROM waits WHERE run_id = %s", run_id)) == 1


async def test_the_wait_stays_the_same_through_all_tries_of_its_request(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [NotTakenError("429") for _ in range(3)]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await _for_minutes(bench, 2)
    waits = await bench.rows("SELECT token, status FROM waits WHERE run_id = %s", run_id)
    assert [wait["status"] for wait in waits] == ["active"]
    assert {call.token for call in targets.portal.calls} == {waits[0]["token"]}
    assert len(targets.portal.calls) == 4


@pytest.mark.parametrize("found", [Done({"request_id": "REQ-1"}), Untouched()])
async def test_a_start_that_a_completion_proves_has_a_receipt_that_says_how_it_is_known(
    bench: Bench, found: Reconciled
) -> None:
    class Portal(Target):
        async def reconcile(self, _call: Call) -> Reconciled:
            return found

    portal = Portal(answers=[OutcomeUnknownError("503")])
    other = with_handlers(bench, {"portal::request_documents": portal.handler(reconcile=portal.reconcile)})
    run_id = (await other.start("bench.wait", {"case": "C1"})).run_id
    await other.settle()
    assert (await other.complete(KEY, {"answer": "yes", "request_id": "REQ-1"}))["status"] == "applied"
    await _for_minutes(other, 2)
    known = {"known_from": "the completion of the step", "ids": {"request_id": "REQ-1"}}
    assert await _responses(other, run_id, "ask") == [found.result if isinstance(found, Done) else known]
    assert await _outcomes(other, run_id) == ["in_doubt", "success", "success"]  # the second is the next step's


async def test_an_answer_that_says_no_proves_its_request_as_well(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [OutcomeUnknownError("503")]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    assert (await bench.complete(KEY, None, outcome="failed", error="no such case"))["status"] == "applied"
    await _for_minutes(bench, 2)
    known = {"known_from": "the completion of the step", "ids": {}}
    assert await _responses(bench, run_id, "ask") == [known]
    assert await _outcomes(bench, run_id) == ["in_doubt", "success"]
    assert (await bench.run(run_id))["status"] == "failed_terminal"
    assert await bench.rows("SELECT 1 FROM approvals") == []
