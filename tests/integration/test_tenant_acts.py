"""What comes to a tenant, and what changes, is on its record: once each, however many processes start at once."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.cli import operate
from countersign.engine import keep_definitions, unmoving_handlers
from countersign.loaded_files import load_people
from countersign.settings import Settings
from receipts import canonical
from receipts.tenant_acts import DefinitionStored, PolicySeen
from runtime.definitions.loading.catalog import OWN, Catalog, load_catalog
from runtime.engine import Engine
from runtime.model.runbook_version import Activation
from runtime.store import records
from tests.bench import TENANT, Bench
from tests.logins import as_directory

NOTE = {"incident": "I1", "text": "a", "api_token": "t"}
LOADED, SEEN, STORED = "directory.loaded", "policy.seen", "definition.stored"


async def _said(bench: Bench, *events: str, tenant: str = TENANT) -> list[dict[str, Any]]:
    """Return what a tenant's acts of these kinds say, in their order."""
    query = (
        "SELECT leaf -> 'data' AS data FROM tenant_leaves WHERE tenant = %s AND leaf ->> 'event' = ANY(%s) ORDER BY seq"
    )
    return [row["data"] for row in await bench.rows(query, tenant, list(events))]


def _fresh(bench: Bench) -> tuple[Engine, Catalog]:
    """Return the engine of a process, just started, of a tenant that nothing has happened to yet."""
    definitions = {(one.name, one.version): one for one in bench.definitions.values()}
    return replace(bench.engine, tenant="fresh"), Catalog(definitions, (), (), frozenset(), {})


async def test_each_definition_is_on_record_once_when_processes_start_at_once(bench: Bench) -> None:
    engine, catalog = _fresh(bench)
    await asyncio.gather(*(keep_definitions(engine, catalog, Activation.FIRST) for _ in range(4)))
    await keep_definitions(engine, catalog, Activation.FIRST)
    found = [DefinitionStored(**said) for said in await _said(bench, STORED, tenant="fresh")]
    own = load_catalog([OWN], unmoving_handlers())
    brought = [*own.definitions.values(), *catalog.definitions.values()]
    wanted = {DefinitionStored(name=d.name, version=d.version, digest=d.digest) for d in brought}
    assert (set(found), len(found)) == (wanted, len(wanted))


async def test_each_policy_is_on_record_once_when_processes_see_it_at_once(bench: Bench) -> None:
    await bench.start("bench.note", NOTE)
    await bench.settle()
    (row,) = await bench.rows("SELECT digest FROM policy_texts")
    assert await _said(bench, SEEN) == [row]
    text = bench.engine.policy.text(row["digest"])
    await bench.meddle("DELETE FROM policy_decisions")
    await bench.meddle("DELETE FROM policy_texts")

    async def see() -> None:
        async with bench.engine.pool.connection() as conn:
            await records.keep_policy_text(conn, "fresh", text, bench.clock())

    await asyncio.gather(*(see() for _ in range(4)))
    assert await _said(bench, SEEN, tenant="fresh") == [PolicySeen(digest=row["digest"]).model_dump()]


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    """Return two versions of a directory."""
    files = [tmp_path / f"{version}.yaml" for version in (1, 2)]
    for version, file in enumerate(files, 1):
        people = f"people:\n- {{id: anna, name: Anna, groups: [group{version}]}}\n"
        file.write_text(f"version: {version}\n{people}", encoding="utf-8")
    return files[0], files[1]


async def test_each_directory_is_on_record_once_however_often_it_is_loaded(
    bench: Bench, dsn: str, directories: tuple[Path, Path]
) -> None:
    settings = Settings(directory_database_url=as_directory(dsn), tenant="fresh")
    first, second = directories
    for file in (first, second):
        await asyncio.gather(*(load_people(settings, file) for _ in range(3)))
        await load_people(settings, file)
    assert [said["version"] for said in await _said(bench, LOADED, tenant="fresh")] == [1, 2]


async def test_what_is_said_of_a_key_is_on_record_with_its_entry(bench: Bench, dsn: str, tmp_path: Path) -> None:
    settings = Settings(database_url=dsn, home=tmp_path, tenant=TENANT)
    first, second = await operate.rotate_key(settings)
    await operate.revoke_key(settings, first.id, "stolen")
    events = ("key.registered", "key.succeeded", "key.revoked")
    said = [await _said(bench, event) for event in events]
    assert [[one["key_id"] for one in acts] for acts in said] == [[first.id, second.id], [first.id], [first.id]]
    (revoked,) = said[-1]
    (row,) = await bench.rows("SELECT entry FROM signing_keys WHERE key_id = %s", first.id)
    assert (revoked["why"], revoked["digest"]) == ("stolen", canonical.digest(row["entry"]))
    assert len(await _said(bench, *events)) == 4


async def test_a_key_that_is_vouched_for_anew_is_on_record(bench: Bench, dsn: str, tmp_path: Path) -> None:
    settings = Settings(database_url=dsn, home=tmp_path, tenant=TENANT)
    first = (await operate.rotate_key(settings))[0]
    second = (await operate.rotate_key(settings))[1]
    await operate.revoke_key(settings, second.id, "stolen")
    assert [said["key_id"] for said in await _said(bench, "key.vouched")] == [first.id]
