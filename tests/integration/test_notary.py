"""The notary: checkpoints grow from what was signed before, and witnesses cosign them.

The log is signed only as what it was signed before has grown to, and stands whole beside the bundles.

The log's checkpoints are cosigned by witnesses, and none that a witness contradicts is signed where it must be.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from shutil import rmtree

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot.doctor import Fact
from countersign.doctor.evidence import audit_log
from countersign.settings import Settings
from evidence.local import LocalArchive
from evidence.notary import Notary, Witnesses
from evidence.verify.trust import trust_of
from evidence.verify.verify import verify
from receipts.checkpoint import Checkpoint, LogKeys, cosignatures, open_checkpoint
from receipts.hashes import EMPTY, TreeHead, hash_leaf
from receipts.note import Algorithm, Note, NoteSigner, VerifierKey, parse_note
from receipts.proofs import consistency_proof, verify_consistency
from receipts.signing import SigningKey, public_path
from receipts.tiles import TILE_WIDTH, EntryBundle, Tile, nodes_of, read_bundle
from runtime.services.log import AuditLogService
from runtime.services.sequencer import Sequencer
from runtime.store import checkpoints
from tests.bench import TENANT, Bench
from tests.integration.program_stage import key_of, running
from tests.patience import MINUTE
from tests.sealing import notary_of, sealer_of

NOTE = {"text": "a", "api_token": "t"}
SIGNER = NoteSigner("countersign/acme", SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32)))))
KEYS = LogKeys((SIGNER.verifier(Algorithm.ED25519),))


@dataclass
class Office:
    """A bench whose log is published in a folder."""

    bench: Bench
    folder: Path

    @property
    def notary(self) -> Notary:
        return Notary(AuditLogService(self.bench.engine), LocalArchive(self.folder), SIGNER, "log/acme/")

    async def grow(self, count: int = 1) -> None:
        """Have runs end, and their leaves be given their places."""
        have = len(await self.bench.rows("SELECT 1 FROM runs"))
        for number in range(have, have + count):
            await self.bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()
        while await Sequencer(self.bench.engine)():
            pass

    async def let_lease_run_out(self) -> None:
        """Have the time pass after which another may sign and publish."""
        await self.bench.meddle("UPDATE log_leases SET until = clock_timestamp()")

    def published(self) -> Checkpoint:
        """Return the checkpoint in the folder."""
        return open_checkpoint(parse_note((self.folder / "log/acme/checkpoint").read_bytes()), KEYS)

    def read(self, place: Tile | EntryBundle) -> bytes:
        return (self.folder / "log/acme" / place.path).read_bytes()

    def entries(self, size: int) -> list[bytes]:
        """Return the entries of the log from the folder."""
        found = []
        for first in range(0, size, TILE_WIDTH):
            bundle = EntryBundle(first // TILE_WIDTH, min(TILE_WIDTH, size - first))
            found += read_bundle(bundle, self.read(bundle))
        return found


@pytest.fixture
def office(bench: Bench, tmp_path: Path) -> Office:
    return Office(bench, tmp_path / "evidence")


async def test_what_is_published_gives_the_root_that_is_signed(office: Office) -> None:
    await office.grow(2)
    assert await office.notary() == 1
    head = office.published().head
    assert head == await office.notary.desk.head()
    assert head == EMPTY.append(map(hash_leaf, office.entries(head.size))).range.head()


async def test_each_checkpoint_extends_the_one_before(office: Office) -> None:
    heads: list[TreeHead] = []
    for _ in range(4):
        await office.grow(8)
        office.bench.clock.move(minutes=1)
        assert await office.notary() == 1
        heads.append(office.published().head)
    size = heads[-1].size
    assert size > TILE_WIDTH, "a tile is full"
    for old in heads:
        verify_consistency(old, heads[-1], consistency_proof(nodes_of(office.read, size), old.size, size))


async def test_a_log_is_signed_once_a_minute_while_it_grows(office: Office) -> None:
    await office.grow()
    assert await office.notary() == 1
    await office.grow()
    assert await office.notary() == 0
    office.bench.clock.move(seconds=office.notary.every.total_seconds())
    assert await office.notary() == 1
    office.bench.clock.move(minutes=10)
    assert await office.notary() == 0, "it has not grown"


async def test_an_empty_log_is_not_signed(office: Office) -> None:
    assert await office.notary() == 0


async def test_an_archive_that_is_away_gets_it_later(office: Office) -> None:
    await office.grow()
    office.folder.write_text("in the way")
    assert await office.notary() == 0
    office.folder.unlink()
    await office.grow()
    await office.let_lease_run_out()
    assert await office.notary() == 1
    assert office.published().head == await office.notary.desk.head()


async def test_what_is_in_the_way_is_said_once_a_lease(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    await office.grow()
    office.folder.write_text("in the way")
    for _ in range(3):
        assert await office.notary() == 0
    assert caplog.text.count("the log is not published, and will be") == 1
    await office.let_lease_run_out()
    assert await office.notary() == 0
    assert caplog.text.count("the log is not published, and will be") == 2


async def test_a_log_that_was_made_anew_is_told_as_a_fault_until_it_is_published(
    office: Office, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(database_url=dsn, home=office.folder, tenant=TENANT)
    for _ in range(2):
        await office.grow()
        office.bench.clock.move(minutes=1)
        assert await office.notary() == 1
    await office.bench.forget_log()
    for table in ("tenant_leaves", "audit_leaves"):  # in another order than before
        await office.bench.await_places(table)
        await office.notary.desk.sequence()
    assert await office.notary() == 0
    assert [line.levelname for line in caplog.records if "what is published is of another log" in line.message] == [
        "ERROR"
    ]
    (fact,) = await audit_log(settings)
    assert (fact.ok, "what is published is of another log" in fact.detail) == (False, True)
    rmtree(office.folder)
    await office.let_lease_run_out()
    assert await office.notary() == 1
    assert (await audit_log(settings))[0].ok


async def test_two_notaries_publish_once(office: Office) -> None:
    await office.grow()
    other = replace(office.notary, desk=AuditLogService(replace(office.bench.engine, worker="other")))
    async with other.desk.lease() as mine:
        assert mine
        assert await office.notary() == 0
    assert await office.notary() == 1


async def test_who_publishes_for_longer_than_a_lease_holds_on_to_it(office: Office) -> None:
    await office.grow()
    engine = office.bench.engine
    desk = AuditLogService(replace(engine, timing=replace(engine.timing, lease=timedelta(milliseconds=30))))
    async with asyncio.timeout(MINUTE), desk.lease() as mine:
        assert mine
        # by a minute, which no slow machine loses
        put_off = await office.bench.meddle("UPDATE log_leases SET until = until + interval '1 minute' RETURNING until")
        while await office.bench.rows("SELECT until FROM log_leases") == put_off:
            await asyncio.sleep(0)


async def test_a_lease_that_has_run_out_is_not_held_on_to(office: Office) -> None:
    await office.grow()
    desk = office.notary.desk
    async with desk.lease() as mine:
        assert mine
        await office.let_lease_run_out()
        async with office.bench.engine.pool.connection() as conn:
            await checkpoints.extend_lease(conn, TENANT, timedelta(minutes=1))
        async with desk.lease() as taken:
            assert taken


async def test_entries_are_the_same_wherever_they_are_cut(office: Office) -> None:
    await office.grow(3)
    head = await office.notary.desk.head()
    assert head is not None
    async with office.bench.engine.pool.connection() as conn:
        whole = await checkpoints.log_entries(conn, TENANT, 0, head.size)
        assert EMPTY.append(map(hash_leaf, whole)).range.head() == head
        for cut in range(1, head.size):
            parts = [await checkpoints.log_entries(conn, TENANT, *ends) for ends in ((0, cut), (cut, head.size))]
            assert parts == [whole[:cut], whole[cut:]]


CHANGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "a leaf says something else": (
        'UPDATE audit_leaves SET leaf = (leaf::jsonb || \'{"event": "run.other"}\')::json WHERE seq = 2',
        lambda said: "does not give the hash" in said,
    ),
    "a leaf is gone": ("DELETE FROM audit_leaves WHERE seq = 3", lambda said: "entries, not" in said),
    "a hash of the log is another": (
        "UPDATE log_tiles SET hashes = overlay(hashes placing decode(repeat('00', 32), 'hex') from 1 for 32)",
        lambda said: "does not give the root" in said,
    ),
    "hashes of the log are gone": (
        "UPDATE log_tiles SET hashes = substring(hashes from 1 for 32)",
        lambda said: "is not as wide" in said,
    ),
    "the log is another one": (
        "UPDATE log_heads SET hashes = decode(repeat('00', length(hashes)), 'hex')",
        lambda said: "does not give the root" in said,
    ),
    "the log is shorter": (
        "UPDATE log_heads SET size = 1, hashes = substring(hashes from 1 for 32)",
        lambda said: "is no beginning of" in said,
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_log_that_was_changed_is_not_published(
    office: Office, change: tuple[str, Callable[[str], bool]], caplog: pytest.LogCaptureFixture
) -> None:
    statement, is_said = change
    await office.grow()
    assert await office.notary() == 1
    before = office.published()
    await office.grow()
    await office.bench.meddle(statement)
    office.bench.clock.move(minutes=1)
    assert await office.notary() == 0
    assert is_said(caplog.text)
    assert office.published() == before


async def test_a_log_that_grows_and_is_not_signed_is_found_by_the_doctor(office: Office, dsn: str) -> None:
    settings = Settings(database_url=dsn, home=office.folder, tenant=TENANT)

    async def fact() -> Fact:
        (found,) = await audit_log(settings)
        return found

    assert (await fact()).ok, "there is no log yet"
    await office.grow()
    assert not (await fact()).ok
    assert "not signed for" in (await fact()).detail
    for _ in range(2):  # that it is signed with this key is itself put on record
        assert await office.notary() == 1
        await office.notary.desk.sequence()
        office.bench.clock.move(minutes=1)
    assert (await fact()).ok


async def test_of_two_who_sign_the_log_of_one_size_the_first_counts(office: Office) -> None:
    await office.grow()
    desk = office.notary.desk
    head = await desk.head()
    assert head is not None
    assert (await desk.keep(head, "first")).note == "first"
    assert (await desk.keep(head, "second")).note == "first"


@dataclass
class WitnessedOffice:
    """A bench whose log a witness watches."""

    bench: Bench
    folder: Path
    witness: VerifierKey
    url: str

    def notary(self, needed: int = 1, url: str = "") -> Notary:
        made = notary_of(self.bench.engine, LocalArchive(self.folder), self.folder / "keys/evidence.pem")
        return replace(made, witnesses=Witnesses({self.witness: url or self.url}, needed))

    async def grow(self) -> None:
        """Have a run end, and its leaves be given their places."""
        number = len(await self.bench.rows("SELECT 1 FROM runs"))
        await self.bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()
        await self.notary().desk.sequence()
        self.bench.clock.move(minutes=1)

    def published(self) -> Note:
        return parse_note((self.folder / "log/acme/checkpoint").read_bytes())

    def seen_by(self, note: Note) -> int:
        """Return how many witnesses cosigned a checkpoint."""
        return len(cosignatures(note, [self.witness]))


@pytest.fixture
async def witnessed_office(bench: Bench, tmp_path: Path) -> AsyncIterator[WitnessedOffice]:
    (tmp_path / "keys").mkdir()
    signer = notary_of(bench.engine, LocalArchive(tmp_path), tmp_path / "keys/evidence.pem").signer
    async with running(tmp_path / "w", log=str(signer.verifier(Algorithm.ED25519))) as served:
        yield WitnessedOffice(bench, tmp_path, key_of(tmp_path / "w"), served.url)


async def test_each_checkpoint_is_cosigned_as_what_the_one_before_has_grown_to(
    witnessed_office: WitnessedOffice,
) -> None:
    for _ in range(3):
        await witnessed_office.grow()
        assert await witnessed_office.notary()() == 1
        assert witnessed_office.seen_by(witnessed_office.published()) == 1


async def test_a_witness_that_was_away_is_told_from_where_it_stood(witnessed_office: WitnessedOffice) -> None:
    await witnessed_office.grow()
    assert await witnessed_office.notary()() == 1
    await witnessed_office.grow()
    assert await witnessed_office.notary(needed=0, url="http://127.0.0.1:1")() == 1
    assert witnessed_office.seen_by(witnessed_office.published()) == 0
    await witnessed_office.grow()
    assert await witnessed_office.notary()() == 1
    assert witnessed_office.seen_by(witnessed_office.published()) == 1


async def test_where_a_witness_must_cosign_nothing_is_published_or_sealed_without_it(
    witnessed_office: WitnessedOffice, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        await witnessed_office.grow()
    away = witnessed_office.notary(url="http://127.0.0.1:1")
    assert await away() == 0
    assert "0 witnesses cosigned the log, and 1 must" in caplog.text
    sealer = sealer_of(
        witnessed_office.bench.engine,
        LocalArchive(witnessed_office.folder),
        witnessed_office.folder / "keys/evidence.pem",
    )
    caplog.clear()
    assert await replace(sealer, notary=away)() == 0
    assert caplog.text.count("did not cosign") == 1, "what waits for it together asks it once"
    await witnessed_office.bench.rows("UPDATE evidence_bundles SET next_try_at = clock_timestamp() RETURNING 1")
    assert await replace(sealer, notary=witnessed_office.notary())() == 3


async def test_a_log_that_contradicts_what_a_witness_saw_is_not_cosigned(
    witnessed_office: WitnessedOffice, caplog: pytest.LogCaptureFixture
) -> None:
    await witnessed_office.grow()
    assert await witnessed_office.notary()() == 1
    await witnessed_office.bench.meddle("UPDATE audit_leaves SET hash = decode(repeat('11', 32), 'hex') WHERE seq = 2")
    await witnessed_office.bench.forget_log()  # and it is made anew
    await witnessed_office.bench.await_places("audit_leaves", "tenant_leaves")
    await witnessed_office.notary().desk.sequence()
    assert await witnessed_office.notary()() == 0
    assert "did not cosign: it answers 4" in caplog.text


async def test_an_auditor_demands_as_many_witnesses_as_he_knows(
    witnessed_office: WitnessedOffice, tmp_path: Path
) -> None:
    await witnessed_office.grow()
    key = witnessed_office.folder / "keys/evidence.pem"
    sealer = replace(
        sealer_of(witnessed_office.bench.engine, LocalArchive(witnessed_office.folder), key),
        notary=witnessed_office.notary(),
    )
    assert await sealer() == 1
    (row,) = await witnessed_office.bench.rows("SELECT location FROM evidence_bundles")
    log = str(witnessed_office.notary().signer.verifier(Algorithm.ED25519))
    report = verify(Path(row["location"]), trust_of(public_path(key), None, [log], [str(witnessed_office.witness)], 1))
    assert {held.rule: held.found for held in report.rules}["log.witnessed"] == witnessed_office.witness.name
