"""What one tenant says does nothing to another's: not by an answer's key, an approval's id, or that of a run."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from receipts.chain import Actor
from runtime.inbox import inbox
from runtime.inbox.notification_context import addressed_runs
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification, Payload
from runtime.model.payloads import CompletionPayload, SignalPayload, VotePayload
from runtime.model.votes import VoteVerdict
from runtime.planning.triggers import start_run
from runtime.store import leases
from tests.bench import TENANT, VERBS, Bench

OTHER = "globex"
NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}

Said = tuple[str, str, Payload]
"""A run, the key under which something is said to it, and what."""


async def _waiting(bench: Bench) -> str:
    """Return a run that waits for an answer."""
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    return run_id


async def _answer(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    (wait,) = await bench.rows("SELECT token, correlation_key FROM waits WHERE run_id = %s", run_id)
    answer = CompletionPayload(result={"answer": "yes"}, token=wait["token"], verbs=VERBS)
    return run_id, wait["correlation_key"], answer


async def _signal(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    return run_id, run_id, SignalPayload(run_id=run_id, name="word", data={})


async def _cancel(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    return run_id, run_id, CancelPayload(run_id=run_id, reason="seen")


async def _vote(bench: Bench) -> Said:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    asked = await bench.approval_id()
    said = VotePayload(
        approval_id=asked,
        team="",
        user="",
        person_id="ann",
        refusal=None,
        stamp="",
        verdict=VoteVerdict.APPROVE,
        reason="seen",
    )
    return run_id, asked, said


@pytest.mark.parametrize("about", [_answer, _signal, _cancel, _vote])
async def test_what_one_tenant_says_is_for_no_run_of_another(
    bench: Bench, about: Callable[[Bench], Awaitable[Said]]
) -> None:
    run_id, key, payload = await about(bench)
    before = await bench.chain(run_id)
    ours = Notification("ntf_ours", TENANT, "ours", key, payload, Actor(id="portal-bot", kind="agent"), "req")
    theirs = replace(ours, notification_id="ntf_theirs", tenant=OTHER, dedupe_key="theirs")
    for one in (ours, theirs):
        await inbox.record(bench.engine, one)
    assert addressed_runs(await bench.engine.addressed("ntf_ours")) == {run_id}
    assert addressed_runs(await bench.engine.addressed("ntf_theirs")) == frozenset()
    facts = await inbox.apply(replace(bench.engine, tenant=OTHER), "ntf_theirs")
    assert facts["status"] != "applied"
    assert await bench.chain(run_id) == before


async def test_a_worker_sees_no_work_of_another_tenant(bench: Bench) -> None:
    await start_run(bench.engine, (await bench.start("bench.branches", {})).run_id)
    await start_run(bench.engine, (await bench.start("bench.note", NOTE)).run_id)
    async with bench.engine.pool.connection() as conn:
        ours, theirs = [await leases.due_work(conn, tenant, bench.clock()) for tenant in (TENANT, OTHER)]
    assert ours.reads
    assert ours.effects
    assert theirs == leases.DueWork(notifications=False, messages=False, effects=False, reads=False, runs=False)
