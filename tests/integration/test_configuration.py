"""Who hears of runs, and where requests go: a start that brings something else puts it on the tenant's record."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from countersign.engine import make_routing
from countersign.loaded_files import note_configuration
from countersign.parts import Role
from countersign.settings import Settings
from countersign.subscriptions import make_subscriptions
from countersign.system import compose, prepare
from receipts.acts import RoutingLoaded, SubscriptionsLoaded
from receipts.chain import PROGRAM, Actor
from receipts.tenant_acts import chain_of
from runtime.engine import Engine
from runtime.services.audit import audit
from runtime.services.sequencer import Sequencer
from tests.bench import TENANT, Bench
from tests.integration.program_stage import load, rows, settings_of

SECRETS = {"webhook_secrets": {"ears": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
EARS = "{name: ears, on: run.completed, to: 'https://ears.hooks.example/in/T0KEN', secret: ears}"
EYES = "{name: eyes, on: run.failed, to: 'https://eyes.hooks.example/in', secret: ears}"
ALL_TO_ONE = "rules: [{send: {channels: [C0ALL]}}]"
LOADED = (
    "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' IN ('routing.loaded', 'subscriptions.loaded') ORDER BY seq"
)

Start = Callable[..., Engine]


def _files(folder: Path, subscriptions: str = "", routing: str = "") -> dict[str, Any]:
    """Return the settings that name these files; none is named that says nothing."""
    said = {"subscriptions": subscriptions and f"subscriptions: [{subscriptions}]", "routing": routing}
    for name, text in said.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return {**SECRETS, **{name: folder / f"{name}.yaml" for name, text in said.items() if text}}


@pytest.fixture
def start(bench: Bench, dsn: str, opa: OpaChild, tmp_path: Path) -> Start:
    """Return what gives the engine of a process that has just started with these files."""

    def started(process: str, **said: str) -> Engine:
        settings: Settings = settings_of(dsn, opa.url, tmp_path, **_files(tmp_path, **said))
        routing, (subscriptions, _) = make_routing(settings), make_subscriptions(settings)
        return replace(bench.engine, worker=process, routing=routing, subscriptions=subscriptions)

    return started


async def _loaded(bench: Bench) -> list[dict[str, Any]]:
    return [row["leaf"] for row in await bench.rows(LOADED)]


async def _said(bench: Bench) -> list[tuple[str, Any]]:
    """Return what is on record in order: how many characters the digest of rules has, or who hears."""
    found = [leaf["data"] for leaf in await _loaded(bench)]
    return [
        (one["process"], [each["name"] for each in one["subscriptions"]] if "subscriptions" in one else one["digest"])
        for one in found
    ]


async def test_it_is_on_record_who_hears_of_runs_with_the_digest_that_receipts_have(bench: Bench, start: Start) -> None:
    engine = start("p1", subscriptions=f"{EYES}, {EARS}")
    await note_configuration(engine, routes=True)
    (leaf,) = await _loaded(bench)
    assert (leaf["event"], Actor(**leaf["actor"])) == (SubscriptionsLoaded.event, PROGRAM)
    eyes, ears = engine.subscriptions
    assert leaf["data"] == {
        "process": "p1",
        "subscriptions": [
            {"name": "ears", "target": "https://ears.hooks.example", "configuration": ears.digest},
            {"name": "eyes", "target": "https://eyes.hooks.example", "configuration": eyes.digest},
        ],
    }
    assert "T0KEN" not in json.dumps(leaf), "the path may be a secret"


async def test_it_is_on_record_by_which_rules_requests_go(bench: Bench, start: Start) -> None:
    engine = start("p1", routing=ALL_TO_ONE)
    await note_configuration(engine, routes=True)
    (leaf,) = await _loaded(bench)
    assert (leaf["event"], leaf["data"]) == (RoutingLoaded.event, {"process": "p1", "digest": engine.routing.digest})


async def test_a_start_with_what_is_on_record_already_is_no_act(bench: Bench, start: Start) -> None:
    first = start("p1", subscriptions=f"{EARS}, {EYES}", routing=ALL_TO_ONE)
    again = start("p2", subscriptions=f"{EYES},\n {EARS}", routing=f"# as ever\n{ALL_TO_ONE}")
    await asyncio.gather(*(note_configuration(first, routes=True) for _ in range(4)))
    await note_configuration(again, routes=True)
    assert await _said(bench) == [("p1", first.routing.digest), ("p1", ["ears", "eyes"])]


async def test_each_change_is_on_record_and_so_is_the_end_of_it(bench: Bench, start: Start) -> None:
    both = start("p1", subscriptions=f"{EARS}, {EYES}", routing=ALL_TO_ONE)
    one = start("p2", subscriptions=EARS, routing=ALL_TO_ONE.replace("C0ALL", "C0SOME"))
    elsewhere = start("p3", subscriptions=EARS.replace("T0KEN", "T1KEN"), routing=ALL_TO_ONE)
    for engine in (both, one, elsewhere, start("p4")):
        await note_configuration(engine, routes=True)
    assert await _said(bench) == [
        ("p1", both.routing.digest),
        ("p1", ["ears", "eyes"]),
        ("p2", one.routing.digest),
        ("p2", ["ears"]),
        ("p3", both.routing.digest),
        ("p3", ["ears"]),
        ("p4", None),
        ("p4", []),
    ]


@pytest.mark.parametrize("said", [{}, {"routing": "rules: []"}])
async def test_where_no_file_says_anything_nothing_is_written(bench: Bench, start: Start, said: dict[str, str]) -> None:
    await note_configuration(start("p1", **said), routes=True)
    assert await _loaded(bench) == []


async def test_a_process_that_routes_nothing_says_nothing_of_the_rules(bench: Bench, start: Start) -> None:
    engine = start("p1", subscriptions=EARS, routing=ALL_TO_ONE)
    await note_configuration(engine, routes=True)
    await note_configuration(start("bot", subscriptions=EARS), routes=False)
    assert await _said(bench) == [("p1", engine.routing.digest), ("p1", ["ears"])]


async def test_the_audit_of_the_log_knows_them_and_finds_one_that_was_changed(bench: Bench, start: Start) -> None:
    await note_configuration(start("p1", subscriptions=EARS, routing=ALL_TO_ONE), routes=True)
    while await Sequencer(bench.engine)():
        pass
    assert (await asyncio.to_thread(audit, bench.superuser, TENANT, ())).findings == []
    changed = "UPDATE tenant_leaves SET leaf = replace(leaf::text, 'ears.hooks', 'eyes.hooks')::json"
    await bench.meddle(f"{changed} WHERE leaf ->> 'event' = 'subscriptions.loaded'")
    found = (await asyncio.to_thread(audit, bench.superuser, TENANT, ())).findings
    assert [(one.rule, one.where.split()[0]) for one in found] == [("chain.broken", chain_of(TENANT))]


@pytest.mark.parametrize(
    ("roles", "events"),
    [(set(Role), ["routing.loaded", "subscriptions.loaded"]), ({Role.BOT}, ["subscriptions.loaded"])],
)
async def test_a_program_that_starts_puts_its_files_on_record(
    dsn: str, opa: OpaChild, tmp_path: Path, roles: set[Role], events: list[str]
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, **_files(tmp_path, EARS, ALL_TO_ONE))
    await load(settings)
    for _ in range(2):
        async with compose(settings, frozenset(roles)) as system:
            await prepare(system)
    assert [row["leaf"]["event"] for row in rows(dsn, LOADED)] == events
