"""An export of three runs, of which two have bundles; and the same with something changed by whoever has the key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from evidence.export.index import INDEX, RUNS, STATEMENT, Index, LogWord, RunEntry, counts_of, sheet_of
from evidence.export.making import make_export
from evidence.export.sheets import csv_of
from evidence.statement import PAYLOAD_TYPE, sha256
from receipts import canonical
from receipts.log.checkpoint import sign_checkpoint
from receipts.log.hashes import TreeHead
from receipts.signatures.envelope import sign_envelope
from receipts.signatures.signing import SigningKey
from tests.unit.log_sample import signer

MADE_AT = "2026-04-01T08:00:00.000000Z"
LOG = signer("countersign/acme", 7)
HEAD = TreeHead(100, b"\x01" * 32)
VOTES = [{"at": "2026-01-05", "name": "Ann"}, {"at": "2026-01-06", "name": "Ben\u2028, of two\nlines"}]


def key_of(seed: int) -> SigningKey:
    """Return a key that is the same in every run."""
    return SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


def run(number: int, **more: Any) -> dict[str, Any]:
    """Return a run of the index, sealed if nothing else is said."""
    data = b"bundle %d" % number
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
        "state": "sealed",
        "why": "",
        "sha256": sha256(data),
        "size": len(data),
        "leaves": 30,
        "log_index": 30 * number,
        **more,
    }


OPEN = {"state": "open", "why": "not ended: waiting", "sha256": None, "size": None, "outcome": "waiting"}


@dataclass
class Sample:
    """What an export is made of. A change of `index` is one by whoever signs it, and so is one of `signed` files."""

    runs: list[dict[str, Any]] = field(default_factory=lambda: [run(1), run(2), run(3, **OPEN)])
    index: dict[str, Any] = field(default_factory=dict)
    predicate: dict[str, Any] = field(default_factory=dict)
    signed: Mapping[str, bytes] = field(default_factory=dict)
    log: dict[str, Any] = field(default_factory=dict)
    checkpoint: str | None = bytes(sign_checkpoint(LOG, HEAD)).decode()
    key: SigningKey = field(default_factory=lambda: key_of(1))

    def write(self, folder: Path) -> None:
        """Write the export with its bundles."""
        folder.mkdir()
        entries = [RunEntry.model_validate(one) for one in self.runs]
        log = {"size": 120, "runs": 4, "until": "2026-03-31T23:00:00.000000Z", "findings": [], **self.log}
        told = {
            "tenant": "acme",
            "first_day": "2026-01-01",
            "last_day": "2026-03-31",
            "by": "omar",
            "made_at": MADE_AT,
            "has_bundles": True,
            "counts": counts_of(entries, len(VOTES)).model_dump(),
            "log": LogWord(**log).model_dump(),
            "runs": self.runs,
        }
        votes = csv_of(["at", "name"], VOTES)
        files = dict(make_export(Index.model_validate(told), votes, self.checkpoint, self.key).files)
        files |= {INDEX: canonical.dumps({**told, **self.index}), RUNS: sheet_of(entries), **self.signed}
        for name, data in (*files.items(), (STATEMENT, self._statement(told, files))):
            (folder / name).write_bytes(data)
        (folder / "bundles").mkdir()
        for number in (1, 2):
            (folder / f"bundles/run_{number}.zip").write_bytes(b"bundle %d" % number)

    def _statement(self, told: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
        same = ("tenant", "first_day", "last_day", "made_at", "counts")
        key_id = self.key.public.key_id
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": name, "digest": {"sha256": sha256(data)}} for name, data in sorted(files.items())],
            "predicateType": "urn:countersign:evidence-export:v1",
            "predicate": {**{name: told[name] for name in same}, "key_id": key_id, **self.predicate},
        }
        return sign_envelope(PAYLOAD_TYPE, canonical.dumps(statement), self.key)
