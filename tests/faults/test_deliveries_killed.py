"""A webhook, and the plug pulled after the send and before the record: it is sent again, and known again."""

from countersign.embedded.opa import OpaChild
from tests.bench import Bench
from tests.faults import delivering
from tests.faults.killed import killed
from tests.integration.conftest import Targets, bench, targets
from tests.integration.hooks_stage import deliveries, open_ears, subscribed, subscription

__all__ = ["bench", "targets"]

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
        await killed(delivering.deliver, bench.superuser, opa.url, bench.clock().isoformat(), ears.url)
        assert [one["status"] for one in await deliveries(bench)] == ["leased"]
        here = subscribed(bench, to)
        for _ in range(2):  # the lease runs out, and then the pause
            await here.later(minutes=5)
        assert len(ears.ids) == 2
        assert len(set(ears.ids)) == 1
        assert [one["status"] for one in await deliveries(bench)] == ["dispatched"]
        assert len(targets.note.calls) == 1
