"""Effect transaction: all that is written about an attempt, in one transaction on its run, goes through here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from receipts.canonical import digest_of
from receipts.receipt import make_receipt
from receipts.usage import measured
from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.handlers import RefusedError
from runtime.model.action import commitment
from runtime.model.approval import Result
from runtime.model.budget import HeldUse, UseStatus
from runtime.model.effect import AttemptOutcome, Effect
from runtime.model.messages import EffectEnded
from runtime.model.states import EffectStatus, RunStatus, StepStatus
from runtime.model.subscription import CONNECTOR
from runtime.outbox import messages
from runtime.outbox.attempts import Attempt, told_in
from runtime.outbox.webhooks import dead_letter
from runtime.planning.advance import advance
from runtime.planning.transition import StepMoved
from runtime.store import approvals, budgets, effects, records, steps
from runtime.store.run_tx import RunTx


@dataclass(frozen=True)
class EffectTx:
    """The engine, the locked run and the attempt, which travel together."""

    engine: Engine
    tx: RunTx
    attempt: Attempt

    @property
    def effect(self) -> Effect:
        """Return the effect as it was leased."""
        return self.attempt.effect

    async def verb(self) -> Verb | None:
        """Return the verb behind the effect; None for a message."""
        return None if self.effect.is_message else (await self.tx.definition()).verb_of(self.effect.step)

    def note(self, event: str, data: dict[str, Any]) -> int:
        """Append a leaf about the effect; return its sequence number."""
        effect = self.effect
        return self.tx.leaf(
            event, data, step=effect.step, approval_id=self.attempt.approval_id, effect_id=effect.effect_id
        )

    async def settle(self, status: EffectStatus, *, error: str = "", **more: Unpack[effects.SettledWith]) -> None:
        """End this worker's lease with a new status; raise LeaseLostError if the lease is no longer ours."""
        if status is not EffectStatus.IN_DOUBT and not self.attempt.began:
            self.note_if_cleared()
        if status is not EffectStatus.IN_DOUBT:
            await self.end_reservations(status)
        if self.effect.connector == CONNECTOR and status in (EffectStatus.FAILED, EffectStatus.REJECTED):
            await self._dead_letter(error, is_denied=status is EffectStatus.REJECTED)
        await effects.settle(self.tx.conn, self.effect, status, error=error, **more)

    async def end_reservations(self, status: EffectStatus) -> None:
        """Say what became of what the effect holds of budgets, now that it is known what became of the effect."""
        attempt, effect = self.attempt, self.effect
        if effect.is_message or effect.is_read:
            return
        is_told = attempt.began or not attempt.is_repeat
        held = attempt.reserved if is_told else await budgets.held_by(self.tx.conn, effect.effect_id)
        if held:
            await self.end_uses(held, UseStatus.USED if status is EffectStatus.DISPATCHED else UseStatus.RELEASED)

    async def end_uses(self, held: Sequence[HeldUse], status: UseStatus) -> None:
        """Say that what is held of budgets is used, or released."""
        await budgets.end(self.tx.conn, held, status)
        self.note(f"budget.{status}", {"budgets": sorted(one.budget for one in held)})

    async def _dead_letter(self, error: str, *, is_denied: bool) -> None:
        """Make a dead letter of what a subscriber cannot be told; what is refused for good ends the subscription."""
        is_refused = is_denied or isinstance(self.attempt.said, RefusedError)
        await dead_letter(self.engine, self.tx, self.effect, error, ends=is_refused)

    def note_if_cleared(self) -> None:
        """Put on record that the target was read back, and that what was in doubt had not happened."""
        if self.attempt.cleared:
            self.note("effect.cleared", {"error": self.effect.error, "tries": self.effect.tries})

    async def write_receipt(self, outcome: AttemptOutcome, *, response: Any = None, error: str | None = None) -> None:
        """Write the receipt of the attempt, or of its refusal, and the leaf that names it.

        What stands in the response for a secret is on no record, so a repeat under the same key is answered without it.
        Of what a read got there is the measure alone.
        """
        effect, attempt, tx = self.effect, self.attempt, self.tx
        shown = None if response is None else await self._shown(response)
        began_by = attempt.decision_id if attempt.began else None
        receipt = make_receipt(
            request=dict(attempt.action.fields),
            response=shown,
            pointers=attempt.action.redacted,
            started_at=attempt.started_at or tx.now,
            finished_at=tx.now,
            receipt_id=self.engine.new_id("rcp"),
            tenant=effect.tenant,
            run_id=effect.run_id,
            step=effect.step,
            effect_id=effect.effect_id,
            attempt=0 if outcome is AttemptOutcome.REFUSAL else effect.attempt,
            connector=effect.connector,
            operation=effect.operation,
            target=effect.target,
            idempotency_key=effect.idempotency_key,
            fingerprint=attempt.action.digest,
            outcome=outcome.value,
            reversible_by=effect.reversible_by,
            decision_id=began_by or effect.decision_id or attempt.decision_id,
            approval_id=attempt.approval_id,
            error=error,
            mocked=self.engine.mocked,
            told=await told_in(tx, attempt.said),
        )
        document = receipt.document()
        written = {"receipt_id": receipt.receipt_id, "digest": digest_of(document), "outcome": outcome.value}
        seq = self.note("receipt.written", written)
        await records.insert_receipt(tx.conn, seq, receipt, document, tx.now)

    async def _shown(self, response: Any) -> Any:
        """Return what a receipt says of a response."""
        if self.effect.is_read:
            return measured(response, commitment(response, self.tx.row["salt"])).model_dump()
        return (await self.tx.privacy()).value(response)

    async def move_step(self, status: StepStatus, result: Any = None, error: str = "", error_code: str = "") -> None:
        """Move the step that the effect serves, and the run with it; a message moves nothing."""
        if not self.effect.is_message:
            await advance(self.engine, self.tx, StepMoved(self.effect.step, status, result, error, error_code))

    async def start_step(self) -> None:
        """Say that the step runs now. Where its run runs already, nothing follows from that."""
        path, before = self.effect.step, self.attempt.facts.step_status
        if self.tx.status is RunStatus.RUNNING and before is StepStatus.READY and not self.effect.is_message:
            await steps.start_step(self.tx.conn, self.tx.run_id, path, self.tx.now)
            if self.tx.steps is not None:
                self.tx.steps[path] = replace(self.tx.steps[path], status=StepStatus.RUNNING)
        else:
            await self.move_step(StepStatus.RUNNING)

    def count_write(self) -> None:
        """Count a write that was performed; messages talk about the work and are none, and neither are reads."""
        self.tx.writes += not (self.effect.is_message or self.effect.is_read)

    async def say_on_card(self, approval_id: str | None, result: Result) -> None:
        """Say on the card, and in its thread, what became of the effect; nothing where there is no card."""
        if approval_id is None:
            return
        await approvals.touch(self.tx.conn, approval_id, result=result)
        await messages.card_changed(self.engine, self.tx, approval_id)
        said = EffectEnded(code=result.code, about=list(result.about))
        await messages.tell_thread(self.engine, self.tx, approval_id, f"result:{approval_id}", said)
