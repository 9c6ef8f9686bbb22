"""Metrics, their command, and what the Home offers.

Metrics: what was asked of whom, how long it took, how often people were called, and what waits for each.

`countersign metrics`: the metrics of a period, as tables and as JSON.

What one person may do with requests now, as the Home offers it: read for all of them at once.
"""

import itertools
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.fields import timestamp
from runtime.model.metrics import GroupMetrics, Metrics, PersonMetrics, Spread
from runtime.model.person import Person
from runtime.services.metrics import find_metrics
from runtime.services.request_actions import RequestActions
from tests.bench import TENANT, Bench, open_bench
from tests.integration.acts_stage import delegate
from tests.integration.conftest import PACK, Targets
from tests.integration.network import Counting
from tests.integration.policies_stage import break_glass, filing, glass_bench
from tests.integration.program_stage import command, environment, settings_of
from tests.patience import MINUTE

FILE = {"company": "Halvorsen", "text": "owners"}
NONE = Spread(None, None)


async def metrics_of(bench: Bench, **ago: float) -> Metrics:
    """Return the metrics of the last hours, or of what was so long ago."""
    until = bench.clock() - timedelta(**ago) + timedelta(seconds=1)
    async with bench.engine.pool.connection() as conn:
        return await find_metrics(conn, TENANT, until - timedelta(days=30), until, bench.clock())


def of_group(metrics: Metrics, group: str) -> GroupMetrics:
    (found,) = [one for one in metrics.groups if one.group == group]
    return found


def of_person(metrics: Metrics, person: str) -> PersonMetrics:
    (found,) = [one for one in metrics.people if one.person == person]
    return found


async def asked(bench: Bench) -> str:
    """Have compliance asked for two signatures; return the request."""
    await bench.start("bench.file", FILE, "1")
    await bench.settle()
    return await bench.approval_id()


async def test_a_request_counts_with_its_end_and_its_times(bench: Bench) -> None:
    approval = await asked(bench)
    waiting = of_group(await metrics_of(bench), "compliance")
    assert (waiting.asked, waiting.open, waiting.decision, waiting.first_look) == (1, 1, NONE, NONE)
    bench.clock.move(minutes=10)
    await bench.desk.looked(approval, Person("ann", "Ann", ()))
    bench.clock.move(minutes=10)
    await bench.desk.looked(approval, Person("ann", "Ann", ()))
    await bench.click("ann", approval)
    bench.clock.move(minutes=10)
    await bench.click("ben", approval)
    done = of_group(await metrics_of(bench), "compliance")
    assert (done.asked, done.approved, done.open, done.late) == (1, 1, 0, 0)
    assert (done.first_look, done.decision) == (Spread(600, 600), Spread(1800, 1800))
    ann = of_person(await metrics_of(bench), "ann")
    assert (ann.looked, ann.approved, ann.answer) == (1, 1, Spread(1200, 1200))
    assert of_person(await metrics_of(bench), "ben").answer == Spread(1800, 1800)


async def test_a_vote_is_on_record_with_when_its_person_first_opened_the_request(bench: Bench) -> None:
    approval = await asked(bench)
    opened = bench.clock()
    await bench.desk.looked(approval, Person("ann", "Ann", ()))
    bench.clock.move(seconds=4)
    await bench.desk.looked(approval, Person("ann", "Ann", ()))
    bench.clock.move(seconds=5)
    await bench.click("ann", approval)
    await bench.click("ben", approval)
    leaves = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'vote.counted' ORDER BY seq")
    told = [(row["leaf"]["data"]["person"], row["leaf"]["data"].get("opened_at")) for row in leaves]
    assert told == [("ann", timestamp(opened)), ("ben", None)]


async def test_a_run_is_queued_with_the_name_of_the_person_who_asks(bench: Bench) -> None:
    await asked(bench)
    (row,) = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'run.queued'")
    (person,) = await bench.rows("SELECT name FROM actors WHERE actor_id = %s", row["leaf"]["actor"]["id"])
    assert row["leaf"]["data"]["requester_name"] == person["name"]


async def test_a_vote_is_a_look(bench: Bench) -> None:
    approval = await asked(bench)
    bench.clock.move(minutes=3)
    await bench.click("ann", approval)
    assert of_group(await metrics_of(bench), "compliance").first_look == Spread(180, 180)


async def test_what_expires_is_late(bench: Bench) -> None:
    await asked(bench)
    bench.clock.move(hours=30)
    late = of_group(await metrics_of(bench), "compliance")
    assert (late.open, late.late, late.expired) == (1, 1, 0)
    await bench.later()
    late = of_group(await metrics_of(bench), "compliance")
    assert (late.open, late.late, late.expired) == (0, 1, 1)


async def test_waiting_is_what_the_person_may_decide_now(bench: Bench) -> None:
    approval = await asked(bench)
    waiting = {one.person: one.waiting for one in (await metrics_of(bench)).people}
    assert {person for person, count in waiting.items() if count} == {"ann", "ben", "cat"} & set(waiting)
    await bench.click("ann", approval)
    assert of_person(await metrics_of(bench), "ann").waiting == 0


async def test_reminders_and_escalations_are_counted_once_each(patient: Bench) -> None:
    await patient.start("patience.review", {}, "case-7")
    await patient.settle()
    for _ in range(6):
        await patient.later(days=1)
    (group,) = (await metrics_of(patient)).groups
    said = [one for one in patient.chat.said("post_message") if one["text"].startswith("Still open")]
    assert (group.reminders, group.escalations) == (len(said), 1)
    assert group.reminders > 1


async def test_what_was_asked_before_the_period_does_not_count(bench: Bench) -> None:
    await asked(bench)
    assert (await metrics_of(bench, hours=1)).groups == []


async def test_metrics_are_for_those_who_are_next_in_line_and_for_operators(bench: Bench) -> None:
    await asked(bench)
    bench.clock.move(minutes=1)

    async def groups(person: str, *groups: str) -> list[str] | None:
        found = await bench.desk.metrics.metrics(Person(person, person, groups))
        return None if found is None else [one.group for one in found.groups]

    assert await groups("ann", "compliance") is None
    assert await groups("sue", "senior-compliance") == ["compliance"]
    assert await groups("omar", "operators") == ["compliance"]
    assert await bench.desk.metrics.leads(Person("sue", "Sue", ("senior-compliance",)))
    assert not await bench.desk.metrics.leads(Person("ann", "Ann", ("compliance",)))


async def test_a_look_at_no_request_is_none(bench: Bench) -> None:
    await bench.desk.looked("apr_none", Person("ann", "Ann", ()))
    assert await bench.rows("SELECT * FROM marks") == []


async def test_glass_that_was_broken_is_counted(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with glass_bench(dsn, targets, tmp_path) as bench:
        _, approval = await filing(bench)
        assert (await break_glass(bench, "ivy", approval)).counted
        assert of_group(await metrics_of(bench), "compliance").break_glass_used == 1


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def test_metrics_of_a_period_are_tables_json_and_csv(bench: Bench, env: dict[str, str]) -> None:
    await bench.start("bench.file", FILE)
    await bench.settle()
    bench.clock.move(minutes=5)
    await bench.click("ann", await bench.approval_id())
    period = ("--since", "2026-01-01", "--until", "2026-01-31")
    said = await command("metrics", *period, "--json", env=env)
    found = json.loads(said.out)
    (group,) = found["groups"]
    assert (group["group"], group["tier"], group["asked"], group["first_look_p50"]) == ("compliance", "high", 1, 300.0)
    assert {one["person"]: one["answer_p50"] for one in found["people"]}["ann"] == 300.0
    table = await command("metrics", *period, env=env)
    assert "compliance" in table.out
    sheet = await command("metrics", *period, "--csv", env=env)
    assert sheet.out.startswith("group,tier,asked")
    none = await command("metrics", "--since", "2025-01-01", "--until", "2025-01-31", "--json", env=env)
    assert json.loads(none.out)["groups"] == []


async def test_a_period_that_ends_before_it_begins_is_refused_in_a_sentence(env: dict[str, str]) -> None:
    said = await command("metrics", "--since", "2026-02-01", "--until", "2026-01-01", env=env)
    assert said.code != 0
    assert "--since: 2026-02-01 00:00:00 UTC is not before the end" in said.err


async def test_what_a_person_may_do_with_many_requests_costs_as_many_statements_as_with_one(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Counting) as bench,
    ):
        await delegate(bench, "ann", "sam")
        for number in range(8):
            await bench.start("bench.file", {"company": "ACME", "text": "r"}, ref=f"{number}")
        await bench.settle()
        ids = [row["approval_id"] for row in await bench.rows("SELECT approval_id FROM approvals ORDER BY 1")]
        glass = {"groups": ["compliance"], "at_most": 3, "within": "P30D", "tell": [], "review_by": ["security"]}
        await bench.meddle(
            "UPDATE approvals SET requirement = (requirement::jsonb || %s::jsonb)::json",
            json.dumps({"break_glass": glass | {"review_within": "P1D"}}),
        )
        moments = itertools.count()  # time goes on meanwhile
        engine = replace(bench.engine, clock=lambda: bench.clock() + timedelta(microseconds=next(moments)))
        for person in ("ben", "sam", "rita"):
            counts = []
            for some in (ids[:1], ids):
                Counting.sent = 0
                acts = await RequestActions(engine, TENANT).acts_of_all(some, person)
                counts.append(Counting.sent)
                assert len(set(acts)) == 1
            assert counts[0] == counts[1] <= 12
        homes = []
        for limit in (1, 8):
            Counting.sent = 0
            assert len((await bench.pending("sam", limit)).page.entries) == limit
            homes.append(Counting.sent)
        assert homes[0] == homes[1]
