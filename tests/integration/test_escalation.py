"""An escalation is heard, and a large group does not make it a flood. Policy says who is asked, and when."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from policy.client import OpaEngine
from tests.bench import TEAM, TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.logins import loading
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE

LINE = [{"after": "PT1H", "to": ["operators"]}, {"after": "PT7H", "to": ["senior-compliance", "operators"]}]


@pytest.fixture
async def asking(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a bench whose policy asks others twice as time runs short."""
    policies = copy_policies(tmp_path / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"]["escalate_to"] = LINE
    file.write_text(json.dumps(config), encoding="utf-8")
    async with (
        start_opa(policies, tmp_path / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as found,
    ):
        yield found


async def test_policy_says_who_is_asked_one_after_the_other_and_when(asking: Bench, targets: Targets) -> None:
    run_id = (await asking.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await asking.settle()
    approval = await asking.approval_id()
    asked = []
    for hour in range(1, 8):
        await asking.later(hours=1)
        rows = await asking.rows("SELECT joined FROM approvals WHERE approval_id = %s", approval)
        asked.append((hour, rows[0]["joined"]))
    both = ["operators", "senior-compliance"]
    assert asked == [*((hour, ["operators"]) for hour in range(1, 7)), (7, both)]
    data = [leaf.data for leaf in await asking.chain(run_id) if leaf.event == "wait.escalated"]
    assert [(entry["entry"], entry["to"]) for entry in data] == [(0, LINE[0]["to"]), (1, LINE[1]["to"])]
    for person in ("omar", "sue"):
        assert (await asking.click(person, approval)).counted
    await asking.settle()
    assert (await asking.run(run_id))["status"] == "succeeded", "policy counts their votes"


async def test_who_had_to_be_asked_before_the_deadline_is_though_nobody_swept_in_time(asking: Bench) -> None:
    run_id = (await asking.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await asking.settle()
    await asking.later(days=9)
    told = [leaf for leaf in await asking.chain(run_id) if leaf.event in ("wait.escalated", "approval.expired")]
    assert [leaf.event for leaf in told] == ["wait.escalated", "wait.escalated", "approval.expired"]
    assert [leaf.data["to"] for leaf in told[:2]] == [entry["to"] for entry in LINE]


async def _seniors(bench: Bench, count: int) -> None:
    """Let the group of those next in line have `count` people more."""
    async with loading(bench.superuser) as conn, conn.cursor() as cursor:
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
    said = [message for message in bench.chat.said("post_message") if "Escalated" in message["text"]]
    assert [message["thread_of"] is None for message in said].count(True) == 1
    assert len([one for one in bench.chat.said("direct_message") if "Escalated" in one["text"]]) == direct
