"""A database that is too far away for votes is named: by doctor with what to do, and by readiness as a fact."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from countersign.doctor.database import database
from countersign.embedded.opa import OpaChild
from runtime.clock import utc_now
from tests.integration.program_stage import composed, edge_of, settings_of
from tests.integration.trips import Trips, along, road_to

FAR = 0.2


@pytest.fixture
async def road(dsn: str) -> AsyncIterator[Trips]:
    async with road_to(dsn) as road:
        yield road


async def test_doctor_says_how_far_the_database_is_and_what_to_do_when_it_is_too_far(
    dsn: str, road: Trips, tmp_path: Path
) -> None:
    settings = settings_of(along(dsn, road), "http://127.0.0.1:1", tmp_path)
    road.delay = FAR
    facts = {fact.name: fact for fact in await database(settings, utc_now)}
    far = facts["round trip"]
    assert not far.ok
    assert float(far.detail.removesuffix(" ms to the database and back")) >= FAR * 1000
    assert "Run the program near its database, in less than 150 ms" in far.remedy
    assert facts["database"].ok


async def test_readiness_names_a_database_that_is_too_far_and_stays_ready(
    dsn: str, road: Trips, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with composed(settings_of(along(dsn, road), opa.url, tmp_path)) as system, edge_of(system) as edge:
        road.delay = FAR
        answer = await edge.send("GET", "/readyz", signed={})
        assert answer.status == 200
        assert answer.body["counts"]["database_round_trip_ms"] >= FAR * 1000
    assert [said for said in caplog.messages if "the database is too far away for clicks" in said]
