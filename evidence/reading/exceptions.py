"""Exceptions of a run: what an auditor looks at first, each with its person, its time and the leaf that records it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from evidence.reading.markdown import cited
from evidence.reading.material import Material, Record, apart, record, records, text
from evidence.reading.requests import heading_of, leaves_open
from evidence.reading.words import REFUSALS, counted, listed, plain, verdict
from receipts.canonical import built

QUICK = timedelta(seconds=10)
"""A vote is quick this soon after its person opened the request."""

_NAME, _TEXT = 120, 300
"""Characters of a name or a title, and of a reason."""


class ExceptionKind(StrEnum):
    """What kind of exception it is."""

    BREAK_GLASS = "break_glass"
    EDIT = "edit"
    DELEGATION = "delegation"
    SAME_PERSON = "same_person"
    QUICK_VOTE = "quick_vote"
    REFUSED = "refused"
    DENIED = "denied"


LABELS = {
    ExceptionKind.BREAK_GLASS: "Break-glass",
    ExceptionKind.EDIT: "Edited before approval",
    ExceptionKind.DELEGATION: "Delegation",
    ExceptionKind.SAME_PERSON: "Reviewed and signed",
    ExceptionKind.QUICK_VOTE: "Quick vote",
    ExceptionKind.REFUSED: "Refused attempt",
    ExceptionKind.DENIED: "Denied by policy",
}


@dataclass(frozen=True)
class ExceptionEntry:
    """One exception: when, who (id and name), and `what` as a sentence; `leaf` is the number of its line in the chain.

    `seconds` lie between the two acts of which it tells, None where it tells of one.
    """

    kind: ExceptionKind
    at: str
    person: str
    name: str
    what: str
    leaf: int
    seconds: int | None = None


@dataclass(frozen=True)
class Exceptions:
    """The exceptions of a run in the chain's order, and of how many of its votes the opening was not recorded."""

    entries: Sequence[ExceptionEntry]
    votes: int
    votes_unopened: int

    @property
    def opening(self) -> str:
        """Say of how many votes the opening was not recorded; "" where it was of all."""
        if not self.votes_unopened:
            return ""
        votes = f"{self.votes_unopened} of {counted(self.votes, 'vote')}"
        return f"Opening was not recorded for {votes}, so quick voting is not checked there."


@dataclass(frozen=True)
class _Cast:
    """A counted vote: its leaf, its record in the approval, the approval, and who has voted with it."""

    leaf: Record
    vote: Record
    approval: Record

    @property
    def people(self) -> set[str]:
        return {text(self.vote, "person"), text(self.vote, "delegation", "delegator")} - {""}


def exceptions_of(material: Material, quick: timedelta = QUICK) -> Exceptions:
    """Return the exceptions of a bundle's run. A vote is quick at most `quick` after its person opened the request."""
    casts = list(_casts(material))
    found = [entry for cast in casts for entry in _of_vote(material, cast, quick)]
    found += _same_people(material, casts)
    found += [entry for leaf in material.leaves_of(*_TELL) for entry in _TELL[text(leaf, "event")](material, leaf)]
    unopened = sum(not text(cast.leaf, "data", "opened_at") for cast in casts)
    order = list(ExceptionKind)
    return Exceptions(sorted(found, key=lambda one: (one.leaf, order.index(one.kind))), len(casts), unopened)


def seconds_between(first: str, then: str) -> float | None:
    """Return the seconds from one moment of the records to another, None where one of them is no moment."""
    try:
        return (datetime.fromisoformat(then) - datetime.fromisoformat(first)).total_seconds()
    except (TypeError, ValueError):
        return None


def length(seconds: float) -> str:
    """Return a length of time in its two largest units, `2 min 5 s`."""
    whole, parts = int(seconds), []
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, whole = divmod(whole, unit)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"


def _casts(material: Material) -> Iterator[_Cast]:
    """Yield the counted votes in the chain's order, each leaf with the record that it tells of."""
    left = {approval_id: list(records(one, "votes")) for approval_id, one in material.approvals.items()}
    for leaf in material.leaves_of("vote.counted"):
        approval_id = text(leaf, "data", "approval_id")
        mine = [one for one in left.get(approval_id, []) if text(one, "person") == text(leaf, "data", "person")]
        if mine:
            left[approval_id].remove(mine[0])
            yield _Cast(leaf, mine[0], material.approvals[approval_id])


def _of_vote(material: Material, cast: _Cast, quick: timedelta) -> Iterator[ExceptionEntry]:
    against, on = leaves_open(cast.approval, cast.vote), _asked(material, cast.leaf)
    said = verdict(text(cast.approval, "kind"), text(cast.vote, "verdict"), leaves_open=against)
    if record(cast.vote, "break_glass"):
        ticket = cited(text(cast.vote, "break_glass", "ticket"), _NAME)
        yield _entry(
            material, ExceptionKind.BREAK_GLASS, cast.leaf, f"{said} {on} alone by break-glass, ticket {ticket}"
        )
    if record(cast.vote, "delegation"):
        delegator = text(cast.vote, "delegation", "delegator")
        whom = cited(material.name_of(delegator), _NAME)
        yield _entry(material, ExceptionKind.DELEGATION, cast.leaf, f"{said} {on} for {whom}, by delegation")
    opened = seconds_between(text(cast.leaf, "data", "opened_at"), text(cast.leaf, "at"))
    if opened is not None and 0 <= opened <= quick.total_seconds():
        what = f"{said} {on} {length(opened)} after opening it"
        yield _entry(material, ExceptionKind.QUICK_VOTE, cast.leaf, what, int(opened))


def _same_people(material: Material, casts: Sequence[_Cast]) -> Iterator[ExceptionEntry]:
    """Yield each signature by somebody who has reviewed in the same run, or the review where that came later."""
    before: dict[tuple[str | None, str], list[int]] = {}  # the places of votes by their kind and each of their people
    for place, later in enumerate(casts):
        kind = text(later.approval, "kind")
        theirs = {one for person in later.people for one in before.get((_OTHER_KIND.get(kind), person), ())}
        for earlier in (casts[one] for one in sorted(theirs)):
            apart = seconds_between(text(earlier.leaf, "at"), text(later.leaf, "at"))
            if apart is not None:
                yield _entry(
                    material, ExceptionKind.SAME_PERSON, later.leaf, _both(material, earlier, later, apart), int(apart)
                )
        for person in later.people:
            before.setdefault((kind, person), []).append(place)


def _both(material: Material, earlier: _Cast, later: _Cast, apart: float) -> str:
    said = [
        f"{_AS[text(one.approval, 'kind')]} {_asked(material, one.leaf)}"
        + (" (for another person)" if record(one.vote, "delegation") else "")
        for one in (earlier, later)
    ]
    return f"{said[0]} and {said[1]}, {length(apart)} apart"


_AS = {"task": "reviewed", "effect": "signed"}
_OTHER_KIND = {"task": "effect", "effect": "task"}


def _edited(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    edit = record(material.approvals.get(text(leaf, "data", "approval_id"), {}), "edited")
    name = material.name_of(text(leaf, "actor", "id"))
    fields = listed([cited(text(one, "param"), _NAME) for one in records(edit, "changes")])
    what = f"edited {_asked(material, leaf)}: {fields}{_why(text(edit, 'reason'))}"
    yield replace(_entry(material, ExceptionKind.EDIT, leaf, what), name=text(edit, "person_name") or name)


def _handed(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    to = cited(material.name_of(text(leaf, "data", "to")), _NAME)
    what = f"handed {_asked(material, leaf)} to {to}{_why(text(leaf, 'data', 'reason'))}"
    yield _entry(material, ExceptionKind.DELEGATION, leaf, what)


def _refused(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    code, wanted = text(leaf, "data", "code"), text(leaf, "data", "verdict")
    why = REFUSALS.get(code) or cited(code, _NAME)
    act = _WANTED.get(wanted, "vote on")
    yield _entry(material, ExceptionKind.REFUSED, leaf, f"tried to {act} {_asked(material, leaf)}; refused: {why}")


_WANTED = {
    "approve": "approve",
    "reject": "reject",
    "changes": "ask for changes of",
    "edit": "edit",
    "withdraw": "withdraw a vote on",
    "hand": "hand on",
    "ask": "ask about",
    "reply": "answer a question about",
    "claim": "claim",
    "release": "release",
}


def _not_taken(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    code, step = text(leaf, "data", "code"), text(leaf, "correlation", "step")
    of = f"the step {cited(material.in_words(step), _NAME)}" if step else "the run"
    why = REFUSALS.get(code) or cited(text(leaf, "data", "reason") or code, _TEXT)
    yield _entry(material, ExceptionKind.REFUSED, leaf, f"sent something for {of}; refused: {why}")


def _denied(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    decision = material.decisions.get(text(leaf, "data", "decision_id"), {})
    if text(decision, "outcome") != "deny":
        return
    effect, person = record(decision, "input", "effect"), text(decision, "input", "actor", "id")
    target = text(effect, "target")
    action = cited(plain(text(effect, "operation")) + (f" on {target}" if target else ""), _NAME)
    why = "; ".join(text(one, "msg") or text(one, "code") for one in records(decision, "answer", "reasons"))
    yield _entry(material, ExceptionKind.DENIED, leaf, f"policy denied {action}{_why(why)}", person=person)


def _voided(material: Material, leaf: Record) -> Iterator[ExceptionEntry]:
    what = f"the gate refused an approval of another action for {_asked(material, leaf)}"
    yield _entry(material, ExceptionKind.DENIED, leaf, what)


_TELL: Mapping[str, Callable[[Material, Record], Iterator[ExceptionEntry]]] = {
    "effect.edited": _edited,
    "approval.handed": _handed,
    "vote.refused": _refused,
    "notification.refused": _not_taken,
    "decision.recorded": _denied,
    "approval.voided": _voided,
}


def _entry(
    material: Material, kind: ExceptionKind, leaf: Record, what: str, seconds: int | None = None, person: str = ""
) -> ExceptionEntry:
    who = person or text(leaf, "actor", "id")
    seq = leaf.get("seq")
    return ExceptionEntry(
        kind=kind,
        at=text(leaf, "at"),
        person=who,
        name=material.name_of(who),
        what=what,
        leaf=seq if isinstance(seq, int) else 0,
        seconds=seconds,
    )


def _asked(material: Material, leaf: Record) -> str:
    approval_id = text(leaf, "data", "approval_id") or text(leaf, "correlation", "approval_id")
    approval = material.approvals.get(approval_id, {})
    head = next((heading_of(built(card)) for card in apart(approval, "cards")), "")
    step = text(leaf, "correlation", "step") or text(approval, "step")
    return cited(head or material.asked(approval_id, step), _NAME)


def _why(reason: str) -> str:
    return f": {cited(reason, _TEXT)}" if reason else ""
