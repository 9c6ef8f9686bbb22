"""Bundles found and handed out: by customer, person, runbook, outcome and days.

Auditors find runs by customer, person, runbook, outcome, state of the evidence and days; a page at a time.

`evidence get`: what is handed out is what was stored, over no other file, and who was given it is on record.
"""

import csv
import hashlib
import io
import json
import shutil
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.unsealed import why
from countersign.settings import Settings
from evidence.local import LocalArchive
from receipts.signing import load_or_create
from runtime.services.bundles import EvidenceState, FoundRun, Sought, find_runs
from tests.bench import TENANT, Bench
from tests.integration.evidence_stage import SealingOffice, noted, open_office
from tests.integration.program_stage import Finished, command, environment
from tests.once import Once
from tests.sealing import sealer_of

FILE = {"company": "Müller & Söhne 100% GmbH", "text": "report"}
NOTE = {"incident": "I77", "text": "=cmd", "api_token": "hunter2"}
WAIT = {"case": "C1"}
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass
class SearchedOffice:
    """A bench with a run that people approved, one that is sealed, and one that is open, a day apart each."""

    bench: Bench
    settings: Settings
    runs: dict[str, str]

    async def found(self, **sought: Any) -> list[str]:
        """Return the references of what is found."""
        return [one.reference for one in await self.all(**sought)]

    async def all(self, tenant: str = TENANT, **sought: Any) -> list[FoundRun]:
        async with self.bench.engine.pool.connection() as conn:
            return await find_runs(conn, tenant, Sought(**sought))

    async def listed(self, *words: str) -> Finished:
        return await command("evidence", "list", *words, env=environment(self.settings))


async def _play(bench: Bench, folder: Path) -> dict[str, str]:
    key = folder / "keys" / "evidence.pem"
    load_or_create(key)
    runs = {"file-2041": (await bench.start("bench.file", FILE, ref="file-2041")).run_id}
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    bench.clock.move(days=1)
    runs["note-7"] = (await bench.start("bench.note", NOTE, ref="note-7", by="cat")).run_id
    await bench.settle()
    assert await sealer_of(bench.engine, LocalArchive(folder / "evidence"), key)() == 1
    bench.clock.move(days=1)
    runs["wait-1"] = (await bench.start("bench.wait", WAIT, ref="wait-1")).run_id
    await bench.settle()
    return runs


OFFICE = Once(_play)


@pytest.fixture
async def office(bench: Bench, tmp_path: Path, dsn: str) -> SearchedOffice:
    runs = await OFFICE.on(bench, tmp_path)
    return SearchedOffice(bench, Settings(database_url=dsn, home=tmp_path, tenant=TENANT), runs)


async def test_all_runs_are_listed_the_newest_first(office: SearchedOffice) -> None:
    assert await office.found() == ["wait-1", "note-7", "file-2041"]


@pytest.mark.parametrize(
    ("customer", "found"),
    [
        ("2041", ["file-2041"]),
        ("NOTE-", ["note-7"]),
        ("MÜLLER", ["file-2041"]),
        ("söhne 100% gmbh", ["file-2041"]),
        ("i77", ["note-7"]),
        ("incident", []),
        ("%", ["file-2041"]),
        ("_", []),
        ('" , "', []),
        ("nobody", []),
        ("hunter", []),
    ],
)
async def test_a_customer_is_found_by_reference_and_by_values_of_the_trigger(
    office: SearchedOffice, customer: str, found: list[str]
) -> None:
    assert await office.found(customer=customer) == found


@pytest.mark.parametrize(
    ("trigger", "found"),
    [
        ({"list": [{"deep": "hunter2"}]}, 1),
        ({"dbPassword": "hunter2"}, 0),
        ({"auth": {"X-Api-Key": {"value": ["hunter2"]}}}, 0),
        ({"\uff41\uff43\uff43\uff45\uff53\uff53\uff34\uff4f\uff4b\uff45\uff4e": "hunter2"}, 0),
        ({"secretary": "Ms hunter2"}, 0),  # of what fits by half nothing is said either
    ],
)
async def test_what_is_named_like_a_secret_cannot_be_guessed_by_looking_for_it(
    bench: Bench, trigger: dict[str, Any], found: int
) -> None:
    run_id = (await bench.start("bench.wait", WAIT)).run_id
    await bench.meddle("UPDATE runs SET trigger = %s WHERE run_id = %s", json.dumps(trigger), run_id)
    async with bench.engine.pool.connection() as conn:
        assert len(await find_runs(conn, TENANT, Sought(customer="hunt", seen_by="rita"))) == found


async def test_a_reference_alone_is_looked_for_where_the_triggers_values_are_not_to_be_seen(
    office: SearchedOffice,
) -> None:
    assert await office.found(customer="I77", reference_only=True) == []
    assert await office.found(customer="note-7", reference_only=True) == ["note-7"]


@pytest.mark.parametrize(
    ("person", "found"),
    [
        ("rita", ["wait-1", "file-2041"]),
        ("Cat", ["note-7"]),
        ("ann", ["file-2041"]),
        ("BEN", ["file-2041"]),
        ("sue", []),
    ],
)
async def test_a_person_is_found_as_requester_and_as_approver_by_id_and_by_name(
    office: SearchedOffice, person: str, found: list[str]
) -> None:
    assert await office.found(person=person) == found


async def test_runs_are_narrowed_by_runbook_outcome_trigger_and_state(office: SearchedOffice) -> None:
    assert await office.found(definition="bench-note") == ["note-7"]
    assert await office.found(outcome="succeeded", definition="bench-file") == []
    assert await office.found(trigger_types=["bench.wait"]) == ["wait-1"]
    assert await office.found(trigger_types=[]) == []
    states = {one.reference: one.state for one in await office.all()}
    assert (states["note-7"], states["wait-1"]) == (EvidenceState.SEALED, EvidenceState.OPEN)
    for state in EvidenceState:
        assert await office.found(states=[state]) == [ref for ref, its in states.items() if its is state]


async def test_a_run_without_a_bundle_says_why(office: SearchedOffice) -> None:
    said = {one.reference: why(one) for one in await office.all()}
    assert (said["note-7"], said["wait-1"]) == ("", "not ended: waiting")
    await office.bench.meddle("UPDATE runs SET status = 'canceled', finished_at = now() WHERE trigger_ref = 'wait-1'")
    (ended,) = await office.all(states=[EvidenceState.UNSEALED])
    assert why(ended) == "not sealed: no worker has claimed it yet"
    await office.bench.meddle(
        "UPDATE evidence_bundles SET status = 'sealing', stored_at = NULL, sha256 = NULL, tries = 2, error = 'away'"
    )
    (begun,) = await office.all(states=[EvidenceState.SEALING])
    assert why(begun).endswith(": away")
    await office.bench.meddle("UPDATE evidence_bundles SET status = 'stuck'")
    (stuck,) = await office.all(states=[EvidenceState.STUCK])
    assert why(stuck).startswith("stuck: away; once this is fixed, run: countersign evidence retry run_")


async def test_days_are_whole_and_their_ends_are_exact(office: SearchedOffice) -> None:
    day = timedelta(days=1)
    assert await office.found(since=START, until=START + day) == ["file-2041"]
    assert await office.found(since=START + timedelta(microseconds=1), until=START + day) == []
    assert await office.found(since=START + day) == ["wait-1", "note-7"]
    assert await office.found(until=START) == []


async def test_pages_have_each_run_once_whatever_comes_meanwhile(office: SearchedOffice) -> None:
    (first,) = await office.all(limit=1)
    office.bench.clock.move(minutes=1)
    await office.bench.start("bench.wait", WAIT, ref="meanwhile")
    rest = await office.found(after=first.run_id)
    assert [first.reference, *rest] == ["wait-1", "note-7", "file-2041"]


async def test_runs_of_one_moment_are_paged_too(office: SearchedOffice) -> None:
    refs = [f"same-{number}" for number in range(5)]
    for ref in refs:
        await office.bench.start("bench.wait", WAIT, ref=ref)
    found: list[FoundRun] = []
    while page := await office.all(customer="same-", limit=2, after=found[-1].run_id if found else None):
        found += page
    assert sorted(one.reference for one in found) == refs


async def test_nothing_of_another_tenant_is_found_and_no_page_goes_on_behind_its_runs(office: SearchedOffice) -> None:
    assert await office.all(tenant="other") == []
    with pytest.raises(LookupError, match="there is no run"):
        await office.all(tenant="other", after=office.runs["note-7"])


async def test_the_list_is_for_people_json_or_csv(office: SearchedOffice) -> None:
    text = await office.listed("--limit", "2")
    assert text.out.splitlines()[:5] == [
        "wait-1  waiting, open",
        "  bench-wait v1",
        "  requested by Rita on 2026-01-07 09:00:00 UTC",
        "  not ended: waiting",
        f"  {office.runs['wait-1']}",
    ]
    assert text.out.splitlines()[-1] == f"There are more: --after {office.runs['note-7']}"
    (row,) = json.loads((await office.listed("--customer", "I77", "--json")).out)["runs"]
    assert (row["run_id"], row["state"], row["outcome"], row["why"]) == (
        *(office.runs["note-7"], "sealed", "succeeded", ""),
    )
    told = await office.listed("--since", "2026-01-06", "--until", "2026-01-06", "--csv")
    (line,) = csv.DictReader(io.StringIO(told.out, newline=""), strict=True)
    assert (line["reference"], line["sha256"]) == ("note-7", row["sha256"])
    assert (await office.listed("--customer", "nobody")).out == "none\n"


async def test_a_table_for_a_spreadsheet_has_all_rows_unless_fewer_are_asked_for(office: SearchedOffice) -> None:
    await office.bench.meddle("""
        INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('run_id', 'run_' || n, 'trigger_ref', n)))
            .* FROM runs r, generate_series(1, 60) n WHERE r.trigger_ref = 'wait-1'
    """)
    for words, count in (((), 63), (("--limit", "55"), 55)):
        told = await office.listed("--csv", *words)
        assert len(list(csv.DictReader(io.StringIO(told.out, newline=""), strict=True))) == count


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--since", "01.01.2026"), "01.01.2026 is no day, moment or duration"),
        (("--until", "2026-02-30"), "2026-02-30 is no day, moment or duration"),
        (("--until", "9999-12-31"), "9999-12-31 is no day, moment or duration"),
        (("--since", "2026-02-01", "--until", "2026-01-31"), "2026-02-01 00:00:00 UTC is not before the end"),
        (("--json", "--csv"), "give only one of them"),
        (("--state", "lost"), "lost"),
    ],
)
async def test_what_cannot_be_sought_is_a_wrong_use(office: SearchedOffice, words: tuple[str, ...], says: str) -> None:
    finished = await office.listed(*words)
    assert finished.code == 2
    assert says in " ".join(finished.err.replace("│", " ").split())


async def test_a_page_behind_a_run_that_is_not_there_is_one_sentence(office: SearchedOffice) -> None:
    finished = await office.listed("--after", "run_0")
    assert (finished.code, finished.err) == (1, "countersign: there is no run run_0\n")


@pytest.fixture
def stored_office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


async def sealed(office: SealingOffice, ref: str = "1") -> str:
    """Return a run whose bundle is stored."""
    run_id = await noted(office.bench, ref)
    assert await office.sealer() == 1
    return run_id


async def got(office: SealingOffice, run_id: str, to: Path, *more: str, by: str = "omar") -> Finished:
    words = ("evidence", "get", run_id, "-o", str(to), "--as", by)
    return await command(*words, *more, env=environment(office.settings))


def says(finished: Finished, sentence: str) -> bool:
    """Return whether the command failed with one sentence, and this is how it begins."""
    return finished.code == 1 and finished.err.count("\n") == 1 and finished.err.startswith(f"countersign: {sentence}")


async def handed_out(office: SealingOffice) -> list[tuple[str, str, str]]:
    """Return who was given the bundle of which run, by its SHA-256, as the tenant's chain has it."""
    query = "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'bundle.fetched' ORDER BY seq"
    leaves = [row["leaf"] for row in await office.bench.rows(query)]
    return [(leaf["actor"]["id"], leaf["data"]["run_id"], leaf["data"]["sha256"]) for leaf in leaves]


async def test_who_was_given_which_bundle_is_on_record(stored_office: SealingOffice, tmp_path: Path) -> None:
    run_id, to = await sealed(stored_office), tmp_path / "bundle.zip"
    assert (await got(stored_office, run_id, to)).code == 0
    given = ("omar", run_id, hashlib.sha256(to.read_bytes()).hexdigest())
    assert await handed_out(stored_office) == [given]
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    assert (await got(stored_office, run_id, to)).code == 0, "the same is there already"
    assert await handed_out(stored_office) == [given, given]


async def test_nobody_but_a_person_of_the_directory_is_given_a_bundle(
    stored_office: SealingOffice, tmp_path: Path
) -> None:
    run_id, to = await sealed(stored_office), tmp_path / "bundle.zip"
    for nobody in ("portal-bot", "mallory"):
        assert says(await got(stored_office, run_id, to, by=nobody), f"the directory has no person {nobody}")
    assert not to.exists()
    assert await handed_out(stored_office) == []


async def test_file_that_cannot_be_written_is_one_sentence_and_not_on_record(
    stored_office: SealingOffice, tmp_path: Path
) -> None:
    run_id, to = await sealed(stored_office), tmp_path / "no/such/bundle.zip"
    assert says(await got(stored_office, run_id, to), f"{to} cannot be written: {to.parent} is not a folder")
    assert await handed_out(stored_office) == []


async def test_no_other_file_is_overwritten(stored_office: SealingOffice, tmp_path: Path) -> None:
    run_id, to = await sealed(stored_office), tmp_path / "bundle.zip"
    to.write_bytes(b"mine")
    for more in ((), ("--sigstore", str(tmp_path / "new.json"))):
        refused = await got(stored_office, run_id, to, *more)
        assert says(refused, f"{to} exists with other content: nothing is overwritten")
    assert (to.read_bytes(), [*tmp_path.glob("new*")]) == (b"mine", [])
    assert await handed_out(stored_office) == []


async def test_bundle_and_statement_are_not_written_into_one_file(stored_office: SealingOffice, tmp_path: Path) -> None:
    run_id, to = await sealed(stored_office), tmp_path / "bundle.zip"
    refused = await got(stored_office, run_id, to, "--sigstore", str(to))
    assert says(refused, f"{to} cannot hold both the bundle and the statement about it")
    assert not to.exists()
    assert await handed_out(stored_office) == []


async def test_what_is_not_the_bundle_that_was_stored_or_the_statement_about_it_is_not_written(
    stored_office: SealingOffice, tmp_path: Path
) -> None:
    run_id, other = await sealed(stored_office), await sealed(stored_office, "2")

    def replaced(kind: str) -> Path:
        """Put what stands beside the other run's name in the place of this one's."""
        for ending in ("", ".json"):
            shutil.copy(stored_office.folder / f"{other}.{kind}{ending}", tmp_path / "copy")
            (tmp_path / "copy").replace(stored_office.folder / f"{run_id}.{kind}{ending}")
        return stored_office.folder / f"{run_id}.{kind}"

    statement = replaced("sigstore.json")
    about = await got(stored_office, run_id, tmp_path / "new.zip", "--sigstore", str(tmp_path / "new.json"))
    assert says(about, f"{statement} is about another file than the bundle that was stored")
    kept = replaced("zip")
    refused = await got(stored_office, run_id, tmp_path / "new.zip")
    assert says(refused, f"{kept} is not the bundle that was stored: its sha256 is ")
    assert [*tmp_path.glob("new*")] == []
    assert await handed_out(stored_office) == []
