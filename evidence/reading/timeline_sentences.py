"""Timeline sentences: one for each leaf of a run, as Markdown for a line.

People, actions and words of others stand in them as they are on record.
"""

from collections.abc import Callable

from evidence.reading.markdown import prose, quoted
from evidence.reading.material import Material, Record, is_wish, number, record, records, text, texts
from evidence.reading.requests import leaves_open, needed
from evidence.reading.timeline_budgets import BUDGETS
from evidence.reading.words import (
    ANSWERS,
    ENDINGS,
    IN_CONSOLE,
    OUTCOMES,
    REFUSALS,
    counted,
    ending,
    listed,
    moment,
    plain,
    verdict,
)

NAME = 120
"""Characters of a name, a target or a title."""
TEXT = 300
"""Characters of a reason or another sentence."""


def named(value: str) -> str:
    """Return a name in the words of others."""
    return quoted(value, NAME)


def person(material: Material, identifier: str) -> str:
    """Return who a person, a program or an account is."""
    return f"**{prose(material.name_of(identifier), NAME)}**"


def actor(material: Material, leaf: Record) -> str:
    """Return who did what a leaf tells."""
    return person(material, text(leaf, "actor", "id"))


def action(effect: Record) -> str:
    """Return an action on its target, by an effect or by a receipt."""
    operation, target = text(effect, "operation"), text(effect, "target")
    return f"{named(plain(operation))} on {named(target)}" if target else named(plain(operation))


def step(material: Material, leaf: Record) -> str:
    """Return the step that a leaf is about; "" for none."""
    path = text(leaf, "correlation", "step")
    return named(material.in_words(path)) if path else ""


def asked(material: Material, leaf: Record) -> str:
    """Return what people were asked whom a leaf is about."""
    approval_id = text(leaf, "data", "approval_id") or text(leaf, "correlation", "approval_id")
    return named(material.asked(approval_id, text(leaf, "correlation", "step")))


def why(leaf: Record, name: str) -> str:
    """Return a member of a leaf's data that says why, behind a colon; "" where there is none."""
    return because(text(leaf, "data", name))


def because(words: str) -> str:
    """Return words of others behind a colon; "" where there are none."""
    return f": {quoted(words, TEXT)}" if words else ""


_WAITS = {
    "approval": "people's approval",
    "human_task": "a person",
    "external": "an answer",
    "timer": "its time",
    "signal": "a signal",
    "child_run": "another run",
}
_OTHERS = {
    "edit": "The edit by",
    "claim": "The claim of",
    "release": "The release by",
    "withdraw": "The withdrawal of",
    "hand": "The handing on by",
    "ask": "The question of",
    "reply": "The answer of",
}
_MOST = 9
"""Groups that are named."""


def _requested(material: Material, leaf: Record) -> str:
    wanted = prose(needed(record(leaf, "data", "requirement")), TEXT)
    return f"Approval requested for {asked(material, leaf)}: {wanted}"


def _shown(material: Material, leaf: Record) -> str:
    return f"The card about {asked(material, leaf)} was shown"


def _voted(material: Material, leaf: Record) -> str:
    approval = material.approvals.get(text(leaf, "data", "approval_id"), {})
    who, code = text(leaf, "data", "person"), text(leaf, "data", "verdict")
    mine = [one for one in records(approval, "votes") if text(one, "person") == who]
    vote = next((one for one in mine if text(one, "verdict") == code), mine[0] if mine else {})
    said = verdict(text(approval, "kind"), code, leaves_open=leaves_open(approval, vote))
    reason = because(text(vote, "reason")) or ", without a reason"
    delegator = text(vote, "delegation", "delegator")
    whom = f", for {person(material, delegator)}," if delegator else ""
    ticket = text(vote, "break_glass", "ticket")
    alone = f", using break-glass by {prose(ticket, NAME)}" if ticket else ""
    count = number(vote, "together", "count")
    among = f", one of {count:,} decided at once," if count else ""
    there = IN_CONSOLE if "console" in vote else ""
    return f"{person(material, who)}{whom} {prose(said, NAME)}{there}, on {asked(material, leaf)}{alone}{among}{reason}"


def _edited(material: Material, leaf: Record) -> str:
    edit = record(material.approvals.get(text(leaf, "data", "approval_id"), {}), "edited")
    params = listed([named(text(one, "param")) for one in records(edit, "changes")[:_MOST]])
    what = f"{actor(material, leaf)} edited {params} in {asked(material, leaf)}"
    return f"{what}{because(text(edit, 'reason'))}"


def _uncounted(material: Material, leaf: Record) -> str:
    code = text(leaf, "data", "code")
    why = REFUSALS.get(code) or named(code)
    what = _OTHERS.get(text(leaf, "data", "verdict"), "The vote of")
    return f"{what} {actor(material, leaf)} on {asked(material, leaf)} did not count: {why}"


def _claimed(material: Material, leaf: Record) -> str:
    before = text(leaf, "data", "from")
    over = f", taking over from {person(material, before)}" if before else ""
    return f"{person(material, text(leaf, 'data', 'person'))} claimed {asked(material, leaf)}{over}"


def _released(material: Material, leaf: Record) -> str:
    who = text(leaf, "data", "person")
    if text(leaf, "actor", "id") != who:
        return f"{person(material, who)} is no longer asked and lost the claim on {asked(material, leaf)}"
    return f"{person(material, who)} released {asked(material, leaf)}"


def _withdrawn(material: Material, leaf: Record) -> str:
    who, reason = person(material, text(leaf, "data", "person")), because(text(leaf, "data", "reason"))
    return f"{who} withdrew their vote on {asked(material, leaf)}{reason}"


def _handed(material: Material, leaf: Record) -> str:
    who, to = (person(material, text(leaf, "data", name)) for name in ("person", "to"))
    return f"{who} handed {asked(material, leaf)} to {to}{because(text(leaf, 'data', 'reason'))}"


def _question(material: Material, leaf: Record) -> str:
    approval = material.approvals.get(text(leaf, "data", "approval_id"), {})
    wanted = text(leaf, "data", "question_id")
    question = next((one for one in records(approval, "questions") if text(one, "id") == wanted), {})
    if text(leaf, "event") == "question.asked":
        return f"{actor(material, leaf)} asked about {asked(material, leaf)}{because(text(question, 'question'))}"
    words = because(text(question, "answer", "text"))
    return f"{actor(material, leaf)} answered {person(material, text(question, 'person'))}{words}"


def _unfit(material: Material, leaf: Record) -> str:
    code = text(leaf, "data", "code")
    why = text(leaf, "data", "reason") or code
    if is_wish(leaf):
        of = f"the step {step(material, leaf)}" if text(leaf, "correlation", "step") else "the run"
        return (
            f"The request of {actor(material, leaf)} for {of} was not carried out: {REFUSALS.get(code) or named(why)}"
        )
    return f"The answer of {actor(material, leaf)} for the step {step(material, leaf)} did not count: {named(why)}"


def _settled(material: Material, leaf: Record) -> str:
    approval = material.approvals.get(text(leaf, "data", "approval_id"), {})
    how = ending(text(approval, "kind"), text(leaf, "event").removeprefix("approval."))
    votes = f", with {counted(number(leaf, 'data', 'votes'), 'vote')}" if "votes" in record(leaf, "data") else ""
    return f"{asked(material, leaf)} is {how}{votes}"


def _opened(material: Material, leaf: Record) -> str:
    kind, until = text(leaf, "data", "type"), moment(text(leaf, "data", "deadline"))
    awaited = (_WAITS.get(kind) or named(kind)) + (f", until {until}" if until else "")
    return f"The step {step(material, leaf)} waits for {awaited}"


def _answered(material: Material, leaf: Record) -> str:
    if text(leaf, "data", "type") == "timer":
        return f"The time of the step {step(material, leaf)} is over"
    if text(leaf, "data", "child"):
        return (
            f"The run {named(text(leaf, 'data', 'child'))} has ended, for which the step {step(material, leaf)} waited"
        )
    return f"{actor(material, leaf)} answered for the step {step(material, leaf)}"


def _progressed(material: Material, leaf: Record) -> str:
    said = because(text(leaf, "data", "message"))
    return f"{actor(material, leaf)} reported progress of the step {step(material, leaf)}{said}"


def _late(material: Material, leaf: Record) -> str:
    return f"Nobody answered in time for the step {step(material, leaf)}"


def _escalated(material: Material, leaf: Record) -> str:
    groups = listed([named(group) for group in texts(leaf, "data", "to")[:_MOST]])
    until, runbook = moment(text(leaf, "data", "deadline")), text(leaf, "data", "started", "runbook")
    is_started = bool(text(leaf, "data", "started", "run_id"))
    parts = [
        f"{groups} may also decide" if groups else "",
        f"due {until}" if until else "",
        f"{named(runbook)} was {'started' if is_started else 'not started'}" if runbook else "",
    ]
    return ": ".join(filter(None, [f"Escalation of the step {step(material, leaf)}", ", ".join(filter(None, parts))]))


def _fell_back(material: Material, leaf: Record) -> str:
    groups = listed([named(group) for group in texts(leaf, "data", "to")[:_MOST]])
    whither = f"; also sent to {groups}" if groups else "; also sent to others"
    return f"Those who were asked could not decide the step {step(material, leaf)}{whither}"


_REPAIRED = {
    "retry": "had the step {} retried",
    "supply": "supplied the result of the step {}",
    "skip": "skipped the step {}",
    "end": "ended the run at the step {}",
}


def _repaired(material: Material, leaf: Record) -> str:
    act = text(leaf, "data", "act")
    said = _REPAIRED.get(act, f"said {named(act)} of the step {{}}").format(step(material, leaf))
    return f"{actor(material, leaf)} {said}{because(text(leaf, 'data', 'reason'))}"


_PEOPLE: dict[str, Callable[[Material, Record], str]] = {
    "approval.requested": _requested,
    "card.shown": _shown,
    "vote.counted": _voted,
    "vote.refused": _uncounted,
    "effect.edited": _edited,
    "vote.withdrawn": _withdrawn,
    "approval.handed": _handed,
    "question.asked": _question,
    "question.answered": _question,
    "task.claimed": _claimed,
    "task.released": _released,
    "notification.refused": _unfit,
    "repair.decided": _repaired,
    **{f"approval.{end}": _settled for end in ENDINGS if end != "requested"},
    "wait.opened": _opened,
    "wait.progress": _progressed,
    "wait.completed": _answered,
    "wait.timed_out": _late,
    "wait.escalated": _escalated,
    "approval.fell_back": _fell_back,
}


_STEPS = {
    "step.succeeded": "is done",
    "step.skipped": "was skipped",
    "step.failed_terminal": "failed",
    "step.failed_handled": "failed, and the runbook handles it",
    "step.failed_retryable": "failed and will be retried",
    "step.needs_attention": "failed and needs a person's decision",
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


_COURSE: dict[str, Callable[[Material, Record], str]] = {
    "run.queued": _queued,
    "run.succeeded": _ended,
    "run.failed_terminal": _ended,
    **dict.fromkeys(_STEPS, _step),
    "effect.proposed": _proposed,
    "decision.recorded": _decided,
    "receipt.written": _received,
    "read.recorded": _read,
}


_PLAIN = {
    "run.started": "The run started",
    "run.running": "The run goes on",
    "run.waiting": "The run waits for an answer",
    "run.waiting_approval": "The run waits for people",
    "run.canceled": "The run was canceled",
    "evidence.begun": "The sealing of this evidence began",
}
_TELL = _COURSE | _PEOPLE | BUDGETS


def sentence(material: Material, leaf: Record) -> str:
    """Return what happened, as Markdown for a line."""
    event = text(leaf, "event")
    return _PLAIN.get(event) or _TELL.get(event, _any)(material, leaf)


def _any(material: Material, leaf: Record) -> str:
    """Say what there is no sentence for: the event, of which step, and why."""
    about = f" for {step(material, leaf)}" if step(material, leaf) else ""
    by = f", by {actor(material, leaf)}" if text(leaf, "actor", "kind") != "system" else ""
    what = prose(plain(text(leaf, "event")), NAME)
    return f"{what[:1].upper()}{what[1:]}{about}{by}{why(leaf, 'error') or why(leaf, 'reason')}"
