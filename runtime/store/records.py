"""What proves what happened: decisions with the policy that gave them, receipts, read records. Insert only."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from receipts.chain import PROGRAM
from receipts.fields import timestamp
from receipts.receipt import Receipt
from receipts.tenant_acts import PolicySeen
from receipts.usage import ReadRecord, rollup, usages_of
from runtime.model.effect import LeaseLostError
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
    SELECT * FROM {r}
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
    ),
    key=1,
)
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


async def keep_policy_text(conn: Conn, tenant: str, text: "PolicyText", now: datetime) -> None:
    """Keep the exact text of a policy, once per digest, and put on the tenant's record that it decides."""
    async with conn.transaction():
        await conn.execute(
            "INSERT INTO policy_texts (digest, files, first_seen) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (text.digest, json.dumps(text.files), now),
        )
        await put_act(conn, tenant, PolicySeen(digest=text.digest), PROGRAM, now)


async def insert_decision(
    conn: Conn, run_id: str, effect_id: str, seq: int, facts: Mapping[str, Any], document: bytes, now: datetime
) -> None:
    """Write a decision under the audit leaf `seq` that names it; `document` is the canonical JSON of `facts`."""
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
