"""The waits that stand open as leaves are read in their order: each is found by what ends it, or moves its deadline."""

from typing import Any, Generic, TypeVar

from receipts import canonical
from receipts.chain import (
    APPROVAL_ENDED,
    QUESTION_ANSWERED,
    QUESTION_ASKED,
    RUN_ENDED,
    WAIT_ENDED,
    WAIT_ESCALATED,
    Leaf,
)

T = TypeVar("T")
_Key = tuple[str, str | bytes]

_OVER = ("needs_attention", "succeeded", "failed_handled", "failed_terminal", "skipped", "canceled")
_ENDED_AS = {
    **{event: event.removeprefix("wait.") for event in WAIT_ENDED},
    "approval.approved": "completed",
    "approval.rejected": "completed",
    "approval.expired": "timed_out",
    "approval.canceled": "canceled",
    **dict.fromkeys((*RUN_ENDED, *(f"step.{word}" for word in _OVER)), "canceled"),
}
"""As what waits have ended, by the event that ends them."""


def _key(what: str, named: Any = None) -> _Key:
    """Return what waits are found by: a text, or whatever JSON stands where one should, as bytes."""
    return what, named if isinstance(named, str) else canonical.dumps(named)


_OF_RUN = _key("run")


def _ending(leaf: Leaf) -> tuple[_Key, str] | None:
    """Return which waits a leaf ends, and as what; None where it ends none."""
    ended = _ENDED_AS.get(leaf.event)
    if ended is None:
        return None
    if leaf.event in WAIT_ENDED:
        return _key("wait", leaf.data.get("wait_id")), ended
    if leaf.event in APPROVAL_ENDED:
        return _key("approval", leaf.data.get("approval_id")), ended
    return _OF_RUN if leaf.event in RUN_ENDED else _key("step", leaf.correlation.step), ended


def wait_end(leaf: Leaf) -> str:
    """Return as what the waits have ended that a leaf ends; "" where it ends none."""
    ending = _ending(leaf)
    return ending[1] if ending else ""


class OpenWaits(Generic[T]):
    """Open waits, each the leaf that opened it with what is made of that, in the order in which they were opened."""

    def __init__(self) -> None:
        self._found: dict[_Key, dict[int, tuple[Leaf, T]]] = {}

    def add(self, opened: Leaf, made: T) -> None:
        """Take in a wait that opens."""
        for key in _keys(opened):
            self._found.setdefault(key, {})[opened.seq] = opened, made

    def ended_by(self, leaf: Leaf) -> list[tuple[Leaf, T]]:
        """Return those that a leaf ends: by their id, or by the end of their approval, their step or the run."""
        ending = _ending(leaf) if self._found else None
        return self._at(ending[0]) if ending else []

    def take(self, leaf: Leaf) -> list[tuple[Leaf, T]]:
        """Return those that a leaf ends, which are open no more."""
        ended = self.ended_by(leaf)
        for opened, _ in ended:
            for key in _keys(opened):
                self._found[key].pop(opened.seq)
                if not self._found[key]:
                    del self._found[key]
        return ended

    def moved_by(self, leaf: Leaf) -> list[tuple[Leaf, T]]:
        """Return those that a leaf may give another deadline: an escalation, or a question about their approval."""
        if leaf.event == WAIT_ESCALATED:
            return self._at(_key("wait", leaf.data.get("wait_id")))
        if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED):
            return self._at(_key("approval", leaf.data.get("approval_id")))
        return []

    def of_step(self, step: str | None) -> list[tuple[Leaf, T]]:
        """Return those of a step."""
        return self._at(_key("step", step))

    def _at(self, key: _Key) -> list[tuple[Leaf, T]]:
        return [*self._found.get(key, {}).values()]


def _keys(opened: Leaf) -> list[_Key]:
    """Return what a wait is found by."""
    about = opened.correlation
    of_approval = [] if about.approval_id is None else [_key("approval", about.approval_id)]
    return [_key("wait", opened.data.get("wait_id")), *of_approval, _key("step", about.step), _OF_RUN]
