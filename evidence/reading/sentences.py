"""One sentence for each leaf of a run, in which people, actions and words of others stand as they are on record."""

from collections.abc import Callable

from evidence.reading.material import Material, Record, number, record, records, text, texts
from evidence.reading.requests import needed
from evidence.reading.shown import prose, quoted
from evidence.reading.words import ANSWERS, ENDINGS, OUTCOMES, REFUSALS, VERDICTS, counted, listed, moment, plain
from receipts import canonical

Tell = Callable[[Material, Record], str]

_NAME = 120
"""Characters of a name, a target or a title."""
_TEXT = 300
"""Characters of a reason or another sentence."""
_PLAIN = {
    "run.started": "The run started",
    "run.running": "The run goes on",
    "run.waiting": "The run waits for an answer",
    "run.waiting_approval": "The run waits for people",
    "run.canceled": "The run was canceled",
    "evidence.begun": "The sealing of this evidence began",
}
_STEPS = {
    "step.succeeded": "is done",
    "step.skipped": "was left out",
    "step.failed_terminal": "failed",
    "step.failed_retryable": "failed, and is tried again",
    "step.canceled": "was canceled",
    "step.parked": "waits for its answer",
    "step.waiting_approval": "waits for people",
}
_CHAT = {
    "slack::post_card": "A card",
    "slack::update_card": "A card's new state",
    "slack::post_message": "A message",
    "slack::direct_message": "A message to one person",
}
_WAITS = {"approval": "people's approval", "human_task": "a person", "external": "an answer", "timer": "its time"}


def sentence(material: Material, leaf: Record) -> str:
    """Return what happened, as Markdown for a line."""
    event = text(leaf, "event")
    tell = _TELL.get(event) or (_step if event in _STEPS else _any)
    return _PLAIN.get(event) or tell(material, leaf)


def _any(material: Material, leaf: Record) -> str:
    """Say what there is no sentence for: the event, of which step, and why."""
    step = _of_step(leaf)
    by = f", by {_actor(material, leaf)}" if text(leaf, "actor", "kind") != "system" else ""
    what = prose(plain(text(leaf, "event")), _NAME).capitalize()
    return f"{what}{f' for {step}' if step else ''}{by}{_why(leaf, 'error') or _why(leaf, 'reason')}"


def _queued(material: Material, leaf: Record) -> str:
    run, through = material.run, text(leaf, "data", "submitted_by")
    what = f"{_q(text(run, 'definition', 'name'))}, version {number(run, 'definition', 'version')}"
    by = f", through {_q(through)}" if through != text(leaf, "actor", "id") else ""
    about = f", about {_q(text(leaf, 'data', 'trigger_ref'))}" if text(leaf, "data", "trigger_ref") else ""
    return f"{_actor(material, leaf)} asked for {what}{about}{by}"


def _ended(_: Material, leaf: Record) -> str:
    done = counted(number(leaf, "data", "writes"), "write")
    how = "succeeded" if text(leaf, "event") == "run.succeeded" else "failed"
    return f"The run {how}, after {done}{_why(leaf, 'error')}"


def _step(_: Material, leaf: Record) -> str:
    return f"The step {_of_step(leaf)} {_STEPS[text(leaf, 'event')]}{_why(leaf, 'error')}"


def _proposed(_: Material, leaf: Record) -> str:
    action, target = text(leaf, "data", "action"), text(leaf, "data", "target")
    if action in _CHAT:
        return f"{_CHAT[action]} is to be sent to {_q(target)}"
    return f"{_q(plain(action.rpartition('::')[2]))} on {_q(target)} is to be done, for the step {_of_step(leaf)}"


def _decided(material: Material, leaf: Record) -> str:
    decision = material.decisions.get(text(leaf, "data", "decision_id"), {})
    outcome, effect = text(leaf, "data", "outcome"), record(decision, "input", "effect")
    said = [text(one, "msg") or text(one, "code") for one in records(decision, "answer", "reasons")]
    why = f": {listed([quoted(one, _TEXT) for one in said])}" if said else ""
    return f"Policy {ANSWERS.get(outcome) or _q(outcome)} {_action(effect)}{why}"


def _received(material: Material, leaf: Record) -> str:
    receipt = material.receipts.get(text(leaf, "data", "receipt_id"), {})
    outcome, error = text(leaf, "data", "outcome"), text(receipt, "error")
    why = f": {quoted(error, _TEXT)}" if error else ""
    return f"{_action(receipt)}: {OUTCOMES.get(outcome) or _q(outcome)}{why}"


def _read(material: Material, leaf: Record) -> str:
    read = material.reads.get(text(leaf, "data", "read_id"), {})
    handler, size, error = text(read, "handler"), number(read, "response", "bytes"), text(read, "error")
    came = f"failed: {quoted(error, _TEXT)}" if error else f"answered, {counted(size, 'byte')}"
    return f"{_q(plain(handler.rpartition('::')[2]))} for the step {_of_step(leaf)}: {came}"


def _requested(material: Material, leaf: Record) -> str:
    wanted = prose(needed(record(leaf, "data", "requirement")), _TEXT)
    return f"People are asked about {_asked(material, leaf)}: {wanted}"


def _shown(material: Material, leaf: Record) -> str:
    return f"The card about {_asked(material, leaf)} was shown"


def _voted(material: Material, leaf: Record) -> str:
    approval = material.approvals.get(text(leaf, "data", "approval_id"), {})
    person, verdict = text(leaf, "data", "person"), text(leaf, "data", "verdict")
    digest = text(leaf, "data", "digest")
    vote = next((one for one in records(approval, "votes") if canonical.digest(one) == digest), {})
    reason = f": {quoted(text(vote, 'reason'), _TEXT)}" if text(vote, "reason") else ", without a reason"
    said = VERDICTS.get(verdict) or _q(verdict)
    return f"**{prose(material.name_of(person), _NAME)}** {said} {_asked(material, leaf)}{reason}"


def _uncounted(material: Material, leaf: Record) -> str:
    code = text(leaf, "data", "code")
    return f"The vote of {_actor(material, leaf)} on {_asked(material, leaf)} did not count: {_refused(code)}"


def _unfit(material: Material, leaf: Record) -> str:
    code, reason = text(leaf, "data", "code"), text(leaf, "data", "reason")
    return f"The answer of {_actor(material, leaf)} for the step {_of_step(leaf)} did not count: {_q(reason or code)}"


def _settled(material: Material, leaf: Record) -> str:
    how = ENDINGS.get(text(leaf, "event").removeprefix("approval."), "")
    votes = f", with {counted(number(leaf, 'data', 'votes'), 'vote')}" if "votes" in record(leaf, "data") else ""
    return f"{_asked(material, leaf)} is {how}{votes}"


def _opened(_: Material, leaf: Record) -> str:
    kind, until = text(leaf, "data", "type"), moment(text(leaf, "data", "deadline"))
    return f"The step {_of_step(leaf)} waits for {_WAITS.get(kind) or _q(kind)}{f', until {until}' if until else ''}"


def _answered(material: Material, leaf: Record) -> str:
    if text(leaf, "data", "type") == "timer":
        return f"The time of the step {_of_step(leaf)} is over"
    return f"{_actor(material, leaf)} answered for the step {_of_step(leaf)}"


def _late(_: Material, leaf: Record) -> str:
    return f"Nobody answered in time for the step {_of_step(leaf)}"


def _escalated(_: Material, leaf: Record) -> str:
    groups = listed([_q(group) for group in texts(leaf, "data", "to")[:_MOST]])
    return f"Time runs short for the step {_of_step(leaf)}: {groups} may decide, too"


def _asked(material: Material, leaf: Record) -> str:
    approval_id = text(leaf, "data", "approval_id") or text(leaf, "correlation", "approval_id")
    return _q(material.asked(approval_id, text(leaf, "correlation", "step")))


def _action(effect: Record) -> str:
    """Name an action and its target, by an effect or by a receipt."""
    operation, target = text(effect, "operation"), text(effect, "target")
    return f"{_q(plain(operation))} on {_q(target)}" if target else _q(plain(operation))


def _actor(material: Material, leaf: Record) -> str:
    return f"**{prose(material.name_of(text(leaf, 'actor', 'id')), _NAME)}**"


def _of_step(leaf: Record) -> str:
    step = text(leaf, "correlation", "step")
    return _q(plain(step)) if step else ""


def _refused(code: str) -> str:
    return REFUSALS.get(code) or _q(code)


def _why(leaf: Record, name: str) -> str:
    found = text(leaf, "data", name)
    return f": {quoted(found, _TEXT)}" if found else ""


def _q(value: str) -> str:
    return quoted(value, _NAME)


_MOST = 9
"""Groups that are named."""
_TELL: dict[str, Tell] = {
    "run.queued": _queued,
    "run.succeeded": _ended,
    "run.failed_terminal": _ended,
    "effect.proposed": _proposed,
    "decision.recorded": _decided,
    "receipt.written": _received,
    "read.recorded": _read,
    "approval.requested": _requested,
    "card.shown": _shown,
    "vote.counted": _voted,
    "vote.refused": _uncounted,
    "notification.refused": _unfit,
    **{f"approval.{end}": _settled for end in ("approved", "rejected", "expired", "canceled")},
    "wait.opened": _opened,
    "wait.completed": _answered,
    "wait.timed_out": _late,
    "wait.escalated": _escalated,
}
