"""The audit of chains, a run's or a tenant's own: each derives, ends where its row says, and stands in the log.

A run's own row, and the one about its bundle, say what its leaves say; what a tenant's acts are about is there, as they
say, and nothing beside it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from receipts.chain import CARD_SHOWN, EVIDENCE_BEGUN, ChainError, Head, Leaf, in_place, verify_chain
from receipts.errors import ReceiptsError
from receipts.tenant_acts import record_of
from runtime.model.states import RunStatus
from runtime.store.audit import ChainRows, RunRows, TenantRows


@dataclass(frozen=True)
class Finding:
    """What is not as it should be: by which rule, where, and what."""

    rule: str
    where: str
    what: str


def leaves_of(rows: ChainRows) -> Sequence[Leaf] | Finding:
    """Return the leaves of a chain, or what is wrong with it."""
    try:
        leaves = [Leaf.model_validate(leaf) for leaf in in_place(rows.chain, rows.leaves)]
        verify_chain(leaves, Head(rows.audit_seq, rows.audit_hash))
    except (ChainError, ValidationError, ReceiptsError) as error:
        return Finding("chain.broken", rows.chain, " ".join(str(error).split()))
    return leaves


def check_spans(rows: ChainRows) -> Iterator[Finding]:
    """Each leaf has, or awaits, one place."""
    expected = 1
    for first, last in sorted([*rows.placed, *rows.waiting]):
        if first > expected:
            yield Finding("leaf.unplaced", f"{rows.chain} leaves {expected} to {first - 1}", "have no place in the log")
        if first < expected:
            yield Finding("leaf.twice", f"{rows.chain} leaf {first}", "has more than one place in the log")
        expected = max(expected, last + 1)
    if expected <= rows.audit_seq:
        where = f"{rows.chain} leaves {expected} to {rows.audit_seq}"
        yield Finding("leaf.unplaced", where, "have no place in the log")
    if expected > rows.audit_seq + 1:
        what = f"ends with leaf {rows.audit_seq}, and the log has {expected - 1} of it"
        yield Finding("chain.cut", rows.chain, what)


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


def check_tenant(rows: TenantRows) -> Iterator[Finding]:
    """Yield what is wrong with the tenant's chain: itself, its places, and the records that it names."""
    leaves = leaves_of(rows)
    if isinstance(leaves, Finding):
        yield leaves
        return
    yield from check_spans(rows)
    told: dict[str, str] = {}
    for leaf in leaves:
        try:
            told |= record_of(leaf)
        except ReceiptsError as error:
            yield Finding("act.form", f"{rows.chain} leaf {leaf.seq}", str(error))
    yield from _compared(rows, told)


def _compared(rows: TenantRows, told: dict[str, str]) -> Iterator[Finding]:
    """Each record is as the last act about it says, and what acts are about is there."""
    for name in sorted(told.keys() | rows.records.keys()):
        if name not in rows.records:
            yield Finding("record.missing", name, f"is named in {rows.chain}, and is not there")
        elif name in told and rows.records[name] != told[name]:
            yield Finding("record.changed", name, f"is not what {rows.chain} says")
        elif name not in told and name not in rows.of_others:
            yield Finding("record.unnamed", name, "is there, and no act brought it")
