"""What a run's rows hold that nobody may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class PrivateDocument:
    """The fields of an effect, the params of a read, or a wait's token. `pointers` None: the step's verb says them."""

    step: str
    document: Any
    pointers: Sequence[str] | None


async def private_documents(conn: Conn, run_ids: Sequence[str]) -> list[list[PrivateDocument]]:
    """Return, of each run, the documents that may hold what nobody may see."""
    rows = await (
        await conn.look(
            """
            SELECT run_id, step, fields AS document, redact AS pointers FROM effects
             WHERE run_id = ANY(%(run_ids)b) AND purpose = 'step' AND hides AND forgotten IS NULL
            UNION ALL
            SELECT run_id, path, params, NULL FROM steps WHERE run_id = ANY(%(run_ids)b) AND params IS NOT NULL
            UNION ALL
            SELECT run_id, step, json_build_object('token', token), '[]' FROM waits
             WHERE run_id = ANY(%(run_ids)b) AND type = 'external'
            """,
            {"run_ids": list(run_ids)},
            table="steps",
            keys=set(run_ids),
        )
    ).fetchall()
    found: dict[str, list[PrivateDocument]] = {run_id: [] for run_id in run_ids}
    for row in rows:
        found[row["run_id"]].append(PrivateDocument(row["step"], row["document"], row["pointers"]))
    return [found[run_id] for run_id in run_ids]
