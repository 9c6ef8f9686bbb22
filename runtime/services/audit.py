"""The audit of a live database: whether all that was committed is in the log, and still there as it was.

What is found is named by its rule. The rules take values and give findings; what is read is `runtime.store.audit`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from receipts import canonical
from receipts.chain import (
    APPROVAL_REQUESTED,
    CARD_SHOWN,
    DECISION_RECORDED,
    EFFECT_EDITED,
    QUESTION_ANSWERED,
    QUESTION_ASKED,
    READ_RECORDED,
    RECEIPT_WRITTEN,
    VOTE_COUNTED,
    Leaf,
)
from receipts.hashes import EMPTY, CompactRange, TreeHead
from runtime.services.audit_chains import Finding, check_bundle, check_rows, check_spans, check_tenant, leaves_of
from runtime.store import audit as rows
from runtime.store.audit import ChainRows, Place, RunRows, tenant_rows

_NAMED = {"policy_decisions": DECISION_RECORDED, "receipts": RECEIPT_WRITTEN, "reads": READ_RECORDED}
_BATCH = 4096
"""Leaves by which the log is grown at once."""


@dataclass
class Audit:
    """What was found, and how far the log accounts for everything.

    Every leaf that says an earlier time than `until` (RFC 3339) stands in the log, and `newest` is the latest that one
    says; both are "" where there is no leaf at all.
    """

    findings: list[Finding]
    size: int = 0
    runs: int = 0
    leaves: int = 0
    waiting: int = 0
    until: str = ""
    newest: str = ""


def audit(dsn: str, tenant: str, kept: Sequence[TreeHead]) -> Audit:
    """Look through everything that a tenant has, in one consistent view.

    `kept` are heads of the log that somebody has kept elsewhere; those that were signed are in the database.
    """
    with rows.open_view(dsn) as conn:
        heads = [*rows.signed_heads(conn, tenant), *kept]
        found = Audit(list(map(_is_missing, rows.chains_without_run(conn, tenant))))
        found.size, findings = check_places(rows.places(conn, tenant), heads)
        found.findings += findings
        acts = tenant_rows(conn, tenant)
        found.findings += check_tenant(acts)
        times = _Times()
        times.add(acts)
        for run in rows.runs(conn, tenant):
            found.findings += check_run(run)
            found.runs += 1
            times.add(run)
    found.leaves, found.waiting, found.until = times.leaves, times.waiting, times.until
    found.newest = times.newest
    return found


@dataclass
class _Times:
    """How many leaves there are, and from when those are that await a place."""

    leaves: int = 0
    waiting: int = 0
    newest: str = ""
    oldest: str = "~"  # behind every time

    def add(self, chain: ChainRows) -> None:
        """Count the leaves of a chain."""
        late = [str(said["at"]) for seq, _, said in chain.leaves if _is_in(seq, chain.waiting)]
        self.leaves += len(chain.leaves)
        self.waiting += len(late)
        self.oldest = min([*late, self.oldest])
        self.newest = max([self.newest, *(str(said["at"]) for _, _, said in chain.leaves)])

    @property
    def until(self) -> str:
        """Return up to when every leaf has its place."""
        return self.oldest if self.waiting else self.newest


def check_places(places: Iterable[Place], heads: Iterable[TreeHead]) -> tuple[int, list[Finding]]:
    """Return the log's size, and what is wrong with the places or with what was signed of them."""
    wanted, findings = _by_size(heads), []
    grown, new, is_whole = EMPTY, [], True
    expected = 0
    for place in places:
        if place.index != expected:
            findings.append(Finding("place.gap", f"index {expected}", f"nothing has this place; {place.index} follows"))
            is_whole = False
        if place.hash is None:
            where = f"{place.chain} leaf {place.seq}"
            findings.append(Finding("leaf.missing", where, f"has place {place.index} in the log, and is not there"))
            is_whole = False
        expected = place.index + 1
        if not is_whole:
            continue
        new.append(place.hash or b"")
        if expected in wanted or len(new) == _BATCH:
            grown, new = grown.append(new).range, []
            findings += _differing(grown, wanted.pop(expected, []))
    for size in wanted if is_whole else ():
        if size > expected:
            findings.append(Finding("log.cut", f"checkpoint of {size}", f"the log has {expected} leaves now"))
    return expected, findings


def check_run(run: RunRows) -> Iterator[Finding]:
    """Yield what is wrong with a run: its chain, the places of its leaves, and the records that they name."""
    leaves = leaves_of(run)
    if isinstance(leaves, Finding):
        yield leaves
        return
    yield from check_spans(run)
    for table, event in _NAMED.items():
        named = {leaf.seq: str(leaf.data.get("digest")) for leaf in leaves if leaf.event == event}
        yield from _compared(run.chain, table, named, run.records[table])
    yield from check_bundle(run, leaves)
    if leaves:
        yield from _check_approvals(run, leaves)
        yield from check_rows(run, leaves)


def _compared(run_id: str, table: str, named: dict[int, str], there: dict[int, Any]) -> Iterator[Finding]:
    """Each record is named by its leaf, with its digest, and what a leaf names is there."""
    for seq in sorted(named.keys() | there.keys()):
        where = f"{run_id} leaf {seq}"
        if seq not in there:
            yield Finding("record.missing", where, f"names a record of {table} that is not there")
        elif seq not in named:
            yield Finding("record.unnamed", where, f"names no record, and {table} has one under it")
        elif canonical.digest(there[seq]) != named[seq]:
            yield Finding("record.changed", where, f"names another record than {table} has")


def _check_approvals(run: RunRows, leaves: Sequence[Leaf]) -> Iterator[Finding]:
    """Each request, vote, edit, card, question and answer is the one that its leaf names."""
    asked = {
        str(leaf.data["approval_id"]): str(leaf.data.get("asked"))
        for leaf in leaves
        if leaf.event == APPROVAL_REQUESTED
    }
    for approval_id in sorted(asked.keys() | run.asked.keys()):
        where = f"{run.chain} approval {approval_id}"
        if approval_id not in run.asked:
            yield Finding("record.missing", where, "is named by a leaf, and is not there")
            continue
        if approval_id not in asked:
            yield Finding("record.unnamed", where, "is named by no leaf")
            continue
        if canonical.digest(run.asked[approval_id]) != asked[approval_id]:
            yield Finding("record.changed", where, "asks for something else than its leaf says")
        for what, event, found in (
            ("votes", VOTE_COUNTED, run.votes[approval_id]),
            ("edits", EFFECT_EDITED, run.edits[approval_id]),
            ("cards", CARD_SHOWN, run.cards[approval_id]),
            ("questions", QUESTION_ASKED, [one.asked() for one in run.questions[approval_id]]),
            ("answers", QUESTION_ANSWERED, [one.answer for one in run.questions[approval_id] if one.answer]),
        ):
            if Counter(map(canonical.digest, found)) != Counter(_digests(leaves, event, approval_id)):
                yield Finding("record.changed", where, f"its {what} are not those that leaves name")


def _digests(leaves: Iterable[Leaf], event: str, approval_id: str) -> Iterator[str]:
    for leaf in leaves:
        if leaf.event == event and leaf.data.get("approval_id") == approval_id:
            yield str(leaf.data.get("digest"))


def _differing(grown: CompactRange, heads: Iterable[TreeHead]) -> Iterator[Finding]:
    for head in heads:
        if grown.head() != head:
            yield Finding("log.forked", f"checkpoint of {head.size}", "was signed over other leaves than are there now")


def _by_size(heads: Iterable[TreeHead]) -> dict[int, list[TreeHead]]:
    found: dict[int, list[TreeHead]] = {}
    for head in heads:
        found.setdefault(head.size, []).append(head)
    return found


def _is_missing(chain: str) -> Finding:
    return Finding("run.missing", chain, "has places in the log, and there is no such run")


def _is_in(seq: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(first <= seq <= last for first, last in spans)
