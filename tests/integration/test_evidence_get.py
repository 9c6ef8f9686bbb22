"""`evidence get`: what is handed out is what was stored, over no other file, and who was given it is on record."""

import hashlib
import shutil
import stat
from pathlib import Path

import pytest

from tests.bench import Bench
from tests.integration.program_stage import Finished, command, environment
from tests.integration.sealing_stage import Office, noted, open_office


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> Office:
    return open_office(bench, tmp_path, dsn)


async def sealed(office: Office, ref: str = "1") -> str:
    """Return a run whose bundle is stored."""
    run_id = await noted(office.bench, ref)
    assert await office.sealer() == 1
    return run_id


async def got(office: Office, run_id: str, to: Path, *more: str, by: str = "omar") -> Finished:
    words = ("evidence", "get", run_id, "-o", str(to), "--as", by)
    return await command(*words, *more, env=environment(office.settings))


def says(finished: Finished, sentence: str) -> bool:
    """Return whether the command failed with one sentence, and this is how it begins."""
    return finished.code == 1 and finished.err.count("\n") == 1 and finished.err.startswith(f"countersign: {sentence}")


async def handed_out(office: Office) -> list[tuple[str, str, str]]:
    """Return who was given the bundle of which run, by its SHA-256, as the tenant's chain has it."""
    query = "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'bundle.fetched' ORDER BY seq"
    leaves = [row["leaf"] for row in await office.bench.rows(query)]
    return [(leaf["actor"]["id"], leaf["data"]["run_id"], leaf["data"]["sha256"]) for leaf in leaves]


async def test_who_was_given_which_bundle_is_on_record(office: Office, tmp_path: Path) -> None:
    run_id, to = await sealed(office), tmp_path / "bundle.zip"
    assert (await got(office, run_id, to)).code == 0
    given = ("omar", run_id, hashlib.sha256(to.read_bytes()).hexdigest())
    assert await handed_out(office) == [given]
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    assert (await got(office, run_id, to)).code == 0, "the same is there already"
    assert await handed_out(office) == [given, given]


async def test_nobody_but_a_person_of_the_directory_is_given_a_bundle(office: Office, tmp_path: Path) -> None:
    run_id, to = await sealed(office), tmp_path / "bundle.zip"
    for nobody in ("portal-bot", "mallory"):
        assert says(await got(office, run_id, to, by=nobody), f"the directory has no person {nobody}")
    assert not to.exists()
    assert await handed_out(office) == []


async def test_file_that_cannot_be_written_is_one_sentence_and_not_on_record(office: Office, tmp_path: Path) -> None:
    run_id, to = await sealed(office), tmp_path / "no/such/bundle.zip"
    assert says(await got(office, run_id, to), f"{to} cannot be written: {to.parent} is not a folder")
    assert await handed_out(office) == []


async def test_no_other_file_is_overwritten(office: Office, tmp_path: Path) -> None:
    run_id, to = await sealed(office), tmp_path / "bundle.zip"
    to.write_bytes(b"mine")
    for more in ((), ("--sigstore", str(tmp_path / "new.json"))):
        refused = await got(office, run_id, to, *more)
        assert says(refused, f"{to} exists with other content: nothing is overwritten")
    assert (to.read_bytes(), [*tmp_path.glob("new*")]) == (b"mine", [])
    assert await handed_out(office) == []


async def test_bundle_and_statement_are_not_written_into_one_file(office: Office, tmp_path: Path) -> None:
    run_id, to = await sealed(office), tmp_path / "bundle.zip"
    refused = await got(office, run_id, to, "--sigstore", str(to))
    assert says(refused, f"{to} cannot hold both the bundle and the statement about it")
    assert not to.exists()
    assert await handed_out(office) == []


async def test_what_is_not_the_bundle_that_was_stored_or_the_statement_about_it_is_not_written(
    office: Office, tmp_path: Path
) -> None:
    run_id, other = await sealed(office), await sealed(office, "2")

    def replaced(kind: str) -> Path:
        """Put what stands beside the other run's name in the place of this one's."""
        for ending in ("", ".json"):
            shutil.copy(office.folder / f"{other}.{kind}{ending}", tmp_path / "copy")
            (tmp_path / "copy").replace(office.folder / f"{run_id}.{kind}{ending}")
        return office.folder / f"{run_id}.{kind}"

    statement = replaced("sigstore.json")
    about = await got(office, run_id, tmp_path / "new.zip", "--sigstore", str(tmp_path / "new.json"))
    assert says(about, f"{statement} is about another file than the bundle that was stored")
    kept = replaced("zip")
    refused = await got(office, run_id, tmp_path / "new.zip")
    assert says(refused, f"{kept} is not the bundle that was stored: its sha256 is ")
    assert [*tmp_path.glob("new*")] == []
    assert await handed_out(office) == []
