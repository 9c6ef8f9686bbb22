"""Sealing that does not succeed at once: tried again soon and ever more slowly, never dropped, and seen by people."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.evidence import evidence
from countersign.settings import Settings
from evidence.build import attestation_of, build
from evidence.retention import Retention
from evidence.s3 import S3Archive
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.clock import utc_now
from runtime.handlers import Call, JsonObject, OutcomeUnknownError, RefusedError, TransientError
from runtime.inbox import inbox
from runtime.services.operator import OperatorService
from runtime.services.sealing import PAUSES, BundleLease, SealingService
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import FILE, NOTE, SealingOffice, noted, open_office
from tests.integration.program_stage import command, environment
from tests.integration.servers import PASSWORD, USER, MinioServer, minio_server, s3_server


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


async def test_failed_seal_is_tried_again_after_a_second_then_ever_more_slowly_and_is_never_dropped(
    office: SealingOffice,
) -> None:
    run_id = await noted(office.bench)
    pauses = []
    with office.away():
        for tries in range(1, 14):
            assert await office.sealer() == 0
            row = await office.row(run_id)
            assert (row["tries"], row["stored_at"]) == (tries, None)
            assert "cannot be written" in row["error"]
            pauses.append(row["pause"])
            await office.due()
    assert pauses[0] <= timedelta(seconds=1)
    assert all(earlier < later for earlier, later in pairwise(pauses[:10]))
    assert max(pauses) <= PAUSES.max_delay == timedelta(minutes=15)
    assert await office.sealer() == 1
    row = await office.row(run_id)
    assert row["stored_at"]
    assert row["error"] == ""


async def test_fault_of_our_own_while_sealing_is_kept_and_tried_again_too(
    office: SealingOffice, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = await noted(office.bench)
    broken: Any = object()
    assert await replace(office.sealer, archive=broken)() == 0
    row = await office.row(run_id)
    assert row["pause"] <= timedelta(seconds=1)
    assert "AttributeError" in row["error"]
    assert "Traceback" in caplog.text
    await office.due()
    assert await office.sealer() == 1


async def test_worker_whose_clock_is_20_minutes_behind_seals_what_another_began(office: SealingOffice) -> None:
    run_id = await noted(office.bench)
    assert await _lease(office)
    engine = replace(office.bench.engine, clock=lambda: office.bench.clock() - timedelta(minutes=20))
    assert await replace(office.sealer, desk=SealingService(engine))() == 1
    assert (await office.row(run_id))["stored_at"]


async def test_message_that_the_chat_does_not_take_holds_up_no_seal(office: SealingOffice, tmp_path: Path) -> None:
    bench, chat = office.bench, office.bench.chat

    async def away(call: Call) -> JsonObject:
        raise TransientError("the chat is away")

    handlers = dict(bench.engine.handlers)
    for name in ("post_card", "update_card", "post_message", "direct_message"):
        handlers[f"slack::{name}"] = replace(handlers[f"slack::{name}"], run=away)
    bench = replace(bench, worker=type(bench.worker)(replace(bench.engine, handlers=handlers)))
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert chat.calls == []
    assert await _lease(office)
    sealed = build(await office.sealer.dossier(run_id), office.key)
    assert await office.sealer() == 1
    bundle = Path((await office.row(run_id))["location"])
    assert verify(bundle, public_path(tmp_path / "keys/evidence.pem")).run_id == run_id
    # the card comes late: the bundle of the same run is the same, byte by byte
    async with bench.engine.pool.connection() as conn:
        await conn.execute('UPDATE approvals SET cards = \'[{"text": "late"}]\' WHERE run_id = %s', (run_id,))
    assert build(await office.sealer.dossier(run_id), office.key) == sealed
    assert bundle.read_bytes() == sealed.data


async def test_evidence_is_announced_of_what_asked_somebody_and_of_what_went_wrong_and_of_nothing_else(
    office: SealingOffice, targets: Targets
) -> None:
    bench = office.bench
    quiet = await noted(bench)
    targets.note.answers = [RefusedError("no such incident")]
    failed = (await bench.start("bench.note", {**NOTE, "incident": "I2"}, ref="failed")).run_id
    asked = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    await bench.meddle("UPDATE approvals SET card_ts = '1.0'")  # as the bot does
    while await office.sealer():
        pass
    await bench.settle()
    calls = [call for call in bench.chat.calls if call.operation == "post_message"]
    said = {call.run_id: call.params["thread_of"] for call in calls if call.params["said"]["kind"] == "evidence_sealed"}
    assert said == {failed: None, asked: approval}
    assert (await office.row(quiet))["stored_at"]


async def test_a_story_is_read_the_same_again(office: SealingOffice) -> None:
    run_id = (await office.bench.start("bench.note", NOTE)).run_id
    await office.bench.settle()
    assert await _story(office, run_id) == await SealingService(office.bench.engine).story(run_id)


async def _lease(office: SealingOffice) -> list[BundleLease]:
    return await SealingService(office.bench.engine).next_bundles(timedelta(0), office.key, [office.key.public.key_id])


async def _story(office: SealingOffice, run_id: str) -> Any:
    assert [lease.run_id for lease in await _lease(office)] == [run_id]
    return await SealingService(office.bench.engine).story(run_id)


async def test_what_is_not_sealed_or_not_stored_is_listed_with_its_reason_and_found_by_the_doctor(
    office: SealingOffice, targets: Targets
) -> None:
    bench = office.bench
    assert await office.is_well() == {
        "evidence sealed": True,
        "evidence retention": True,
        "legal holds": True,
    }
    targets.file.answers = [OutcomeUnknownError("reset")]
    doubtful = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(bench.engine, await desk.cancel("omar", doubtful, "no longer wanted", None))
    ended = await noted(bench)
    assert await office.listed() == {
        doubtful: "not sealed: file is in_doubt",
        ended: "not sealed: no worker has claimed it yet",
    }
    assert (await office.is_well())["evidence sealed"] is False, (
        "the bench's clock is months behind: nobody sealed them"
    )
    await bench.meddle("UPDATE runs SET finished_at = clock_timestamp()")
    assert (await office.is_well())["evidence sealed"] is True
    with office.away():
        assert await office.sealer() == 0
        why = (await office.listed())[ended]
        assert why.startswith("not stored: 1 try, again at 20")
        assert "cannot be written" in why
        assert (await office.is_well())["evidence sealed"] is True, "a first failure is no alarm"
    await bench.meddle("UPDATE evidence_bundles SET created_at = created_at - interval '1 hour'")
    assert (await office.is_well())["evidence sealed"] is False
    await office.due()
    assert await office.sealer() == 1
    assert (await office.is_well())["evidence sealed"] is True
    finished = await command("evidence", "list", env=environment(office.settings))
    said = finished.out.splitlines()
    assert said[said.index(f"  {doubtful}") - 1] == "  not sealed: file is in_doubt"
    assert said[said.index(f"  {doubtful}") - 4].endswith("  canceled, unsealed")
    assert said[said.index(f"  {ended}") - 1] == f"  sha256 {(await office.row(ended))['sha256']}"
    assert said[said.index(f"  {ended}") - 4].endswith("  succeeded, sealed")


async def test_doctor_lists_what_a_bucket_has_without_retention_until_it_has_one(
    office: SealingOffice, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_id = await noted(office.bench)
    with minio_server(tmp_path_factory.mktemp("minio")) as server:
        bucket = server.make_bucket("evidence")
        settings = _with_bucket(office.settings, server, bucket)
        careless = S3Archive(server.client(), bucket, "evidence/", None, utc_now)
        assert await replace(office.sealer, archive=careless)() == 1
        [_, fact, _] = await evidence(settings, utc_now)
        assert (fact.ok, fact.detail) == (False, f"1 stored in a bucket without retention: {run_id}")
        sealed = await office.row(run_id)
        careful = S3Archive(server.client(), bucket, "evidence/", Retention("GOVERNANCE", 1), utc_now)
        data = careful.get(sealed["location"])
        careful.put(f"{run_id}.zip", data, sealed["sha256"])
        [_, fact, _] = await evidence(settings, utc_now)
        assert fact.ok


async def test_definition_says_for_how_long_its_evidence_is_kept_in_the_row_and_in_the_bucket(
    office: SealingOffice, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept, other = await noted(office.bench, "1", "bench.kept"), await noted(office.bench, "2")
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        bucket = server.make_bucket(f"kept-{office.key.public.key_id[:8]}")
        archive = S3Archive(server.client(), bucket, "evidence/", Retention("GOVERNANCE", 7), utc_now)
        sealer = replace(office.sealer, archive=archive)
        assert await sealer() == 2
        for run_id, days, wanted in ((kept, 3, 3), (other, 7, None)):
            row = await office.row(run_id)
            beside = archive.head(archive.locate(attestation_of(run_id)))
            assert row["retain_days"] == wanted
            for until in (row["retention_until"], beside.retention_until):
                assert until
                assert timedelta(days=days - 0.1) < until - utc_now() <= timedelta(days=days)


def _with_bucket(settings: Settings, server: MinioServer, bucket: str) -> Settings:
    keys: Any = {"s3_endpoint": server.endpoint, "s3_access_key": USER, "s3_secret_key": PASSWORD, "s3_bucket": bucket}
    return Settings(database_url=settings.database_url, home=settings.home, tenant=settings.tenant, **keys)
