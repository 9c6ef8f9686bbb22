"""Takes what nobody may see out of the rows of an ended run, which needed it as long as it ran.

What is on record holds none of it from the beginning. Here goes what the work itself was done with: the fields of
effects, params and results of steps, the trigger, and the notifications that were applied to the run.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from receipts.privacy import Privacy
from receipts.redaction import hidden_values, redact
from runtime.model.effect import Effect
from runtime.store.database.pool import Conn
from runtime.store.effects import forget_fields, list_hiding
from runtime.store.run_tx import RunTx

Rows = list[dict[str, Any]]


async def forget_runs(conn: Conn, runs: Mapping[str, RunTx]) -> None:
    """Forget what locked runs were told to hide; the caller sees to it that no effect of a step needs it any more."""
    steps, notifications, hiding = await _steps(conn, runs), await _notifications(conn, runs), await _hiding(conn, runs)
    for run_id, tx in runs.items():
        await _forget_run(tx, steps[run_id], notifications[run_id], hiding[run_id])


async def _forget_run(tx: RunTx, steps: Rows, notifications: Rows, hiding: Sequence[Effect]) -> None:
    documents = [*(step["result"] for step in steps), *(notification["payload"] for notification in notifications)]
    found = [value for document in documents if document is not None for value in hidden_values(document)]
    privacy = (await tx.privacy()).hiding(*found)
    for effect in hiding:
        await forget_fields(tx.conn, effect.effect_id, effect.action(tx.row["salt"]))
    await _forget_steps(tx, privacy, steps)
    await _forget_payloads(tx, privacy, notifications)
    await _forget_trigger(tx, privacy)
    for name in ("state", "output"):
        if (shown := _cleaned(privacy, tx.row[name])) != tx.row[name]:
            tx.tell(**{name: shown})


async def _forget_steps(tx: RunTx, privacy: Privacy, steps: Rows) -> None:
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


async def _forget_payloads(tx: RunTx, privacy: Privacy, notifications: Rows) -> None:
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


async def _hiding(conn: Conn, run_ids: Collection[str]) -> dict[str, list[Effect]]:
    found: dict[str, list[Effect]] = {run_id: [] for run_id in run_ids}
    for effect in await list_hiding(conn, run_ids):
        found[effect.run_id].append(effect)
    return found


async def _steps(conn: Conn, run_ids: Collection[str]) -> dict[str, Rows]:
    query = """
        SELECT run_id, path, params, result, kept FROM steps
         WHERE run_id = ANY(%(run_ids)s) AND (params IS NOT NULL OR result IS NOT NULL OR kept IS NOT NULL)
    """
    return await _by_run(conn, query, run_ids)


async def _notifications(conn: Conn, run_ids: Collection[str]) -> dict[str, Rows]:
    """Return what was applied to the runs' waits and approvals, or to the runs."""
    query = """
        SELECT k.run_id, n.payload, n.notification_id
          FROM (SELECT run_id, correlation_key AS key FROM waits WHERE run_id = ANY(%(run_ids)s)
                 UNION SELECT run_id, 'approval:' || approval_id FROM approvals WHERE run_id = ANY(%(run_ids)s)
                 UNION SELECT run_id, run_id FROM unnest(%(run_ids)s::text[]) AS r (run_id)) AS k
          JOIN runs r USING (run_id)
          JOIN notifications n ON n.tenant = r.tenant AND n.correlation_key = k.key
         WHERE n.applied_at IS NOT NULL AND NOT n.forgotten
    """
    return await _by_run(conn, query, run_ids)


async def _by_run(conn: Conn, query: str, run_ids: Collection[str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {run_id: [] for run_id in run_ids}
    for row in await conn.rows(query, {"run_ids": list(run_ids)}):
        found[row["run_id"]].append(row)
    return found
