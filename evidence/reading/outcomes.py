"""Outcomes: acts, refusals and handled failures of a run.

Acts are what was done for the run's steps, what came back, and what undid it. Handled are failures that a runbook had
provided for: what failed, and what took it up. Refused is what policy, people, or nobody's answer refused, and votes
and answers that did not count.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evidence.reading.material import Material, Record, is_wish, number, record, records, text
from evidence.reading.requests import leaves_open
from evidence.reading.step_paths import block_of
from evidence.reading.words import OUTCOMES, REFUSALS, counted, plain


def is_chat(action: str) -> bool:
    """Return whether an action (`connector::operation`) is word in the chat, or to a subscriber."""
    return action.startswith(("slack::", "webhook::"))


@dataclass(frozen=True, slots=True)
class Act:
    """One attempt at a write for a step. `receipt` reads its receipt, in which `[redacted]` is what may not be seen.

    `undoes` are the steps whose verb names this one's as what undoes it, and which had been done before.
    `replied` tells who answered a durable request, and when.
    """

    step: str
    purpose: str
    connector: str
    what: str
    target: str
    at: str
    outcome: str
    is_done: bool
    receipt: Callable[[], Record]
    error: str
    undone_by: str
    undoes: Sequence[str]
    replied: Sequence[tuple[str, str]]
    approval_id: str
    is_chat: bool
    is_read: bool

    @property
    def answer(self) -> Any:
        """Return what came back, as JSON; None of a read, whose answer is not kept."""
        return None if self.is_read else self.receipt().get("response")

    @property
    def is_card(self) -> bool:
        """Return whether this posted a review, which stands with what people were asked."""
        return self.is_chat and self.is_done


def acts_of(material: Material) -> list[Act]:
    """Return what was attempted for steps, in the order of the receipts; what was refused before is no attempt."""
    done: dict[str, dict[str, None]] = {}  # by the verb that undoes it, the steps in their order
    replies = _replies(material)
    acts = []
    for receipt_id, receipt in material.receipts.items():
        step, outcome = text(receipt, "step"), text(receipt, "outcome")
        if not step or outcome == "refusal":
            continue
        is_done = outcome == "success"
        undoes = done.get(material.verb_name(step), {}) if is_done else {}
        replied = replies.get(step, []) if outcome != "failure" else []
        acts.append(_act(material, receipt_id, receipt, list(undoes), replied))
        if is_done and text(receipt, "reversible_by"):
            done.setdefault(text(receipt, "reversible_by"), {})[material.in_words(step)] = None
    return acts


def _act(
    material: Material, receipt_id: str, receipt: Record, undoes: Sequence[str], replied: Sequence[tuple[str, str]]
) -> Act:
    step, outcome = text(receipt, "step"), text(receipt, "outcome")
    is_read = outcome == "success" and record(material.verb(step), "effect").get("governed") is True
    return Act(
        step=material.in_words(step),
        purpose=text(material.verb(step), "description"),
        connector=text(receipt, "connector"),
        what=plain(text(receipt, "operation")),
        target=text(receipt, "target"),
        at=text(receipt, "finished_at"),
        outcome=f"read, {counted(number(receipt, 'response', 'bytes'), 'byte')}" if is_read else _outcome(outcome),
        is_done=outcome == "success",
        receipt=partial(material.receipts.__getitem__, receipt_id),
        error=text(receipt, "error"),
        undone_by=text(receipt, "reversible_by"),
        undoes=undoes,
        replied=replied,
        approval_id=text(receipt, "approval_id"),
        is_chat=is_chat(f"{text(receipt, 'connector')}::"),
        is_read=is_read,
    )


def _outcome(outcome: str) -> str:
    return OUTCOMES.get(outcome, outcome)


def _replies(material: Material) -> dict[str, list[tuple[str, str]]]:
    """Return who answered for each step, and when; people's answers stand with what they were asked."""
    found: dict[str, list[tuple[str, str]]] = {}
    for leaf in material.leaves_of("wait.completed"):
        if text(leaf, "data", "type") == "external":
            who = material.name_of(text(leaf, "actor", "id"))
            found.setdefault(text(leaf, "correlation", "step"), []).append((who, text(leaf, "at")))
    return found


@dataclass(frozen=True)
class Handled:
    """A step that failed, when and why, and the steps that came instead."""

    step: str
    at: str
    error: str
    by: Sequence[str]


def handled_of(material: Material) -> list[Handled]:
    """Return the failures for which there was a branch, in their order."""
    leaves = material.leaves_of("step.failed_handled")
    taken = _taken(material) if leaves else {}
    return [
        Handled(
            step=material.in_words(path := text(leaf, "correlation", "step")),
            at=text(leaf, "at"),
            error=text(leaf, "data", "error"),
            by=taken.get(path, []),
        )
        for leaf in leaves
    ]


def _taken(material: Material) -> dict[str, list[str]]:
    """Return for each step those that stand in a branch of it and of which there is word, as people read them."""
    found: dict[str, dict[str, None]] = {}
    for path in _paths(material):
        if block_of(block_of(path)) and material.is_branch(block_of(path)):
            found.setdefault(block_of(block_of(path)), {})[material.in_words(path)] = None
    return {path: list(steps) for path, steps in found.items()}


def _paths(material: Material) -> Iterator[str]:
    for leaf in material.leaves:
        if text(leaf, "event").startswith("step."):
            yield text(leaf, "correlation", "step")


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
    ending = [one for one in records(approval, "votes") if not leaves_open(approval, one)]
    votes = [(one, _NO[text(one, "verdict")]) for one in ending if text(one, "verdict") in _NO]
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
