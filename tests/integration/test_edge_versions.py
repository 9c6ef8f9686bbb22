"""Versions at the edge: a trigger starts what is active, may name a version, and is told where nothing starts."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from countersign.system import System
from receipts.chain import Actor
from runtime.services.definition_lives import Mover
from runtime.store.definitions import find_version, lock_versions
from tests.integration.program_stage import Edge, composed, edge_of, is_problem, rows, settings_of

TENANT = "acme"


@dataclass
class Stage:
    """A system and its edge."""

    system: System
    edge: Edge
    dsn: str

    async def retire(self) -> None:
        """Retire the onboarding."""
        engine = self.system.engine
        async with engine.pool.connection() as conn, conn.transaction():
            await lock_versions(conn, TENANT)
            life = await find_version(conn, TENANT, "kyc-onboarding", 4)
            assert life is not None
            await Mover(conn, TENANT, Actor(id="omar", kind="person"), None, engine.clock()).retire(life)


@pytest.fixture
async def stage(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Stage]:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        yield Stage(system, edge, dsn)


async def test_a_trigger_may_name_the_version_that_it_wants(stage: Stage) -> None:
    answer = await stage.edge.trigger("one", version=4)
    (run,) = rows(stage.dsn, "SELECT definition_version AS version FROM runs WHERE run_id = %s", answer.body["run_id"])
    assert (answer.status, run["version"]) == (202, 4)
    refused = await stage.edge.trigger("two", version=1)
    assert is_problem(refused, 409, "kyc-onboarding has no version 1")
    assert [row["trigger_ref"] for row in rows(stage.dsn, "SELECT trigger_ref FROM runs")] == ["one"]


@pytest.mark.parametrize("version", [0, -1, 2**31, "2", 2.5, True])
async def test_a_version_that_cannot_be_is_refused(stage: Stage, version: object) -> None:
    assert is_problem(await stage.edge.trigger("one", version=version), 422, "version")


async def test_a_retired_runbook_starts_nothing_new_and_a_repeat_finds_its_run(stage: Stage) -> None:
    first = await stage.edge.trigger("one")
    await stage.retire()
    refused = await stage.edge.trigger("two")
    assert is_problem(refused, 409, "kyc-onboarding version 4 is not active but retired: nothing new starts with it")
    again = await stage.edge.trigger("one")
    assert (again.status, again.body) == (202, {"run_id": first.body["run_id"], "is_new": False})
    assert len(rows(stage.dsn, "SELECT 1 FROM runs")) == 1


async def test_nobody_triggers_an_activation_from_outside(stage: Stage) -> None:
    rows(
        stage.dsn,
        """UPDATE actors SET grants = '{"triggers": ["countersign.activate"], "on_behalf": false}'"""
        " WHERE actor_id = 'servicenow' RETURNING 1",
    )
    refused = await stage.edge.send(
        "POST", "/v1/triggers/countersign.activate", b'{"ref":"one","payload":{}}', by="servicenow"
    )
    assert is_problem(refused, 404, "no runbook takes triggers of type countersign.activate")


async def test_a_trigger_that_no_runbook_of_its_type_takes_is_told_which_there_are(stage: Stage) -> None:
    rows(stage.dsn, "UPDATE definition_lives SET trigger_when = 'trigger.jurisdiction == ''XX''' RETURNING 1")
    said = "kyc-onboarding version 4 takes it when trigger.jurisdiction == 'XX'"
    refused = await stage.edge.trigger("one")
    assert is_problem(refused, 409, f"no runbook takes this trigger of type kyc.onboarding: {said}")
    assert rows(stage.dsn, "SELECT 1 FROM runs") == []
