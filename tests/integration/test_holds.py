"""Legal holds: set and lifted by people, on record, and carried out by the archive whatever comes between."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from psycopg import AsyncConnection

from countersign.doctor.evidence import evidence
from countersign.settings import Settings
from evidence.archive import Archive
from evidence.local import LocalArchive
from evidence.retention import Keeper
from evidence.s3 import S3Archive
from evidence.sealer import Sealer
from runtime.clock import utc_now
from runtime.services.legal_holds import HoldError, LegalHolds, Subject
from runtime.services.listings import list_holds
from runtime.services.people import UnknownPersonError
from tests.bench import BENCH_SECRET, TENANT, Bench
from tests.integration.evidence_stage import SealingOffice, noted, open_office
from tests.integration.program_stage import Finished, command, environment
from tests.integration.servers import MinioServer, s3_server
from tests.patience import until
from tests.sealing import sealer_of

REFERENCE = Subject("reference", "1")


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


@pytest.fixture
def desk(bench: Bench) -> LegalHolds:
    return LegalHolds(bench.engine.pool, bench.clock, TENANT, bench.engine.privacy)


@pytest.fixture
def keeper(office: SealingOffice, desk: LegalHolds) -> Keeper:
    return Keeper(desk, LocalArchive(office.folder))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


async def listed(bench: Bench, *, lifted: bool) -> list[dict[str, Any]]:
    async with bench.engine.pool.connection() as conn:
        return await list_holds(conn, TENANT, lifted=lifted)


async def sealed(office: SealingOffice, ref: str = "1") -> str:
    """Return a run whose bundle is stored."""
    run_id = await noted(office.bench, ref, "bench.note")
    assert await office.sealer() == 1
    return run_id


async def carried_out(keeper: Keeper) -> int:
    """Let the archive be told of everything that is due; return of how much."""
    done = 0
    while await keeper():
        done += 1
    return done


def is_held(office: SealingOffice, run_id: str) -> bool:
    return (office.folder / f"held/{run_id}.zip").exists()


async def acts(bench: Bench) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
    """Return what the tenant's chain says of holds: event, actor, data."""
    query = "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' LIKE 'hold.%%' ORDER BY seq"
    return [(row["leaf"]["event"], row["leaf"]["actor"], row["leaf"]["data"]) for row in await bench.rows(query)]


# What is held


async def test_stored_bundle_is_held_and_released_and_both_are_on_record_by_who_did_it_and_why(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await sealed(office)
    hold_id = await desk.hold("omar", Subject("run", run_id), "court case 7")
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)
    assert await desk.lift("ann", Subject("run", run_id), "settled") == hold_id
    assert await carried_out(keeper) == 1
    assert not is_held(office, run_id)
    named = {"hold_id": hold_id, "kind": "run", "subject": run_id}
    assert await acts(office.bench) == [
        ("hold.set", {"id": "omar", "kind": "person"}, {**named, "reason": "court case 7"}),
        ("hold.lifted", {"id": "ann", "kind": "person"}, {**named, "reason": "settled"}),
    ]


async def test_run_that_is_not_sealed_yet_can_be_held_and_its_bundle_is_when_it_is_stored(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = (await office.bench.start("bench.note", {"incident": "I", "text": "a", "api_token": "t"})).run_id
    await desk.hold("omar", Subject("run", run_id), "court")
    assert await carried_out(keeper) == 0
    await office.bench.settle()
    assert await office.sealer() == 1
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)


async def test_hold_on_a_reference_is_on_all_runs_of_it_those_that_come_later_too_and_on_no_other(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    first, other = await sealed(office), await sealed(office, "2")
    await desk.hold("omar", REFERENCE, "court")
    later = (await office.bench.start("bench.timer", {}, ref="1")).run_id
    await office.bench.settle()
    await office.bench.later(hours=2)
    assert await office.sealer() == 1
    assert await carried_out(keeper) == 2
    assert [is_held(office, run_id) for run_id in (first, later, other)] == [True, True, False]


async def test_what_two_holds_name_stays_held_until_both_are_lifted(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await sealed(office)
    await desk.hold("omar", Subject("run", run_id), "court")
    await desk.hold("omar", REFERENCE, "audit")
    await carried_out(keeper)
    await desk.lift("omar", Subject("run", run_id), "settled")
    await carried_out(keeper)
    assert is_held(office, run_id)
    await desk.lift("omar", REFERENCE, "over")
    await carried_out(keeper)
    assert not is_held(office, run_id)


async def test_bundle_in_a_bucket_that_is_held_cannot_be_deleted(
    office: SealingOffice, desk: LegalHolds, server: MinioServer
) -> None:
    bucket = server.make_bucket(f"held-{office.key.public.key_id[:8]}")
    archive = S3Archive(server.client(), bucket, "evidence/", None, utc_now)
    run_id = await noted(office.bench)
    assert await _sealer(office, archive)() == 1
    await desk.hold("omar", Subject("run", run_id), "court")
    assert await carried_out(Keeper(desk, archive)) == 1
    row = await office.row(run_id)
    named: Any = {"Bucket": bucket, "Key": f"evidence/{run_id}.zip", "VersionId": row["version_id"]}
    with pytest.raises(ClientError):
        server.client().delete_object(**named)
    assert archive.get(row["location"])
    await desk.lift("omar", Subject("run", run_id), "over")
    assert await carried_out(Keeper(desk, archive)) == 1
    server.client().delete_object(**named)


def _sealer(office: SealingOffice, archive: Archive) -> Sealer:
    return sealer_of(office.bench.engine, archive, office.settings.key_path)


# What is refused


async def test_hold_needs_a_run_a_person_and_a_reason_and_is_set_once(office: SealingOffice, desk: LegalHolds) -> None:
    run_id = await sealed(office)
    run = Subject("run", run_id)
    with pytest.raises(HoldError, match="there is no run run_0"):
        await desk.hold("omar", Subject("run", "run_0"), "court")
    with pytest.raises(HoldError, match="there is no run with the reference case-9"):
        await desk.hold("omar", Subject("reference", "case-9"), "court")
    for nobody in ("mallory", "portal-bot"):
        with pytest.raises(UnknownPersonError):
            await desk.hold(nobody, run, "court")
    with pytest.raises(HoldError, match="why is not said"):
        await desk.hold("omar", run, " ")
    with pytest.raises(HoldError, match=f"there is no hold on run {run_id}"):
        await desk.lift("omar", run, "over")
    hold_id = await desk.hold("omar", run, "court")
    with pytest.raises(HoldError, match=f"{run_id} is held already, by {hold_id}"):
        await desk.hold("ann", run, "court again")
    assert [event for event, _, _ in await acts(office.bench)] == ["hold.set"]


async def test_secret_of_the_settings_is_in_no_reason(office: SealingOffice, desk: LegalHolds) -> None:
    await sealed(office)
    await desk.hold("omar", REFERENCE, f"see {BENCH_SECRET}")
    [row] = await listed(office.bench, lifted=False)
    assert BENCH_SECRET not in str(row) + str(await acts(office.bench))


async def test_two_who_hold_the_same_at_one_moment_set_one_hold(office: SealingOffice, desk: LegalHolds) -> None:
    await sealed(office)
    results = await asyncio.gather(*(desk.hold("omar", REFERENCE, "court") for _ in range(6)), return_exceptions=True)
    assert [isinstance(one, HoldError) for one in results].count(True) == 5
    assert len(await listed(office.bench, lifted=True)) == 1


# Whatever comes between


async def test_archive_that_is_away_is_told_later_and_the_doctor_says_so(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await sealed(office)
    await desk.hold("omar", REFERENCE, "court")
    away = office.folder.rename(office.folder.with_name("away"))
    assert await carried_out(keeper) == 0
    fact = {one.name: one for one in await evidence(office.settings, utc_now)}["legal holds"]
    assert not fact.ok
    assert fact.detail.startswith(f"1 the archive does not take: {run_id}: ")
    away.rename(office.folder)
    assert await carried_out(keeper) == 0, "it is left alone for a while"
    await office.bench.rows("UPDATE evidence_held SET next_try_at = clock_timestamp() RETURNING 1")
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)
    assert {one.name: one.ok for one in await evidence(office.settings, utc_now)}["legal holds"]


async def test_hold_that_is_lifted_while_the_archive_is_told_of_it_is_released_after_that(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await sealed(office)
    await desk.hold("omar", REFERENCE, "court")
    due = await desk.next_due(timedelta(minutes=2), keeper.archive.root)
    assert due
    assert due.is_wanted
    await desk.lift("omar", REFERENCE, "over")
    assert await carried_out(keeper) == 0, "whoever tells it just now comes to its end first"
    keeper.archive.set_hold(due.location, on=True)
    await desk.mark_told(due)
    assert await carried_out(keeper) == 1
    assert not is_held(office, run_id)


async def test_keeper_that_is_lost_leaves_the_bundle_to_others(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await sealed(office)
    await desk.hold("omar", REFERENCE, "court")
    assert await desk.next_due(timedelta(0), keeper.archive.root)
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)


@pytest.mark.parametrize("is_heard", [True, False], ids=["heard", "not heard"])
async def test_keeper_that_is_late_with_a_release_does_not_end_a_hold_that_came_meanwhile(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper, *, is_heard: bool
) -> None:
    run_id = await sealed(office)
    for act in (desk.hold, desk.lift):
        await act("omar", REFERENCE, "court")
    late = await desk.next_due(timedelta(0), keeper.archive.root)
    assert late
    assert not late.is_wanted
    await desk.hold("omar", REFERENCE, "court again")
    assert await carried_out(keeper) == 1
    keeper.archive.set_hold(late.location, on=False)
    await (desk.mark_told(late) if is_heard else desk.mark_untold(late, "no answer"))
    (hold,) = await listed(office.bench, lifted=False)
    assert (hold["held"], hold["to_be_held"]) == (0, 1)
    await office.bench.meddle("UPDATE evidence_held SET next_try_at = clock_timestamp()")
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)


async def test_process_with_another_archive_leaves_the_bundle_to_others(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper, tmp_path: Path
) -> None:
    run_id = await sealed(office)
    await desk.hold("omar", REFERENCE, "court")
    assert await carried_out(Keeper(desk, LocalArchive(tmp_path / "evidence-2"))) == 0
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)


async def test_bundle_that_is_stored_while_a_hold_is_being_set_is_held(
    office: SealingOffice, desk: LegalHolds, keeper: Keeper
) -> None:
    run_id = await noted(office.bench)
    async with await AsyncConnection.connect(office.bench.superuser) as other:
        await other.execute("SELECT pg_advisory_xact_lock(hashtextextended('evidence_holds:' || %s, 0))", (TENANT,))
        sealing = asyncio.create_task(office.sealer())
        await until(lambda: office.bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        await other.execute(
            "INSERT INTO evidence_holds (hold_id, tenant, kind, subject, reason, set_by, set_at)"
            " VALUES ('hold_1', %s, 'run', %s, 'court', 'omar', now())",
            (TENANT, run_id),
        )
        await other.commit()
        assert await sealing == 1
    assert await carried_out(keeper) == 1
    assert is_held(office, run_id)


# From the command line


async def test_holds_are_set_listed_and_released_from_the_command_line(office: SealingOffice) -> None:
    run_id = await sealed(office)
    await noted(office.bench, "2")

    async def evidence_(*words: str) -> Finished:
        return await command("evidence", *words, env=environment(office.settings))

    done = await evidence_("hold", run_id, "--as", "omar", "--reason", "court")
    assert done.out.endswith("is set; bundles held in the archive now: 1; others will be when they are stored\n")
    assert is_held(office, run_id)
    waiting = await evidence_("hold", "--reference", "2", "--as", "omar", "--reason", "audit")
    assert "held in the archive now: 0;" in waiting.out
    listed = await evidence_("holds")
    assert [line.split()[1:4] for line in listed.out.splitlines()[1:]] == [
        ["reference", "2", "omar"],
        ["run", run_id, "omar"],
    ]
    first, second = (line.split()[0] for line in listed.out.splitlines()[1:])
    for words, found in (
        (("--reference", "2"), {first}),
        (("--run", run_id), {second}),
        (("--run", "2"), set()),
        (("--since", "2026-01-05"), {first, second}),
        (("--until", "2026-01-04"), set()),
        (("--limit", "1"), {first}),
        (("--after", first), {second}),
    ):
        said = json.loads((await evidence_("holds", *words, "--json")).out)
        assert {row["hold_id"] for row in said["holds"]} == found
    both = await evidence_("holds", "--run", run_id, "--reference", "2")
    assert (both.code, "name a run or a --reference, not both" in both.err) == (2, True)
    over = await evidence_("release", run_id, "--as", "omar", "--reason", "settled")
    assert over.out.endswith("is released; bundles updated in the archive now: 1\n")
    assert not is_held(office, run_id)
    assert run_id not in (await evidence_("holds")).out
    assert run_id in (await evidence_("holds", "--all")).out
    refused = await evidence_("release", run_id, "--as", "omar", "--reason", "again")
    assert (refused.code, refused.err) == (1, f"countersign: there is no hold on run {run_id}\n")
    both = await evidence_("hold", run_id, "--reference", "2", "--as", "omar", "--reason", "x")
    assert both.code == 2


async def test_hold_is_refused_and_not_on_record_where_nothing_can_hold_it(
    office: SealingOffice, server: MinioServer
) -> None:
    bucket = server.make_bucket(f"plain-{office.key.public.key_id[:8]}", locked=False)
    run_id = await noted(office.bench)
    keys = {"s3_endpoint": server.endpoint, "s3_access_key": server.user, "s3_secret_key": server.password}
    given: Any = {**keys, "database_url": office.settings.database_url, "s3_bucket": bucket, "require_lock": False}
    settings = Settings(home=office.settings.home, tenant=TENANT, **given)
    words = ("evidence", "hold", run_id, "--as", "omar", "--reason", "court")
    refused = await command(*words, env=environment(settings))
    sentence = f"countersign: the bucket {bucket} has no Object Lock: whatever is in it can be deleted\n"
    assert (refused.code, refused.err) == (1, sentence)
    assert await acts(office.bench) == []
