"""A worker that is lost while it looks back at an attempt in doubt had begun none: the record says so."""

from dataclasses import dataclass

from runtime.handlers import Call, OutcomeUnknownError, Reconciled, Untouched
from runtime.worker.sweeps import reclaim_leases
from tests.bench import Bench, Target, with_handlers

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}


@dataclass
class Silent(Target):
    """Gives no answer to the first call, and has nothing when it is read back."""

    async def reconcile(self, _call: Call) -> Reconciled:
        return Untouched()


async def test_a_worker_lost_while_it_looks_back_leaves_no_receipt_of_an_attempt(bench: Bench) -> None:
    note = Silent(answers=[OutcomeUnknownError("503")])
    other = with_handlers(bench, {"servicenow::add_work_note": note.handler(reconcile=note.reconcile)})
    run_id = (await other.start("bench.note", NOTE)).run_id
    await other.settle()
    for _ in range(2):
        other.clock.move(minutes=2)
        (leased,) = await other.lease("gone", other.engine.timing.lease)
        assert leased.started_at is not None
        other.clock.move(minutes=1)
        assert await reclaim_leases(other.engine) == 1
    attempts = (
        "SELECT (document ->> 'attempt')::int AS attempt, outcome FROM receipts"
        " WHERE run_id = %s AND document ->> 'step' = 'note' ORDER BY seq"
    )
    assert await other.rows(attempts, run_id) == [{"attempt": 1, "outcome": "in_doubt"}]
    reclaimed = (
        "SELECT leaf -> 'data' ->> 'began' AS began FROM audit_leaves WHERE leaf ->> 'event' = 'effect.reclaimed'"
    )
    assert [row["began"] for row in await other.rows(reclaimed)] == ["false", "false"]
    await other.later(minutes=2)
    assert (await other.run(run_id))["status"] == "succeeded"
    assert [row["outcome"] for row in await other.rows(attempts, run_id)] == ["in_doubt", "success"]
