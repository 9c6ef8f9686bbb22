"""The evidence of an undo: a bundle of its own, which says whose receipts were taken back."""

import zipfile
from pathlib import Path

import pytest

from evidence import names
from evidence.verify.verify import verify
from receipts import canonical
from receipts.canonical import loads
from receipts.signing import public_path
from runtime.desk.operator import OperatorDesk
from runtime.inbox import inbox
from tests.bench import TENANT, Bench
from tests.integration.sealing_stage import Office, open_office
from tests.integration.undo_stage import bench, ran, shelves

__all__ = ["bench", "shelves"]


@pytest.fixture
def office(bench: Bench, dsn: str, tmp_path: Path) -> Office:
    return open_office(bench, tmp_path, dsn)


def _members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


async def _sealed(office: Office, run_id: str) -> Path:
    await office.sealer()
    return office.folder / f"{run_id}.zip"


async def _undone(bench: Bench, run_id: str) -> str:
    desk = OperatorDesk(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, None, "a mistake", None))
    await bench.settle()
    return str(facts["undone_in"])


async def test_the_bundle_of_an_undo_names_the_receipts_of_the_other_bundle_that_it_took_back(
    office: Office, bench: Bench
) -> None:
    run_id = await ran(bench, "three")
    first = await _sealed(office, run_id)
    undo = await _sealed(office, await _undone(bench, run_id))
    assert verify(first, public_path(office.settings.key_path)).run_id == run_id
    receipts = [
        canonical.digest(loads(data)) for name, data in _members(first).items() if name.startswith(names.RECEIPTS)
    ]
    definition = loads(_members(undo)[names.DEFINITION])
    named = definition["trigger"]["schema"]["properties"]
    assert named["run_id"]["const"] == run_id
    assert {one["digest"] for one in named["receipts"]["const"]} <= set(receipts)
    acted = (loads(data) for name, data in _members(undo).items() if name.startswith(names.RECEIPTS))
    undone = [one["idempotency_key"] for one in acted if one["step"]]
    assert sorted(undone) == sorted(f"undo:{one['receipt_id']}" for one in named["receipts"]["const"])
