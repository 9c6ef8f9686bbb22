"""What was done for the run's steps, what came back, and what undid it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evidence.reading.material import Material, Record, number, record, text
from evidence.reading.words import OUTCOMES, counted, plain


def is_chat(action: str) -> bool:
    """Return whether an action (`connector::operation`) is word in the chat, or to a subscriber."""
    return action.startswith(("slack::", "webhook::"))


@dataclass(frozen=True)
class Act:
    """One attempt at a write for a step. `sent` and `answer` are JSON; what may not be seen is `[redacted]` in them.

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
    sent: Any
    answer: Any
    error: str
    undone_by: str
    undoes: Sequence[str]
    replied: Sequence[tuple[str, str]]
    approval_id: str
    is_chat: bool
    is_read: bool

    @property
    def is_card(self) -> bool:
        """Return whether this posted a review, which stands with what people were asked."""
        return self.is_chat and self.is_done


def acts_of(material: Material) -> list[Act]:
    """Return what was attempted for steps, in the order of the receipts; what was refused before is no attempt."""
    done: dict[str, dict[str, None]] = {}  # by the verb that undoes it, the steps in their order
    replies = _replies(material)
    acts = []
    for receipt in material.receipts.values():
        step, outcome = text(receipt, "step"), text(receipt, "outcome")
        if not step or outcome == "refusal":
            continue
        is_done = outcome == "success"
        undoes = done.get(material.verb_name(step), {}) if is_done else {}
        acts.append(_act(material, receipt, list(undoes), replies.get(step, []) if outcome != "failure" else []))
        if is_done and text(receipt, "reversible_by"):
            done.setdefault(text(receipt, "reversible_by"), {})[material.in_words(step)] = None
    return acts


def _act(material: Material, receipt: Record, undoes: Sequence[str], replied: Sequence[tuple[str, str]]) -> Act:
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
        sent=receipt.get("request"),
        answer=None if is_read else receipt.get("response"),
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
