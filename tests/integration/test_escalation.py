"""An escalation is heard, and a large group does not make it a flood."""

import json

import pytest

from tests.bench import TEAM, TENANT, Bench
from tests.integration.conftest import Targets


async def _seniors(bench: Bench, count: int) -> None:
    """Let the group of those next in line have `count` people more."""
    async with bench.engine.pool.connection() as conn, conn.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO actors (tenant, actor_id, kind, name, groups, grants) VALUES (%s, %s, 'person', %s, %s, '{}')",
            [(TENANT, f"s{n}", f"S{n}", json.dumps(["senior-compliance"])) for n in range(count)],
        )
        await cursor.executemany(
            "INSERT INTO slack_accounts (tenant, team, account, actor_id) VALUES (%s, %s, %s, %s)",
            [(TENANT, TEAM, f"US{n}", f"s{n}") for n in range(count)],
        )


@pytest.mark.parametrize(("more", "direct"), [(9, 10), (10, 0), (499, 0)])
async def test_an_escalation_is_one_message_to_the_group_and_few_to_people(
    bench: Bench, targets: Targets, more: int, direct: int
) -> None:
    await _seniors(bench, more)
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    bench.chat.calls.clear()
    await bench.later(hours=6)
    said = [message for message in bench.chat.said("post_message") if "Time runs short" in message["text"]]
    assert [message["thread_of"] is None for message in said].count(True) == 1
    assert len([one for one in bench.chat.said("direct_message") if "Time runs short" in one["text"]]) == direct
