"""Somebody uses break-glass, and the plug is pulled: it is counted once, done once, told once, and reviewed once."""

from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from runtime.failpoints import Point
from tests.bench import Bench
from tests.faults import dying
from tests.faults.killed import killed
from tests.integration.conftest import Targets
from tests.integration.glass_stage import filing, glass_bench, record_break


async def _killed(bench: Bench, opa: OpaChild, notification: str, point: Point) -> None:
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
        await _killed(bench, opa, notification, point)
        assert len(await bench.rows("SELECT 1 FROM votes")) == votes
        for _ in range(3):
            await bench.later(minutes=2)
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert len(targets.file.calls) == 1
        assert await bench.rows("SELECT break_glass FROM votes") == [{"break_glass": {"ticket": "INC-7", "nth": 1}}]
        assert len(await bench.rows("SELECT 1 FROM approvals WHERE kind = 'afterwards'")) == 1
        told = [call["user"] for call in bench.chat.said("direct_message") if "used break-glass" in call["text"]]
        assert sorted(told) == ["UPAM", "URITA", "USAM"]
