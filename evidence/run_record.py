"""The run as its leaves tell it: nothing in `run.json` rests on a row that could be changed.

`costs.json` is what the run used and cost, as its read records and receipts tell. It follows from them alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from receipts import canonical
from receipts.chain import (
    APPROVAL_ENDED,
    QUESTION_ANSWERED,
    QUESTION_ASKED,
    RUN_ENDED,
    RUN_QUEUED,
    WAIT_ENDED,
    WAIT_OPENED,
    Leaf,
)
from receipts.usage import rollup, usages_of

_STEP = "step."
_OVER = frozenset({"needs_attention", "succeeded", "failed_handled", "failed_terminal", "skipped", "canceled"})
_WAIT_AFTER = {"approved": "completed", "rejected": "completed", "expired": "timed_out", "canceled": "canceled"}


def run_as_told(leaves: Sequence[Leaf]) -> dict[str, Any]:
    """Return `run.json`; a member that the leaves do not tell is None, and one of what it came to is not there."""
    first, last = leaves[0], leaves[-1]
    queued: Mapping[str, Any] = first.data if first.event == RUN_QUEUED else {}
    end = next((leaf for leaf in reversed(leaves) if leaf.event in RUN_ENDED), None)
    return {
        "format": queued.get("format"),
        "run_id": first.run_id,
        "tenant": queued.get("tenant"),
        "definition": {name: queued.get(f"definition_{name}") for name in ("name", "version", "digest")},
        "trigger": {name: queued.get(f"trigger_{name}") for name in ("type", "ref")},
        "requested_by": first.actor.id,
        "submitted_by": queued.get("submitted_by"),
        "status": end and end.event.removeprefix("run."),
        "error": end and end.data.get("error"),
        **{name: end.data[name] for name in ("outcome", "output") if end and name in end.data},
        "created_at": first.at,
        "finished_at": end and end.at,
        "writes": end and end.data.get("writes"),
        "steps": _steps(leaves),
        "waits": _waits(leaves),
        "sealed_seq": last.seq,
        "audit_head": last.hash,
        **({"mocked": queued["mocked"]} if "mocked" in queued else {}),
    }


def _steps(leaves: Sequence[Leaf]) -> list[dict[str, Any]]:
    """Return each step of which there is word, with what it came to, in the order of the first word."""
    found: dict[str | None, dict[str, Any]] = {}
    for leaf in leaves:
        if leaf.event.startswith(_STEP):
            path, status = leaf.correlation.step, leaf.event.removeprefix(_STEP)
            found.setdefault(path, {"path": path}).update(status=status, error=leaf.data.get("error", ""))
    return list(found.values())


def _waits(leaves: Sequence[Leaf]) -> list[dict[str, Any]]:
    """Return each wait, with what ended it first: word of its own, or the end of its approval, its step or its run."""
    found, active = list[dict[str, Any]](), list[tuple[Leaf, dict[str, Any]]]()
    for leaf in leaves:
        still = []
        for opened, wait in active:
            if status := ends_wait(opened, leaf):
                wait.update(status=status, resolved_at=leaf.at)
            else:
                wait.update(_prolonged(wait, opened, leaf))
                still.append((opened, wait))
        active = still
        if leaf.event == WAIT_OPENED:
            found.append(_active(leaf))
            active.append((leaf, found[-1]))
    return found


def _prolonged(wait: Mapping[str, Any], opened: Leaf, leaf: Leaf) -> dict[str, Any]:
    """Return the deadline of a wait where a leaf moves it: an escalation, or a question about its approval."""
    is_moved = leaf.event == "wait.escalated" and leaf.data.get("wait_id") == wait["wait_id"]
    if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED):
        is_moved = opened.correlation.approval_id == leaf.data.get("approval_id")
    return {"deadline": leaf.data["deadline"]} if is_moved and "deadline" in leaf.data else {}


def _active(opened: Leaf) -> dict[str, Any]:
    return {
        **{name: opened.data.get(name) for name in ("wait_id", "type", "correlation_key", "deadline")},
        "step": opened.correlation.step,
        "opened_at": opened.at,
        "status": "active",
        "resolved_at": None,
    }


def ends_wait(opened: Leaf, leaf: Leaf) -> str:
    """Return how a leaf ended a wait; "" if it did not."""
    kind, _, word = leaf.event.partition(".")
    if leaf.event in WAIT_ENDED:
        return word if leaf.data.get("wait_id") == opened.data.get("wait_id") else ""
    if leaf.event in APPROVAL_ENDED:
        approval = opened.correlation.approval_id
        return _WAIT_AFTER[word] if approval is not None and leaf.data.get("approval_id") == approval else ""
    of_step = f"{kind}." == _STEP and word in _OVER and leaf.correlation.step == opened.correlation.step
    return "canceled" if of_step or leaf.event in RUN_ENDED else ""


def costs_member(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the member; an empty list where nobody told of any usage."""
    return canonical.dumps([costs.model_dump() for costs in rollup(usages_of(records))])
