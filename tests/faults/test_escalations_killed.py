"""Time runs short for many, and the plug is pulled in between: in the end each was escalated, and none twice."""

from collections import Counter
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from runtime.failpoints import Point
from tests.bench import Bench
from tests.faults import sweeping
from tests.faults.killed import killed
from tests.integration.conftest import Targets
from tests.once import Once

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


async def _killed(bench: Bench, opa: OpaChild, point: Point, number: int) -> None:
    await killed(sweeping.sweep, bench.superuser, opa.url, bench.clock().isoformat(), str(point), str(number))


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
    await _killed(patient, opa, point, number)
    done = sum((await _entries(patient)).values()) - 2 * COUNT
    assert 0 < done < COUNT if is_between else done in (0, COUNT)
    await patient.later(minutes=1)
    await patient.later(minutes=1)
    assert await _entries(patient) == {(run_id, entry): 1 for run_id in runs for entry in range(3)}
    started = await patient.rows("SELECT trigger ->> 'run' AS run FROM runs WHERE definition_name = 'patience-rescue'")
    assert Counter(row["run"] for row in started) == dict.fromkeys(runs, 1)
    assert Counter(call.params["incident"] for call in targets.note.calls) == dict.fromkeys(runs, 1)
