"""What a click beside a held step does: ask how it goes on and why, and hand in what the person says."""

import asyncio
from typing import Any
from uuid import uuid4

from slack_bolt.async_app import AsyncAck

from bot.listeners import private
from bot.listeners.asking import DEADLINE, Asking
from bot.payloads import Actions, Submission, User
from bot.views import held, references
from bot.views.modals import reason_fault
from bot.views.refusals import refusal_words
from runtime.model.run import HeldAct
from runtime.services.held_model import HeldWish


class Holding(Asking):
    """The listeners for the buttons and their modal. People of the directory alone are shown anything."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Ask how the step goes on, as it stands now."""
        ref = held.StepRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if stranger := self._stranger(identity):
                act = held.ACTIONS[payload.action.action_id]
                await self._desk.strangers.on_step(stranger, ref.run, ref.step, act)
            view = None if stranger else await self._desk.held.view(ref.run, ref.step)
        await ack()
        if view is None:
            said = refusal_words(identity.refusal) if identity.refusal else private.NOT_HELD
            await self._tell(payload, said)
            return
        await self._open(payload, held.held_modal(view, held.ACTIONS[payload.action.action_id], payload.place))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the person says before the modal closes; a fault is shown at its input, and it stays open."""
        ref = held.HeldRef.model_validate_json(payload.view.private_metadata)
        try:
            result = held.parse_result(payload.typed(held.RESULT)) if ref.act is HeldAct.SUPPLY else None
        except (ValueError, RecursionError) as error:
            await ack(response_action="errors", errors={held.RESULT: f"This is not valid JSON for a result: {error}"})
            return
        fault = reason_fault(payload.reason)
        notification, fault = ("", fault) if fault else await self._record(payload, ref, result)
        if fault:
            await ack(response_action="errors", errors={references.REASON: fault})
            return
        await ack()
        await self._settle(notification, payload.user, ref)

    async def _record(self, payload: Submission, ref: held.HeldRef, result: Any) -> tuple[str, str]:
        """Return the notification's id, and why there is none, whatever the cause."""
        try:
            async with asyncio.timeout(DEADLINE):
                identity = await self._identity(payload.user)
                if stranger := self._stranger(identity):
                    await self._desk.strangers.on_step(stranger, ref.run, ref.step, ref.act)
                if identity.person is None:
                    return "", refusal_words(identity.refusal) if identity.refusal else private.REASON_NOT_RECORDED
                wish = HeldWish(
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
                return await self._desk.held.record(wish), ""
        except Exception as error:  # noqa: BLE001 - fails closed: the modal must not close as if it were recorded
            self._log.error("what was said of a held step was not recorded: %s", type(error).__name__)
            return "", private.REASON_NOT_RECORDED

    async def _settle(self, notification: str, user: User, ref: held.HeldRef) -> None:
        """Apply what is recorded and say in private what came of it. Never raises."""
        try:
            why = await self._desk.held.apply(notification)
        except Exception as error:  # noqa: BLE001 - it is recorded and acknowledged; the runtime applies it later
            self._log.error("what was said of a held step was not applied: %s", type(error).__name__)
            said = private.NOT_YET_APPLIED
        else:
            said = f"Nothing was done: {why}" if why else private.HELD_DONE[ref.act].format(ref.step)
        await self._answers.tell(user.id, ref.channel, said, occasion=notification)
