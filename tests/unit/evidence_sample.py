"""A run with a card, two votes and one write, to seal as it is or with one thing bent."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evidence.build import Dossier, build
from evidence.statement import PAYLOAD_TYPE
from receipts import canonical
from receipts.chain import GENESIS, Actor, Correlation, Head, Leaf, next_leaf
from receipts.fields import timestamp
from receipts.receipt import Receipt, make_receipt
from receipts.redaction import redact
from receipts.signing import SigningKey, load_or_create, public_path, sign_envelope

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


@dataclass
class Story:
    """The run before it is chained: bend a record, and the chain names what was bent."""

    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    receipts: dict[str, dict[str, Any]] = field(default_factory=dict)
    reads: dict[str, dict[str, Any]] = field(default_factory=dict)
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[str, dict[str, str]] = field(default_factory=lambda: {canonical.digest(POLICY): dict(POLICY)})
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    definition: bytes = DEFINITION
    format: int = 1  # in 2 the chain tells the run, where no other `run` is given

    def dossier(self) -> Dossier:
        """Chain the events, and put the digests of the records into their data."""
        events = [(event, self._data(event, data)) for event, data in self.events]
        leaves = chained(events, "worker-1" if self.format == 1 else "countersign")
        run = {
            "run_id": RUN_ID,
            "tenant": "acme",
            "definition": {"name": "kyc", "version": 3, "digest": DEFINITION_DIGEST},
            "requested_by": "ada",
            "submitted_by": "intake-agent",
            "status": "succeeded",
            "steps": [{"path": "file", "status": "succeeded"}],
            "waits": [],
            "sealed_seq": len(leaves),
            "audit_head": leaves[-1]["hash"],
        }
        return Dossier(
            run=run | self.run if self.format == 1 or self.run else None,
            definition=self.definition,
            decisions=list(self.decisions.values()),
            policies=self.policies,
            approvals=list(self.approvals.values()),
            receipts=list(self.receipts.values()),
            reads=list(self.reads.values()),
            leaves=leaves,
        )

    def _data(self, event: str, data: Mapping[str, Any]) -> dict[str, Any]:
        if event == "decision.recorded":
            record = self.decisions[data["decision_id"]]
            told = {"outcome": record["outcome"], "reasons": []} if self.format == 2 else {}
            return {"digest": canonical.digest(record), **told, **data}
        if event == "read.recorded":
            return {"digest": canonical.digest(self.reads[data["read_id"]]), **data}
        if event == "receipt.written":
            record = self.receipts[data["receipt_id"]]
            told = {"outcome": record["outcome"]} if self.format == 2 else {}
            return {"digest": canonical.digest(record), **told, **data}
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
        if event == "vote.counted" and self.format == 2:
            votes = self.approvals[data["approval_id"]]["votes"]
            counted = canonical.digest(next(v for v in votes if v["person"] == data["person"]))
            return {"digest": counted, **self._last_card(data), **data}
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


def story() -> Story:
    """Return the sound one."""
    votes = [vote("ben", "compliance"), vote("cat", "legal", "compliance")]
    counted = [{"approval_id": "a-1", "person": v["person"], "verdict": v["verdict"]} for v in votes]
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
    told.events = [
        (QUEUED[0], dict(QUEUED[1])),
        ("decision.recorded", {"decision_id": "d-1"}),
        ("approval.requested", {"approval_id": "a-1"}),
        ("decision.recorded", {"decision_id": "d-2"}),
        ("receipt.written", {"receipt_id": "r-2"}),
        ("vote.counted", counted[0]),
        ("vote.counted", counted[1]),
        ("approval.approved", {"approval_id": "a-1"}),
        ("decision.recorded", {"decision_id": "d-3"}),
        ("receipt.written", {"receipt_id": "r-3"}),
        ("step.succeeded", {}),
        ("run.succeeded", {}),
    ]
    return told


def rewrite(told: Story, **change: Any) -> None:
    """Let the write have been another one, everywhere."""
    body = action("e-write") | change
    digest, sent = canonical.digest(body), redact(body["fields"])
    for number in ("d-1", "d-3"):
        effect = told.decisions[number]["input"]["effect"]
        effect.update({name: body[name] for name in effect.keys() & body.keys()}, digest=digest)
    told.approvals["a-1"]["digest"] = digest
    before, now = (canonical.dumps(naming(write)) for write in (WRITE, digest))
    cards = canonical.dumps(told.approvals["a-1"]["cards"])
    told.approvals["a-1"]["cards"] = canonical.loads(cards.replace(before, now))
    hidden = [f"/request{path}" for path in sent.paths]
    told.receipts["r-3"].update(body_of(body), request=sent.value, redacted=hidden, fingerprint=digest)


def body_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an action that its receipt repeats."""
    return {name: value for name, value in body.items() if name not in ("fields", "tier")}


def _beside(event: str) -> set[str]:
    """Return which of an event's facts stand in its leaf beside the data."""
    about = ("wait.escalated", "wait.opened", "card.shown", "decision.recorded", "receipt.written")
    return {"actor", "step", "effect_id", "minute", *(["approval_id"] if event in about else [])}


def chained(events: list[tuple[str, dict[str, Any]]], program: str = "worker-1") -> list[dict[str, Any]]:
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
    def in_folder(cls, folder: Path) -> "Office":
        """Make the key."""
        path = folder / "keys" / "signing.pem"
        return cls(folder, load_or_create(path), public_path(path))

    def seal(self, dossier: Dossier) -> Path:
        """Write the bundle of a dossier."""
        return self.write(build(dossier, self.key).data)

    def sign(self, statement: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
        """Return the envelope of a statement, which names the key where its format does."""
        named = self.key.public.key_id if b'"builder_version":"1"' in statement else ""
        return sign_envelope(kind, statement, self.key, keyid=named)

    def write(self, data: bytes) -> Path:
        """Write a file as if it were a bundle."""
        path = self.folder / "bundle.zip"
        path.write_bytes(data)
        return path
