"""`countersign metrics`: the metrics of a period, as tables and as JSON."""

import json
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from tests.bench import Bench
from tests.integration.program_stage import command, environment, settings_of

FILE = {"company": "Halvorsen", "text": "owners"}


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def test_metrics_of_a_period_are_tables_json_and_csv(bench: Bench, env: dict[str, str]) -> None:
    await bench.start("bench.file", FILE)
    await bench.settle()
    bench.clock.move(minutes=5)
    await bench.click("ann", await bench.approval_id())
    period = ("--from", "2026-01-01", "--to", "2026-01-31")
    said = await command("metrics", *period, "--json", env=env)
    found = json.loads(said.out)
    (group,) = found["groups"]
    assert (group["group"], group["tier"], group["asked"], group["first_look_p50"]) == ("compliance", "high", 1, 300.0)
    assert {one["person"]: one["answer_p50"] for one in found["people"]}["ann"] == 300.0
    table = await command("metrics", *period, env=env)
    assert "compliance" in table.out
    sheet = await command("metrics", *period, "--csv", env=env)
    assert sheet.out.startswith("group,tier,asked")
    none = await command("metrics", "--from", "2025-01-01", "--to", "2025-01-31", "--json", env=env)
    assert json.loads(none.out)["groups"] == []


async def test_a_period_that_ends_before_it_begins_is_refused_in_a_sentence(env: dict[str, str]) -> None:
    said = await command("metrics", "--from", "2026-02-01", "--to", "2026-01-01", env=env)
    assert said.code != 0
    assert "2026-02-01 is after the last day" in said.err
