"""One answer, many waits, and the plug pulled in between: each wait has its answer in the end, and none twice."""

from collections import Counter
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from receipts.chain import Actor
from runtime.failpoints import Point
from runtime.inbox import inbox
from runtime.model.notification import Notification
from runtime.model.payloads import CompletionPayload
from tests.bench import TENANT, Bench
from tests.faults import dying
from tests.faults.killed import killed

WORD = "acme:await_word:C1"
COUNT = 70
"""More than are applied side by side."""


async def _waiting(bench: Bench) -> list[str]:
    runs = [(await bench.start("bench.word", {"case": "C1"}, str(n))).run_id for n in range(COUNT)]
    await bench.settle()
    return runs


async def _recorded(bench: Bench) -> str:
    payload = CompletionPayload(result={"answer": "yes"}, token=None, verbs=["await_word"])
    new = Notification("ntf_word", TENANT, "word", WORD, payload, Actor(id="portal-bot", kind="agent"), "req-word")
    return await inbox.record(bench.engine, new)


async def _killed(bench: Bench, opa: OpaChild, notification_id: str, point: Point, number: int) -> None:
    await killed(dying.apply, bench.superuser, opa.url, notification_id, str(point), str(number))


async def _completed(bench: Bench) -> Counter[str]:
    rows = await bench.rows("SELECT run_id FROM audit_leaves WHERE leaf->>'event' = 'wait.completed'")
    return Counter(row["run_id"] for row in rows)


async def _outcomes(bench: Bench) -> list[dict[str, Any]]:
    return await bench.rows("SELECT status, deliveries FROM notifications WHERE starts_with(dedupe_key, 'ntf_word:')")


@pytest.mark.parametrize(
    ("point", "number", "is_between"),
    [
        (Point.NOTIFICATION_APPLYING, 1, False),  # before it is handed to anybody
        (Point.NOTIFICATION_APPLIED, 1, False),  # when it is handed out
        (Point.NOTIFICATION_APPLIED, 2, True),
    ],
)
async def test_a_process_killed_between_two_waits_leaves_the_rest_to_others_and_none_is_answered_twice(
    bench: Bench, opa: OpaChild, point: Point, number: int, *, is_between: bool
) -> None:
    runs = await _waiting(bench)
    await _killed(bench, opa, await _recorded(bench), point, number)
    done = len(await _completed(bench))
    assert 0 < done < COUNT if is_between else done == 0
    await bench.later(seconds=3)
    assert await _completed(bench) == dict.fromkeys(runs, 1)
    assert [(one["status"], one["deliveries"]) for one in await _outcomes(bench)] == [("applied", 1)] * COUNT
    facts = await inbox.apply(bench.engine, "ntf_word")
    assert facts["status"] == "applied"
    assert sorted(wait["run_id"] for wait in facts["waits"]) == sorted(runs)


async def test_a_wait_that_a_fault_of_ours_keeps_from_its_answer_holds_up_no_other(bench: Bench) -> None:
    broken, *others = await _waiting(bench)
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'ask' AND run_id = %s", broken)
    facts = await inbox.apply(bench.engine, await _recorded(bench))
    assert facts["status"] == "applied"
    assert {wait["run_id"]: wait["status"] for wait in facts["waits"]} == {
        **dict.fromkeys(others, "applied"),
        broken: "received",
    }
    assert await _completed(bench) == dict.fromkeys(others, 1)
    await bench.meddle("UPDATE steps SET path = 'ask' WHERE path = 'gone'")
    await bench.later(minutes=1)
    assert await _completed(bench) == dict.fromkeys([broken, *others], 1)
    assert {wait["status"] for wait in (await inbox.apply(bench.engine, "ntf_word"))["waits"]} == {"applied"}


async def test_a_wait_that_opened_after_an_answer_was_handed_out_is_not_answered_by_it(bench: Bench) -> None:
    runs = await _waiting(bench)
    await inbox.apply(bench.engine, await _recorded(bench))
    later = (await bench.start("bench.word", {"case": "C1"}, "later")).run_id
    await bench.settle()
    facts = await inbox.apply(bench.engine, await _recorded(bench))
    assert sorted(wait["run_id"] for wait in facts["waits"]) == sorted(runs)
    assert (await bench.run(later))["steps"]["ask"]["status"] == "parked"
