"""The sample run in format 2, with all that its leaves bind: to seal as it is or with one thing bent."""

from datetime import timedelta
from typing import Any

from receipts import canonical
from receipts.fields import timestamp
from tests.unit.evidence_sample import QUEUED, START, Story, action, story


def at(minute: int) -> str:
    """Return a moment of the run."""
    return timestamp(START + timedelta(minutes=minute))


def bound() -> Story:
    """Return the sound one in format 2: its chain binds what people saw and said, and tells the run."""
    told = story()
    told.format = 2
    _date(told)
    write, card = (
        {"effect_id": effect_id, "step": step} for effect_id, step in (("e-write", "file"), ("e-card", None))
    )
    asked = {"approval_id": "a-1", **write}
    definition = {"definition_name": "kyc", "definition_version": 3}
    queued = QUEUED[1] | {"format": 2, "tenant": "acme", "trigger_ref": "case-1", **definition}
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
        (10, "evidence.begun", {"step": None}),
    ]
    told.events = [(event, {**data, "minute": minute}) for minute, event, data in timed]
    return told


def _proposed(effect_id: str) -> dict[str, str]:
    """Return the data of the leaf with which an effect is proposed."""
    body = action(effect_id)
    handler = f"{body['connector']}::{body['operation']}"
    return {"action": handler, "target": body["target"], "digest": canonical.digest(body)}


def _date(told: Story) -> None:
    """Give the records of the sound run what they have in format 2: moments, accounts, and what was asked for."""
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
