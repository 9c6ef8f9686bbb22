"""Which leaves of a run's chain are events that can be subscribed to. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from receipts.chain import APPROVAL_ENDED, APPROVAL_REQUESTED, RECEIPT_WRITTEN, VOTE_COUNTED, Leaf
from runtime.model.subscription import EventName

_OF_RUN = {
    "run.started": EventName.RUN_STARTED,
    "run.held": EventName.RUN_HELD,
    "run.succeeded": EventName.RUN_COMPLETED,
    "run.failed_terminal": EventName.RUN_FAILED,
    "run.canceled": EventName.RUN_CANCELED,
}
_STEP_OVER = frozenset({"step.failed_terminal", "step.failed_handled", "step.held", "step.canceled"})


@dataclass(frozen=True)
class Event:
    """Something that came about with a leaf; `status` is where that stands now what it is about."""

    name: EventName
    status: str
    leaf: Leaf


def events_in(leaves: Sequence[Leaf]) -> Iterator[Event]:
    """Yield what came about with the leaves of one transaction, in their order."""
    over = {leaf.correlation.step: leaf.seq for leaf in leaves if leaf.event in _STEP_OVER}
    for leaf in leaves:
        word = leaf.event.rpartition(".")[2]
        if name := _OF_RUN.get(leaf.event):
            yield Event(name, word, leaf)
        elif leaf.event == APPROVAL_REQUESTED:
            yield Event(EventName.APPROVAL_REQUESTED, word, leaf)
        elif leaf.event in APPROVAL_ENDED:
            yield Event(EventName.APPROVAL_DECIDED, word, leaf)
        elif leaf.event == VOTE_COUNTED and "break_glass" in leaf.data:
            yield Event(EventName.GLASS_BROKEN, str(leaf.data["verdict"]), leaf)
        elif leaf.event == RECEIPT_WRITTEN and _has_settled(leaf, over):
            yield Event(EventName.EFFECT_SETTLED, str(leaf.data["outcome"]), leaf)


def _has_settled(leaf: Leaf, over: dict[str | None, int]) -> bool:
    """Return whether the receipt of a step's effect is its last: a success, or the end of the step with it."""
    step, outcome = leaf.correlation.step, leaf.data["outcome"]
    if step is None or outcome == "in_doubt":
        return False
    return outcome == "success" or over.get(step, 0) > leaf.seq
