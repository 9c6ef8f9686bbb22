"""The checker holds what is right for right, and finds whatever is not."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copytree

import psycopg
import pytest
from psycopg.rows import dict_row

from countersign.embedded.opa import OpaChild
from countersign.settings import ROOT
from tests.faults.checker.facts import Facts, facts_of
from tests.faults.checker.rules import answered_outside, broken
from tests.faults.small_world import FILE, NOTE, SmallWorld, small_world
from tests.faults.world.history import History
from tests.integration.program_stage import database
from tests.leaves import meddle


@pytest.fixture(scope="module")
async def world(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SmallWorld]:
    """A world in which a note was made, a report was filed with two signatures, and something was read."""
    folder = tmp_path_factory.mktemp("world")
    with database(postgres, "small_world") as dsn:
        async with small_world(dsn, opa, folder) as small:
            await small.start("bench.note", NOTE, "n1")
            await small.start("bench.file", FILE, "f1")
            await small.start("bench.branches", {}, "b1")
            await small.bench.settle()
            await small.sign("ann", "ben")
            await small.seal()
            yield small


@pytest.fixture
def copy(world: SmallWorld, tmp_path: Path) -> Path:
    """The histories of the world, to be changed."""
    return copytree(world.histories, tmp_path / "histories")


def _wrong(world: SmallWorld, histories: Path, query: str = "SELECT 1") -> dict[str, list[str]]:
    """Return what the checker says of other histories, or where somebody meddled with the database; nothing stays."""
    with psycopg.connect(world.bench.superuser, row_factory=dict_row) as conn:
        conn.execute("SET session_replication_role = replica")
        meddle(conn, query)
        found = broken(facts_of(conn, histories))
        conn.rollback()
    return found


def test_nothing_is_wrong_with_what_is_right(world: SmallWorld) -> None:
    assert _wrong(world, world.histories) == {}


def test_the_checker_imports_nothing_of_the_runtime() -> None:
    said = "import sys, tests.faults.checker.report, tests.faults.checker.rules; print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", said], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    ours = {name.partition(".")[0] for name in json.loads(out.replace("'", '"'))}
    assert not ours & {"runtime", "countersign", "policy", "receipts", "evidence", "bot", "edge"}


def test_an_act_that_was_taken_and_of_which_nothing_is_on_record_is_found(world: SmallWorld, copy: Path) -> None:
    History(copy / "people.jsonl").add("whim", whim="EDIT", approval_id="apr_1", person="ann", ok=True)
    assert _wrong(world, copy) == {
        "acts_are_on_record": ["ann was told that EDIT of apr_1 is taken, and no leaf says so"]
    }


def test_an_acknowledged_click_of_which_nothing_is_on_record_is_found(world: SmallWorld, copy: Path) -> None:
    History(copy / "people.jsonl").add("clicked", approval_id="apr_1", person="ann", account="UANN", ok=True)
    assert _wrong(world, copy) == {
        "counted_votes_are_on_record": ["the click of ann on apr_1 was acknowledged, and is not on record"]
    }


def test_an_effect_that_happened_twice_is_found(world: SmallWorld, copy: Path) -> None:
    acted(copy, operation="add_work_note", key=next(iter(world.note.done)))
    assert "happened 2 times" in _wrong(world, copy)["effects_happen_once"][0]


def test_an_effect_that_nobody_knows_of_is_found(world: SmallWorld, copy: Path) -> None:
    acted(copy, operation="add_work_note", key="note:of-nobody")
    assert {"effects_happen_once", "effects_are_allowed"} <= _wrong(world, copy).keys()


def test_a_receipt_of_what_never_happened_is_found(world: SmallWorld, copy: Path) -> None:
    (copy / "upstream.jsonl").write_bytes(b"")
    assert "and it did not" in _wrong(world, copy)["effects_happen_once"][0]


def test_a_trigger_without_its_run_is_found(world: SmallWorld, copy: Path) -> None:
    History(copy / "triggers.jsonl").add("triggered", ref="lost", ok=True, run_id="run_lost")
    assert "which is not there" in _wrong(world, copy)["triggers_reach_one_end"][0]


def test_a_trigger_with_two_runs_is_found(world: SmallWorld, copy: Path) -> None:
    History(copy / "triggers.jsonl").add("triggered", ref="n1", ok=True, run_id="run_other")
    assert "answered with 2 runs" in _wrong(world, copy)["triggers_reach_one_end"][0]


def test_a_run_that_nobody_asked_for_is_found(world: SmallWorld, copy: Path) -> None:
    (copy / "triggers.jsonl").write_bytes(b"")
    assert "nobody asked for" in _wrong(world, copy)["triggers_reach_one_end"][0]


def test_half_a_line_of_a_writer_that_was_killed_is_no_line(world: SmallWorld, copy: Path) -> None:
    with (copy / "upstream.jsonl").open("ab") as file:
        file.write(b'{"kind": "acted", "key')
    assert _wrong(world, copy) == {}


def test_requests_are_counted_while_nothing_is_wrong() -> None:
    asked = [{"kind": "triggered", "sent": float(at), "at": at + 0.5, "ok": at != 1} for at in range(20)]
    fault = {"kind": "fault", "began": 5.0, "at": 7.0, "who": "harness", "sort": "Kill"}
    assert answered_outside(Facts([*asked, fault], {}), 3.0) == (14, 13)
    silence = [{"kind": "down", "at": 12.0}, {"kind": "up", "at": 14.0}]
    assert answered_outside(Facts([*asked, fault, *silence], {}), 3.0) == (7, 6)


def acted(histories: Path, **facts: str) -> None:
    """Write down that the upstream acted."""
    History(histories / "upstream.jsonl").add("acted", ref="", run="run_x", **facts)


MEDDLED = {
    "a vote that is gone": ("DELETE FROM votes WHERE person = 'ben'", "effects_are_allowed"),
    "a counted vote that is gone": ("DELETE FROM votes WHERE person = 'ben'", "counted_votes_are_on_record"),
    "a vote that nobody clicked": ("UPDATE votes SET person = 'cat' WHERE person = 'ben'", "votes_are_clicks"),
    "signatures on something else": (f"UPDATE approvals SET digest = '{'0' * 64}'", "effects_are_allowed"),
    "a decision that is gone": ("DELETE FROM policy_decisions WHERE outcome = 'allow'", "effects_are_allowed"),
    "a decision that came later": (
        "UPDATE policy_decisions SET at = at + interval '1 hour' WHERE outcome = 'allow'",
        "effects_are_allowed",
    ),
    "a receipt that is gone": ("DELETE FROM receipts", "effects_happen_once"),
    "a message's receipt that is gone": ("DELETE FROM receipts WHERE document->>'step' = ''", "records_are_in_chains"),
    "a receipt that was changed": (
        'UPDATE receipts SET document = (document::jsonb || \'{"error": "no"}\')::json',
        "records_are_in_chains",
    ),
    "a read that is gone": ("DELETE FROM reads WHERE attempt = 1", "records_are_in_chains"),
    "a read that was changed": (
        'UPDATE reads SET document = (document::jsonb || \'{"error": "no"}\')::json',
        "records_are_in_chains",
    ),
    "a leaf that is gone": ("DELETE FROM audit_leaves WHERE seq = 3", "chains_hold"),
    "a leaf that was changed": (
        'UPDATE audit_leaves SET leaf = (leaf::jsonb || \'{"event": "run.other"}\')::json WHERE seq = 2',
        "chains_hold",
    ),
    "a chain whose end was cut off": (
        "DELETE FROM audit_leaves l USING runs r WHERE r.run_id = l.run_id AND l.seq = r.audit_seq",
        "chains_hold",
    ),
    "an act of the tenant that was changed": (
        'UPDATE tenant_leaves SET leaf = (leaf::jsonb || \'{"event": "policy.other"}\')::json WHERE seq = 1',
        "chains_hold",
    ),
    "an act of the tenant that is gone": ("DELETE FROM tenant_leaves WHERE seq = 2", "leaves_have_one_place"),
    "a leaf without a place": ("DELETE FROM log_entries WHERE first_index = 0", "leaves_have_one_place"),
    "a leaf with two places": (
        "INSERT INTO log_pending SELECT tenant, chain, first_seq, sha256('') FROM log_entries LIMIT 1",
        "leaves_have_one_place",
    ),
    "a gap in the log": (
        (
            "UPDATE log_entries SET first_index = first_index + 1"
            " WHERE first_index = (SELECT max(first_index) FROM log_entries)"
        ),
        "leaves_have_one_place",
    ),
    "another leaf in the log": (
        "UPDATE audit_leaves SET hash = decode(repeat('00', 32), 'hex') WHERE seq = 1",
        "checkpoints_are_of_the_log",
    ),
    "a log that was cut off": ("UPDATE log_checkpoints SET size = size + 1000", "checkpoints_are_of_the_log"),
    **{
        f"{table} of no run": (f"UPDATE {table} SET run_id = run_id || '_'", "rows_name_what_is_there")
        for table in ("steps", "effects", "waits", "receipts", "policy_decisions", "leaf_sets")
    },
    **{
        f"{table} of no effect": (f"UPDATE {table} SET effect_id = 'eff_0'", "rows_name_what_is_there")
        for table in ("receipts", "policy_decisions")
    },
    "an effect that is leased": (
        "UPDATE effects SET status = 'leased', lease_owner = 'x' WHERE purpose = 'step'",
        "nothing_is_left",
    ),
    "a notification that waits": ("UPDATE notifications SET status = 'received'", "nothing_is_left"),
    "a step that waits": ("UPDATE steps SET status = 'parked'", "nothing_is_left"),
    "evidence that is not stored": ("DELETE FROM evidence_bundles", "nothing_is_left"),
    "a run that has not ended": (
        "UPDATE runs SET status = 'running', finished_at = NULL",
        "triggers_reach_one_end",
    ),
}


@pytest.mark.parametrize("what", MEDDLED)
def test_what_was_meddled_with_is_found(world: SmallWorld, what: str) -> None:
    query, rule = MEDDLED[what]
    assert rule in _wrong(world, world.histories, query)
