"""The counter at which people in the chat have something undone."""

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.json_limits import error_text
from runtime.model.run_payloads import UndoPayload
from runtime.services.recording import record_said
from runtime.services.undo_model import UndoOutcome, UndoView, UndoWish
from runtime.services.undo_preview import preview_undo
from runtime.store import approvals


class UndoCounter:
    """That counter of one tenant."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self.engine = engine
        self.tenant = tenant

    async def undo_view(self, approval_id: str) -> UndoView | None:
        """Return what the step behind a card did, or None where there is no such card."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
            if approval is None:
                return None
            items = await preview_undo(conn, self.tenant, approval.run_id, approval.step)
        return None if items is None else UndoView(approval_id, approval.run_id, approval.step, items)

    async def ask_undo(self, wish: UndoWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        payload = UndoPayload(run_id=wish.run_id, step=wish.step, reason=error_text(wish.reason), version=None)
        return await record_said(
            self.engine,
            self.tenant,
            payload,
            by=wish.person_id,
            about=wish.run_id,
            key=f"undo:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply_undo(self, notification_id: str) -> UndoOutcome:
        """Apply a recorded wish, at most once; a repeat returns the same outcome."""
        facts = await inbox.apply(self.engine, notification_id)
        return UndoOutcome(facts.get("undone_in"), str(facts.get("reason", "")))
