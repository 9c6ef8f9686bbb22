"""The run as its leaves tell it: nothing in `run.json` rests on a row that could be changed.

`costs.json` is what the run used and cost, as its read records and receipts tell. It follows from them alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidence.open_waits import OpenWaits, wait_end
from receipts import canonical
from receipts.chain import RUN_ENDED, RUN_QUEUED, WAIT_OPENED, Leaf
from receipts.usage import rollup, usages_of

_STEP = "step."


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
    found, active = list[dict[str, Any]](), OpenWaits[dict[str, Any]]()
    for leaf in leaves:
        for _, wait in active.take(leaf):
            wait.update(status=wait_end(leaf), resolved_at=leaf.at)
        for _, wait in active.moved_by(leaf):
            wait.update({"deadline": leaf.data["deadline"]} if "deadline" in leaf.data else {})
        if leaf.event == WAIT_OPENED:
            found.append(_active(leaf))
            active.add(leaf, found[-1])
    return found


def _active(opened: Leaf) -> dict[str, Any]:
    return {
        **{name: opened.data.get(name) for name in ("wait_id", "type", "correlation_key", "deadline")},
        "step": opened.correlation.step,
        "opened_at": opened.at,
        "status": "active",
        "resolved_at": None,
    }


def costs_member(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the member; an empty list where nobody told of any usage."""
    return canonical.dumps([costs.model_dump() for costs in rollup(usages_of(records))])
