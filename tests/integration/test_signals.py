"""Signals to a run: by name, by id or reference, once for each ref; early ones wait as long as the run goes on."""

from collections.abc import Mapping
from typing import Any

import pytest

from receipts.chain import Actor
from runtime.inbox import inbox
from runtime.inbox.signals import data_fault
from runtime.model.notification import ConflictError, Notification
from runtime.model.payloads import CompletionPayload
from runtime.model.states import WaitStatus, WaitType
from runtime.model.wait import signal_key
from runtime.planning.waits import open_wait
from runtime.services.operator import OperatorService
from runtime.services.run_replay import replay_run
from runtime.services.signals import NoSuchRunError, SeveralRunsError, Signal, SignalService
from runtime.store import waits
from tests.bench import TENANT, VERBS, Bench
from tests.integration.acts_stage import Opener
from tests.integration.conftest import Targets

TYPES = ["bench.timer"]
YES = {"closed_by": "ivy"}


async def _parked(bench: Bench, ref: str = "1") -> str:
    """Start a run whose step waits for time to pass."""
    run_id = (await bench.start("bench.timer", {}, ref)).run_id
    await bench.settle()
    return run_id


async def _listen(bench: Bench, run_id: str, name: str = "closed") -> None:
    """Have the step wait for a signal from now on, and no more for time to pass."""
    async with bench.engine.run_tx(run_id) as tx:
        await waits.close_step_wait(tx.conn, run_id, "pause", WaitStatus.CANCELED, tx.now)
        key, lasts = signal_key(run_id, name), bench.engine.timing.read_deadline
        await open_wait(bench.engine, tx, step="pause", kind=WaitType.SIGNAL, correlation_key=key, lasts=lasts)
    await bench.settle()


def _signal(run_id: str | None = None, ref: str = "s1", **more: Any) -> Signal:
    return Signal(**{"ref": ref, "run_id": run_id, "reference": None, "name": "closed", "data": YES, **more})


async def _send(bench: Bench, signal: Signal, types: list[str] = TYPES) -> Mapping[str, Any]:
    _, _, facts = await SignalService(bench.engine, TENANT).send("portal-bot", types, signal)
    return facts


async def _step(bench: Bench, run_id: str) -> tuple[str, Any]:
    (row,) = await bench.rows("SELECT status, result FROM steps WHERE run_id = %s AND path = 'pause'", run_id)
    return row["status"], row["result"]


async def test_a_signal_ends_what_waits_for_it_and_the_step_goes_on_with_its_data(bench: Bench) -> None:
    run_id = await _parked(bench)
    await _listen(bench, run_id)
    facts = await _send(bench, _signal(run_id))
    assert (facts["status"], facts["step"]) == ("applied", "pause")
    assert await _step(bench, run_id) == ("succeeded", YES)
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    leaf = next(leaf for leaf in await bench.chain(run_id) if leaf.event == "wait.completed")
    assert (leaf.actor.id, leaf.data["type"]) == ("portal-bot", "signal")


async def test_a_signal_by_another_name_waits_and_ends_nothing(bench: Bench) -> None:
    run_id = await _parked(bench)
    await _listen(bench, run_id)
    facts = await _send(bench, _signal(run_id, name="reopened"))
    assert (facts["status"], facts["code"]) == ("early", "answer.early")
    assert (await _step(bench, run_id))[0] == "parked"


async def test_an_early_signal_meets_its_wait_when_that_opens(bench: Bench) -> None:
    run_id = await _parked(bench)
    assert (await _send(bench, _signal(run_id)))["status"] == "early"
    await _listen(bench, run_id)
    assert await _step(bench, run_id) == ("succeeded", YES)
    assert (await _send(bench, _signal(run_id)))["status"] == "applied", "sent again, it gets the present outcome"


async def test_an_early_signal_waits_as_long_as_its_run_goes_on(bench: Bench) -> None:
    run_id = await _parked(bench)
    await bench.meddle("UPDATE waits SET deadline = deadline + interval '30 days'")
    await _send(bench, _signal(run_id))
    await bench.later(days=20)
    await _listen(bench, run_id)
    assert await _step(bench, run_id) == ("succeeded", YES)


async def test_each_wait_takes_one_early_signal_in_the_order_in_which_they_came(bench: Bench) -> None:
    run_id = await _parked(bench)
    for number in range(2):
        await _send(bench, _signal(run_id, f"s{number}", data={"number": number}))
        bench.clock.move(seconds=1)
    await _listen(bench, run_id)
    assert await _step(bench, run_id) == ("succeeded", {"number": 0})
    rows = await bench.rows("SELECT status FROM notifications WHERE kind = 'signal' ORDER BY received_at")
    assert [row["status"] for row in rows] == ["applied", "early"]


async def test_an_early_signal_is_stale_when_its_run_has_ended(bench: Bench) -> None:
    run_id = await _parked(bench)
    await _send(bench, _signal(run_id))
    await bench.later(hours=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    await bench.later(seconds=1)
    facts = await _send(bench, _signal(run_id))
    assert (facts["status"], facts["reason"]) == ("stale", "the run ended before a step of it waited for this")


async def test_a_signal_to_a_run_that_has_ended_is_recorded_as_stale(bench: Bench) -> None:
    run_id = await _parked(bench)
    await bench.later(hours=1)
    facts = await _send(bench, _signal(run_id))
    assert (facts["status"], facts["reason"]) == ("stale", "the run has ended: succeeded")
    assert [row["status"] for row in await bench.rows("SELECT status FROM notifications WHERE kind = 'signal'")] == [
        "stale"
    ]


async def test_a_signal_by_reference_is_for_the_one_run_that_goes_on_under_it(bench: Bench) -> None:
    run_id = await _parked(bench, "INC-7")
    await _listen(bench, run_id)
    by_reference = _signal(reference="INC-7")
    assert (await _send(bench, by_reference))["status"] == "applied"
    await bench.settle()
    assert await _step(bench, run_id) == ("succeeded", YES)
    assert (await _send(bench, by_reference))["status"] == "applied", "sent again, when it has ended"
    assert (await _send(bench, _signal(ref="s2", reference="INC-7")))["status"] == "stale"
    with pytest.raises(NoSuchRunError, match="no run under the reference INC-8"):
        await _send(bench, _signal(ref="s3", reference="INC-8"))


async def test_a_reference_of_several_runs_that_go_on_is_refused_and_they_are_named(bench: Bench) -> None:
    first = await _parked(bench, "INC-7")
    other = (await bench.start("bench.wait", {"case": "C1"}, "INC-7")).run_id
    await bench.settle()
    with pytest.raises(SeveralRunsError) as caught:
        await _send(bench, _signal(reference="INC-7"), ["bench.timer", "bench.wait"])
    assert first in str(caught.value)
    assert other in str(caught.value)
    assert not await bench.rows("SELECT 1 FROM notifications WHERE kind = 'signal'")


async def test_a_caller_sends_signals_to_runs_of_its_types_alone(bench: Bench) -> None:
    run_id = await _parked(bench, "INC-7")
    for signal in (_signal(run_id), _signal(reference="INC-7"), _signal("run_0")):
        with pytest.raises(NoSuchRunError):
            await _send(bench, signal, ["bench.wait"])
    assert not await bench.rows("SELECT 1 FROM notifications WHERE kind = 'signal'")


@pytest.mark.parametrize("change", [{"data": {}}, {"name": "reopened"}])
async def test_one_ref_cannot_mean_two_signals(bench: Bench, change: dict[str, Any]) -> None:
    run_id = await _parked(bench)
    await _send(bench, _signal(run_id))
    with pytest.raises(ConflictError, match="used before"):
        await _send(bench, _signal(run_id, **change))
    other = await _parked(bench, "2")
    with pytest.raises(ConflictError):
        await _send(bench, _signal(other))


async def test_an_answer_cannot_pass_for_a_signal(bench: Bench) -> None:
    run_id = await _parked(bench)
    await _listen(bench, run_id)
    facts = await bench.complete(signal_key(run_id, "closed"), YES)
    assert (facts["status"], facts["code"]) == ("refused", "answer.by_signal")
    payload = CompletionPayload(result=YES, token=None, verbs=VERBS)
    key = signal_key(run_id, "closed")
    new = Notification("ntf_1", TENANT, "d1", key, payload, Actor(id="portal-bot", kind="agent"), "req")
    assert (await inbox.apply(bench.engine, await inbox.record(bench.engine, new)))["status"] == "refused"
    assert (await _step(bench, run_id))[0] == "parked"


async def test_an_operator_sends_a_signal_in_their_own_name(bench: Bench) -> None:
    run_id = await _parked(bench)
    await _listen(bench, run_id)
    await OperatorService(bench.engine.pool, bench.clock, TENANT).signal("omar", run_id, "closed", YES)
    await bench.later(seconds=3)
    assert await _step(bench, run_id) == ("succeeded", YES)
    leaf = next(leaf for leaf in await bench.chain(run_id) if leaf.event == "wait.completed")
    assert (leaf.actor.id, leaf.actor.kind) == ("omar", "person")


def test_data_has_to_be_what_the_wait_asks_for_and_what_can_be_put_on_record() -> None:
    schema = {"type": "object", "required": ["closed_by"], "properties": {"closed_by": {"type": "string"}}}
    assert data_fault(schema, YES) is None
    assert data_fault(schema, {}) == "data: /: 'closed_by' is a required property"
    assert "/closed_by" in str(data_fault(schema, {"closed_by": 7}))
    assert data_fault({}, {"text": "\x00"}) == "data: it holds a NUL character"


async def _waits(bench: Bench, ref: str = "1", case: str = "C1") -> str:
    """Start a run whose runbook waits for the signal."""
    run_id = (await bench.start("bench.signal", {"case": case}, ref)).run_id
    await bench.settle()
    return run_id


async def test_a_runbook_waits_for_a_signal_and_goes_on_with_its_data(bench: Bench, targets: Targets) -> None:
    run_id = await _waits(bench)
    assert (await bench.run(run_id))["status"] == "waiting"
    assert (await _send(bench, _signal(run_id), ["bench.signal"]))["status"] == "applied"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert [call.params["text"] for call in targets.note.calls] == ["closed by ivy"]


async def test_a_signal_whose_data_the_runbook_does_not_take_is_refused_and_the_wait_goes_on(bench: Bench) -> None:
    run_id = await _waits(bench)
    facts = await _send(bench, _signal(run_id, data={"closed_by": 7}), ["bench.signal"])
    assert (facts["status"], facts["code"]) == ("refused", "answer.invalid")
    assert facts["reason"].startswith("data: /closed_by")
    assert (await _step(bench, run_id))[0] == "parked"
    leaf = next(leaf for leaf in await bench.chain(run_id) if leaf.event == "notification.refused")
    assert (leaf.actor.id, leaf.data["code"]) == ("portal-bot", "answer.invalid")
    assert (await _send(bench, _signal(run_id, "s2"), ["bench.signal"]))["status"] == "applied"


async def test_a_signal_finds_its_run_by_the_reference_that_the_runbook_gave_it(bench: Bench) -> None:
    run_id = await _waits(bench, case="C7")
    other = await _waits(bench, "2", case="C8")
    assert (await _send(bench, _signal(reference="case:C7"), ["bench.signal"]))["run_id"] == run_id
    assert (await _step(bench, other))[0] == "parked"


async def test_a_signal_that_nobody_sends_in_time_is_a_timeout(bench: Bench) -> None:
    run_id = await _waits(bench)
    await bench.later(days=3, seconds=1)
    assert (await bench.run(run_id))["status"] == "failed_terminal"
    assert (await _send(bench, _signal(run_id), ["bench.signal"]))["status"] == "stale"


async def test_runs_that_signals_and_brought_answers_moved_are_planned_again_as_they_were(bench: Bench) -> None:
    signaled = await _waits(bench)
    await _send(bench, _signal(signaled), ["bench.signal"])
    task = await bench.review("2")
    await bench.claim("ann", task)
    await bench.click("ann", task)
    await bench.settle()
    (reviewed,) = await bench.rows("SELECT run_id FROM approvals WHERE approval_id = %s", task)
    for run_id in (signaled, reviewed["run_id"]):
        async with bench.engine.pool.connection() as conn:
            found = await replay_run(conn, TENANT, run_id)
        assert found
        assert found.difference is None


async def test_each_of_several_waits_takes_an_early_signal_however_long_ago_that_came(opened: Opener) -> None:
    runbook = """
steps:
  - { id: pause, wait: { for: P1D } }
  - { id: first, needs: [pause], wait: { signal: closed, timeout: P9D } }
  - { id: second, needs: [first], wait: { signal: closed, timeout: P9D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for number in range(2):
            sent = _signal(run_id, f"s{number}", data={"number": number})
            assert (await _send(bench, sent, ["bench.tree"]))["status"] == "early"
            bench.clock.move(seconds=1)
        await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "succeeded"
        rows = await bench.rows("SELECT path, result FROM steps WHERE run_id = %s AND path <> 'pause'", run_id)
        assert {row["path"]: row["result"]["number"] for row in rows} == {"first": 0, "second": 1}
