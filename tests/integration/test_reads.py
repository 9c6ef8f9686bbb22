"""Reads have records: what each attempt asked, got, used and cost, bound to the chain and added up in the bundle."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from countersign.embedded.opa import OpaChild
from evidence.build import build
from evidence.local import LocalArchive
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import unpack
from policy.client import OpaEngine
from receipts import canonical
from receipts.signing import load_or_create, public_path
from runtime.handlers import (
    Answer,
    Call,
    Handler,
    HandlerError,
    JsonObject,
    Metadata,
    OutcomeUnknownError,
    TransientError,
    Usage,
)
from runtime.model.action import commitment
from runtime.services import run_in_full
from runtime.services.sealing import SealingService
from tests.bench import BENCH_SECRET, TENANT, Bench, open_bench, with_handlers
from tests.integration.conftest import PACK, Targets
from tests.integration.network import Counting
from tests.patience import MINUTE
from tests.sealing import sealer_of

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
TOKENS = Usage("openai", "gpt-5", {"input_tokens": 812}, Decimal("0.00123"), "USD")
TOLD = {
    "metadata": {"status": 200, "request_id": "req-1", "requests": 2},
    "usage": [
        {"provider": "openai", "model": "gpt-5", "units": {"input_tokens": "812"}, "cost": "0.00123", "currency": "USD"}
    ],
    "not_recorded": None,
}
COSTS = {
    "provider": "openai",
    "model": "gpt-5",
    "calls": 1,
    "calls_without_cost": 0,
    "units": {"input_tokens": "812"},
    "amounts": {"USD": "0.00123"},
}


def told(result: JsonObject) -> Answer:
    return Answer(result, Metadata(200, "req-1", 2), [TOKENS])


def costly(error: HandlerError) -> HandlerError:
    error.metadata, error.usage = Metadata(200, "req-1", 2), [TOKENS]
    return error


async def branched(bench: Bench, minutes: int = 0) -> str:
    """Run two reads and the write that follows from them."""
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    for _ in range(minutes):
        await bench.later(minutes=1)
    return run_id


async def reads(bench: Bench, run_id: str, step: str = "left") -> list[dict[str, Any]]:
    query = "SELECT document FROM reads WHERE run_id = %s AND step = %s ORDER BY seq"
    return [row["document"] for row in await bench.rows(query, run_id, step)]


async def receipts(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    query = "SELECT document FROM receipts WHERE run_id = %s AND document ->> 'step' <> '' ORDER BY seq"
    return [row["document"] for row in await bench.rows(query, run_id)]


async def leaves(bench: Bench, run_id: str, event: str) -> list[dict[str, Any]]:
    query = "SELECT seq, leaf FROM audit_leaves WHERE run_id = %s AND leaf ->> 'event' = %s ORDER BY seq"
    return [{**row["leaf"], "seq": row["seq"]} for row in await bench.rows(query, run_id, event)]


async def bundle(bench: Bench, run_id: str, folder: Path) -> Path:
    """Seal a run that has ended, and return the file; its key is beside it."""
    desk, key, path = SealingService(bench.engine), load_or_create(folder / "keys/evidence.pem"), folder / "bundle.zip"
    if not await bench.rows("SELECT 1 FROM evidence_bundles WHERE run_id = %s", run_id):
        assert await desk.next_bundles(timedelta(minutes=2), key, [key.public.key_id])
    sealer = sealer_of(bench.engine, LocalArchive(folder), folder / "keys/evidence.pem")
    path.write_bytes(build(await sealer.dossier(run_id), key).data)
    return path


async def test_a_read_that_succeeded_is_on_record_with_no_word_of_what_it_read(bench: Bench) -> None:
    run_id = await branched(bench)
    (record,) = await reads(bench, run_id)
    (salt,) = await bench.rows("SELECT salt FROM tenants")
    asked, got = {"what": "left"}, {"value": 3}
    now = "2026-01-05T09:00:00.000000Z"
    assert record == {
        "read_id": record["read_id"],
        "tenant": TENANT,
        "run_id": run_id,
        "step": "left",
        "verb": "look",
        "handler": "bench::look",
        "attempt": 1,
        "started_at": now,
        "finished_at": now,
        "outcome": "success",
        "request": {"bytes": 15, "commitment": commitment(asked, salt["salt"])},
        "response": {"bytes": 11, "commitment": commitment(got, salt["salt"])},
        "told": None,
        "error": None,
    }


async def test_the_chain_names_each_record_before_the_step_that_follows_from_it(bench: Bench) -> None:
    run_id = await branched(bench)
    (record,) = await reads(bench, run_id)
    named = {leaf["correlation"]["step"]: leaf for leaf in await leaves(bench, run_id, "read.recorded")}
    ended = {leaf["correlation"]["step"]: leaf for leaf in await leaves(bench, run_id, "step.succeeded")}
    assert named["left"]["data"] == {"read_id": record["read_id"], "digest": canonical.digest(record)}
    assert named["left"]["seq"] < ended["left"]["seq"]
    assert record["response"]["commitment"] == ended["left"]["data"]["result"]


async def test_each_attempt_that_failed_has_a_record_of_its_own(bench: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("away"), TransientError(f"still away: {BENCH_SECRET}")]
    run_id = await branched(bench, minutes=2)
    found = await reads(bench, run_id) + await reads(bench, run_id, "right")
    failed = [record for record in found if record["outcome"] == "failure"]
    assert [record["response"] for record in failed] == [None, None]
    assert {record["error"] for record in failed} == {"away", "still away: [redacted]"}
    assert sorted(record["attempt"] for record in found) == [1, 1, 2, 2]


async def test_what_a_handler_tells_is_on_record_and_adds_up(bench: Bench, targets: Targets) -> None:
    targets.look.answers = [told({"value": 3})]
    run_id = await branched(bench)
    documents = await reads(bench, run_id) + await reads(bench, run_id, "right")
    assert [record["told"] for record in documents if record["told"]] == [TOLD]
    assert (await bench.run(run_id))["costs"] == [COSTS]
    async with bench.engine.pool.connection() as conn:
        shown = await run_in_full.find_run(conn, TENANT, run_id)
    assert shown is not None
    assert shown["costs"] == [COSTS]


async def test_where_nobody_tells_of_costs_none_are_shown(bench: Bench) -> None:
    assert (await bench.run(await branched(bench)))["costs"] == []


async def test_an_attempt_that_failed_tells_what_it_cost(bench: Bench, targets: Targets) -> None:
    targets.look.answers = [costly(TransientError("cut off"))]
    run_id = await branched(bench, minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert (await bench.run(run_id))["costs"] == [COSTS]


@pytest.mark.parametrize("result", [{"value": "many"}, {"value": float("nan")}, [1]])
async def test_an_answer_that_cannot_be_used_has_cost_what_it_cost(bench: Bench, targets: Targets, result: Any) -> None:
    targets.look.answers = [told(result)]
    run_id = await branched(bench)
    run = await bench.run(run_id)
    assert (run["status"], run["costs"]) == ("failed_terminal", [COSTS])


NONSENSE: list[Any] = [
    Answer({"value": 3}, usage=[Usage("", units={"tokens": 1})]),
    Answer({"value": 3}, metadata="200 OK"),  # type: ignore[arg-type]
    Answer({"value": 3}, usage=3),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("answer", NONSENSE)
async def test_a_handler_that_tells_nonsense_loses_no_read(bench: Bench, targets: Targets, answer: Answer) -> None:
    targets.look.answers = [answer]
    run_id = await branched(bench)
    assert (await bench.run(run_id))["status"] == "succeeded"
    (record,) = [one for step in ("left", "right") for one in await reads(bench, run_id, step) if one["told"]]
    assert (record["outcome"], record["told"]["metadata"], record["told"]["usage"]) == ("success", None, [])
    assert record["told"]["not_recorded"]
    assert (await bench.run(run_id))["costs"] == []


async def test_a_write_tells_in_its_receipt_and_its_result_is_the_same(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [told({"ok": True})]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    (receipt,) = await receipts(bench, run_id)
    assert (receipt["response"], receipt["told"]) == ({"ok": True}, TOLD)
    assert await bench.rows("SELECT result FROM steps WHERE run_id = %s", run_id) == [{"result": {"ok": True}}]
    assert (await bench.run(run_id))["costs"] == [COSTS]


async def test_a_write_that_tells_nothing_has_the_receipt_that_it_always_had(bench: Bench) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    (receipt,) = await receipts(bench, run_id)
    assert "told" not in receipt


@pytest.mark.parametrize(
    ("error", "outcome"), [(OutcomeUnknownError("reset"), "in_doubt"), (TransientError("no"), "failure")]
)
async def test_a_write_that_gave_no_result_tells_what_it_cost(
    bench: Bench, targets: Targets, error: HandlerError, outcome: str
) -> None:
    targets.note.answers = [costly(error)]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    (receipt,) = await receipts(bench, run_id)
    assert (receipt["outcome"], receipt["told"]) == (outcome, TOLD)
    for _ in range(3):
        await bench.later(minutes=1)
    assert [one["outcome"] for one in await receipts(bench, run_id)] == [outcome, "success"]
    assert (await bench.run(run_id))["costs"] == [COSTS], "told once, by the attempt that had the cost"


@pytest.mark.parametrize("answer", NONSENSE)
async def test_a_handler_that_tells_nonsense_loses_no_write(bench: Bench, targets: Targets, answer: Answer) -> None:
    targets.note.answers = [answer]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    (receipt,) = await receipts(bench, run_id)
    assert (receipt["outcome"], receipt["response"], receipt["told"]["usage"]) == ("success", {"value": 3}, [])
    assert receipt["told"]["not_recorded"]


async def test_a_record_goes_along_with_what_is_written_anyway(dsn: str, opa: OpaChild, targets: Targets) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Counting) as bench,
    ):
        counts: list[tuple[int, int]] = []
        for _ in range(3):  # the first fills the caches
            run_id = (await bench.start("bench.branches", {}, ref=f"{len(counts)}")).run_id
            Counting.written = 0
            await bench.settle()
            counts.append((Counting.written, len(await reads(bench, run_id))))
    assert counts[1:] == [(16, 1)] * 2, "none of these statements writes the record alone"


async def test_whoever_lost_the_lease_writes_no_record(bench: Bench, targets: Targets) -> None:
    async def lose(call: Call) -> JsonObject:
        await bench.meddle("UPDATE steps SET lease_owner = 'other' WHERE path = %s", call.step)
        return {"value": 3}

    stalled = with_handlers(bench, {"bench::look": Handler(lose, writes=False)})
    run_id = (await stalled.start("bench.branches", {})).run_id
    await stalled.settle()
    assert await reads(bench, run_id) == []
    await bench.later(minutes=1)
    assert [record["attempt"] for record in await reads(bench, run_id)] == [2]


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("attempt = 1", "uq_reads_run_id_step_attempt"),
        ("outcome = 'perhaps'", "ck_reads_outcome"),
        ("step = 'nowhere'", "fk_reads_run_id_step"),
    ],
)
async def test_the_database_refuses_a_record_that_cannot_be(bench: Bench, change: str, constraint: str) -> None:
    await branched(bench)
    column, _, value = change.partition(" = ")
    row = {"step": "step", "attempt": "7", "outcome": "outcome"} | {column: value}
    with pytest.raises(psycopg.IntegrityError, match=constraint):
        await bench.rows(
            f"INSERT INTO reads SELECT run_id, seq + 900, {', '.join(row.values())}, document"
            " FROM reads WHERE step = 'left' RETURNING 1"
        )


INVENTED = """
    INSERT INTO reads
    SELECT run_id, 1, step, 9, outcome, replace(document::text, document ->> 'read_id', 'red_x')::json
      FROM reads WHERE outcome = 'failure'
"""
FORGED: dict[str, tuple[str, str]] = {
    "what it cost": (
        "UPDATE reads SET document = replace(document::text, '0.00123', '0.00122')::json",
        "its SHA-256 is not the digest",
    ),
    "a record that is gone": ("DELETE FROM reads WHERE step = 'right'", "is not in the bundle"),
    "a record that nobody made": (
        INVENTED,
        "no line of audit.jsonl names it",
    ),
}


@pytest.fixture
async def ended(bench: Bench, targets: Targets) -> str:
    """A run whose first read failed once and told what that cost, and whose write told as well."""
    targets.look.answers = [costly(TransientError("cut off"))]
    targets.note.answers = [
        Answer({"ok": True}, usage=[Usage("openai", "gpt-5"), Usage("gleif", units={"requests": 2})])
    ]
    run_id = await branched(bench, minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    return run_id


async def test_the_bundle_holds_reads_and_costs_and_is_what_the_run_shows(
    bench: Bench, ended: str, tmp_path: Path
) -> None:
    path = await bundle(bench, ended, tmp_path)
    verify(path, public_path(tmp_path / "keys/evidence.pem"))
    with path.open("rb") as stream:
        members = unpack(stream).members
    assert sum(name.startswith("reads/") for name in members) == len(await bench.rows("SELECT 1 FROM reads"))
    costs = canonical.loads(members["costs.json"])
    assert costs == (await bench.run(ended))["costs"]
    assert costs == [
        {
            "provider": "gleif",
            "model": None,
            "calls": 1,
            "calls_without_cost": 1,
            "units": {"requests": "2"},
            "amounts": {},
        },
        COSTS | {"calls": 2, "calls_without_cost": 1},
    ]


@pytest.mark.parametrize("name", FORGED)
async def test_a_row_that_is_meddled_with_shows_in_the_bundle(
    bench: Bench, ended: str, tmp_path: Path, name: str
) -> None:
    await bundle(bench, ended, tmp_path)
    change, said = FORGED[name]
    await bench.meddle(change)
    with pytest.raises(VerificationError, match=said):
        verify(await bundle(bench, ended, tmp_path), public_path(tmp_path / "keys/evidence.pem"))
