"""An attempt at an effect, as a value: the action, everything known beside it, and what its handler told of its cost.

What a handler told beside its result is read strictly; whatever it told, its result stands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from policy.contract import (
    ActorInput,
    ApprovalInput,
    BreakGlassUse,
    Counters,
    EditedInput,
    EffectInput,
    Question,
    RunInput,
    UndoesInput,
    VoteDelegation,
    VoteInput,
)
from receipts.fields import timestamp
from receipts.passkey_records import PASSKEY
from receipts.redaction import redact
from receipts.usage import CallReport, Metadata, Usage, amount
from runtime import handlers
from runtime.definitions.model import Definition, Verb
from runtime.handlers import Answer, HandlerError
from runtime.model.action import Action, Tier
from runtime.model.budget import HeldUse
from runtime.model.effect import Effect
from runtime.model.limits import error_text
from runtime.model.passage_facts import ApprovalFacts, PassageFacts, VoteFacts
from runtime.model.routing import Subject
from runtime.model.states import ApprovalStatus
from runtime.model.undo import UNDO, UNDO_KEY, UNDO_NAME
from runtime.outbox import retry
from runtime.store.run_tx import RunTx


@dataclass
class Attempt:
    """An effect on its way. `approval_id` is the approval under which it may act or, in doubt, may have acted.

    `tries` counts calls of the connector, this one included once it `began`, which says that the connector was, or may
    have been, called in this passage; `cleared` that the target was read back and that what an earlier attempt may
    have done, was not done and will not be. `token` is that of the wait that a durable verb opens when it begins, and
    `reserved` what it takes of budgets.
    """

    effect: Effect
    action: Action
    facts: PassageFacts
    approval_id: str | None
    task_id: str | None
    started_at: datetime | None
    tries: int
    decision_id: str | None = None
    began: bool = False
    cleared: bool = False
    token: str = ""
    said: Answer | HandlerError | None = None
    reserved: tuple[HeldUse, ...] = ()

    @property
    def is_repeat(self) -> bool:
        """Return whether there was an attempt whose outcome nobody was told."""
        return self.effect.started_at is not None and not self.effect.is_read

    @property
    def is_doubtful(self) -> bool:
        """Return whether an earlier attempt may have acted: then nothing may be said to be undone."""
        return self.is_repeat and not self.cleared

    @property
    def is_signed(self) -> bool:
        """Return whether there is an approval to act under: one attempt uses it up."""
        approval = self.facts.approval
        return self.approval_id is not None and approval is not None and approval.consumed_at is None

    @property
    def is_spent(self) -> bool:
        """Return whether the verb has no attempt left."""
        return self.tries >= int(self.effect.retry["max_attempts"])

    @property
    def is_forged(self) -> bool:
        """Return whether the approval stands as granted though the run still waits for votes: no vote granted it."""
        approval = self.facts.approval
        return self.is_signed and approval is not None and approval.is_awaited

    def is_late(self, now: datetime) -> bool:
        """Return whether its wait would be over before it began."""
        ends = retry.answer_by(self.effect.retry)
        return ends is not None and now >= ends and not self.is_repeat

    def has_expired(self, now: datetime) -> bool:
        """Return whether the approval was not used in time: then it is void."""
        approval = self.facts.approval
        return self.is_signed and approval is not None and now >= approval.usable_until

    @property
    def settles_at(self) -> datetime | None:
        """Return when what was last begun can no longer land: before that, nobody can say that it did not happen."""
        if self.started_at is None:
            return None
        return self.started_at + timedelta(seconds=self.effect.timeout_s + self.effect.settles_s)

    def may_land(self, now: datetime) -> bool:
        """Return whether what was last begun may still land."""
        return self.settles_at is not None and now < self.settles_at

    @property
    def is_changed(self) -> bool:
        """Return whether the action is not the one that was proposed, or not the one that people approved."""
        if self.action.digest != self.effect.digest:
            return True
        approval = self.facts.approval
        return self.approval_id is not None and approval is not None and self.action.digest != approval.digest


def make_attempt(effect: Effect, facts: PassageFacts) -> Attempt:
    """Step 1 of the gate: the canonical action and its digest, from the row as it stands now."""
    is_approved = facts.approval is not None and facts.approval.status is ApprovalStatus.APPROVED
    return Attempt(
        effect=effect,
        action=effect.action(facts.salt),
        facts=facts,
        approval_id=effect.approval_id if is_approved else None,
        task_id=facts.task_id,
        started_at=effect.started_at,
        tries=effect.tries,
    )


def make_question(attempt: Attempt, now: datetime) -> Question:
    """Return what policy is asked about this attempt."""
    effect, action, facts = attempt.effect, attempt.action, attempt.facts
    approval = facts.approval if attempt.is_signed else None
    return Question(
        time=timestamp(now),
        tenant=effect.tenant,
        actor=ActorInput.model_validate(
            {
                "id": facts.requested_by,
                "kind": facts.requester_kind,
                "groups": list(facts.requester_groups),
                "submitted_by": facts.submitted_by,
            }
        ),
        run=RunInput(
            id=effect.run_id,
            definition=facts.definition_name,
            version=facts.definition_version,
            trigger_type=facts.trigger_type,
        ),
        step=effect.step,
        effect=EffectInput(
            connector=action.connector,
            operation=action.operation,
            target=action.target,
            fields=dict(action.fields),
            tier=effect.tier.value,
            reversible=effect.reversible_by is not None,
            digest=action.digest,
            undoes=_undoes(effect, facts),
            reads=True if effect.is_read else None,
        ),
        approval=_approval(approval) if approval else None,
        votes=[_vote(vote) for vote in approval.votes] if approval else [],
        counters=Counters(writes=facts.writes),
        edited=_edited(facts) if facts.edits else None,
    )


def _edited(facts: PassageFacts) -> EditedInput:
    """Return by whom the effect was edited, and what the run had asked for in the place of what they changed."""
    first = {change["param"]: change for edit in reversed(facts.edits) for change in edit.changes}
    requested = {name: change["before"] for name, change in sorted(first.items()) if "before" in change}
    return EditedInput(by=list(dict.fromkeys(edit.person for edit in facts.edits)), requested=requested)


def _undoes(effect: Effect, facts: PassageFacts) -> UndoesInput | None:
    """Return what an effect takes back; no other run has that trigger type, so none can say so of itself."""
    if facts.trigger_type != UNDO or effect.is_message or not effect.idempotency_key.startswith(UNDO_KEY):
        return None
    run = facts.definition_name.removeprefix(UNDO_NAME)
    return UndoesInput(run=run, receipt=effect.idempotency_key.removeprefix(UNDO_KEY))


def _approval(approval: ApprovalFacts) -> ApprovalInput:
    return ApprovalInput(
        requested_at=timestamp(approval.requested_at),
        expires_at=timestamp(approval.expires_at),
        usable_until=timestamp(approval.usable_until) if approval.execute else None,
    )


def _vote(vote: VoteFacts) -> VoteInput:
    return VoteInput(
        person=vote.person,
        groups=list(vote.groups),
        verdict=vote.verdict.value,
        at=timestamp(vote.at),
        delegation=_delegation(vote.delegation) if vote.delegation else None,
        break_glass=BreakGlassUse.model_validate(vote.break_glass) if vote.break_glass else None,
        signed_with=PASSKEY if vote.is_signed else None,
        via="console" if vote.is_from_console else None,
    )


def _delegation(said: Mapping[str, Any]) -> VoteDelegation:
    return VoteDelegation(delegator=said["delegator"], recorded_by=said["recorded_by"])


def subject_of(
    run: Mapping[str, Any],
    definition: Definition,
    verb: Verb | None,
    groups: Sequence[str],
    tier: Tier,
    params: Mapping[str, Any],
) -> Subject:
    """Return a request of the run as it is routed, by its row; `params` are in their public form."""
    return Subject(
        groups=tuple(groups),
        tier=str(tier),
        verb=verb.name if verb else "",
        connector=verb.handler.partition("::")[0] if verb else "",
        runbook=definition.name,
        params=params,
        trigger=redact(run["trigger"]).value,
    )


Clean = Callable[[str], str]
"""What takes secrets out of a text."""


async def told_in(tx: RunTx, said: Answer | HandlerError | None) -> CallReport | None:
    """Return what was told as a run puts it on record; None where nothing was."""
    if said is None or (said.metadata is None and not said.usage):
        return None
    return told_by(said, (await tx.privacy()).text)


def told_by(said: Answer | HandlerError, clean: Clean) -> CallReport:
    """Return what was told: all of it, or a note of the first thing that is wrong."""
    try:
        metadata = None if said.metadata is None else _metadata(said.metadata, clean)
        return CallReport(metadata=metadata, usage=[_usage(one, clean) for one in said.usage], not_recorded=None)
    except Exception as error:  # noqa: BLE001 - whatever was told, it must not cost the result
        return CallReport(metadata=None, usage=[], not_recorded=error_text(clean(_wrong(error))))


def _metadata(told: handlers.Metadata, clean: Clean) -> Metadata:
    return Metadata(status=told.status, request_id=_clean(told.request_id, clean), requests=told.requests)


def _usage(told: handlers.Usage, clean: Clean) -> Usage:
    return Usage(
        provider=clean(told.provider),
        model=_clean(told.model, clean),
        units={unit: amount(number) for unit, number in told.units.items()},
        cost=None if told.cost is None else amount(told.cost),
        currency=told.currency,
    )


def _clean(text: str | None, clean: Clean) -> str | None:
    return None if text is None else clean(text)


def _wrong(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first: Any = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'usage'}: {first['msg']}"
