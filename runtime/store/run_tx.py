"""One transaction on one run: the row is locked, changes and audit leaves are gathered, one write ends it.

A run's audit chain needs no lock of its own: whoever appends to it holds the run's row.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from receipts.chain import Actor, Correlation, Head, Leaf, Written, next_leaf
from receipts.privacy import Privacy
from receipts.redaction import hidden_values
from runtime.definitions.model import Definition
from runtime.model.states import RUN, RunStatus, is_final
from runtime.store.database.pool import Conn
from runtime.store.definitions import Definitions
from runtime.store.privacy import private_documents

log = logging.getLogger("countersign.state")  # one line for each audit leaf

SYSTEM = Actor(id="countersign", kind="system")


class UnknownRunError(Exception):
    """No run has that id."""


@dataclass
class RunTx:
    """A locked run. `row` is the runs table's row; `status` and `error` are written back at the end."""

    conn: Conn
    now: datetime
    definitions: Definitions
    request_id: str
    row: dict[str, Any]
    status: RunStatus
    error: str
    writes: int
    head: Head
    settings_privacy: Privacy
    leaves: list[Written] = field(default_factory=list)

    _privacy: Privacy | None = None

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return str(self.row["run_id"])

    @property
    def tenant(self) -> str:
        """Return the run's tenant."""
        return str(self.row["tenant"])

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return is_final(RUN, self.status)

    async def definition(self) -> Definition:
        """Return what the run executes."""
        return await self.definitions.get(self.conn, self.row["definition_name"], self.row["definition_version"])

    def leaf(
        self,
        event: str,
        data: Mapping[str, Any],
        *,
        actor: Actor = SYSTEM,
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
        self.head = Head(written.leaf.seq, written.leaf.hash)
        return written.leaf.seq

    async def privacy(self) -> Privacy:
        """Return what every text from outside passes before it is put on record in this run or shown.

        It takes out the settings' secrets, and what the run's trigger, effects and reads were told to hide.
        """
        if self._privacy is None:
            definition = await self.definition()
            hidden = hidden_values(self.row["trigger"])
            for held in await private_documents(self.conn, self.run_id):
                pointers = definition.verb_of(held.step).redact if held.pointers is None else held.pointers
                hidden += hidden_values(held.document, pointers)
            self._privacy = self.settings_privacy.hiding(*hidden)
        return self._privacy

    async def flush(self) -> None:
        """Write the gathered leaves and the run's row; nothing, if nothing was said."""
        if not self.leaves:
            return
        leaves = [written.leaf for written in self.leaves]
        await self.conn.execute(
            """
            WITH leaves AS (
                INSERT INTO audit_leaves (run_id, seq, prev_hash, hash, leaf)
                SELECT %(run_id)s, * FROM unnest(%(seqs)s::int[], %(prevs)b::text[], %(hashes)b::text[],
                                                 %(leaves)b::text[]::json[])
            )
            UPDATE runs SET status = %(status)s, error = %(error)s, writes = %(writes)s, version = version + 1,
                   audit_seq = %(seq)s, audit_hash = %(hash)s, updated_at = %(now)s,
                   finished_at = CASE WHEN %(over)s THEN coalesce(finished_at, %(now)s) END
             WHERE run_id = %(run_id)s
            """,
            {
                "run_id": self.run_id,
                "seqs": [leaf.seq for leaf in leaves],
                "prevs": [leaf.prev_hash for leaf in leaves],
                "hashes": [leaf.hash for leaf in leaves],
                "leaves": [written.document.decode() for written in self.leaves],
                "status": self.status,
                "error": self.error,
                "writes": self.writes,
                "seq": self.head.seq,
                "hash": self.head.hash,
                "now": self.now,
                "over": self.is_over,
            },
        )
        self.conn.on_commit(partial(_tell, self.tenant, leaves))
        self.leaves.clear()


def _tell(tenant: str, leaves: Sequence[Leaf]) -> None:
    """Log what came about: who and what, by their ids, and nothing that anybody wrote."""
    for leaf in leaves:
        ids = {name: value for name, value in leaf.correlation if value is not None}
        log.info(leaf.event, extra={"tenant": tenant, "seq": leaf.seq, "actor": leaf.actor.id, **ids})


async def lock_run(
    conn: Conn,
    tenant: str,
    run_id: str,
    now: datetime,
    definitions: Definitions,
    privacy: Privacy,
    request_id: str = "",
) -> RunTx:
    """Lock the run's row in the caller's transaction; the caller flushes."""
    row = await (
        await conn.execute("SELECT * FROM runs WHERE tenant = %s AND run_id = %s FOR UPDATE", (tenant, run_id))
    ).fetchone()
    if row is None:
        raise UnknownRunError(run_id)
    return RunTx(
        conn=conn,
        now=now,
        definitions=definitions,
        request_id=request_id or row["request_id"],
        row=row,
        status=RunStatus(row["status"]),
        error=row["error"],
        writes=row["writes"],
        head=Head(row["audit_seq"], row["audit_hash"]),
        settings_privacy=privacy,
    )
