"""Killed programs (SIGKILL): edits, windows, escalations, break-glass, deliveries and doubts are done once.

An edit, and the plug pulled at any point: the old version is open or the new one, and one is performed, once.

The plug is pulled while an effect is approved and made to wait for its window: it is carried out once, then.

Time runs short for many, and the plug is pulled in between: in the end each was escalated, and none twice.

Somebody breaks the glass, and the plug is pulled: it is counted once, done once, told once, and reviewed once.

A webhook, and the plug pulled after the send and before the record: it is sent again, and known again.

A worker that is lost while it looks back at an attempt in doubt had begun none: the record says so.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.failpoints import Point
from runtime.handlers import Call, OutcomeUnknownError, Reconciled, Untouched
from runtime.model.person import SlackAccount
from runtime.model.votes import VoteVerdict
from runtime.services.clicks import Click
from runtime.services.editing import EditWish
from runtime.sweeps import reclaim_leases
from tests.bench import TEAM, Bench, Target, open_bench, with_handlers
from tests.faults import dying
from tests.faults.killed import killed
from tests.integration.acts_stage import asked, edit, request_of
from tests.integration.conftest import PACK, Targets, bench, editing, targets
from tests.integration.hooks_stage import deliveries, open_ears, subscribed, subscription
from tests.integration.policies_stage import FILE, TUESDAYS, filing, glass_bench, record_break, say_when
from tests.once import Once
from tests.opa_server import start_opa
from tests.patience import MINUTE

__all__ = [
    "bench",
    "editing",
    "targets",
]


POINTS = (
    Point.NOTIFICATION_APPLYING,
    Point.NOTIFICATION_APPLIED,
    Point.EFFECT_LEASED,
    Point.POLICY_ASKING,
    Point.POLICY_ANSWERED,
    Point.EFFECT_DEFERRING,
    Point.EFFECT_DEFERRED,
)


async def _recorded(bench: Bench, approval_id: str) -> str:
    view = await bench.desk.approval(approval_id)
    assert view
    account = SlackAccount(TEAM, "UANN")
    wish = EditWish("k", approval_id, view.stamp, {"copies": 3}, "too many", account, "ann", None, "req-edit")
    return await bench.desk.editing.record(wish)


async def _killed(bench: Bench, opa: OpaChild, notification_id: str, point: Point) -> None:
    await killed(dying.apply, bench.superuser, opa.url, notification_id, str(point), "1")


async def _versions(bench: Bench) -> list[dict[str, Any]]:
    """Return what can be decided, beside the digest of the effect as it is."""
    return await bench.rows(
        "SELECT a.approval_id, a.digest, e.digest AS now FROM approvals a JOIN effects e USING (effect_id)"
        " WHERE a.status = 'requested'"
    )


@pytest.mark.parametrize("point", POINTS)
async def test_a_process_killed_while_it_edits_leaves_one_version_to_decide(
    editing: Bench, targets: Targets, opa: OpaChild, point: Point
) -> None:
    first = await asked(editing)
    assert (await editing.click("ben", first)).counted
    await _killed(editing, opa, await _recorded(editing, first), point)
    open_now = await _versions(editing)
    assert len(open_now) <= 1
    assert all(row["digest"] == row["now"] for row in open_now)
    assert (first in [row["approval_id"] for row in open_now]) == (point is Point.NOTIFICATION_APPLYING)
    for _ in range(2):  # the lease runs out, and what was on its way is tried again
        await editing.later(minutes=5)
    (left,) = await _versions(editing)
    assert left["approval_id"] != first
    assert not (await editing.click("cat", first)).counted
    for person in ("ben", "cat"):
        assert (await editing.click(person, left["approval_id"])).counted
    await editing.settle()
    assert [call.params["copies"] for call in targets.file.calls] == [3]
    assert len(await editing.rows("SELECT 1 FROM edits")) == 1
    done = await editing.rows(
        "SELECT fingerprint FROM receipts WHERE outcome = 'success' AND document ->> 'step' = 'file'"
    )
    assert [row["fingerprint"] for row in done] == [left["digest"]]


async def test_an_edit_and_the_last_signature_at_the_same_moment_have_one_outcome(
    editing: Bench, targets: Targets
) -> None:
    for number in range(6):
        first = await asked(editing, f"race-{number}")
        (row,) = await editing.rows("SELECT run_id FROM approvals WHERE approval_id = %s", first)
        assert (await editing.click("ben", first)).counted
        signed, edited = await asyncio.gather(
            editing.click("cat", first), edit(editing, "ann", first, {"copies": 3}, dedupe_key=f"race-{number}")
        )
        assert signed.counted != (edited is None)
        await editing.settle()
        performed = [call.params["copies"] for call in targets.file.calls if call.run_id == row["run_id"]]
        assert performed == ([10] if signed.counted else [])
        if edited is None:
            assert await request_of(editing, row["run_id"]) != first


async def _record(bench: Bench, person: str, approval: str) -> str:
    click = Click(
        dedupe_key=f"{approval}:{person}",
        approval_id=approval,
        stamp="",
        verdict=VoteVerdict.APPROVE,
        reason="seen and checked",
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-click",
    )
    return await bench.desk.record(click)


async def _killed_at_window(bench: Bench, opa: str, notification: str, point: Point, number: int) -> None:
    await killed(dying.apply, bench.superuser, opa, notification, str(point), str(number))


@pytest.mark.parametrize(
    ("point", "number"),
    [
        (Point.NOTIFICATION_APPLIED, 1),  # approved, and policy not asked again yet
        (Point.POLICY_ANSWERED, 1),
        (Point.EFFECT_DEFERRING, 1),  # before the commit that makes it wait
        (Point.EFFECT_DEFERRED, 1),  # behind it
    ],
)
async def test_a_process_killed_while_it_defers_has_it_carried_out_once_in_the_window(
    dsn: str, targets: Targets, tmp_path: Path, point: Point, number: int
) -> None:
    policies = say_when(tmp_path, TUESDAYS)
    async with (
        start_opa(policies, tmp_path / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        run_id = (await bench.start("bench.file", FILE)).run_id
        await bench.settle()
        approval = await bench.approval_id()
        assert (await bench.click("ann", approval)).counted
        await _killed_at_window(bench, opa.url, await _record(bench, "ben", approval), point, number)
        for _ in range(3):
            await bench.later(minutes=2)
        assert not targets.file.calls
        told = [leaf for leaf in await bench.chain(run_id) if leaf.event == "effect.waiting"]
        assert len(told) == 1
        await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert len(targets.file.calls) == 1


COUNT = 70
"""Reviews that wait: more than are applied in one transaction, so that some are told and others are not."""


async def _wait(bench: Bench, _folder: Path) -> list[str]:
    runs = [(await bench.start("patience.review", {}, str(number))).run_id for number in range(COUNT)]
    await bench.settle()
    for _ in range(8):
        await bench.later(days=1)
    bench.clock.move(days=1)  # the entry that starts a run is due for all
    return runs


WAITING = Once(_wait)


async def _sweep_killed(bench: Bench, opa: OpaChild, point: Point, number: int) -> None:
    await killed(dying.sweep, bench.superuser, opa.url, bench.clock().isoformat(), str(point), str(number))


async def _entries(bench: Bench) -> Counter[tuple[str, int]]:
    rows = await bench.rows(
        "SELECT run_id, leaf -> 'data' ->> 'entry' AS entry FROM audit_leaves WHERE leaf ->> 'event' = 'wait.escalated'"
    )
    return Counter((row["run_id"], int(row["entry"])) for row in rows)


@pytest.mark.parametrize(
    ("point", "number", "is_between"),
    [
        (Point.NOTIFICATION_RECORDING, 1, False),  # before any is recorded
        (Point.NOTIFICATION_RECORDED, 2, False),  # all are recorded, and none is applied; the first are the deadlines
        (Point.NOTIFICATION_APPLYING, 2, False),  # in the transaction of the first
        (Point.NOTIFICATION_APPLIED, 1, True),  # after its commit
        (Point.NOTIFICATION_APPLIED, COUNT, False),  # after the last
    ],
)
async def test_a_process_killed_between_two_escalations_loses_none_and_none_comes_twice(
    patient: Bench, opa: OpaChild, targets: Targets, tmp_path: Path, point: Point, number: int, *, is_between: bool
) -> None:
    runs = await WAITING.on(patient, tmp_path)
    await _sweep_killed(patient, opa, point, number)
    done = sum((await _entries(patient)).values()) - 2 * COUNT
    assert 0 < done < COUNT if is_between else done in (0, COUNT)
    await patient.later(minutes=1)
    await patient.later(minutes=1)
    assert await _entries(patient) == {(run_id, entry): 1 for run_id in runs for entry in range(3)}
    started = await patient.rows("SELECT trigger ->> 'run' AS run FROM runs WHERE definition_name = 'patience-rescue'")
    assert Counter(row["run"] for row in started) == dict.fromkeys(runs, 1)
    assert Counter(call.params["incident"] for call in targets.note.calls) == dict.fromkeys(runs, 1)


async def _break_glass_killed(bench: Bench, opa: OpaChild, notification: str, point: Point) -> None:
    await killed(dying.apply, bench.superuser, opa.url, notification, str(point), "1")


@pytest.mark.parametrize(
    ("point", "votes"),
    [
        (Point.NOTIFICATION_APPLYING, 0),  # recorded, and nothing else: before the commit
        (Point.NOTIFICATION_APPLIED, 1),  # behind it
    ],
)
async def test_a_process_killed_while_glass_is_broken_loses_nothing_and_does_nothing_twice(
    dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path, point: Point, votes: int
) -> None:
    async with glass_bench(dsn, targets, tmp_path) as bench:
        run_id, approval = await filing(bench)
        notification = await record_break(bench, "ivy", approval, "the bank is down", "INC-7", "")
        await _break_glass_killed(bench, opa, notification, point)
        assert len(await bench.rows("SELECT 1 FROM votes")) == votes
        for _ in range(3):
            await bench.later(minutes=2)
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert len(targets.file.calls) == 1
        assert await bench.rows("SELECT break_glass FROM votes") == [{"break_glass": {"ticket": "INC-7", "nth": 1}}]
        assert len(await bench.rows("SELECT 1 FROM approvals WHERE kind = 'afterwards'")) == 1
        told = [call["user"] for call in bench.chat.said("direct_message") if "used break-glass" in call["text"]]
        assert sorted(told) == ["UPAM", "URITA", "USAM"]


NOTE = {"incident": "I1", "text": "seen", "api_token": "hunter2-hunter2"}


async def test_what_was_sent_and_not_recorded_is_sent_again_under_the_same_id(
    bench: Bench, targets: Targets, opa: OpaChild
) -> None:
    async with open_ears() as ears:
        to = subscription(ears.url, "run.completed")
        away = subscribed(bench, to, delivers=False)
        run_id = (await away.start("bench.note", NOTE)).run_id
        await away.settle()
        assert (await bench.run(run_id))["status"] == "succeeded"
        await killed(dying.deliver, bench.superuser, opa.url, bench.clock().isoformat(), ears.url)
        assert [one["status"] for one in await deliveries(bench)] == ["leased"]
        here = subscribed(bench, to)
        for _ in range(2):  # the lease runs out, and then the pause
            await here.later(minutes=5)
        assert len(ears.ids) == 2
        assert len(set(ears.ids)) == 1
        assert [one["status"] for one in await deliveries(bench)] == ["dispatched"]
        assert len(targets.note.calls) == 1


NOTE_IN_DOUBT = {"incident": "I1", "text": "seen", "api_token": "t"}


@dataclass
class Silent(Target):
    """Gives no answer to the first call, and has nothing when it is read back."""

    async def reconcile(self, _call: Call) -> Reconciled:
        return Untouched()


async def test_a_worker_lost_while_it_looks_back_leaves_no_receipt_of_an_attempt(bench: Bench) -> None:
    note = Silent(answers=[OutcomeUnknownError("503")])
    other = with_handlers(bench, {"servicenow::add_work_note": note.handler(reconcile=note.reconcile)})
    run_id = (await other.start("bench.note", NOTE_IN_DOUBT)).run_id
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
