"""What proves what happened: decisions with the policy that gave them, receipts, read records. Insert only."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from receipts.chain import PROGRAM
from receipts.fields import timestamp
from receipts.policy_acts import PolicySeen
from receipts.receipt import Receipt
from receipts.usage import ReadRecord, rollup, usages_of
from runtime.model.effect import LeaseLostError, PolicyReplacedError
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, json_text
from runtime.store.tenants import put_act

if TYPE_CHECKING:
    from policy.contract import PolicyText

_DECIDED = WriteKind(
    "decided",
    "policy_decisions",
    """
    INSERT INTO policy_decisions (decision_id, run_id, effect_id, seq, outcome, document, policy_digest, at)
    SELECT decision_id, run_id, effect_id, seq, outcome, document, policy_digest, at FROM {r}
     WHERE in_force IS NOT DISTINCT FROM (SELECT policy_in_force())
    RETURNING decision_id AS id
    """,
    (
        ("decision_id", "text"),
        ("run_id", "text"),
        ("effect_id", "text"),
        ("seq", "int"),
        ("outcome", "text"),
        ("document", "json"),
        ("policy_digest", "text"),
        ("at", "timestamptz"),
        ("in_force", "int"),
    ),
    key=1,
    lost=lambda decision_id: PolicyReplacedError(f"decision {decision_id} is by a policy that is not in force"),
)
"""A decision counts only under the policy that was in force when it was asked for, and stays so until the commit."""

_RECEIVED = WriteKind(
    "received",
    "receipts",
    """
    INSERT INTO receipts (receipt_id, run_id, tenant, effect_id, seq, idempotency_key, fingerprint, outcome,
                          document, response, at)
    SELECT * FROM {r}
    """,
    (
        ("receipt_id", "text"),
        ("run_id", "text"),
        ("tenant", "text"),
        ("effect_id", "text"),
        ("seq", "int"),
        ("idempotency_key", "text"),
        ("fingerprint", "text"),
        ("outcome", "text"),
        ("document", "json"),
        ("response", "json"),
        ("at", "timestamptz"),
    ),
    key=1,
    taken=("uq_receipts_success", LeaseLostError),  # whoever holds the lease now has succeeded
)


_READ = WriteKind(
    "read_",
    "reads",
    "INSERT INTO reads (run_id, seq, step, attempt, outcome, document) SELECT * FROM {r}",
    (
        ("run_id", "text"),
        ("seq", "int"),
        ("step", "text"),
        ("attempt", "int"),
        ("outcome", "text"),
        ("document", "json"),
    ),
    key=2,
)


async def keep_policy_text(conn: Conn, tenant: str, text: "PolicyText", now: datetime) -> int | None:
    """Keep the exact text of a policy, once per digest, and put on the tenant's record that it decides.

    Return the number of the policy version that has this text; None where none has.
    """
    async with conn.transaction():
        await conn.execute(
            "INSERT INTO policy_texts (digest, files, first_seen) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (text.digest, json.dumps(text.files), now),
        )
        await put_act(conn, tenant, PolicySeen(digest=text.digest), PROGRAM, now)
        row = await conn.read_row("SELECT version FROM policy_versions WHERE digest = %s", (text.digest,))
    return int(row["version"]) if row else None


async def expect_in_force(conn: Conn, digest: str) -> None:
    """Raise PolicyReplacedError unless a policy is in force, and keep it so until the caller's transaction ends."""
    conn.put("SELECT policy_in_force()", {})  # two statements: one that waited would not see what came meanwhile
    query = "SELECT digest FROM policy_versions WHERE version = (SELECT policy_in_force())"
    row = await conn.read_row(query, ())
    if row is not None and row["digest"] != digest:
        raise PolicyReplacedError(f"policy {row['digest']} is in force, and {digest} answered")


async def insert_decision(
    conn: Conn,
    run_id: str,
    effect_id: str,
    seq: int,
    facts: Mapping[str, Any],
    document: bytes,
    now: datetime,
    in_force: int | None,
) -> None:
    """Write a decision under the audit leaf `seq` that names it; `document` is the canonical JSON of `facts`.

    The transaction fails with PolicyReplacedError unless the policy version `in_force` is in force at its end.
    """
    await conn.gather(
        _DECIDED,
        (
            facts["id"],
            run_id,
            effect_id,
            seq,
            facts["outcome"],
            document.decode(),
            facts["policy_digest"],
            now,
            in_force,
        ),
    )


async def has_receipt(conn: Conn, run_id: str, effect_id: str, started_at: datetime) -> bool:
    """Return whether what became of the attempt at an effect that began at a moment is on record."""
    found = await conn.execute(
        "SELECT FROM receipts WHERE run_id = %s AND effect_id = %s AND outcome <> 'refusal'"
        " AND document ->> 'started_at' = %s LIMIT 1",
        (run_id, effect_id, timestamp(started_at)),
    )
    return await found.fetchone() is not None


async def insert_receipt(conn: Conn, seq: int, receipt: Receipt, document: bytes, now: datetime) -> None:
    """Write a receipt under the audit leaf `seq` that names it; `document` is its canonical JSON."""
    await conn.gather(
        _RECEIVED,
        (
            receipt.receipt_id,
            receipt.run_id,
            receipt.tenant,
            receipt.effect_id,
            seq,
            receipt.idempotency_key,
            receipt.fingerprint,
            receipt.outcome,
            document.decode(),
            None if receipt.response is None else json_text(receipt.response),
            now,
        ),
    )


async def insert_read(conn: Conn, seq: int, read: ReadRecord, document: bytes) -> None:
    """Write a read record under the audit leaf `seq` that names it; `document` is its canonical JSON."""
    await conn.gather(_READ, (read.run_id, seq, read.step, read.attempt, read.outcome, document.decode()))


async def costs_of_run(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    """Return what a run used and cost so far, by provider and model; nothing where nobody told."""
    rows = await conn.rows(
        """
        SELECT document -> 'told' AS told FROM reads WHERE run_id = %(run_id)s AND document ->> 'told' IS NOT NULL
         UNION ALL
        SELECT document -> 'told' FROM receipts WHERE run_id = %(run_id)s AND document ->> 'told' IS NOT NULL
        """,
        {"run_id": run_id},
    )
    return [costs.model_dump() for costs in rollup(usages_of(rows))] if rows else []
