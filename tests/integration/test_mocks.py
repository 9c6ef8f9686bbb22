"""Runs on mocks: they say so in everything they leave, write nothing for real, and nobody else goes on with them."""

import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from countersign_kyc.handlers import handlers as kyc

from countersign.doctor.doctor import examine
from countersign.embedded.opa import OpaChild
from countersign.embedded.system import _environment
from countersign.engine import bind_tenant
from countersign.parts import Role
from countersign.settings import ConfigError, Settings
from evidence.local import LocalArchive
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts import canonical
from receipts.signing import load_or_create, public_path
from runtime.clock import utc_now
from runtime.handlers import Handler, JsonObject
from runtime.mocks import completing, overlaid, read_overlay
from runtime.planning.triggers import Trigger, claim
from runtime.worker import Worker
from tests.bench import TENANT, Bench, open_bench, with_handlers
from tests.integration.packs_stage import KINDS, KYC_PACK, TRIGGER, documents
from tests.integration.program_stage import environment, program, settings_of
from tests.patience import MINUTE
from tests.sealing import sealer_of

ENTITY = {
    "lei": "98450000000000000129",
    "legal_name": "Halvorsen Seefracht GmbH",
    "jurisdiction": "DE",
    "status": "ACTIVE",
    "registration_status": "ISSUED",
}
PARENT = {"entity": None, "exception": "NATURAL_PERSONS"}
MOCKS: dict[str, JsonObject] = {
    "crud::execute": {"result": {"version": 1, "deleted": False, "before": {}, "after": {}}},
    "gleif::discover_hierarchy": {
        "result": {
            "root": ENTITY,
            "direct_parent": PARENT,
            "ultimate_parent": PARENT,
            "entities": [],
            "truncated": False,
            "golden_copy": "2026-03-02T00:00:00Z",
        }
    },
    "register::list_officers": {
        "result": {
            "officers": [
                {
                    "lei": ENTITY["lei"],
                    "name": "Ada",
                    "role": "director",
                    "appointed_on": "2020-01-01",
                    "resigned_on": "",
                }
            ],
            "missing": [],
        }
    },
    "register::list_shareholdings": {
        "result": {
            "companies": [
                {
                    "lei": ENTITY["lei"],
                    "holders": [
                        {
                            "kind": "person",
                            "name": "Ada",
                            "percent": "100",
                            "person_id": "P1",
                            "country": "DE",
                            "lei": None,
                        }
                    ],
                }
            ],
            "missing": [],
            "truncated": False,
        }
    },
    "portal::request_documents": {"result": {"request_id": "REQ-1"}, "answer": documents(*KINDS)},
    "register::file_report": {
        "result": {"report_id": "UBO-1", "filed_at": "2026-01-05T09:00:00Z"},
        "fails": {"kind": "transient", "message": "the register sleeps", "times": 1},
    },
}


def overlay_file(folder: Path, mocks: JsonObject) -> Path:
    """Write an overlay; JSON is strict YAML."""
    path = folder / "overlay.yaml"
    path.write_bytes(canonical.dumps({"handlers": mocks}))
    return path


def mocked(bench: Bench, folder: Path, mocks: JsonObject) -> Bench:
    """Return the bench as a process with this overlay."""
    engine = replace(bench.engine, mocked=True)
    handlers = dict(engine.handlers)
    overlay = read_overlay(overlay_file(folder, mocks), handlers, list(bench.definitions.values()))
    return with_handlers(replace(bench, engine=engine), overlaid(handlers, overlay, completing(engine)))


@pytest.fixture
async def bench(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_bench(dsn, policy, [KYC_PACK], kyc({})) as found:
        yield found


@dataclass
class Played:
    """An onboarding that was played to its end on mocks, and its bundle."""

    bench: Bench
    run_id: str
    bundle: Path
    key: Path

    def member(self, name: str) -> str:
        with zipfile.ZipFile(self.bundle) as archive:
            return archive.read(name).decode()


@pytest.fixture
async def played(bench: Bench, tmp_path: Path) -> Played:
    on_mocks = mocked(bench, tmp_path, MOCKS)
    archive, key = LocalArchive(tmp_path / "evidence"), tmp_path / "keys" / "evidence.pem"
    load_or_create(key)
    worker = Worker(on_mocks.engine, jobs=[sealer_of(on_mocks.engine, archive, key)])
    on_mocks = replace(on_mocks, worker=worker)
    run_id = (await on_mocks.start("kyc.onboarding", TRIGGER)).run_id
    await on_mocks.settle()
    assert (await on_mocks.click("ben", await on_mocks.approval_id("task"))).counted
    await on_mocks.settle()
    approval = await on_mocks.approval_id()
    for person in ("ann", "ben"):
        assert (await on_mocks.click(person, approval)).counted
    await on_mocks.settle()
    await on_mocks.later(minutes=1)
    row = (await on_mocks.rows("SELECT location FROM evidence_bundles WHERE run_id = %s", run_id))[0]
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(archive.get(row["location"]))
    return Played(on_mocks, run_id, bundle, public_path(key))


async def test_a_runbook_is_played_to_its_end_without_any_other_system(played: Played) -> None:
    run = await played.bench.run(played.run_id)
    assert run["status"] == "succeeded", run
    assert run["steps"]["filing"]["status"] == "succeeded"
    rows = await played.bench.rows("SELECT document FROM receipts WHERE run_id = %s ORDER BY seq", played.run_id)
    filings = [row["document"]["outcome"] for row in rows if row["document"]["operation"] == "file_report"]
    assert filings == ["failure", "success"], "as the overlay wants it"


async def test_who_answered_for_the_other_side_is_on_record_as_a_mock(played: Played) -> None:
    answered = [leaf for leaf in await played.bench.chain(played.run_id) if leaf.event == "wait.completed"]
    assert [(leaf.actor.id, leaf.actor.kind) for leaf in answered if leaf.data["type"] == "external"] == [
        ("mock", "system")
    ]


async def test_the_run_says_so_in_everything_that_it_leaves(played: Played) -> None:
    assert (await played.bench.chain(played.run_id))[0].data["mocked"] is True
    rows = await played.bench.rows("SELECT document FROM receipts WHERE run_id = %s", played.run_id)
    assert {row["document"]["mocked"] for row in rows} == {True}
    assert '"mocked":true' in played.member("run.json")
    assert "**This run was on mocks: nothing was done for real.**" in played.member("summary.md")
    assert "on mocks: nothing real is done" in played.member("timeline.md")
    assert verify(played.bundle, played.key).run_id == played.run_id


async def test_a_card_says_first_of_all_that_nothing_is_done_for_real(bench: Bench, tmp_path: Path) -> None:
    on_mocks = mocked(bench, tmp_path, MOCKS)
    await on_mocks.start("kyc.onboarding", TRIGGER)
    await on_mocks.settle()
    view = await on_mocks.desk.approval(await on_mocks.approval_id("task"))
    assert view is not None
    assert view.mocked


async def test_a_run_that_is_real_says_nothing_of_mocks(bench: Bench) -> None:
    run_id = (await bench.start("kyc.onboarding", TRIGGER)).run_id
    assert "mocked" not in (await bench.chain(run_id))[0].data
    assert (await bench.run(run_id))["mocked"] is False


async def test_a_write_that_is_not_mocked_is_refused(bench: Bench, tmp_path: Path) -> None:
    called: list[str] = []

    async def write(call: Any) -> JsonObject:
        called.append(call.key)
        return {"request_id": "REQ-1"}

    real = with_handlers(bench, {"portal::request_documents": Handler(write)})
    some = {name: mock for name, mock in MOCKS.items() if name.startswith(("crud", "gleif", "register"))}
    on_mocks = mocked(real, tmp_path, some)
    run_id = (await on_mocks.start("kyc.onboarding", TRIGGER)).run_id
    await on_mocks.settle()
    run = await on_mocks.run(run_id)
    assert run["status"] == "needs_attention"
    why = run["steps"]["documents"]["error"]
    assert "runs on mocks, and portal::request_documents is none of them: nothing is written for real" in why
    assert called == []


async def test_a_tenant_that_was_real_once_is_never_on_mocks(bench: Bench) -> None:
    await bind_tenant(bench.engine)
    with pytest.raises(ConfigError, match="the runs of tenant acme were never on mocks, and this program must not"):
        await bind_tenant(replace(bench.engine, mocked=True))


async def test_a_tenant_on_mocks_is_served_by_programs_on_mocks_alone(bench: Bench) -> None:
    on_mocks = replace(bench.engine, mocked=True, tenant="staging")
    await bind_tenant(on_mocks)
    await bind_tenant(on_mocks)
    with pytest.raises(ConfigError, match="are on mocks, and this program must not go on with them"):
        await bind_tenant(replace(on_mocks, mocked=False))
    trigger = Trigger(
        "staging",
        "kyc.onboarding",
        "1",
        TRIGGER,
        (await bench.chain((await bench.start("kyc.onboarding", TRIGGER)).run_id))[0].actor,
        "portal-bot",
        "req-1",
    )
    claimed = await claim(on_mocks, bench.definitions["kyc.onboarding"], trigger)
    await bench.worker.drain()
    rows = await bench.rows("SELECT status FROM runs WHERE run_id = %s", claimed.run_id)
    assert rows[0]["status"] == "queued", "a worker of another tenant leaves it alone"


async def test_what_a_tenant_is_can_never_be_changed(bench: Bench) -> None:
    with psycopg.connect(bench.superuser) as conn, pytest.raises(psycopg.errors.RaiseException):
        conn.execute("UPDATE tenants SET mocked = true WHERE tenant = %s", (TENANT,))


async def test_a_start_with_an_overlay_where_runs_were_real_is_refused(
    dsn: str, opa: OpaChild, tmp_path: Path, bench: Bench
) -> None:
    mocks = {name: MOCKS[name] for name in ("gleif::discover_hierarchy", "register::list_officers")}
    settings = settings_of(dsn, opa.url, tmp_path, port=0, overlay=overlay_file(tmp_path, mocks), packs=[KYC_PACK])
    async with program("serve", "--role=worker", "--processes=1", env=environment(settings)) as running:
        assert await running.ended() == 1
        said = str(running.lines[-1]["message"])
    assert said.startswith("countersign: the runs of tenant acme were never on mocks"), said
    assert said.endswith("give the overlay a tenant or a database of its own\n"), said


async def test_a_start_with_an_overlay_that_is_wrong_is_refused_and_names_the_place(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    wrong = overlay_file(tmp_path, {"register::list_officers": {"result": {"officers": []}}, "register::lost": {}})
    settings = settings_of(dsn, opa.url, tmp_path, port=0, overlay=wrong, packs=[KYC_PACK])
    async with program("serve", "--role=worker", "--processes=1", env=environment(settings)) as running:
        assert await running.ended() == 1
        said = "".join(str(line["message"]) for line in running.lines)
    assert f"{wrong}:1: handlers.register::list_officers.result: does not fit the verb" in said
    assert f"{wrong}:1: handlers.register::lost: unknown handler 'register::lost'" in said


async def test_the_doctor_says_that_a_program_is_on_mocks(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    overlay = overlay_file(tmp_path, {name: MOCKS[name] for name in ("register::file_report",)})
    settings = settings_of(dsn, opa.url, tmp_path, overlay=overlay, packs=[KYC_PACK])
    found = {fact.name: fact.detail for fact in await examine(settings, utc_now, frozenset({Role.EDGE}))}
    assert found["definitions"] == "3 available; on mocks: register::file_report"


def test_embedded_mode_hands_the_overlay_to_its_processes(tmp_path: Path) -> None:
    overlay = overlay_file(tmp_path, {})
    assert _environment(Settings(overlay=overlay), tmp_path)["COUNTERSIGN_OVERLAY"] == str(overlay)
    assert "COUNTERSIGN_OVERLAY" not in _environment(Settings(), tmp_path)
