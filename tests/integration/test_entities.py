"""The store of entities on real PostgreSQL: changed through the gate, once under each key, and read back in doubt."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from countersign_kyc.handlers import handlers
from psycopg import errors

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import Call, Changed, Done, Handler, Json, JsonObject, RefusedError, TransientError, Untouched
from runtime.outbox.entities import entity_handlers
from tests.bench import TENANT, Bench, open_bench, with_handlers
from tests.functions import result_of
from tests.patience import MINUTE

ROOT = Path(__file__).parents[2]
CASE = "6f1c2b9e-4f0d-4f5b-9b57-0a3f6a1d2c44"
OPENING = {"case_id": CASE, "lei": "98450000000000000129", "legal_name": "Halvorsen Seefracht GmbH", "status": "open"}


@pytest.fixture
async def bench(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [ROOT / "packs/kyc", ROOT / "tests/packs/cases"], handlers({})) as found,
    ):
        yield found


def change(operation: str, key: str, before: Json = None, **params: Json) -> Call:
    asked = {"entity": "kyc_case", "operation": operation, "case_id": CASE, **params}
    return Call(TENANT, "run-1", "step", "execute", asked, f"kyc_case:{CASE}", key, before=before)


async def execute(bench: Bench, operation: str, key: str, before: Json = None, **params: Json) -> JsonObject:
    return await result_of(bench.engine.handlers["crud::execute"], change(operation, key, before, **params))


async def read(bench: Bench) -> JsonObject:
    call = Call(TENANT, "run-1", "step", "read", {"entity": "kyc_case", "case_id": CASE})
    return await result_of(bench.engine.handlers["crud::read"], call)


async def test_a_case_is_opened_and_moved_by_runs_and_the_receipt_has_what_it_was(bench: Bench) -> None:
    first = await bench.start("cases.status", {"case_id": CASE, "status": "escalated"}, "1")
    await bench.settle()
    assert (await bench.run(first.run_id))["status"] == "succeeded"
    second = await bench.start("cases.status", {"case_id": CASE, "status": "escalated"}, "2")
    await bench.settle()
    assert (await bench.run(second.run_id))["status"] == "succeeded"
    assert await read(bench) == {"found": True, "version": 2, "value": {**OPENING, "status": "escalated"}}
    rows = await bench.rows("SELECT document FROM receipts WHERE run_id = %s ORDER BY seq", second.run_id)
    document = rows[0]["document"]
    assert (document["connector"], document["operation"], document["target"]) == ("crud", "execute", f"kyc_case:{CASE}")
    results = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'moved'", second.run_id)
    assert results[0]["result"]["before"] == {"status": "open"}


async def test_the_present_values_are_on_record_before_a_change(bench: Bench) -> None:
    await execute(bench, "create", "k1", **OPENING)
    run = await bench.start("cases.status", {"case_id": CASE, "status": "closed"}, "1")
    await bench.settle()
    rows = await bench.rows("SELECT before FROM effects WHERE run_id = %s AND connector = 'crud'", run.run_id)
    assert rows[0]["before"] == {"status": "open", "version": 1, "deleted": False}


async def test_a_change_is_made_once_under_its_key(bench: Bench) -> None:
    first = await execute(bench, "create", "k1", **OPENING)
    moved = await execute(bench, "update", "k2", status="closed")
    assert await execute(bench, "create", "k1", **OPENING) == first
    assert await execute(bench, "update", "k2", status="closed") == moved
    assert (await read(bench))["version"] == 2


async def test_a_key_that_was_used_for_another_change_is_refused(bench: Bench) -> None:
    await execute(bench, "create", "k1", **OPENING)
    with pytest.raises(RefusedError, match="the idempotency key was used for another change"):
        await execute(bench, "update", "k1", status="closed")


async def test_of_two_that_create_the_same_at_once_one_does(bench: Bench) -> None:
    made = await asyncio.gather(
        *(execute(bench, "create", f"k{number}", **OPENING) for number in range(8)), return_exceptions=True
    )
    assert sum(isinstance(one, dict) for one in made) == 1, made
    assert all(isinstance(one, dict | RefusedError | TransientError) for one in made), made
    assert (await read(bench))["version"] == 1


async def test_changes_at_once_come_one_after_the_other(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    await asyncio.gather(*(execute(bench, "update", f"k{number}", status="closed") for number in range(1, 9)))
    assert (await read(bench))["version"] == 9


async def test_of_two_who_looked_at_the_same_version_the_second_looks_again(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    await execute(bench, "update", "k1", before={"version": 1}, status="closed")
    with pytest.raises(TransientError, match="was changed since it was looked at"):
        await execute(bench, "update", "k2", before={"version": 1}, status="escalated")
    assert (await read(bench))["value"]["status"] == "closed"


async def test_who_names_another_version_than_there_is_changes_nothing(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    with pytest.raises(RefusedError, match="is at version 1, not at 2"):
        await execute(bench, "update", "k1", status="closed", expected_version=2)
    assert (await read(bench))["version"] == 1


async def test_a_deleted_case_is_not_found_and_its_row_stays(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    await execute(bench, "delete", "k1")
    assert await read(bench) == {"found": False, "version": 2, "value": {}}
    assert (await bench.rows("SELECT fields FROM entities"))[0]["fields"] == OPENING
    await execute(bench, "restore", "k2")
    assert (await read(bench))["value"] == OPENING


async def test_a_case_of_another_tenant_is_not_there(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    call = Call("other", "run-1", "step", "read", {"entity": "kyc_case", "case_id": CASE})
    assert (await result_of(bench.engine.handlers["crud::read"], call))["found"] is False


async def test_what_became_of_a_change_without_an_answer_is_read_back(bench: Bench) -> None:
    find = bench.engine.handlers["crud::execute"].reconcile
    assert find is not None
    assert await find(change("create", "k1", {"version": 0}, **OPENING)) == Untouched()
    made = await execute(bench, "create", "k1", **OPENING)
    assert await find(change("create", "k1", {"version": 0}, **OPENING)) == Done(made)
    await execute(bench, "update", "k2", status="closed")
    found = await find(change("update", "k3", {"version": 1}, status="escalated"))
    assert found == Changed({"status": "closed", "version": 2, "deleted": False})
    assert isinstance(await find(change("update", "k3", None, status="escalated")), Changed)


async def test_a_run_whose_answer_was_lost_goes_on_with_what_was_done(bench: Bench) -> None:
    execute_ = bench.engine.handlers["crud::execute"]

    async def losing(call: Call) -> JsonObject:
        await execute_.run(call)
        raise ConnectionResetError

    losing_one = Handler(losing, reconcile=execute_.reconcile, before=execute_.before)
    run = await bench.start("cases.status", {"case_id": CASE, "status": "open"}, "1")
    await with_handlers(bench, {"crud::execute": losing_one}).settle()
    await bench.later(minutes=10)
    assert (await bench.run(run.run_id))["status"] == "succeeded"
    assert (await read(bench))["version"] == 1


async def test_an_entity_that_no_pack_declares_any_more_is_refused(bench: Bench) -> None:
    without = entity_handlers(bench.engine.pool, {})
    with pytest.raises(RefusedError, match="no pack declares the entity 'kyc_case'"):
        await without["crud::execute"].run(change("create", "k1", **OPENING))


async def test_the_program_can_neither_remove_an_entity_nor_rewrite_what_was_done(bench: Bench) -> None:
    await execute(bench, "create", "k0", **OPENING)
    for order in ("DELETE FROM entities", "DELETE FROM entity_changes", "UPDATE entity_changes SET result = '{}'"):
        with pytest.raises(errors.InsufficientPrivilege):
            await bench.rows(order)
