"""Whether a run's own row, and the one about its bundle, say what its leaves say."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from receipts.chain import CARD_SHOWN, EVIDENCE_BEGUN, Leaf
from runtime.model.states import RunStatus
from runtime.services.audit_findings import Finding
from runtime.store.audit import RunRows

_QUEUED = ("definition_name", "definition_version", "trigger_type", "trigger_ref", "submitted_by")
_SEALED = ("sha256", "size", "location", "version_id")
_MOVES = {f"run.{status}": str(status) for status in RunStatus}


def check_rows(run: RunRows, leaves: Sequence[Leaf]) -> Iterator[Finding]:
    """Yield each column that says something else than the leaves of a run."""
    for table, row, told in (("runs", run.row, _run_as_told(leaves)), ("evidence_bundles", *_bundle(run, leaves))):
        for name, value in told.items():
            if row[name] != value:
                yield Finding("record.changed", f"{run.chain} {table}", f"its {name} is not what its leaves say")


def check_bundle(run: RunRows, leaves: Sequence[Leaf]) -> Iterator[Finding]:
    """Yield what is wrong where there is a bundle's row and no leaf of it, or a leaf and no row."""
    is_begun = any(leaf.event == EVIDENCE_BEGUN for leaf in leaves)
    where = f"{run.chain} evidence_bundles"
    if is_begun and run.bundle is None:
        yield Finding("record.missing", where, "its evidence was begun, and is not there")
    if not is_begun and run.bundle is not None:
        yield Finding("record.unnamed", where, "is there, and no leaf says that it was begun")


def _run_as_told(leaves: Sequence[Leaf]) -> dict[str, Any]:
    first, moves = leaves[0], [leaf for leaf in leaves if leaf.event in _MOVES]
    told = {name: first.data.get(name) for name in _QUEUED}
    status = {"status": _MOVES[moves[-1].event], "outcome": moves[-1].data.get("outcome", "")} if moves else {}
    return {**told, "requested_by": first.actor.id, **status}


def _bundle(run: RunRows, leaves: Sequence[Leaf]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the row about the bundle, and what leaves tell of it."""
    begun = next((leaf for leaf in leaves if leaf.event == EVIDENCE_BEGUN), None)
    if begun is None or run.bundle is None:
        return {}, {}
    sealed = next((leaf.data for leaf in leaves if leaf.event == "evidence.sealed"), {})
    shown = (leaf.data for leaf in leaves[: begun.seq] if leaf.event == CARD_SHOWN)
    cards = Counter(str(data.get("approval_id")) for data in shown)
    told = {"sealed_seq": begun.seq, "sealed_cards": {approval: cards[approval] for approval in run.asked}}
    there = {**run.bundle, "sealed_cards": {one: run.bundle["sealed_cards"].get(one, 0) for one in run.asked}}
    return there, {**told, **{name: sealed.get(name) for name in _SEALED}}
