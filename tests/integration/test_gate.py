"""The gate's nine steps, and the fence of leases.

The gate's nine steps, each made to happen, on real PostgreSQL and OPA.

A worker writes under its own lease and attempt alone: the fence of every UPDATE of an effect.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from psycopg import errors

from policy.answer import OLDEST_OPA, parse_version
from runtime.gate import gate
from runtime.handlers import OutcomeUnknownError, RefusedError, TransientError
from runtime.model.effect import Effect, LeaseLostError
from runtime.model.states import EffectStatus
from runtime.planning.run_starts import start_run
from runtime.store import effects
from tests.bench import Bench
from tests.integration.acts_stage import Opener
from tests.integration.conftest import Targets
from tests.opa_server import POLICIES

NOTE = {"incident": "I1", "text": "seen", "api_token": "hunter2-hunter2"}
FILE = {"company": "ACME", "text": "report"}
LIMIT = json.loads((POLICIES / "countersign_config/acme/data.json").read_bytes())["writes_per_run"]


async def _effect(bench: Bench, run_id: str) -> dict[str, object]:
    return (await bench.rows("SELECT * FROM effects WHERE run_id = %s AND step = %s", run_id, "note"))[0]


async def _receipts(bench: Bench, run_id: str) -> list[dict[str, object]]:
    query = "SELECT document FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq"
    return [row["document"] for row in await bench.rows(query, run_id)]


async def test_a_low_tier_write_happens_once_with_decision_and_receipt(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1
    (receipt,) = await _receipts(bench, run_id)
    assert receipt["outcome"] == "success"
    decisions = await bench.rows("SELECT * FROM policy_decisions WHERE run_id = %s ORDER BY seq", run_id)
    decision = next(row for row in decisions if row["document"]["step"] == "note")
    assert receipt["decision_id"] == decision["decision_id"]
    assert decision["document"]["opa_decision_id"]
    assert parse_version(decision["document"]["opa_version"]) >= OLDEST_OPA
    kept = await bench.rows("SELECT files FROM policy_texts WHERE digest = %s", decision["policy_digest"])
    assert any(name.endswith("decision.rego") for name in kept[0]["files"])


async def test_a_key_that_succeeded_before_acts_no_second_time(bench: Bench, targets: Targets) -> None:
    await bench.start("bench.note", NOTE, ref="1")
    await bench.settle()
    second = (await bench.start("bench.note", NOTE, ref="2")).run_id
    await bench.settle()
    assert (await bench.run(second))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


async def test_a_key_used_for_another_action_is_refused(bench: Bench, targets: Targets) -> None:
    first = (await bench.start("bench.note", NOTE, ref="1")).run_id
    await bench.settle()
    key = (await _effect(bench, first))["idempotency_key"]
    second = (await bench.start("bench.note", {**NOTE, "text": "other"}, ref="2")).run_id
    await start_run(bench.engine, second)
    await bench.meddle("UPDATE effects SET idempotency_key = %s WHERE run_id = %s", key, second)
    await bench.settle()
    run = await bench.run(second)
    assert run["status"] == "failed_terminal"
    assert "used for another action" in run["error"]
    assert len(targets.note.calls) == 1


_WRITES = """
steps:
  - id: each
    repeat:
      for_each: "${%s}"
      at_most_at_once: %d
      do: [{ id: write, verb: note, params: { incident: "${string(item)}", text: seen } }]
"""


@pytest.mark.parametrize("at_once", [1, 10])
async def test_one_write_more_than_the_limit_is_denied_and_leaves_a_refusal(
    opened: Opener, targets: Targets, at_once: int
) -> None:
    async with opened(_WRITES % (list(range(LIMIT + 5)), at_once)) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        run = await bench.run(run_id)
        outcomes = Counter(receipt["outcome"] for receipt in await _receipts(bench, run_id))
    assert run["status"] == "failed_terminal"
    assert "denied by policy" in run["error"]
    assert len(targets.note.calls) == outcomes["success"] == LIMIT
    assert outcomes["refusal"] >= 1


async def test_a_write_that_was_changed_before_its_first_attempt_is_refused(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await start_run(bench.engine, run_id)
    await _change_fields(bench, run_id, "note")
    await bench.settle()
    assert "not the one that was proposed" in (await bench.run(run_id))["error"]
    assert targets.note.calls == []


async def _change_fields(bench: Bench, run_id: str, step: str) -> None:
    await bench.meddle(
        'UPDATE effects SET fields = (fields::jsonb || \'{"text": "forged"}\')::json WHERE run_id = %s AND step = %s',
        run_id,
        step,
    )


async def _approved(bench: Bench, run_id: str) -> str:
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    assert (await bench.click("ben", approval)).counted
    del run_id
    return approval


async def test_a_field_changed_after_the_votes_is_refused_and_asked_about_anew(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", FILE)).run_id
    first = await _approved(bench, run_id)
    await _change_fields(bench, run_id, "file")
    await bench.settle()
    assert targets.file.calls == []
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    second = await bench.approval_id()
    assert second != first
    (refusal,) = await _receipts(bench, run_id)
    assert "changed after it was approved" in str(refusal["error"])
    votes = await bench.rows("SELECT * FROM votes WHERE approval_id = %s", second)
    assert votes == []


async def test_an_approval_digest_changed_to_match_does_not_help_a_forger(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", FILE)).run_id
    await _approved(bench, run_id)
    await _change_fields(bench, run_id, "file")
    async with bench.engine.pool.connection() as conn:
        await conn.execute("UPDATE effects SET digest = repeat('0', 64) WHERE run_id = %s", (run_id,))
    await bench.settle()
    assert targets.file.calls == []


async def test_secrets_stay_out_of_decisions_receipts_and_the_chain(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    assert targets.note.calls[0].params["api_token"] == "hunter2-hunter2"
    for query in (
        "SELECT document::text AS t FROM receipts",
        "SELECT document::text AS t FROM policy_decisions",
        "SELECT leaf::text AS t FROM audit_leaves",
    ):
        assert all("hunter2" not in row["t"] for row in await bench.rows(query)), query
    (receipt,) = await _receipts(bench, run_id)
    assert receipt["redacted"] == ["/request/api_token"]


async def test_a_transient_failure_is_tried_again_after_a_pause_with_a_receipt_each(
    bench: Bench, targets: Targets
) -> None:
    targets.note.answers = [TransientError("busy"), TransientError("busy", retry_after=20)]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "failed_retryable"
    await bench.later(seconds=1)
    assert len(targets.note.calls) == 1
    await bench.later(seconds=2)
    assert len(targets.note.calls) == 2
    await bench.later(seconds=18)
    assert len(targets.note.calls) == 2, "Retry-After is kept"
    await bench.later(seconds=2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert [r["outcome"] for r in await _receipts(bench, run_id)] == ["failure", "failure", "success"]


async def test_tries_end_with_the_verbs_attempts(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(5)]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    for _ in range(5):
        await bench.later(seconds=60)
    assert (await bench.run(run_id))["status"] == "failed_terminal"
    assert len(targets.note.calls) == 3


async def test_a_refusal_by_the_other_side_fails_the_step_at_once(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no such incident")]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "no such incident" in run["error"]


async def test_a_lost_reply_is_reconciled_and_acts_once(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [OutcomeUnknownError("connection reset")]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    targets.note.done[str((await _effect(bench, run_id))["idempotency_key"])] = {"ok": True}
    await bench.later(seconds=10)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1
    assert [r["outcome"] for r in await _receipts(bench, run_id)] == ["in_doubt", "success"]


async def test_what_can_no_longer_land_and_is_not_found_is_attempted_again(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [OutcomeUnknownError("connection reset")]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    for seconds in (10, 54):
        await bench.later(seconds=seconds)
        assert len(targets.note.calls) == 1
    await bench.later(seconds=1)  # 5 of the timeout, and a minute
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 2


@pytest.mark.parametrize(("verdict", "calls"), [("approve", 1), ("reject", 2)])
async def test_where_nothing_can_be_read_back_a_person_says_what_happened(
    bench: Bench, targets: Targets, verdict: str, calls: int
) -> None:
    targets.file.answers = [OutcomeUnknownError("connection reset")]
    run_id = (await bench.start("bench.file", FILE)).run_id
    await _approved(bench, run_id)
    await bench.settle()
    await bench.later(minutes=5)
    assert await bench.rows("SELECT 1 FROM approvals WHERE kind = 'in_doubt'") == [], "it may still land"
    await bench.later(seconds=5)
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    question = await bench.approval_id("in_doubt")
    assert any(card["approval_id"] == question for card in bench.chat.said("post_card"))
    assert (await bench.click("omar", question, verdict, "looked it up in the register")).counted
    if verdict == "reject":  # the approval was used up by the first attempt
        await _approved(bench, run_id)
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded", await bench.run(run_id)
    assert len(targets.file.calls) == calls


async def test_a_lost_lease_writes_nothing(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await start_run(bench.engine, run_id)
    (stale,) = await bench.lease("gone")
    await bench.later(seconds=1)  # the lease runs out and is taken back
    await bench.later(seconds=1)  # another worker does the work
    assert (await bench.run(run_id))["status"] == "succeeded"
    await gate.perform(bench.engine, stale)
    assert len(targets.note.calls) == 1
    assert len(await _receipts(bench, run_id)) == 1


async def test_what_proves_what_happened_cannot_be_changed(bench: Bench) -> None:
    await bench.start("bench.note", NOTE)
    await bench.settle()
    for table in ("leaf_sets", "receipts", "reads", "policy_decisions", "policy_texts"):
        with pytest.raises(errors.InsufficientPrivilege):
            await bench.rows(f"DELETE FROM {table} RETURNING 1")


@pytest.mark.parametrize("state", ["25006", "53100"], ids=["read-only", "full"])
async def test_an_outcome_that_cannot_be_written_for_a_moment_is_no_doubt(
    bench: Bench, targets: Targets, state: str
) -> None:
    await bench.meddle("CREATE SEQUENCE tries")
    await bench.meddle("GRANT USAGE ON SEQUENCE tries TO public")
    await bench.meddle(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('tries') <= 2 THEN RAISE 'no writes now' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
    )
    await bench.meddle(
        "CREATE TRIGGER refuse BEFORE INSERT ON receipts FOR EACH ROW"
        " WHEN (NEW.document->>'step' = 'note') EXECUTE FUNCTION refuse()"
    )
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1
    assert [receipt["outcome"] for receipt in await _receipts(bench, run_id)] == ["success"]


async def test_what_could_not_begin_has_no_receipt_of_an_attempt(bench: Bench, targets: Targets) -> None:
    first = (await bench.start("bench.note", NOTE, ref="1")).run_id
    await start_run(bench.engine, first)
    await bench.meddle("UPDATE effects SET claimed = true, status = 'dispatched' WHERE run_id = %s", first)
    second = (await bench.start("bench.note", NOTE, ref="2")).run_id
    await bench.settle()
    assert (await _effect(bench, second))["error"] == "another effect acts under its idempotency key"
    await bench.later(days=2)
    assert (await bench.run(second))["status"] == "failed_terminal"
    assert targets.note.calls == []
    (receipt,) = await _receipts(bench, second)
    assert (receipt["outcome"], receipt["decision_id"]) == ("failure", None), "no decision of its own is on record"


FENCING_NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}


@pytest.fixture
async def leased(bench: Bench) -> Effect:
    """An effect that a worker has leased."""
    await start_run(bench.engine, (await bench.start("bench.note", FENCING_NOTE)).run_id)
    (effect,) = await bench.lease("ours", bench.engine.timing.lease)
    return effect


async def settle(bench: Bench, effect: Effect) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await effects.settle(conn, effect, EffectStatus.DISPATCHED)


async def begin(bench: Bench, effect: Effect) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await effects.begin_attempt(conn, effect, now=bench.clock(), decision_id="dec_1", digest=effect.digest)


async def row_of(bench: Bench, effect: Effect) -> dict[str, Any]:
    query = "SELECT status, claimed, attempt, lease_owner FROM effects WHERE effect_id = %s"
    (row,) = await bench.rows(query, effect.effect_id)
    return row


async def test_the_worker_that_holds_the_lease_settles_its_effect(bench: Bench, leased: Effect) -> None:
    await settle(bench, leased)
    assert (await row_of(bench, leased))["status"] == "dispatched"


@pytest.mark.parametrize("theirs", [{"lease_owner": "other"}, {"attempt": 2}, {"lease_owner": "other", "attempt": 0}])
@pytest.mark.parametrize("write", [settle, begin])
async def test_a_lease_of_another_worker_or_attempt_writes_nothing(
    bench: Bench, leased: Effect, write: Any, theirs: dict[str, Any]
) -> None:
    before = await row_of(bench, leased)
    with pytest.raises(LeaseLostError, match=leased.effect_id):
        await write(bench, replace(leased, **theirs))
    assert await row_of(bench, leased) == before
