"""What was refused: by policy, by people, by nobody's answer, and votes and answers that did not count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidence.reading.material import Material, Record, is_wish, record, records, text
from evidence.reading.words import REFUSALS, plain

_WANTED = {
    "approve": "wanted to approve",
    "reject": "wanted to reject",
    "changes": "wanted changes of",
    "withdraw": "wanted to withdraw a vote on",
    "hand": "wanted to hand over",
    "ask": "wanted to ask about",
    "reply": "wanted to answer a question about",
    "claim": "wanted to claim",
    "release": "wanted to release",
}
_NO = {"reject": "rejected {}", "changes": "asked for changes of {}"}


@dataclass(frozen=True)
class Refusal:
    """When who did what, to what, and why; `what` is a sentence of ours with `{}` where `about` stands."""

    at: str
    who: str
    what: str
    about: str
    why: str


def refusals_of(material: Material) -> list[Refusal]:
    """Return all of them, in the chain's order."""
    told = [_TELL[text(leaf, "event")](material, leaf) for leaf in material.leaves_of(*_TELL)]
    return [refusal for refusals in told for refusal in refusals]


def _denied(material: Material, leaf: Record) -> list[Refusal]:
    decision = material.decisions.get(text(leaf, "data", "decision_id"), {})
    if text(decision, "outcome") != "deny":
        return []
    effect = record(decision, "input", "effect")
    reasons = [text(one, "msg") or text(one, "code") for one in records(decision, "answer", "reasons")]
    about = f"{plain(text(effect, 'operation'))} on {text(effect, 'target')}"
    return [Refusal(text(leaf, "at"), "Policy", "did not allow {}", about, "; ".join(reasons))]


def _uncounted(material: Material, leaf: Record) -> list[Refusal]:
    who, code = _who(material, leaf), text(leaf, "data", "code")
    wanted = _WANTED.get(text(leaf, "data", "verdict"), "wanted to vote on")
    known = f": {REFUSALS[code]}" if code in REFUSALS else ""
    what = f"{wanted} {{}}, which did not count{known}"
    return [Refusal(text(leaf, "at"), who, what, _asked(material, leaf), "" if known else code)]


def _rejected(material: Material, leaf: Record) -> list[Refusal]:
    approval = material.approvals.get(text(leaf, "data", "approval_id"), {})
    if text(approval, "kind") == "in_doubt":  # an answer about a fact
        return []
    votes = [(one, _NO[text(one, "verdict")]) for one in records(approval, "votes") if text(one, "verdict") in _NO]
    at, about = text(leaf, "at"), _asked(material, leaf)
    return [
        Refusal(at, material.name_of(text(vote, "person")), what, about, text(vote, "reason")) for vote, what in votes
    ]


def _expired(material: Material, leaf: Record) -> list[Refusal]:
    return [Refusal(text(leaf, "at"), "Nobody", "decided on {} in time", _asked(material, leaf), "")]


def _unanswered(material: Material, leaf: Record) -> list[Refusal]:
    return [Refusal(text(leaf, "at"), "Nobody", "answered in time for the step {}", _step(material, leaf), "")]


def _unfit(material: Material, leaf: Record) -> list[Refusal]:
    data, what = leaf.get("data"), "sent an answer for the step {}, which did not count"
    if is_wish(leaf):
        of = "of the step {}" if text(leaf, "correlation", "step") else "of the run"
        what = f"requested a change {of}; it was not done"
    code = text(data, "code")
    why = text(data, "reason") or REFUSALS.get(code, code)
    return [Refusal(text(leaf, "at"), _who(material, leaf), what, _step(material, leaf), why)]


def _canceled(material: Material, leaf: Record) -> list[Refusal]:
    return [Refusal(text(leaf, "at"), _who(material, leaf), "canceled the run", "", text(leaf, "data", "reason"))]


def _voided(material: Material, leaf: Record) -> list[Refusal]:
    what = "refused the approval of another action for {}"
    return [Refusal(text(leaf, "at"), "The gate", what, _step(material, leaf), "")]


def _who(material: Material, leaf: Record) -> str:
    return material.name_of(text(leaf, "actor", "id"))


def _asked(material: Material, leaf: Record) -> str:
    return material.asked(text(leaf, "data", "approval_id"), text(leaf, "correlation", "step"))


def _step(material: Material, leaf: Record) -> str:
    return material.in_words(text(leaf, "correlation", "step"))


_TELL: dict[str, Callable[[Material, Record], Sequence[Refusal]]] = {
    "decision.recorded": _denied,
    "vote.refused": _uncounted,
    "approval.rejected": _rejected,
    "approval.expired": _expired,
    "approval.voided": _voided,
    "wait.timed_out": _unanswered,
    "notification.refused": _unfit,
    "run.cancel_requested": _canceled,
}
