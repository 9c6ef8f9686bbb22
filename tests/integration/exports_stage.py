"""A genuine export with its bundles and its log, and the same forged by somebody who has the key of evidence."""

import copy
import csv
import io
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evidence.export.approvals_table import VOTE_COLUMNS, order_of
from evidence.export.bundle_rows import exceptions_sheet
from evidence.export.export_files import make_export, write_files
from evidence.export.index import CHECKPOINT, INDEX, Index, RunEntry, counts_of, csv_of
from evidence.export.verify import ExportFault, verify_export
from evidence.statement import sha256
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.fields import timestamp
from receipts.log.checkpoint import LogKeys
from receipts.log.note import Algorithm, NoteSigner
from receipts.signing import load_or_create
from tests.bench import TENANT
from tests.unit.log_sample import publish

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
    counts: Json = field(default_factory=dict)
    exceptions: bytes | None = None

    @classmethod
    def of(cls, genuine: Genuine) -> "ForgedExport":
        """Return a copy of the genuine one."""
        table = csv.DictReader(io.StringIO(genuine.files["approvals.csv"].decode(), newline=""))
        bundles = {name: data for name, data in genuine.files.items() if name.startswith("bundles/")}
        return cls(
            index=copy.deepcopy(canonical.loads(genuine.files[INDEX])),
            votes=[dict(row) for row in table],
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
        self.index["counts"] = {**counts_of(lines, len(self.votes)).model_dump(), **self.counts}
        index = Index.model_validate(self.index)
        folder.mkdir()
        exceptions = self._put_bundles(index, folder) if has_bundles else None
        export = make_export(index, csv_of(VOTE_COLUMNS, self.votes), exceptions, self.checkpoint, load_or_create(key))
        write_files(export, folder)
        return index, export.sha256

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
