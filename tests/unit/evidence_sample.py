"""A run with a card, two votes and one write, to seal as it is or with one thing bent."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from evidence import build as builder
from evidence.build import Dossier, build
from evidence.run_record import run_as_told
from evidence.statement import PAYLOAD_TYPE
from receipts import canonical
from receipts.chain import GENESIS, Actor, Correlation, Head, Leaf, next_leaf
from receipts.fields import timestamp
from receipts.receipt import Receipt, make_receipt
from receipts.signing import SigningKey, load_or_create, public_path, sign_envelope
from tests.unit.log_sample import key_of

START = datetime(2026, 1, 31, 9, tzinfo=UTC)
RUN_ID = "run-1"
HIDDEN = "[redacted:0123456789abcdef0123456789abcdef]"
REQUIREMENT = {
    "quorum": 2,
    "groups": ["compliance", "legal"],
    "all_groups": True,
    "exclude": ["eve"],
    "expires_in": "PT8H",
    "reason_required": True,
    "escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}],
}
POLICY = {"effect/decision.rego": "package countersign.effect\n\ndefault decision := {}\n", "data.json": "{}"}
DEFINITION = canonical.dumps(
    {
        "name": "kyc",
        "version": 3,
        "trigger": {"type": "api"},
        "steps": [{"id": "file", "verb": "register.file", "when": None}],
        "edges": [],
        "verbs": {
            "register.file": {
                "description": "File a report",
                "execution": {
                    "kind": "sync",
                    "handler": "register::file_report",
                    "timeout": "PT1M",
                    "wait": None,
                    "escalation": None,
                    "correlation_field": None,
                },
                "effect": {
                    "class": "write",
                    "tier": "high",
                    "reversible_by": "register.withdraw",
                    "target": "DE/123",
                    "idempotency_key": "key-e-write",
                },
            },
        },
    }
)
DEFINITION_DIGEST = hashlib.sha256(DEFINITION).hexdigest()


def action(effect_id: str) -> dict[str, Any]:
    """Return the canonical action of the card (`e-card`) or the write (`e-write`)."""
    card = effect_id == "e-card"
    return {
        "connector": "slack" if card else "register",
        "operation": "post_card" if card else "file_report",
        "target": "C01" if card else "DE/123",
        "fields": {"text": "card"} if card else {"owner": {"share": HIDDEN}, "api_key": HIDDEN},
        "idempotency_key": f"key-{effect_id}",
        "tier": "low" if card else "high",
        "reversible_by": None if card else "register.withdraw",
    }


WRITE, CARD = canonical.digest(action("e-write")), canonical.digest(action("e-card"))


SAID = {"status", "votes", "cards"}
"""The members of an approval that are not what was asked."""

QUEUED = (
    "run.queued",
    {
        "trigger_type": "api",
        "submitted_by": "intake-agent",
        "definition_digest": DEFINITION_DIGEST,
        "actor": "ada",
    },
)


def vote(person: str, *groups: str, verdict: str = "approve") -> dict[str, Any]:
    """Return a vote, as a decision's input and an approval's record both have it."""
    return {"person": person, "groups": list(groups), "verdict": verdict}


def decision(number: int, effect_id: str, outcome: str, **more: Any) -> dict[str, Any]:
    """Return a stored decision about the card (`e-card`) or the write (`e-write`)."""
    effect = {name: action(effect_id)[name] for name in ("connector", "operation", "target", "fields", "tier")}
    card = effect_id == "e-card"
    return {
        "id": f"d-{number}",
        "run_id": RUN_ID,
        "step": "" if card else "file",
        "effect_id": effect_id,
        "outcome": outcome,
        "decision_id": f"opa-{number}",
        "opa_version": "1.22.0",
        "policy_digest": canonical.digest(POLICY),
        "latency_ms": 1.5,
        "input": {
            "time": timestamp(START),
            "tenant": "acme",
            "run": {"id": RUN_ID, "definition": "kyc", "version": 3, "trigger_type": "api"},
            "step": "" if card else "file",
            "approval": None,
            "actor": {"id": "ada", "kind": "person", "groups": [], "submitted_by": "intake-agent"},
            "effect": effect | {"digest": canonical.digest(action(effect_id)), "reversible": not card},
            "votes": more.get("votes", []),
        },
        "answer": {"outcome": outcome, "tier": "high", "requirement": more.get("requirement"), "reasons": []},
    }


def receipt(number: int, effect_id: str, **more: Any) -> dict[str, Any]:
    """Return the receipt of the card or the write."""
    effect = action(effect_id)
    facts: dict[str, Any] = {
        "receipt_id": f"r-{number}",
        "tenant": "acme",
        "run_id": RUN_ID,
        "step": "" if effect_id == "e-card" else "file",
        "effect_id": effect_id,
        "attempt": 1,
        "connector": effect["connector"],
        "operation": effect["operation"],
        "target": effect["target"],
        "idempotency_key": effect["idempotency_key"],
        "fingerprint": canonical.digest(effect),
        "outcome": "success",
        "reversible_by": effect["reversible_by"],
        "decision_id": f"d-{number}",
        "approval_id": None,
        "error": None,
    }
    made: Receipt = make_receipt(
        request=effect["fields"],
        response={"id": "42"},
        pointers=["/owner/share"],
        started_at=START + timedelta(hours=1),
        finished_at=START + timedelta(hours=1, seconds=1),
        **(facts | more),
    )
    document: dict[str, Any] = canonical.loads(made.document())
    return document


@dataclass(frozen=True)
class Untrue(Dossier):
    """A dossier with a `run.json` that says something else than the leaves."""

    run: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Story:
    """The run before it is chained: bend a record, and the chain names what was bent."""

    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    receipts: dict[str, dict[str, Any]] = field(default_factory=dict)
    reads: dict[str, dict[str, Any]] = field(default_factory=dict)
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[str, dict[str, str]] = field(default_factory=lambda: {canonical.digest(POLICY): dict(POLICY)})
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)  # what `run.json` has otherwise than the leaves
    definition: bytes = DEFINITION

    def dossier(self) -> Dossier:
        """Chain the events, and put the digests of the records into their data."""
        events = [(event, self._data(event, data)) for event, data in self.events]
        return (partial(Untrue, run=self.run) if self.run else Dossier)(
            definition=self.definition,
            decisions=list(self.decisions.values()),
            policies=self.policies,
            approvals=list(self.approvals.values()),
            receipts=list(self.receipts.values()),
            reads=list(self.reads.values()),
            leaves=chained(events),
        )

    def _data(self, event: str, data: Mapping[str, Any]) -> dict[str, Any]:
        if event == "decision.recorded":
            record = self.decisions[data["decision_id"]]
            return {"digest": canonical.digest(record), "outcome": record["outcome"], "reasons": [], **data}
        if event == "read.recorded":
            return {"digest": canonical.digest(self.reads[data["read_id"]]), **data}
        if event == "receipt.written":
            record = self.receipts[data["receipt_id"]]
            return {"digest": canonical.digest(record), "outcome": record["outcome"], **data}
        if event == "approval.requested":
            approval = self.approvals[data["approval_id"]]
            return {
                "kind": approval["kind"],
                "digest": approval["digest"],
                "requirement": approval["requirement"],
                "effect_id": approval["effect_id"],
                "asked": canonical.digest({name: approval[name] for name in approval.keys() - SAID}),
                **data,
            }
        if event == "vote.counted":
            votes = self.approvals[data["approval_id"]]["votes"]
            counted = next((v for v in votes if v["person"] == data["person"]), None)
            return {"digest": canonical.digest(counted), **self._last_card(data), **data}
        if event == "card.shown":
            card = self.approvals[data["approval_id"]]["cards"][data["number"]]
            told = {name: value for name, value in data.items() if name != "number"}
            return {"digest": canonical.digest(card), **told}
        return dict(data)

    def _last_card(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return what the leaf of a vote says of the card that was shown last before it."""
        place = next(number for number, (_, other) in enumerate(self.events) if other is data)
        shown = [told for event, told in self.events[:place] if event == "card.shown"]
        cards = [self.approvals[told["approval_id"]]["cards"][told["number"]] for told in shown]
        return {"card": canonical.digest(cards[-1])} if cards else {}


def naming(write: str = WRITE) -> dict[str, str]:
    """Return the button of a card that says which approval the card is about."""
    stamp = canonical.digest([write, dict(REQUIREMENT), "requested"])[:16]
    return {"type": "button", "value": f'{{"id":"a-1","digest":"{write[:16]}","stamp":"{stamp}"}}'}


def at(minute: int) -> str:
    """Return a moment of the run."""
    return timestamp(START + timedelta(minutes=minute))


def story() -> Story:
    """Return the sound one: its chain binds what people saw and said, and tells the run."""
    told = _records()
    _date(told)
    write, card = (
        {"effect_id": effect_id, "step": step} for effect_id, step in (("e-write", "file"), ("e-card", None))
    )
    asked = {"approval_id": "a-1", **write}
    definition = {"definition_name": "kyc", "definition_version": 3}
    queued = QUEUED[1] | {"format": 1, "tenant": "acme", "trigger_ref": "case-1", **definition}
    wait = {"wait_id": "w-1", "type": "approval", "correlation_key": "approval:a-1", "deadline": at(482)}
    votes = [{**asked, "person": v, "actor": v, "verdict": "approve"} for v in ("ben", "cat")]
    timed: list[tuple[int, str, dict[str, Any]]] = [
        (0, QUEUED[0], queued),
        (1, "run.started", {"step": None}),
        (1, "effect.proposed", {**write, **_proposed("e-write")}),
        (1, "run.running", {"step": None, "from": "queued"}),
        (2, "decision.recorded", {**write, "decision_id": "d-1"}),
        (2, "approval.requested", asked),
        (2, "wait.opened", {**asked, **wait}),
        (2, "effect.proposed", {**card, **_proposed("e-card")}),
        (2, "step.waiting_approval", {}),
        (2, "run.waiting_approval", {"step": None, "from": "running"}),
        (3, "decision.recorded", {**card, "decision_id": "d-2"}),
        (4, "receipt.written", {**card, "receipt_id": "r-2"}),
        (5, "card.shown", {**asked, "number": 0}),
        (6, "vote.counted", votes[0]),
        (7, "vote.counted", votes[1]),
        (7, "approval.approved", {**asked, "votes": 2}),
        (7, "run.running", {"step": None, "from": "waiting_approval"}),
        (8, "decision.recorded", {**asked, "decision_id": "d-3"}),
        (9, "receipt.written", {**asked, "receipt_id": "r-3"}),
        (9, "step.succeeded", {}),
        (9, "run.succeeded", {"step": None, "from": "running", "error": "", "writes": 1}),
        (10, "evidence.begun", {"step": None, "key_id": key_of(1).public.key_id}),
    ]
    told.events = [(event, {**data, "minute": minute}) for minute, event, data in timed]
    return told


def _proposed(effect_id: str) -> dict[str, str]:
    """Return the data of the leaf with which an effect is proposed."""
    body = action(effect_id)
    handler = f"{body['connector']}::{body['operation']}"
    return {"action": handler, "target": body["target"], "digest": canonical.digest(body)}


def _date(told: Story) -> None:
    """Give the records of the sound run what they have beside: moments, accounts, and what was asked for."""
    for number, (begun, ended) in {"r-2": (3, 4), "r-3": (8, 9)}.items():
        told.receipts[number].update(started_at=at(begun), finished_at=at(ended))
    approval = told.approvals["a-1"]
    term = {"requested_at": at(2), "expires_at": at(482)}
    approval.update(step="file", tier="high", reasons=[], before={}, purpose="File a report", **term)
    for minute, counted in enumerate(approval["votes"], start=6):
        person = counted["person"]
        account = {"team": "T0ACME", "user": f"U{person.upper()}"}
        counted.update(at=at(minute), person_name=person.title(), slack=account)
    told.decisions["d-2"]["answer"]["tier"] = "low"
    asked = told.decisions["d-3"]["input"]
    asked.update(approval=term, votes=[counted | {"at": at(6 + n)} for n, counted in enumerate(asked["votes"])])


def _records() -> Story:
    """Return the records of the sound one."""
    votes = [vote("ben", "compliance"), vote("cat", "legal", "compliance")]
    told = Story()
    told.decisions = {
        "d-1": decision(1, "e-write", "needs_approval", requirement=dict(REQUIREMENT)),
        "d-2": decision(2, "e-card", "allow"),
        "d-3": decision(3, "e-write", "allow", votes=[dict(v) for v in votes]),
    }
    told.receipts = {"r-2": receipt(2, "e-card"), "r-3": receipt(3, "e-write", approval_id="a-1")}
    told.approvals = {
        "a-1": {
            "id": "a-1",
            "kind": "effect",
            "effect_id": "e-write",
            "digest": WRITE,
            "requirement": dict(REQUIREMENT),
            "status": "approved",
            "votes": [v | {"reason": "checked"} for v in votes],
            "cards": [
                {"channel": "C01", "ts": "1.2", "card": {"text": "File the report?", "blocks": []}, "button": naming()}
            ],
        }
    }
    return told


def _beside(event: str) -> set[str]:
    """Return which of an event's facts stand in its leaf beside the data."""
    about = ("wait.escalated", "wait.opened", "card.shown", "decision.recorded", "receipt.written")
    return {"actor", "step", "effect_id", "minute", *(["approval_id"] if event in about else [])}


def chained(events: list[tuple[str, dict[str, Any]]], program: str = "countersign") -> list[dict[str, Any]]:
    """Return the leaves of these events, which are the program's where they have no actor."""
    head, leaves = GENESIS, list[Leaf]()
    for number, (event, data) in enumerate(events):
        leaf = next_leaf(
            head,
            run_id=RUN_ID,
            at=START + timedelta(minutes=data.get("minute", number)),
            event=event,
            actor=Actor(id=data.get("actor", program), kind="person" if "actor" in data else "system"),
            correlation=Correlation(
                run_id=RUN_ID,
                step=data.get("step", "file"),
                approval_id=data.get("approval_id"),
                effect_id=data.get("effect_id"),
            ),
            data={name: value for name, value in data.items() if name not in _beside(event)},
        ).leaf
        leaves.append(leaf)
        head = Head(leaf.seq, leaf.hash)
    return [leaf.model_dump() for leaf in leaves]


@dataclass(frozen=True)
class Office:
    """A folder with a key, where bundles are written to be verified."""

    folder: Path
    key: SigningKey
    public: Path

    @classmethod
    def in_folder(cls, folder: Path, seed: int = 1) -> "Office":
        """Put a key there, unless there is one: the one that the sample run names, or of another seed another."""
        path = folder / "keys" / "signing.pem"
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(key_of(seed).key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            path.chmod(0o600)
        return cls(folder, load_or_create(path), public_path(path))

    def seal(self, dossier: Dossier) -> Path:
        """Write the bundle of a dossier."""
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(dossier, Untrue):
                patch.setattr(builder, "run_as_told", lambda leaves: run_as_told(leaves) | dict(dossier.run))
            return self.write(build(dossier, self.key).data)

    def sign(self, statement: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
        """Return the envelope of a statement."""
        return sign_envelope(kind, statement, self.key)

    def write(self, data: bytes) -> Path:
        """Write a file as if it were a bundle."""
        path = self.folder / "bundle.zip"
        path.write_bytes(data)
        return path
