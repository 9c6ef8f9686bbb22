"""Transactions on runs: a run's row is locked, changes and audit leaves are buffered, and one write ends it.

A run's audit chain needs no lock of its own: whoever appends to it holds the run's row. Who knows the run from the
transaction before (`RunSnapshot`) locks nothing first: the one write takes the lock, and fails where the run has moved
on since, or somebody else holds it.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from receipts.chain import PROGRAM, Actor, Correlation, Head, Leaf, Written, leaf_set, next_leaf
from receipts.privacy import Privacy
from receipts.redaction import hidden_values
from runtime.definitions.model import Definition
from runtime.model.approval import Approval, NamedApproval, NewApproval
from runtime.model.asked_ahead import AskedAhead
from runtime.model.effect import LeaseSlot
from runtime.model.run import StepState
from runtime.model.states import RUN, RunStatus, StepStatus, is_final
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, read_json
from runtime.store.definitions import Definitions
from runtime.store.passage_facts import RunFacts
from runtime.store.steps import Loaded, WantedSteps, loaded_of

T = TypeVar("T")
R = TypeVar("R")

state_log = logging.getLogger("countersign.state")  # one line for each audit leaf


_MOVES = frozenset({StepStatus.READY, StepStatus.RUNNING, StepStatus.WAITING_APPROVAL, StepStatus.FAILED_RETRYABLE})
"""Statuses of a step that may move at any moment."""


class UnknownRunError(Exception):
    """No run has that id."""


class StaleRunError(Exception):
    """A run has moved on since it was known, or somebody else has locked it; nothing is written."""


_LEAVES = WriteKind(
    "leaves",
    "leaf_sets",
    "INSERT INTO leaf_sets (run_id, first_seq, at, request_id, hashes, leaves) SELECT * FROM {r}",
    (
        ("run_id", "text"),
        ("first_seq", "int"),
        ("at", "timestamptz"),
        ("request_id", "text"),
        ("hashes", "bytea"),
        ("leaves", "json"),
    ),
    key=2,
)
_PENDING = WriteKind(
    "pending",
    "log_pending",
    "INSERT INTO log_pending (chain, first_seq, hashes, tenant) SELECT * FROM {r}",
    (("chain", "text"), ("first_seq", "int"), ("hashes", "bytea"), ("tenant", "text")),
    key=2,
)
_RUNS = WriteKind(
    "runs_",
    "runs",
    """
    UPDATE runs SET status = r.status, error = r.error, writes = r.writes, version = version + 1,
           audit_seq = r.seq, audit_hash = r.hash, hides = r.hides, updated_at = r.now,
           state = coalesce(r.told->'state', state), reference = coalesce(r.told->>'reference', reference),
           outcome = coalesce(r.told->>'outcome', outcome), output = coalesce(r.told->'output', output),
           finished_at = CASE WHEN r.over THEN coalesce(finished_at, r.now) END
      FROM {r} WHERE runs.run_id = r.run_id
    """,
    (
        ("run_id", "text"),
        ("status", "text"),
        ("error", "text"),
        ("writes", "int"),
        ("seq", "int"),
        ("hash", "text"),
        ("hides", "bool"),
        ("now", "timestamptz"),
        ("over", "bool"),
        ("told", "json"),
    ),
    key=1,
)
_KNOWN = WriteKind(
    "known",
    "known runs",
    """
    SELECT runs.run_id AS id FROM {r} JOIN runs ON runs.run_id = r.run_id AND runs.version = r.version
       FOR UPDATE OF runs SKIP LOCKED
    """,
    (("run_id", "text"), ("version", "int")),
    key=1,
    lost=StaleRunError,
    leads=True,
)


@dataclass(frozen=True)
class RunSnapshot:
    """A run as a transaction left it, good for as long as the run has the version in `row`.

    `steps` are all that have a row, in the definition's order. The run's next effect has begun, and nothing else of the
    run may move; `facts` is what was known of that effect beside the run, and `asked_ahead` what policy was asked about
    the one after it.
    """

    row: Mapping[str, Any]
    steps: Mapping[str, StepState]
    facts: RunFacts
    asked_ahead: AskedAhead | None = None


@dataclass
class RunTx:
    """A locked run, or one that is known. `row` is the runs table's row; what is said of it is written at the end.

    `steps` are all of its steps as this transaction leaves them, where they are known; `facts` is what was known of the
    effect that begins with it, and `asked_ahead` what policy was asked about the next: the last transaction's, until
    that is used, and then this one's.
    """

    conn: Conn
    now: datetime
    definitions: Definitions
    request_id: str
    row: dict[str, Any]
    status: RunStatus
    error: str
    writes: int
    head: Head
    hides: bool
    settings_privacy: Privacy
    loads: BatchedReads
    leaves: list[Written] = field(default_factory=list)
    slot: LeaseSlot | None = None  # of a worker, free with the commit
    told: dict[str, Any] = field(default_factory=dict)  # of state, reference, outcome and output what changed
    proposed: set[str] = field(default_factory=set)  # dedupe keys of messages that are new with this transaction
    listener: Callable[["RunTx"], Awaitable[None]] | None = None  # hears of the leaves before they are written

    ahead: dict[Any, Any] = field(default_factory=dict)  # what was read for what may follow, by what was wanted
    steps: dict[str, StepState] | None = None
    facts: RunFacts | None = None
    asked_ahead: AskedAhead | None = None
    _privacy: Privacy | None = None

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return str(self.row["run_id"])

    @property
    def tenant(self) -> str:
        """Return the run's tenant."""
        return str(self.row["tenant"])

    def is_as_at(self, version: int) -> bool:
        """Return whether nothing has happened to the run since it had this version, in this transaction either."""
        return self.row["version"] == version and not self.leaves

    @property
    def version(self) -> int:
        """Return the run's version as it is now, with what was said in this transaction."""
        return int(self.row["version"]) + bool(self.leaves)

    @contextmanager
    def asked_by(self, request_id: str) -> Iterator[None]:
        """Correlate what is said in the block with a request; with the run's own where there is none."""
        before, self.request_id = self.request_id, request_id or self.request_id
        try:
            yield
        finally:
            self.request_id = before

    @contextmanager
    def chaining_into(self, slot: LeaseSlot | None) -> Iterator[None]:
        """Let what is proposed in the block have the slot; the next piece of work on this run has its own."""
        self.slot = slot
        try:
            yield
        finally:
            self.slot = None

    def tell(self, **said: Any) -> None:
        """Have the run's state, reference, outcome or output written: what the next plan reads, and what people do."""
        self.told |= said
        self.row |= said

    async def look(self, wanted: object, read: Awaitable[Any]) -> None:
        """Read something for what may follow in this transaction (`once`)."""
        self.ahead[wanted] = await read

    async def once(self, load: Callable[[T], Awaitable[R]], wanted: T) -> R:
        """Return what was read ahead, the first time that it is wanted; else read it now."""
        found: R = self.ahead.pop(wanted) if wanted in self.ahead else await load(wanted)
        return found

    async def locked_approval(self, approval_id: str) -> Approval | None:
        """Return an approval as the run's lock found it; ask for it before this transaction changes it."""
        return await self.once(lambda named: self.loads.approval(named.approval_id), NamedApproval(approval_id))

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return is_final(RUN, self.status)

    @property
    def is_waited_for(self) -> bool:
        """Return whether a step of another run waits for the end of this one."""
        parent = self.row["parent"]
        return parent is not None and "token" in parent

    async def definition(self) -> Definition:
        """Return what the run executes."""
        return await self.definitions.get(self.conn, self.row["definition_name"], self.row["definition_version"])

    def leaf(
        self,
        event: str,
        data: Mapping[str, Any],
        *,
        actor: Actor = PROGRAM,
        step: str | None = None,
        approval_id: str | None = None,
        effect_id: str | None = None,
    ) -> int:
        """Append an audit leaf to the run's chain and return its sequence number."""
        written = next_leaf(
            self.head,
            run_id=self.run_id,
            at=self.now,
            event=event,
            actor=actor,
            correlation=Correlation(
                request_id=self.request_id or None,
                run_id=self.run_id,
                step=step or None,
                approval_id=approval_id,
                effect_id=effect_id,
            ),
            data=data,
        )
        self.leaves.append(written)
        self.head = written.head
        return self.head.seq

    def leaf_about(
        self, request: Approval | NewApproval, event: str, data: Mapping[str, Any], *, actor: Actor = PROGRAM
    ) -> int:
        """Append an audit leaf about a request to people, the step and the effect that it is for; return its number."""
        about = {"step": request.step, "approval_id": request.approval_id, "effect_id": request.effect_id}
        return self.leaf(event, data, actor=actor, **about)

    async def privacy(self) -> Privacy:
        """Return what every text from outside passes before it is put on record in this run or shown.

        It takes out the settings' secrets, and what the run's trigger, effects and reads were told to hide.
        """
        if self._privacy is None:
            hidden = hidden_values(self.row["trigger"])
            for held in await self.loads.private(self.run_id) if self.hides else ():
                pointers = held.pointers
                if pointers is None:
                    pointers = (await self.definition()).redacts(held.step)
                hidden += hidden_values(held.document, pointers)
            self._privacy = self.settings_privacy.hiding(*hidden)
        return self._privacy

    def keep_private(self, document: Any, pointers: Iterable[str]) -> None:
        """Note that the run holds what nobody may see, where the document hides anything."""
        self.hides = self.hides or bool(hidden_values(document, pointers))

    async def flush(self) -> None:
        """Have the leaves and the run's row written; nothing, if nothing was said."""
        if not self.leaves and not self.told and self.hides == self.row["hides"]:
            return
        if self.listener is not None:
            await self.listener(self)
        if self.leaves:
            stored, said = leaf_set(self.leaves)
            hashes = f"\\x{stored.hashes}"
            await self.conn.gather(_LEAVES, (*stored._replace(hashes=hashes), said))
            await self.conn.gather(_PENDING, (self.run_id, stored.first_seq, hashes, self.tenant))
        chain = (self.head.seq, self.head.hash)
        told = json.dumps(self.told) if self.told else None
        run = (self.status, self.error, self.writes, *chain, self.hides, self.now, self.is_over, told)
        await self.conn.gather(_RUNS, (self.run_id, *run))
        self._note_written(told)
        if state_log.isEnabledFor(logging.INFO):
            self.conn.on_commit(partial(_log_state, self.tenant, [written.leaf for written in self.leaves]))
        self.leaves.clear()
        self.told.clear()

    def _note_written(self, told: str | None) -> None:
        """Have the row say what it will once this is committed."""
        self.row |= {"status": self.status, "error": self.error, "writes": self.writes, "hides": self.hides}
        self.row |= {"audit_seq": self.head.seq, "audit_hash": self.head.hash, "updated_at": self.now}
        self.row |= {"version": self.row["version"] + 1, **(read_json(told) if told else {})}

    async def load_steps(self, paths: frozenset[str] | None) -> Loaded:
        """Return steps as `steps.load_steps` does."""
        if self.steps is None:
            found = await self.once(self.loads.steps, WantedSteps(self.run_id, paths))
            self.steps = dict(found[0]) if paths is None else None
            return found
        return loaded_of(self.steps, paths)

    def snapshot(self) -> RunSnapshot | None:
        """Return the run as this transaction has left it; None where it would soon be out of date.

        It would be if more than one step may move, or once a message that this transaction proposed is sent.
        """
        if self.steps is None or self.facts is None or self.facts.begun or self.proposed:
            return None
        if sum(state.status in _MOVES for state in self.steps.values()) > 1:
            return None
        return RunSnapshot(self.row, self.steps, self.facts, self.asked_ahead)


def _log_state(tenant: str, leaves: Sequence[Leaf]) -> None:
    """Log what came about: who and what, by their ids, and nothing that anybody wrote."""
    for leaf in leaves:
        ids = {name: value for name, value in leaf.correlation.__dict__.items() if value is not None}
        state_log.info(leaf.event, extra={"tenant": tenant, "seq": leaf.seq, "actor": leaf.actor.id, **ids})


async def lock_runs(
    loads: BatchedReads,
    tenant: str,
    run_ids: Collection[str],
    now: datetime,
    definitions: Definitions,
    privacy: Privacy,
    *,
    wait: bool,
) -> dict[str, RunTx]:
    """Lock the rows of runs, in the order of their ids, in the transaction of `loads`; the caller flushes.

    Where nobody is to `wait`, runs that somebody else holds are left out. What is read at the same moment is read in
    the same round trip, and behind the locks.
    """
    others = "" if wait else " SKIP LOCKED"
    # IS TRUE: by their ids, and not by a look at the tenant's, of which a planner without statistics expects but a few
    rows = await loads.conn.read(
        f"SELECT * FROM runs WHERE run_id = ANY(%b) AND (tenant = %s) IS TRUE ORDER BY run_id FOR UPDATE{others}",  # noqa: S608
        (list(run_ids), tenant),
    )
    return {
        # a clock that was set back, or another machine's, must not make what came later look earlier
        row["run_id"]: run_tx_of(loads, row, max(now, row["updated_at"]), definitions, privacy)
        for row in rows
    }


async def expect_known(conn: Conn, known: RunSnapshot) -> None:
    """Have the run locked before anything is written of it; StaleRunError then, if it is not as it is known.

    What refers to it would otherwise wait for whoever has locked it.
    """
    await conn.gather(_KNOWN, (known.row["run_id"], known.row["version"]))


def run_tx_of(
    loads: BatchedReads, row: dict[str, Any], now: datetime, definitions: Definitions, privacy: Privacy
) -> RunTx:
    """Return a run whose row was locked, or made, in the transaction of `loads`; the caller flushes."""
    return RunTx(
        conn=loads.conn,
        now=now,
        definitions=definitions,
        request_id=row["request_id"],
        row=row,
        status=RunStatus(row["status"]),
        error=row["error"],
        writes=row["writes"],
        head=Head(row["audit_seq"], row["audit_hash"]),
        hides=row["hides"],
        settings_privacy=privacy,
        loads=loads,
    )
