"""Sentences about what people were asked and said, and about what is waited for."""

from collections.abc import Callable

from evidence.reading.material import Material, Record, is_wish, number, record, records, text, texts
from evidence.reading.requests import needed
from evidence.reading.shown import prose
from evidence.reading.timeline_names import NAME, TEXT, actor, asked, because, named, person, step
from evidence.reading.words import ENDINGS, REFUSALS, counted, ending, listed, moment, verdict

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
    who, said = text(leaf, "data", "person"), verdict(text(approval, "kind"), text(leaf, "data", "verdict"))
    vote = next((one for one in records(approval, "votes") if text(one, "person") == who), {})
    reason = because(text(vote, "reason")) or ", without a reason"
    delegator = text(vote, "delegation", "delegator")
    whom = f", for {person(material, delegator)}," if delegator else ""
    ticket = text(vote, "break_glass", "ticket")
    alone = f", breaking the glass by {prose(ticket, NAME)}" if ticket else ""
    count = number(vote, "together", "count")
    among = f", one of {count:,} decided at once," if count else ""
    return f"{person(material, who)}{whom} {prose(said, NAME)}, on {asked(material, leaf)}{alone}{among}{reason}"


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


_MENDED = {
    "retry": "had the step {} retried",
    "supply": "supplied the result of the step {}",
    "skip": "skipped the step {}",
    "end": "ended the run at the step {}",
}


def _mended(material: Material, leaf: Record) -> str:
    act = text(leaf, "data", "act")
    said = _MENDED.get(act, f"said {named(act)} of the step {{}}").format(step(material, leaf))
    return f"{actor(material, leaf)} {said}{because(text(leaf, 'data', 'reason'))}"


TELL: dict[str, Callable[[Material, Record], str]] = {
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
    "held.settled": _mended,
    **{f"approval.{end}": _settled for end in ENDINGS if end != "requested"},
    "wait.opened": _opened,
    "wait.progress": _progressed,
    "wait.completed": _answered,
    "wait.timed_out": _late,
    "wait.escalated": _escalated,
    "approval.fell_back": _fell_back,
}
