"""Each table whose rows stand in evidence is compared by the audit: what was changed or taken out there is found."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from evidence.archive.local import LocalArchive
from receipts.signing import load_or_create
from runtime.model.votes import CardAct
from runtime.services.audit import Audit, audit
from runtime.services.sequencer import Sequencer
from runtime.store.run_history import run_history_in
from tests.bench import TENANT, Bench
from tests.integration.answers_stage import say
from tests.integration.editing_stage import asked, edit, request_of
from tests.once import Once
from tests.sealing import sealer_of

CHANGED = {
    "approvals": "purpose = 'another'",
    "audit_leaves": """leaf = (leaf::jsonb || '{"event": "run.other"}')::json""",
    "definitions": "canonical = convert_to('{}', 'UTF8')",
    "edits": "reason = 'another'",
    "evidence_bundles": "sealed_seq = sealed_seq - 1",
    "policy_decisions": "document = '{}'",
    "policy_texts": "files = '{}'",
    "questions": "question = 'another'",
    "reads": "document = '{}'",
    "receipts": "document = '{}'",
    "runs": "requested_by = 'eve'",
    "votes": "reason = 'another'",
}
"""For each table that evidence is read from, a change that evidence would tell."""
COLUMNS = {
    "edits": ("person = 'eve'", "person_name = 'Eve'", "groups = '[]'", "account = 'UEVE'", "changes = '[]'"),
    "evidence_bundles": (
        "sha256 = repeat('0', 64)",
        "size = 1",
        "location = 'elsewhere'",
        "sealed_cards = (SELECT json_object_agg(approval_id, 7) FROM approvals)",
    ),
    "runs": (
        *("status = 'canceled'", "outcome = 'another'", "trigger_type = 'another'", "trigger_ref = run_id"),
        *("submitted_by = 'another'",),
    ),
}
"""Further columns that stand in evidence, or by which it is found."""


@dataclass
class Office:
    """A bench with a sealed run that was asked about and edited, and one with a read."""

    bench: Bench
    edited: str

    async def audit(self) -> Audit:
        return await asyncio.to_thread(audit, self.bench.superuser, TENANT, ())


async def _play(bench: Bench, folder: Path) -> str:
    first = await asked(bench)
    assert (await say(bench, "ann", first, CardAct.ASK, "who owns it?")).counted
    assert await edit(bench, "ann", first, {"copies": 3}) is None
    await bench.settle()
    (run,) = await bench.rows("SELECT run_id FROM runs")
    second = await request_of(bench, run["run_id"])
    for person in ("ben", "cat"):
        assert (await bench.click(person, second)).counted
    await bench.settle()
    await bench.start("bench.branches", {}, ref="reads")
    await bench.settle()
    load_or_create(folder / "key.pem")
    sealer = sealer_of(bench.engine, LocalArchive(folder / "evidence"), folder / "key.pem")
    assert [await sealer(), await sealer()] == [1, 1]
    while await Sequencer(bench.engine)():
        pass
    return str(run["run_id"])


OFFICE = Once(_play)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
async def office(editing: Bench, home: Path) -> Office:
    return Office(editing, await OFFICE.on(editing, home))


async def test_what_nobody_touched_holds(office: Office) -> None:
    assert (await office.audit()).findings == []


async def test_each_table_from_which_evidence_is_read_has_its_change_here(office: Office) -> None:
    with psycopg.connect(office.bench.superuser, row_factory=dict_row) as conn:
        run_history_in(conn, office.edited)
        rows = conn.execute(
            "SELECT relname FROM pg_stat_xact_user_tables WHERE seq_scan > 0 OR coalesce(idx_scan, 0) > 0"
        ).fetchall()
    assert {row["relname"] for row in rows} == CHANGED.keys()


CHANGES = [(table, change) for table in CHANGED for change in (CHANGED[table], *COLUMNS.get(table, ()))]


@pytest.mark.parametrize(("table", "change"), CHANGES)
async def test_a_change_in_a_table_that_stands_in_evidence_is_found(office: Office, table: str, change: str) -> None:
    assert await office.bench.meddle(f"UPDATE {table} SET {change} RETURNING 1")
    assert (await office.audit()).findings


@pytest.mark.parametrize("table", CHANGED)
async def test_a_row_that_was_taken_out_of_a_table_that_stands_in_evidence_is_found(office: Office, table: str) -> None:
    assert await office.bench.meddle(f"DELETE FROM {table} RETURNING 1")
    assert (await office.audit()).findings
