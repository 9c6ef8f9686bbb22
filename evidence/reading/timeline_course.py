"""Sentences about the run, its steps, what was proposed, decided, done and read."""

from collections.abc import Callable

from evidence.reading.material import Material, Record, number, record, records, text
from evidence.reading.shown import quoted
from evidence.reading.timeline_names import TEXT, action, actor, because, named, step, why
from evidence.reading.words import ANSWERS, OUTCOMES, counted, listed, plain

_STEPS = {
    "step.succeeded": "is done",
    "step.skipped": "was skipped",
    "step.failed_terminal": "failed",
    "step.failed_handled": "failed, and the runbook handles it",
    "step.failed_retryable": "failed and will be retried",
    "step.held": "failed and needs a person's decision",
    "step.canceled": "was canceled",
    "step.parked": "waits for an answer",
    "step.waiting_approval": "waits for approval",
}
_CHAT = {
    "slack::post_card": "post a card to",
    "slack::update_card": "update a card in",
    "slack::post_message": "post a message to",
    "slack::update_message": "update a message in",
    "slack::direct_message": "send a direct message to",
    "webhook::deliver": "deliver an event to the subscriber",
}


def _queued(material: Material, leaf: Record) -> str:
    run, through = material.run, text(leaf, "data", "submitted_by")
    what = f"{named(text(run, 'definition', 'name'))}, version {number(run, 'definition', 'version')}"
    by = f", through {named(through)}" if through != text(leaf, "actor", "id") else ""
    about = f", about {named(text(leaf, 'data', 'trigger_ref'))}" if text(leaf, "data", "trigger_ref") else ""
    mocked = "; on mocks: nothing real is done" if record(leaf, "data").get("mocked") is True else ""
    return f"{actor(material, leaf)} asked for {what}{about}{by}{mocked}"


def _ended(_: Material, leaf: Record) -> str:
    done, outcome = counted(number(leaf, "data", "writes"), "write"), text(leaf, "data", "outcome")
    how = "succeeded" if text(leaf, "event") == "run.succeeded" else "failed"
    how = f"ended as {named(plain(outcome))}" if outcome else how
    return f"The run {how}, after {done}{why(leaf, 'error')}"


def _step(material: Material, leaf: Record) -> str:
    event, case = text(leaf, "event"), text(leaf, "data", "branch")
    is_begun = event == "step.parked" and material.holds_steps(text(leaf, "correlation", "step"))
    said = "started" if is_begun else _STEPS[event]
    by = f", by the branch {named(plain(case))}" if case else ""
    return f"The step {step(material, leaf)} {said}{by}{why(leaf, 'error')}"


def _proposed(material: Material, leaf: Record) -> str:
    what, target = text(leaf, "data", "action"), text(leaf, "data", "target")
    if what in _CHAT:
        return f"Proposed: {_CHAT[what]} {named(target)}"
    act = f"{named(plain(what.rpartition('::')[2]))} on {named(target)}"
    return f"Proposed: {act}, for the step {step(material, leaf)}"


def _decided(material: Material, leaf: Record) -> str:
    decision = material.decisions.get(text(leaf, "data", "decision_id"), {})
    outcome, effect = text(leaf, "data", "outcome"), record(decision, "input", "effect")
    said = [text(one, "msg") or text(one, "code") for one in records(decision, "answer", "reasons")]
    reasons = f": {listed([quoted(one, TEXT) for one in said])}" if said else ""
    return f"Policy {ANSWERS.get(outcome) or named(outcome)} {action(effect)}{reasons}"


def _received(material: Material, leaf: Record) -> str:
    receipt = material.receipts.get(text(leaf, "data", "receipt_id"), {})
    outcome = text(leaf, "data", "outcome")
    return f"{action(receipt)}: {OUTCOMES.get(outcome) or named(outcome)}{because(text(receipt, 'error'))}"


def _read(material: Material, leaf: Record) -> str:
    read = material.reads.get(text(leaf, "data", "read_id"), {})
    handler, size, error = text(read, "handler"), number(read, "response", "bytes"), text(read, "error")
    came = f"failed{because(error)}" if error else f"answered, {counted(size, 'byte')}"
    return f"{named(plain(handler.rpartition('::')[2]))} for the step {step(material, leaf)}: {came}"


TELL: dict[str, Callable[[Material, Record], str]] = {
    "run.queued": _queued,
    "run.succeeded": _ended,
    "run.failed_terminal": _ended,
    **dict.fromkeys(_STEPS, _step),
    "effect.proposed": _proposed,
    "decision.recorded": _decided,
    "receipt.written": _received,
    "read.recorded": _read,
}
