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


async def private_documents(conn: Conn, run_id: str) -> list[PrivateDocument]:
    """Return the run's documents that may hold what nobody may see."""
    rows = await (
        await conn.execute(
            """
            SELECT step, fields AS document, redact AS pointers FROM effects
             WHERE run_id = %(run_id)s AND purpose = 'step' AND hides AND forgotten IS NULL
            UNION ALL
            SELECT path, params, NULL FROM steps WHERE run_id = %(run_id)s AND params IS NOT NULL
            UNION ALL
            SELECT step, json_build_object('token', token), '[]' FROM waits
             WHERE run_id = %(run_id)s AND type = 'external'
            """,
            {"run_id": run_id},
        )
    ).fetchall()
    return [PrivateDocument(**row) for row in rows]
