"""Context of a notification that is being applied: its transaction, and under their locks the runs that it may change.

A run is changed only as whoever gave the command saw it (design, D4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policy.contract import Verdict
from runtime.engine import Engine
from runtime.inbox.answer_rules import carries_token
from runtime.model.notification import Addressed, ApplyResult, Judged, Notification
from runtime.model.payloads import (
    ChildEndedPayload,
    CompletionPayload,
    DeadlinePayload,
    EscalationPayload,
    ProgressPayload,
)
from runtime.model.states import NotificationStatus
from runtime.model.votes import VoteContext
from runtime.model.wait import NamedWait
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.run_tx import RunTx


@dataclass(frozen=True)
class NotificationContext:
    """A notification in the transaction that applies it. `runs` are locked; whoever locked them flushes them."""

    engine: Engine
    conn: Conn
    loads: BatchedReads
    notification: Notification
    waits: Sequence[NamedWait]  # that it is for, as they were before the locks
    runs: Mapping[str, RunTx]
    judged: Judged | None = None  # by policy, which was asked before anything was locked
    vote_context: VoteContext | None = None  # what a vote is judged by
    foreseen: Verdict | None = None  # what policy would say of the request that an edit makes, asked then, too

    def run(self) -> RunTx | None:
        """Return the run that a click or a command names, or None where the tenant has none by that name."""
        return next(iter(self.runs.values()), None)

    def seen_run(self, run_id: str, version: int | None) -> RunTx | ApplyResult:
        """Return the run of a command, or what to record instead where there is none, or it has moved on since.

        A run is changed only as whoever gave the command saw it (design, D4).
        """
        tx = self.run()
        if tx is None:
            return ApplyResult(NotificationStatus.REFUSED, {"reason": f"there is no run {run_id}"})
        if version not in (None, tx.version):
            reason = f"the run has moved on: it was at version {version}, and is at {tx.version}"
            return ApplyResult(NotificationStatus.STALE, {"reason": reason})
        return tx


def addressed_waits(found: Addressed) -> Sequence[NamedWait]:
    """Return the waits that a notification is for: that of its token, or all under its key where none has it."""
    match found.notification.payload:
        case CompletionPayload() | ProgressPayload() as answer:
            return [wait for wait in found.waits if carries_token(wait, answer)] or found.waits
        case DeadlinePayload() | EscalationPayload() | ChildEndedPayload() as signal:
            return [wait for wait in found.waits if wait.token == signal.token]
    return found.waits


def addressed_runs(found: Addressed) -> frozenset[str]:
    """Return the runs that a notification may change: none, where it is for many waits and handed to each of them."""
    if found.run_id is not None:
        return frozenset({found.run_id})
    waits = addressed_waits(found)
    return frozenset(wait.run_id for wait in waits) if len(waits) == 1 else frozenset()
