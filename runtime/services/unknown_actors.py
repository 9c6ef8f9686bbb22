"""Unknown actors: what people click who are not in the directory goes on record, once each; nothing is done."""

from dataclasses import dataclass

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.commands import UnknownActorAct, UnknownActorPayload
from runtime.model.person import SlackAccount
from runtime.model.votes import RefusalCode
from runtime.services.clicks import record_said
from runtime.store import approvals
from runtime.store.step_repairs import find_step


@dataclass(frozen=True)
class UnknownActor:
    """An account behind which there is no one person of the directory, and why."""

    account: SlackAccount
    code: RefusalCode
    request_id: str


@dataclass(frozen=True)
class UnknownActors:
    """Records what unknown actors clicked. A click on a card or step that is not there is not recorded."""

    engine: Engine
    tenant: str

    async def on_card(self, actor: UnknownActor, approval_id: str, act: UnknownActorAct) -> None:
        """Put on record what an unknown actor wanted of what a card asked about."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is not None:
            await self.on_step(actor, approval.run_id, approval.step, act)

    async def on_step(self, actor: UnknownActor, run_id: str, step: str, act: UnknownActorAct) -> None:
        """Put on record what an unknown actor wanted of a step: the first time for each account, step and reason."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, step)
        if found is None:
            return
        team, user = actor.account.team, actor.account.user
        notification_id = await record_said(
            self.engine,
            UnknownActorPayload(run_id=run_id, step=step, act=act, code=actor.code),
            by=f"slack:{team}:{user}",
            about=run_id,
            key=f"unknown_actor:{run_id}:{step}:{team}:{user}:{actor.code}",
            request_id=actor.request_id,
        )
        await inbox.apply(self.engine, notification_id)
