"""Export files: an export is written into a folder of its own, the signed statement last."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evidence.errors import EvidenceError
from evidence.export.index import (
    APPROVALS,
    BUNDLES,
    CHECKPOINT,
    EXCEPTIONS,
    INDEX,
    REFUSED,
    RUNS,
    STATEMENT,
    ExportStatement,
    Index,
    Predicate,
    bundle_file,
    sheet_of,
)
from evidence.statement import PAYLOAD_TYPE, Digests, Subject, sha256
from receipts import canonical
from receipts.signing import SigningKey, sign_envelope


class ExportError(EvidenceError):
    """The export cannot be written; the message says why."""


@dataclass(frozen=True)
class Export:
    """The files of an export by name, without its bundles, and the statement that signs them."""

    index: Index
    files: Mapping[str, bytes]
    statement: bytes

    @property
    def sha256(self) -> str:
        """Return the digest of the statement: it stands for the whole export."""
        return sha256(self.statement)


@dataclass(frozen=True)
class Tables:
    """The tables of an export beside that of its runs; `exceptions` is None in one without bundles."""

    approvals: bytes
    refused: bytes
    exceptions: bytes | None


def make_export(index: Index, tables: Tables, checkpoint: str | None, key: SigningKey) -> Export:
    """Return a signed export; equal input gives equal bytes. `checkpoint` is a signed note, if there is one."""
    files = {INDEX: index.data(), RUNS: sheet_of(index.runs), APPROVALS: tables.approvals, REFUSED: tables.refused}
    if tables.exceptions is not None:
        files[EXCEPTIONS] = tables.exceptions
    if checkpoint is not None:
        files[CHECKPOINT] = checkpoint.encode()
    same = ("tenant", "first_day", "last_day", "made_at", "counts")
    statement = ExportStatement(
        _type="https://in-toto.io/Statement/v1",
        subject=[Subject(name=name, digest=Digests(sha256=sha256(data))) for name, data in sorted(files.items())],
        predicateType="urn:countersign:period-evidence:v2",
        predicate=Predicate(**{name: getattr(index, name) for name in same}, key_id=key.public.key_id),
    )
    return Export(index, files, sign_envelope(PAYLOAD_TYPE, canonical.dumps(statement.model_dump()), key))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder that must not be there yet; raise ExportError. Where the block fails, nothing is left of it."""
    try:
        folder.mkdir(mode=0o755)
    except FileExistsError as error:
        raise ExportError(f"{folder} is there already, and an export goes into a new folder") from error
    except OSError as error:
        raise ExportError(f"{folder} cannot be made: {error.strerror}") from error
    try:
        yield folder
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ExportError(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def write_bundles(index: Index, folder: Path, fetch: Callable[[str], bytes]) -> None:
    """Copy the bundle of each run that has one; raise ExportError where `fetch` gives another than the index names."""
    (folder / BUNDLES).mkdir()
    for run in index.entries:
        if run.sha256 is None:
            continue
        data = fetch(run.run_id)
        if sha256(data) != run.sha256:
            raise ExportError(f"the archive's bundle of {run.run_id} differs from the stored one: {sha256(data)}")
        _write_new(folder / bundle_file(run.run_id), data)


def write_files(export: Export, folder: Path) -> None:
    """Write everything but the bundles; the statement comes last, so that what has one is whole."""
    for name, data in (*export.files.items(), (STATEMENT, export.statement)):
        _write_new(folder / name, data)


def _write_new(to: Path, data: bytes) -> None:
    with to.open("xb") as file:
        file.write(data)
