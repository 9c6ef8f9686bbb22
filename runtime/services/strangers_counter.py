"""The counter at which the bot hands in clicks of those who may ask for nothing: they go on record, once each."""

from dataclasses import dataclass

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.run_payloads import StrangerAct, StrangerPayload
from runtime.services.recording import record_said
from runtime.services.strangers_model import Stranger
from runtime.store import approvals
from runtime.store.held_steps import find_step


@dataclass(frozen=True)
class StrangerCounter:
    """The counter of one tenant, over the engine."""

    engine: Engine
    tenant: str

    async def on_card(self, stranger: Stranger, approval_id: str, act: StrangerAct) -> None:
        """Put on record what a stranger wanted of what a card asked about."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is not None:
            await self.on_step(stranger, approval.run_id, approval.step, act)

    async def on_step(self, stranger: Stranger, run_id: str, step: str, act: StrangerAct) -> None:
        """Put on record what a stranger wanted of a step: the first time for each account, step and reason."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, step)
        if found is None:
            return
        team, user = stranger.account.team, stranger.account.user
        notification_id = await record_said(
            self.engine,
            self.tenant,
            StrangerPayload(run_id=run_id, step=step, act=act, code=stranger.code),
            by=f"slack:{team}:{user}",
            about=run_id,
            key=f"stranger:{run_id}:{step}:{team}:{user}:{stranger.code}",
            request_id=stranger.request_id,
        )
        await inbox.apply(self.engine, notification_id)
