"""What proves what happened: decisions with the policy text that gave them, and receipts. Insert only."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from policy.model import PolicyText
from runtime.store.database.pool import Conn


async def keep_policy_text(conn: Conn, text: PolicyText, now: datetime) -> None:
    """Keep the exact text of a policy, once per digest."""
    await conn.execute(
        "INSERT INTO policy_texts (digest, files, first_seen) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        (text.digest, json.dumps(text.files), now),
    )


async def insert_decision(
    conn: Conn, run_id: str, effect_id: str, seq: int, document: Mapping[str, Any], digest: str, now: datetime
) -> None:
    """Write a decision under the audit leaf `seq` that names it."""
    await conn.execute(
        """
        INSERT INTO policy_decisions (decision_id, run_id, effect_id, seq, outcome, document, digest, policy_digest, at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            document["id"],
            run_id,
            effect_id,
            seq,
            document["outcome"],
            json.dumps(document),
            digest,
            document["policy_digest"],
            now,
        ),
    )


async def insert_receipt(
    conn: Conn, seq: int, document: Mapping[str, Any], digest: str, response: Any, now: datetime
) -> None:
    """Write a receipt under the audit leaf `seq` that names it."""
    await conn.execute(
        """
        INSERT INTO receipts (receipt_id, run_id, tenant, effect_id, seq, idempotency_key, fingerprint, outcome,
                              document, response, digest, at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            document["receipt_id"],
            document["run_id"],
            document["tenant"],
            document["effect_id"],
            seq,
            document["idempotency_key"],
            document["fingerprint"],
            document["outcome"],
            json.dumps(document),
            None if response is None else json.dumps(response),
            digest,
            now,
        ),
    )
