"""The sample run: with all it binds, with reads, with a governed read, and in a log.

The sample run, with all that its leaves bind: to seal as it is or with one thing bent.

The sample run with a governed read before its write: put to policy, allowed, and done.

The sample run with a read before its write: a failed attempt that cost something, and a success.

The sample run in a log in which others' leaves stand around it, for tests that sign, publish and bend that log.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from evidence.build import Dossier
from evidence.log_proofs import LogProof, Span
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.checkpoint import LogKeys, sign_checkpoint
from receipts.hashes import EMPTY, CompactRange, TreeHead
from receipts.note import NoteSigner
from receipts.proofs import prove_inclusion
from receipts.signing import load_public
from receipts.tiles import Tile, tile_data, tiles_between
from tests.unit.evidence_sample import (
    DEFINITION,
    RUN_ID,
    START,
    Office,
    Story,
    at,
    decision,
    receipt,
    story,
)
from tests.unit.log_sample import new_nodes, signer, vkey

LOOK: dict[str, Any] = {
    "description": "Look a company up",
    "execution": {
        "kind": "sync",
        "handler": "register::look",
        "timeout": "PT1M",
        "wait": None,
        "escalation": None,
        "correlation_field": None,
    },
    "effect": {"class": "read", "tier": "low", "reversible_by": None, "target": "", "idempotency_key": ""},
}
USAGE: dict[str, Any] = {
    "provider": "openai",
    "model": "gpt-5",
    "units": {"input_tokens": "812"},
    "cost": "0.00123",
    "currency": "USD",
}
TOLD: dict[str, Any] = {
    "metadata": {"status": 200, "request_id": "req-7", "requests": 1},
    "usage": [USAGE],
    "not_recorded": None,
}
GOT, ASKED = "a" * 32, "b" * 32


def read(number: int, attempt: int, minute: int, **more: Any) -> dict[str, Any]:
    """Return the record of an attempt at the step `look`, which ended in that minute of the run."""
    at = f"{(START + timedelta(minutes=minute)).isoformat(timespec='microseconds').removesuffix('+00:00')}Z"
    failed = {"outcome": "failure", "response": None, "error": "too slow"} if attempt == 1 else {}
    return {
        "read_id": f"read-{number}",
        "tenant": "acme",
        "run_id": RUN_ID,
        "step": "look",
        "verb": "register.look",
        "handler": "register::look",
        "attempt": attempt,
        "started_at": at,
        "finished_at": at,
        "outcome": "success",
        "request": {"bytes": 17, "commitment": ASKED},
        "response": {"bytes": 42, "commitment": GOT},
        "told": TOLD,
        "error": None,
        **failed,
        **more,
    }


def looked() -> Story:
    """Return the sound one."""
    told = story()
    definition = canonical.loads(DEFINITION)
    definition["steps"].insert(0, {"id": "look", "verb": "register.look", "when": None})
    definition["verbs"]["register.look"] = LOOK
    told.definition = canonical.dumps(definition)
    told.events[0][1]["definition_digest"] = hashlib.sha256(told.definition).hexdigest()
    told.reads = {"read-1": read(1, 1, 1), "read-2": read(2, 2, 1)}
    told.events[2:2] = [
        ("read.recorded", {"read_id": "read-1", "step": "look", "minute": 1}),
        ("read.recorded", {"read_id": "read-2", "step": "look", "minute": 1}),
        ("step.succeeded", {"step": "look", "result": GOT, "minute": 1}),
    ]
    told.receipts["r-3"]["told"] = TOLD | {"usage": [USAGE | {"cost": None, "currency": None}]}
    return told


KEY = "read-${run.id}-${step}"
ACTION: dict[str, Any] = {
    "connector": "register",
    "operation": "look",
    "target": "company:LEI1",
    "fields": {"lei": "LEI1"},
    "idempotency_key": f"read-{RUN_ID}-look",
    "tier": "low",
    "reversible_by": None,
}
DIGEST = canonical.digest(ACTION)
OF_STEP = {"effect_id": "e-look", "step": "look", "minute": 1}


def governed() -> Story:
    """Return the sound one."""
    told = story()
    _declare(told)
    told.decisions["d-0"] = _decided()
    told.receipts["r-1"] = _received()
    told.events[2:2] = [
        ("effect.proposed", {**OF_STEP, "action": "register::look", "target": "company:LEI1", "digest": DIGEST}),
        ("decision.recorded", {**OF_STEP, "decision_id": "d-0"}),
        ("receipt.written", {**OF_STEP, "receipt_id": "r-1"}),
        ("step.succeeded", {"step": "look", "result": GOT, "minute": 1}),
    ]
    return told


def _declare(told: Story) -> None:
    definition = canonical.loads(DEFINITION)
    definition["steps"].insert(0, {"id": "look", "verb": "register.look", "when": None})
    effect = {**LOOK["effect"], "governed": True, "target": "company:${params.lei}", "idempotency_key": KEY}
    definition["verbs"]["register.look"] = {**LOOK, "effect": effect}
    redefine(told, definition)


def redefine(told: Story, definition: dict[str, Any]) -> None:
    """Let the run have had another definition."""
    told.definition = canonical.dumps(definition)
    told.events[0][1]["definition_digest"] = hashlib.sha256(told.definition).hexdigest()


def _decided() -> dict[str, Any]:
    made = decision(0, "e-write", "allow")
    asked = {name: ACTION[name] for name in ("connector", "operation", "target", "fields", "tier")}
    effect = {**asked, "digest": DIGEST, "reversible": False, "reads": True}
    return {
        **made,
        "step": "look",
        "effect_id": "e-look",
        "input": made["input"] | {"step": "look", "effect": effect},
        "answer": made["answer"] | {"tier": "low"},
    }


def _received() -> dict[str, Any]:
    made = receipt(1, "e-write")
    of = {"decision_id": "d-0", "step": "look", "effect_id": "e-look", "fingerprint": DIGEST}
    told = {name: ACTION[name] for name in ("connector", "operation", "target", "idempotency_key", "reversible_by")}
    measure = {"bytes": 42, "commitment": GOT}
    times = {"started_at": at(1), "finished_at": at(1)}
    return {**made, **of, **told, **times, "request": ACTION["fields"], "response": measure, "redacted": []}


LOG, OTHER = signer("countersign/acme", 7), signer("countersign/acme", 8)
BEFORE, BEHIND = [bytes([number]) * 32 for number in range(1, 6)], [bytes([9]) * 32]
SPLIT = 3
"""Leaves of the run that stand before others come between."""


@dataclass
class Grown:
    """A log of hashes, with all of its nodes."""

    range: CompactRange = EMPTY
    nodes: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def append(self, hashes: Sequence[bytes]) -> TreeHead:
        """Let it grow; return its head."""
        growth = self.range.append(hashes)
        self.nodes |= new_nodes(growth)
        self.range = growth.range
        return self.range.head()

    def node(self, level: int, index: int) -> bytes:
        """Return a node."""
        return self.nodes[level, index]

    def publish(self, folder: Path, old: int = 0) -> Path:
        """Write the tiles that it has, and had not when it was of the old size, into a folder; return that."""
        for place in tiles_between(old, self.range.size):
            if isinstance(place, Tile):
                file = folder / place.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(tile_data(place, self.node))
        return folder


def run_in_log() -> tuple[Grown, Dossier]:
    """Return the log when the run was sealed, and the run, proven by it."""
    dossier, grown = story().dossier(), Grown()
    hashes = [bytes.fromhex(leaf["hash"]) for leaf in dossier.leaves]
    head = grown.append([*BEFORE[:2], *hashes[:SPLIT], *BEFORE[2:], *hashes[SPLIT:], *BEHIND])
    places = [Span(first_seq=1, count=SPLIT, first_index=2)]
    places += [Span(first_seq=SPLIT + 1, count=len(hashes) - SPLIT, first_index=5 + SPLIT)]
    indices = [span.first_index + step for span in places for step in range(span.count)]
    proof = prove_inclusion(grown.node, indices, head.size)
    return grown, replace(dossier, log=LogProof(checkpoint(head), places, proof))


def logged(change: Callable[[LogProof], LogProof] = lambda proof: proof) -> Dossier:
    """Return the run in its log after a change of its proof."""
    _, dossier = run_in_log()
    assert dossier.log is not None
    return replace(dossier, log=change(dossier.log))


def checkpoint(head: TreeHead, by: NoteSigner = LOG) -> str:
    """Return a signed checkpoint."""
    return bytes(sign_checkpoint(by, head)).decode()


def trusted(office: Office, *log: NoteSigner) -> Trust:
    """Return the trust of somebody who has the office's key, and keys of the log."""
    return Trust(load_public(office.public), log=LogKeys(tuple(map(vkey, log))) if log else None)
