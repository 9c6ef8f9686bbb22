"""Step repair: the buttons beside a step that needs attention ask how it continues and why; the answer is recorded."""

import asyncio
from typing import Any
from uuid import uuid4

from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.clicks import DEADLINE, ModalListener, applied, came_of, recording, unknown_words
from bot.payloads import Actions, Submission, User
from bot.views import references, step_repair
from bot.views.vote_modals import reason_fault
from runtime.model.run import RepairAction
from runtime.services.refusal_words import refusal_words
from runtime.services.step_repair import RepairCommand


class StepRepairListener(ModalListener):
    """The listeners for the buttons and their modal. People of the directory alone are shown anything."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Ask how the step goes on, as it stands now."""
        ref = step_repair.StepRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if unknown := self._unknown_actor(identity):
                act = step_repair.ACTIONS[payload.action.action_id]
                await self._desk.unknown_actors.on_step(unknown, ref.run, ref.step, act)
            view = None if unknown else await self._desk.step_repair.view(ref.run, ref.step)
        await ack()
        if view is None:
            said = refusal_words(identity.refusal) if identity.refusal else private_answers.NO_LONGER_WAITS
            await self._tell(payload, said)
            return
        await self._open(
            payload, step_repair.repair_modal(view, step_repair.ACTIONS[payload.action.action_id], payload.place)
        )

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the person says before the modal closes; a fault is shown at its input, and it stays open."""
        ref = step_repair.StepRepairRef.model_validate_json(payload.view.private_metadata)
        try:
            result = (
                step_repair.parse_result(payload.typed(step_repair.RESULT)) if ref.act is RepairAction.SUPPLY else None
            )
        except (ValueError, RecursionError) as error:
            await ack(
                response_action="errors", errors={step_repair.RESULT: f"This is not valid JSON for a result: {error}"}
            )
            return
        fault = reason_fault(payload.reason)
        notification, fault = ("", fault) if fault else await self._record(payload, ref, result)
        if fault:
            await ack(response_action="errors", errors={references.REASON: fault})
            return
        await ack()
        await self._settle(notification, payload.user, ref)

    @recording("a repair", instead=("", private_answers.REASON_NOT_RECORDED))
    async def _record(self, payload: Submission, ref: step_repair.StepRepairRef, result: Any) -> tuple[str, str]:
        """Return the notification's id, and why there is none, whatever the cause."""
        identity = await self._identity(payload.user)
        if unknown := self._unknown_actor(identity):
            await self._desk.unknown_actors.on_step(unknown, ref.run, ref.step, ref.act)
        if identity.person is None:
            return "", unknown_words(identity)
        wish = RepairCommand(
            dedupe_key=f"slack:{payload.view.id}",
            person_id=identity.person.id,
            run_id=ref.run,
            step=ref.step,
            act=ref.act,
            version=ref.version,
            reason=payload.reason,
            result=result,
            request_id=uuid4().hex,
        )
        return await self._desk.step_repair.record(wish), ""

    async def _settle(self, notification: str, user: User, ref: step_repair.StepRepairRef) -> None:
        """Apply what is recorded and say in private what came of it. Never raises."""
        why = await applied("a repair", self._desk.step_repair.apply(notification))
        said = came_of(why, private_answers.REPAIR_DONE[ref.act].format(ref.step))
        await self._answers.tell(user.id, ref.channel, said, occasion=notification)
