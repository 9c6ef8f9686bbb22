"""The log's checkpoints are cosigned by witnesses, and none that a witness contradicts is signed where it must be."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evidence.archive.local import LocalArchive
from evidence.notary import Notary, Witnesses
from evidence.verify.trust import trust_of
from evidence.verify.verify import verify
from receipts.log.checkpoint import cosignatures
from receipts.log.note import Algorithm, Note, VerifierKey, parse_note
from receipts.signing import public_path
from tests.bench import Bench
from tests.integration.witness_stage import key_of, running
from tests.sealing import notary_of, sealer_of

NOTE = {"text": "a", "api_token": "t"}


@dataclass
class Office:
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
async def office(bench: Bench, tmp_path: Path) -> AsyncIterator[Office]:
    (tmp_path / "keys").mkdir()
    signer = notary_of(bench.engine, LocalArchive(tmp_path), tmp_path / "keys/evidence.pem").signer
    async with running(tmp_path / "w", log=str(signer.verifier(Algorithm.ED25519))) as served:
        yield Office(bench, tmp_path, key_of(tmp_path / "w"), served.url)


async def test_each_checkpoint_is_cosigned_as_what_the_one_before_has_grown_to(office: Office) -> None:
    for _ in range(3):
        await office.grow()
        assert await office.notary()() == 1
        assert office.seen_by(office.published()) == 1


async def test_a_witness_that_was_away_is_told_from_where_it_stood(office: Office) -> None:
    await office.grow()
    assert await office.notary()() == 1
    await office.grow()
    assert await office.notary(needed=0, url="http://127.0.0.1:1")() == 1
    assert office.seen_by(office.published()) == 0
    await office.grow()
    assert await office.notary()() == 1
    assert office.seen_by(office.published()) == 1


async def test_where_a_witness_must_cosign_nothing_is_published_or_sealed_without_it(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await office.grow()
    away = office.notary(url="http://127.0.0.1:1")
    assert await away() == 0
    assert "0 witnesses cosigned the log, and 1 must" in caplog.text
    sealer = sealer_of(office.bench.engine, LocalArchive(office.folder), office.folder / "keys/evidence.pem")
    assert await replace(sealer, notary=away)() == 0
    await office.bench.rows("UPDATE evidence_bundles SET next_try_at = clock_timestamp() RETURNING 1")
    assert await replace(sealer, notary=office.notary())() == 1


async def test_a_log_that_contradicts_what_a_witness_saw_is_not_cosigned(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await office.grow()
    assert await office.notary()() == 1
    await office.bench.meddle("UPDATE audit_leaves SET hash = decode(repeat('11', 32), 'hex') WHERE seq = 2")
    await office.bench.forget_log()  # and it is made anew
    await office.bench.await_places("audit_leaves", "tenant_leaves")
    await office.notary().desk.sequence()
    assert await office.notary()() == 0
    assert "did not cosign: it answers 4" in caplog.text


async def test_an_auditor_demands_as_many_witnesses_as_he_knows(office: Office, tmp_path: Path) -> None:
    await office.grow()
    key = office.folder / "keys/evidence.pem"
    sealer = replace(sealer_of(office.bench.engine, LocalArchive(office.folder), key), notary=office.notary())
    assert await sealer() == 1
    (row,) = await office.bench.rows("SELECT location FROM evidence_bundles")
    log = str(office.notary().signer.verifier(Algorithm.ED25519))
    report = verify(Path(row["location"]), trust_of(public_path(key), None, [log], [str(office.witness)], 1))
    assert {held.rule: held.found for held in report.rules}["log.witnessed"] == office.witness.name
