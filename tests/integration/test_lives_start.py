"""What a start brings is a draft, or active as the rule says: nothing else comes active, or back, by itself."""

import asyncio

import pytest

from countersign.engine import keep_definitions
from receipts.chain import PROGRAM
from runtime.model.runbook_version import Activation
from runtime.services.callers import NoRunbookError, NotActiveError
from runtime.services.definition_lives import Mover
from runtime.store.definitions import find_version, lock_versions
from tests.bench import TENANT
from tests.integration.lives_stage import ACTIVATED, RITA, Lives, life, probe, started
from tests.patience import until

__all__ = ["life"]


async def test_the_first_version_is_active_at_once_and_on_record_as_the_programs(life: Lives) -> None:
    desk = await life.begin(probe(1))
    assert await started(desk, "a") == 1
    assert await life.moves() == [(ACTIVATED, 1, PROGRAM.id, None)]


async def test_a_newer_version_is_a_draft_and_starts_nothing(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1), probe(2))
    assert await life.statuses() == {1: "active", 2: "draft"}
    assert await started(desk, "a") == 1
    with pytest.raises(NotActiveError, match=r"^probe version 2 is not active but draft: nothing new starts with it$"):
        await started(desk, "b", version=2)


async def test_by_the_rule_newest_a_newer_version_takes_the_place_of_the_one_before(life: Lives) -> None:
    await life.begin(probe(1), rule=Activation.NEWEST)
    desk = await life.begin(probe(2), rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "active"}
    assert await started(desk, "a") == 2


async def test_a_start_with_older_files_moves_nothing(life: Lives) -> None:
    for files in ([probe(1)], [probe(2)], [probe(1)]):
        await life.begin(*files, rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "active"}


async def test_by_the_rule_manual_nothing_comes_active_by_itself(life: Lives) -> None:
    desk = await life.begin(probe(1), rule=Activation.MANUAL)
    assert await life.statuses() == {1: "draft"}
    with pytest.raises(NotActiveError, match="probe version 1 is not active but draft"):
        await started(desk, "a")


async def test_what_is_retired_is_revived_by_no_start(life: Lives) -> None:
    await life.begin(probe(1))
    await life.retire(1)
    await life.begin(probe(1), probe(2), rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "draft"}


async def test_processes_that_start_at_once_activate_once(life: Lives) -> None:
    catalog = life.catalog(probe(1))
    await asyncio.gather(*(keep_definitions(life.bench.engine, catalog, Activation.FIRST) for _ in range(4)))
    assert await life.moves() == [(ACTIVATED, 1, PROGRAM.id, None)]


async def test_a_start_waits_for_a_move_that_is_under_way_and_goes_by_what_came_of_it(life: Lives) -> None:
    await life.begin(probe(1))
    catalog = life.catalog(probe(1), probe(2))
    engine = life.bench.engine
    async with engine.pool.connection() as conn, conn.transaction():
        await lock_versions(conn, TENANT)
        starting = asyncio.create_task(keep_definitions(engine, catalog, Activation.NEWEST))
        await until(lambda: life.bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        one = await find_version(conn, TENANT, "probe", 1)
        assert one is not None
        await Mover(conn, TENANT, RITA, None, life.bench.clock()).retire(one)
    await starting
    assert await life.statuses() == {1: "retired", 2: "draft"}


async def test_a_start_takes_no_trigger_from_another_runbook(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1, name="other"))
    assert await life.statuses("other") == {1: "draft"}
    assert await started(desk, "a") == 1
    assert await life.moves("other") == []


async def test_nothing_starts_in_a_process_whose_files_have_a_problem_with_the_runbook(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1), probe(2, verb="nope"))
    with pytest.raises(NoRunbookError, match=r"^probe, which takes triggers of type bench.probe, has a problem"):
        await started(desk, "a")
