"""Evidence in tests: an office that seals, exports to forge, and genuine runs to bend.

An office that seals evidence: a bench, an archive that can be put out of use, a key, and what people are told.

A genuine export with its bundles and its log, and the same forged by somebody who has the key of evidence.

An office, and genuine runs that it sealed: played by one process of a test run for all whose tests bend them.
"""

import copy
import csv
import io
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.evidence import evidence
from countersign.doctor.unsealed import describe
from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from evidence.export.approvals_table import VOTE_COLUMNS, order_of
from evidence.export.bundle_rows import exceptions_sheet
from evidence.export.export_files import Export, Tables, make_export, write_files
from evidence.export.index import CHECKPOINT, INDEX, REFUSED, Index, RunEntry, counts_of, csv_of
from evidence.export.refused_table import REFUSED_COLUMNS
from evidence.export.verify import ExportFault, verify_export
from evidence.local import LocalArchive
from evidence.sealer import Sealer
from evidence.statement import PAYLOAD_TYPE, sha256
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.checkpoint import LogKeys
from receipts.fields import timestamp
from receipts.note import Algorithm, NoteSigner
from receipts.signing import SigningKey, load_or_create, sign_envelope, verify_envelope
from runtime.clock import utc_now
from runtime.services.health import open_bundles
from runtime.services.sealing import Story
from tests.bench import TENANT, Bench
from tests.integration.committee_stage import play_committee
from tests.integration.played import play
from tests.integration.policies_stage import PASSKEYS
from tests.once import shared
from tests.sealing import sealer_of
from tests.unit.evidence_sample import Office
from tests.unit.log_sample import publish

FILE = {"company": "ACME", "text": "report"}
NOTE = {"incident": "I1", "text": "a", "api_token": "t"}


@dataclass
class SealingOffice:
    """A bench, a folder for evidence that can be put out of use, and the key."""

    bench: Bench
    folder: Path
    key: SigningKey
    settings: Settings

    @property
    def sealer(self) -> Sealer:
        return sealer_of(self.bench.engine, LocalArchive(self.folder), self.settings.key_path)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Have a file where the archive's folder should be."""
        self.folder.write_text("in the way")
        yield
        self.folder.unlink()

    async def row(self, run_id: str) -> dict[str, Any]:
        query = "SELECT *, next_try_at - clock_timestamp() AS pause FROM evidence_bundles WHERE run_id = %s"
        return (await self.bench.rows(query, run_id))[0]

    async def due(self) -> None:
        """Let the pause be over."""
        await self.bench.rows("UPDATE evidence_bundles SET next_try_at = clock_timestamp() RETURNING 1")

    async def is_well(self) -> dict[str, bool]:
        """Return what the doctor says of evidence."""
        return {fact.name: fact.ok for fact in await evidence(self.settings, utc_now)}

    async def listed(self) -> dict[str, str]:
        """Return what is said of each run whose bundle is not stored."""
        async with self.bench.engine.pool.connection() as conn:
            waiting = await open_bundles(conn, TENANT)
        return {bundle.run_id: describe(bundle) for bundle in waiting}


def open_office(bench: Bench, folder: Path, dsn: str) -> SealingOffice:
    """Return an office whose home is the folder."""
    settings = Settings(database_url=dsn, home=folder, tenant=TENANT)
    return SealingOffice(bench, folder / "evidence", load_or_create(folder / "keys" / "evidence.pem"), settings)


async def noted(bench: Bench, ref: str = "1", trigger: str = "bench.note") -> str:
    """Return a run that has ended."""
    run_id = (await bench.start(trigger, {**NOTE, "incident": f"I{ref}"}, ref=ref)).run_id
    await bench.settle()
    return run_id


Json = dict[str, Any]


@dataclass(frozen=True)
class Genuine:
    """What a genuine export of two days is: its files by name, the log's entries, and the keys' folder.

    `resealed` is the bundle of the approved run once whoever has the key has changed a reason in it.
    """

    files: Mapping[str, bytes]
    entries: Sequence[bytes]
    old_checkpoint: str
    runs: Mapping[str, str]
    resealed: bytes


def entries_of(log: Path) -> list[bytes]:
    """Return the entries of a small log as it is published."""
    (file,) = [max((log / "tile/entries").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else -1)]
    data, found = file.read_bytes(), []
    while data:
        (length,) = struct.unpack(">H", data[:2])
        found.append(data[2 : 2 + length])
        data = data[2 + length :]
    return found


def _of_format_1(export: Export, key: SigningKey) -> Export:
    """Return an export as release 0.2.0 made them."""
    said = canonical.loads(verify_envelope(export.statement, key.public).payload)
    said["subject"] = [one for one in said["subject"] if one["name"] != REFUSED]
    said["predicateType"] = "urn:countersign:period-evidence:v1"
    files = {name: data for name, data in export.files.items() if name != REFUSED}
    return replace(export, files=files, statement=sign_envelope(PAYLOAD_TYPE, canonical.dumps(said), key))


def _rows(table: bytes) -> list[Json]:
    return [dict(row) for row in csv.DictReader(io.StringIO(table.decode(), newline=""))]


@dataclass
class ForgedExport:
    """An export, free to be changed: counts, `runs.csv` and the signature follow when it is written."""

    index: Json
    votes: list[Json]
    bundles: dict[str, bytes]
    checkpoint: str
    runs: Mapping[str, str]
    old_checkpoint: str
    resealed: bytes
    refused: list[Json] | None  # None in an export as release 0.2.0 made them
    counts: Json = field(default_factory=dict)
    exceptions: bytes | None = None

    @classmethod
    def of(cls, genuine: Genuine) -> "ForgedExport":
        """Return a copy of the genuine one."""
        bundles = {name: data for name, data in genuine.files.items() if name.startswith("bundles/")}
        return cls(
            index=copy.deepcopy(canonical.loads(genuine.files[INDEX])),
            votes=_rows(genuine.files["approvals.csv"]),
            refused=_rows(genuine.files["refused.csv"]),
            bundles=bundles,
            checkpoint=genuine.files[CHECKPOINT].decode(),
            runs=genuine.runs,
            old_checkpoint=genuine.old_checkpoint,
            resealed=genuine.resealed,
        )

    def line(self, name: str) -> Json:
        """Return the line of a run."""
        lines: list[Json] = [*self.index["runs"], *self.index["voted"]]
        return next(line for line in lines if line["run_id"] == self.runs[name])

    def vote(self, name: str) -> Json:
        """Return the first vote on a run."""
        return next(row for row in self.votes if row["run_id"] == self.runs[name])

    def drop(self, *names: str) -> None:
        """Leave runs out, with their votes and bundles."""
        gone = {self.runs[name] for name in names}
        for part in ("runs", "voted"):
            self.index[part] = [line for line in self.index[part] if line["run_id"] not in gone]
        self.votes = [row for row in self.votes if row["run_id"] not in gone]
        self.bundles = {file: data for file, data in self.bundles.items() if Path(file).stem not in gone}

    def say(self, name: str, **change: Any) -> None:
        """Change a run's line, and what the table of votes repeats of it."""
        line = self.line(name)
        line.update(change)
        same = {
            "requested_by": line["requested_by"],
            "reference": line["reference"],
            "definition": f"{line['definition']} v{line['definition_version']}",
            "bundle_sha256": line["sha256"] or "",
        }
        for row in self.votes:
            if row["run_id"] == self.runs[name]:
                row.update(same)

    def reseal(self, name: str, bundle: bytes) -> None:
        """Put another bundle in, and say so."""
        self.bundles[f"bundles/{self.runs[name]}.zip"] = bundle
        self.say(name, sha256=sha256(bundle), size=len(bundle))

    def write(self, folder: Path, key: Path, *, has_bundles: bool) -> tuple[Index, str]:
        """Write and sign it; return the index and the digest of the statement."""
        self.votes.sort(key=order_of)
        self.index["has_bundles"] = has_bundles
        for part in ("runs", "voted"):
            self.index[part].sort(key=lambda line: (line["created_at"], line["run_id"]))
        lines = [RunEntry.model_validate(line) for line in self.index["runs"]]
        self.index["counts"] = {**self._counted(lines), **self.counts}
        index = Index.model_validate(self.index)
        folder.mkdir()
        exceptions = self._put_bundles(index, folder) if has_bundles else None
        tables = Tables(csv_of(VOTE_COLUMNS, self.votes), csv_of(REFUSED_COLUMNS, self.refused or []), exceptions)
        export = make_export(index, tables, self.checkpoint, load_or_create(key))
        export = _of_format_1(export, load_or_create(key)) if self.refused is None else export
        write_files(export, folder)
        return index, export.sha256

    def _counted(self, lines: Sequence[RunEntry]) -> Json:
        refused = None if self.refused is None else len(self.refused)
        return counts_of(lines, len(self.votes), refused).model_dump()

    def _put_bundles(self, index: Index, folder: Path) -> bytes:
        """Write the bundles; return the table of exceptions that they give, or the one that is forged."""
        (folder / "bundles").mkdir()
        for file, data in self.bundles.items():
            (folder / file).write_bytes(data)
        return exceptions_sheet(index, folder) if self.exceptions is None else self.exceptions


@dataclass(frozen=True)
class Auditor:
    """Checks exports with what there is: their bundles, and the log with its key."""

    genuine: Genuine
    key: Path
    folder: Path

    def judge(self, forge: Callable[[ForgedExport], object], setting: str, *, on_record: bool) -> str:
        """Return the rule that refuses a forged export, or `not seen`; `setting` has the words `bundles` and `log`."""
        forged = ForgedExport.of(self.genuine)
        forge(forged)
        place = self.folder / f"{len(list(self.folder.iterdir()))}"
        place.mkdir()
        index, statement = forged.write(place / "export", self.key, has_bundles="bundles" in setting)
        trust, log = Trust(load_or_create(self.key).public), None
        if "log" in setting:
            log = place / "log"
            signer = NoteSigner(f"countersign/{TENANT}", load_or_create(self.key.with_name("log.pem")))
            trust = Trust(trust.key, log=LogKeys((signer.verifier(Algorithm.ED25519),)))
            publish(log, self._entries(index, statement) if on_record else self.genuine.entries, signer)
        found = verify_export(place / "export", trust, log)
        return found.rule if isinstance(found, ExportFault) else "not seen"

    def _entries(self, index: Index, statement: str) -> list[bytes]:
        """Return the log's entries as if the program had put the forged export on record."""
        *before, entry = self.genuine.entries
        act: Json = canonical.loads(entry)
        act["at"], act["actor"]["id"] = index.made_at, index.by
        act["data"].update(
            sha256=sha256(index.data()),
            rows=len(index.runs),
            asked={**act["data"]["asked"], "statement": statement},
            **{"from": timestamp(index.period.since), "until": timestamp(index.period.until)},
        )
        return [*before, canonical.dumps(act)]


def later(moment: str, **by: float) -> str:
    """Return a moment that is later by so much."""
    return timestamp(datetime.fromisoformat(moment) + timedelta(**by))


@dataclass(frozen=True)
class GenuineRuns:
    """Who sealed the runs, and their stories by what became of them."""

    office: Office
    stories: Mapping[str, Story]


_played: list[GenuineRuns] = []


@pytest.fixture(scope="module")
async def genuine(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> GenuineRuns:
    if not _played:
        async with shared(tmp_path_factory, "genuine") as runs:
            if runs.value is None:
                key = Office.in_folder(runs.folder).key
                runs.keep(({**await play(postgres, opa.url, key), **await play_committee(postgres, key)}, PASSKEYS))
            stories, passkeys = runs.value
            for mine, that_signed in zip(PASSKEYS, passkeys, strict=True):
                vars(mine).update(vars(that_signed))  # a forger may have a passkey that signed
            own = tmp_path_factory.mktemp("office")  # each process writes its own bundles
            shutil.copytree(runs.folder / "keys", own / "keys")
            _played.append(GenuineRuns(Office.in_folder(own), stories))
    return _played[0]


@pytest.fixture(scope="module")
def office(genuine: GenuineRuns) -> Office:
    return genuine.office


@pytest.fixture(scope="module")
def stories(genuine: GenuineRuns) -> Mapping[str, Story]:
    return genuine.stories
