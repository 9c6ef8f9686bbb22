"""An export of three runs, of which one has a bundle; and the same with something changed by whoever has the key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evidence.build import build
from evidence.export.approvals_table import VOTE_COLUMNS
from evidence.export.bundle_rows import exceptions_sheet
from evidence.export.export_files import Tables, make_export
from evidence.export.index import INDEX, REFUSED, RUNS, STATEMENT, Index, LogWord, RunEntry, counts_of, csv_of, sheet_of
from evidence.export.refused_table import REFUSED_COLUMNS, refused_row
from evidence.statement import PAYLOAD_TYPE, sha256
from receipts import canonical
from receipts.checkpoint import sign_checkpoint
from receipts.hashes import TreeHead
from receipts.signing import SigningKey, sign_envelope
from tests.unit.evidence_sample import DEFINITION_DIGEST, HIDDEN, at
from tests.unit.evidence_variants import logged
from tests.unit.log_sample import key_of, signer

MADE_AT = "2026-04-01T08:00:00.000000Z"
LOG = signer("countersign/acme", 7)
HEAD = TreeHead(100, b"\x01" * 32)
SEALED = "run-1"
"""The run that has a bundle: the sample run."""
_SAID = {"target": "DE/123", "reference": "case-1", "requested_by": "ada", "run_id": SEALED, "definition": "kyc v3"}


@cache
def bundle() -> bytes:
    """Return the bundle of the sample run."""
    return build(logged(), key_of(1)).data


def sealed(**more: Any) -> dict[str, Any]:
    """Return the line of the run that has a bundle."""
    return {
        "run_id": SEALED,
        "reference": "case-1",
        "trigger_type": "api",
        "definition": "kyc",
        "definition_version": 3,
        "definition_digest": DEFINITION_DIGEST,
        "requested_by": "ada",
        "created_at": "2026-01-31T09:00:00.000000Z",
        "finished_at": "2026-01-31T09:09:00.000000Z",
        "outcome": "succeeded",
        "state": "sealed",
        "why": "",
        "sha256": sha256(bundle()),
        "size": len(bundle()),
        "leaves": 23,
        "log_index": 2,
        **more,
    }


def votes(**more: Any) -> list[dict[str, Any]]:
    """Return the lines of the votes on that run; what is given is changed in the first."""
    shared = {
        **_SAID,
        "decision": "approved",
        "meaning": "authorizes exactly this action, once",
        "reason": "checked",
        "verb": "register.file",
        "change": f'api_key: {HIDDEN}; owner: {{"share": "{HIDDEN}"}}',
        "rule": "File a report",
        "required": "2 of compliance and legal",
        "step": "file",
        "approval_id": "a-1",
        "bundle_sha256": sha256(bundle()),
    }
    ben = {"at": at(6), "person": "ben", "name": "Ben", "account": "T0ACME UBEN", **shared, **more}
    return [ben, {"at": at(7), "person": "cat", "name": "Cat", "account": "T0ACME UCAT", **shared}]


def run(number: int, **more: Any) -> dict[str, Any]:
    """Return a run of the index, ended and not sealed if nothing else is said."""
    return {
        "run_id": f"run_{number}",
        "reference": f"case-{number}",
        "trigger_type": "kyc.onboarding",
        "definition": "kyc-onboarding",
        "definition_version": 2,
        "definition_digest": "d" * 64,
        "requested_by": "rita",
        "created_at": f"2026-01-0{number}T09:00:00.000000Z",
        "finished_at": f"2026-01-0{number}T10:00:00.000000Z",
        "outcome": "succeeded",
        "state": "unsealed",
        "why": "not sealed: no worker has claimed it yet",
        "sha256": None,
        "size": None,
        "leaves": 30,
        "log_index": 30 * number,
        **more,
    }


OPEN = {"state": "open", "why": "not ended: waiting", "finished_at": None, "outcome": "waiting"}


def refused(leaf: int = 5, **more: Any) -> dict[str, Any]:
    """Return the line of the record about a command that was refused."""
    said = {"team": "T1", "user": "U1", "command": "show", "code": "identity.guest"}
    return {**refused_row("2026-02-01T00:00:00.000000Z", "slack:T1:U1", "command.refused", said, leaf), **more}


def _length(rows: list[dict[str, Any]] | None) -> int | None:
    return None if rows is None else len(rows)


@dataclass
class Sample:
    """What an export is made of. A change of `index` is one by whoever signs it, and so is one of `signed` files."""

    runs: list[dict[str, Any]] = field(default_factory=lambda: [run(1), run(2, **OPEN), sealed()])
    votes: list[dict[str, Any]] | None = None
    refused: list[dict[str, Any]] | None = field(default_factory=list)  # None in an export as 0.2.0 made them
    index: dict[str, Any] = field(default_factory=dict)
    predicate: dict[str, Any] = field(default_factory=dict)
    signed: Mapping[str, bytes] = field(default_factory=dict)
    log: dict[str, Any] = field(default_factory=dict)
    checkpoint: str | None = bytes(sign_checkpoint(LOG, HEAD)).decode()
    key: SigningKey = field(default_factory=lambda: key_of(1))

    def write(self, folder: Path) -> None:
        """Write the export with its bundles."""
        folder.mkdir()
        has_sealed = any(one["run_id"] == SEALED for one in self.runs)
        table = (votes() if has_sealed else []) if self.votes is None else self.votes
        entries = [RunEntry.model_validate(one) for one in self.runs]
        log = {"size": 120, "runs": 4, "until": "2026-03-31T23:00:00.000000Z", "findings": [], **self.log}
        told = {
            "tenant": "acme",
            "first_day": "2026-01-01",
            "last_day": "2026-03-31",
            "by": "omar",
            "made_at": MADE_AT,
            "has_bundles": True,
            "counts": counts_of(entries, len(table), _length(self.refused)).model_dump(),
            "log": LogWord(**log).model_dump(),
            "runs": self.runs,
            "voted": [],
        }
        if has_sealed:
            (folder / "bundles").mkdir()
            (folder / f"bundles/{SEALED}.zip").write_bytes(bundle())
        index = Index.model_validate(told)
        there = index.model_copy(update={"runs": [one for one in index.runs if one.run_id == SEALED]})
        exceptions = exceptions_sheet(there, folder) if {**told, **self.index}["has_bundles"] else None
        tables = Tables(csv_of(VOTE_COLUMNS, table), csv_of(REFUSED_COLUMNS, self.refused or []), exceptions)
        export = make_export(index, tables, self.checkpoint, self.key)
        files = dict(export.files)
        if self.refused is None:
            del files[REFUSED]
        files |= {INDEX: canonical.dumps({**told, **self.index}), RUNS: sheet_of(entries), **self.signed}
        for name, data in (*files.items(), (STATEMENT, self._statement(told, files))):
            (folder / name).write_bytes(data)

    def _statement(self, told: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
        same = ("tenant", "first_day", "last_day", "made_at", "counts")
        key_id = self.key.public.key_id
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": name, "digest": {"sha256": sha256(data)}} for name, data in sorted(files.items())],
            "predicateType": f"urn:countersign:period-evidence:v{1 if self.refused is None else 2}",
            "predicate": {**{name: told[name] for name in same}, "key_id": key_id, **self.predicate},
        }
        return sign_envelope(PAYLOAD_TYPE, canonical.dumps(statement), self.key)
