"""What a bundle is built from: everything on record about one finished run, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidence.inclusion import LogProof

JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class Dossier:
    """One run's whole story up to the leaf at which it is sealed.

    `run` is None where the leaves tell it (format 2); it, `decisions` and `approvals` have at least the members of
    `evidence.records`; `receipts`, `reads` (none in format 1) and `leaves` are those of `receipts.model.Receipt`,
    `receipts.read.ReadRecord` and `receipts.chain.Leaf`. `definition` is canonical JSON. `policies` maps the digest of
    a policy to its files.
    """

    run: JsonObject | None
    definition: bytes
    decisions: Sequence[JsonObject]
    policies: Mapping[str, Mapping[str, str]]
    approvals: Sequence[JsonObject]
    receipts: Sequence[JsonObject]
    reads: Sequence[JsonObject]
    leaves: Sequence[JsonObject]
    log: LogProof | None = None
