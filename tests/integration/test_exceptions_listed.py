"""`countersign evidence exceptions` over files: bundles and exports, verified where a key is given."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest

from receipts.fields import timestamp
from tests.integration.program_stage import command
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import START, Office
from tests.unit.export_sample import Sample


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def hasty(office: Office) -> Path:
    """Return a bundle in which Ben votes 8 s after opening, and Cat's opening was not recorded."""
    told = bound()
    leaf = next(data for event, data in told.events if event == "vote.counted")
    leaf["opened_at"] = timestamp(START + timedelta(minutes=leaf["minute"], seconds=-8))
    return office.seal(told.dossier())


async def test_exceptions_of_a_bundle_name_people_first_and_ids_last(office: Office) -> None:
    found = await command("evidence", "exceptions", str(hasty(office)), "--key", str(office.public), env={})
    assert (found.code, found.err) == (0, "")
    assert found.out.splitlines() == [
        "2026-01-31 09:06:00 UTC  Ben: quick vote",
        "  approved “File a report” 8 s after opening it",
        "  on:      case-1, kyc v3",
        "  id:      run-1, leaf 14",
        "2026-01-31 09:09:00 UTC  opening not recorded",
        "  Opening was not recorded for 1 of 2 votes, so quick voting is not checked there.",
        "  on:      case-1, kyc v3",
        "  id:      run-1",
        "1 exception in 1 bundle, verified",
    ]


async def test_how_soon_is_quick_is_an_option(office: Office) -> None:
    bundle = str(hasty(office))
    found = await command("evidence", "exceptions", bundle, "--quick-vote", "PT7S", "--json", env={})
    assert [row["kind"] for row in json.loads(found.out)] == ["opening_not_recorded"]
    wrong = await command("evidence", "exceptions", bundle, "--quick-vote", "soon", env={})
    assert (wrong.code, "--quick-vote" in wrong.err) == (2, True)
    to = office.folder / "report.html"
    assert (await command("evidence", "report", bundle, "-o", str(to), "--quick-vote", "PT7S", env={})).code == 0
    assert "votes within 7 s of opening" in to.read_text()


async def test_exceptions_are_json_or_csv_too(office: Office) -> None:
    bundle = str(hasty(office))
    first, _ = json.loads((await command("evidence", "exceptions", bundle, "--json", env={})).out)
    assert (first["kind"], first["person"], first["seconds"], first["leaf"]) == ("quick_vote", "ben", 8, 14)
    table = (await command("evidence", "exceptions", bundle, "--csv", env={})).out
    line, _ = csv.DictReader(io.StringIO(table, newline=""), strict=True)
    assert (line["name"], line["reference"], line["run_id"]) == ("Ben", "case-1", "run-1")


async def test_exceptions_of_an_export_are_those_of_its_bundles(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    Sample().write(folder)
    found = await command("evidence", "exceptions", str(folder), "--csv", env={})
    assert found.out.encode() == (folder / "exceptions.csv").read_bytes()
    told = await command("evidence", "exceptions", str(folder), env={})
    assert told.out.splitlines()[-1] == "0 exceptions in 1 bundle, not verified: no key was given (--key)"


async def test_a_bundle_that_does_not_hold_has_no_exceptions(
    office: Office, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, bundle = Office.in_folder(tmp_path_factory.mktemp("other")), str(hasty(office))
    unsigned = await command("evidence", "exceptions", bundle, "--key", str(other.public), env={})
    assert (unsigned.code, unsigned.out) == (4, "0 exceptions in 0 bundles, verified\n")
    assert unsigned.err.startswith(f"countersign: {bundle}: ")
    missing = await command("evidence", "exceptions", "none.zip", env={})
    assert (missing.code, missing.err) == (3, "countersign: none.zip: none.zip is not a file\n")
    empty = await command("evidence", "exceptions", env={})
    assert (empty.code, "--from" in empty.err) == (2, True)
