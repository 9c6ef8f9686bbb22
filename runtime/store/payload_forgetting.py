"""Takes what nobody may see out of the rows of an ended run, which needed it as long as it ran.

What is on record holds none of it from the beginning. Here goes what the work itself was done with: the fields of
effects, params and results of steps, the trigger, and the notifications that were applied to the run.
"""

import json
from typing import Any

from receipts.privacy import Privacy
from receipts.redaction import hidden_values, redact
from runtime.store.database.pool import Conn
from runtime.store.effects import forget_fields, list_hiding
from runtime.store.run_tx import RunTx


async def forget_run(tx: RunTx) -> None:
    """Forget what the run was told to hide; the caller sees to it that no effect of a step needs it any more."""
    steps = await _steps(tx.conn, tx.run_id)
    notifications = await _notifications(tx.conn, tx.tenant, tx.run_id)
    documents = [*(step["result"] for step in steps), *(notification["payload"] for notification in notifications)]
    found = [value for document in documents if document is not None for value in hidden_values(document)]
    privacy = (await tx.privacy()).hiding(*found)
    for effect in await list_hiding(tx.conn, tx.run_id):
        await forget_fields(tx.conn, effect.effect_id, effect.action(tx.row["salt"]))
    await _forget_steps(tx, privacy, steps)
    await _forget_payloads(tx, privacy, notifications)
    await _forget_trigger(tx, privacy)
    for name in ("state", "output"):
        if (shown := _cleaned(privacy, tx.row[name])) != tx.row[name]:
            tx.tell(**{name: shown})


async def _forget_steps(tx: RunTx, privacy: Privacy, steps: list[dict[str, Any]]) -> None:
    definition = await tx.definition()
    for step in steps:
        shown = [
            _cleaned(privacy, step["params"], definition.redacts(step["path"])),
            _cleaned(privacy, step["result"]),
            _cleaned(privacy, step["kept"]),
        ]
        if shown != [step["params"], step["result"], step["kept"]]:
            texts = [None if document is None else json.dumps(document) for document in shown]
            await tx.conn.execute(
                "UPDATE steps SET params = %s, result = %s, kept = %s WHERE run_id = %s AND path = %s",
                (*texts, tx.run_id, step["path"]),
            )


async def _forget_payloads(tx: RunTx, privacy: Privacy, notifications: list[dict[str, Any]]) -> None:
    for row in notifications:
        if (shown := _cleaned(privacy, row["payload"])) != row["payload"]:
            await tx.conn.execute(
                "UPDATE notifications SET payload = %s, forgotten = true WHERE notification_id = %s",
                (json.dumps(shown), row["notification_id"]),
            )


async def _forget_trigger(tx: RunTx, privacy: Privacy) -> None:
    """Take it out of the trigger, which is known by its digest when it is sent again."""
    trigger = tx.row["trigger"]
    if not tx.row["forgotten"] and (shown := _cleaned(privacy, trigger)) != trigger:
        await tx.conn.execute(
            "UPDATE runs SET trigger = %s, forgotten = true WHERE run_id = %s", (json.dumps(shown), tx.run_id)
        )


def _cleaned(privacy: Privacy, document: Any, pointers: tuple[str, ...] = ()) -> Any:
    return privacy.value(redact(document, pointers).value)


async def _steps(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    return await conn.rows(
        "SELECT path, params, result, kept FROM steps"
        " WHERE run_id = %s AND (params IS NOT NULL OR result IS NOT NULL OR kept IS NOT NULL)",
        (run_id,),
    )


async def _notifications(conn: Conn, tenant: str, run_id: str) -> list[dict[str, Any]]:
    """Return what was applied to the run's waits and approvals, or to the run."""
    return await conn.rows(
        """
        SELECT payload, notification_id FROM notifications
         WHERE tenant = %(tenant)s AND applied_at IS NOT NULL AND NOT forgotten AND correlation_key IN (
               SELECT correlation_key FROM waits WHERE run_id = %(run_id)s
               UNION SELECT 'approval:' || approval_id FROM approvals WHERE run_id = %(run_id)s
               UNION SELECT %(run_id)s)
        """,
        {"tenant": tenant, "run_id": run_id},
    )
