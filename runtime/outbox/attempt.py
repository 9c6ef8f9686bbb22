"""One passage of an effect through the gate, as a value: the action and everything known beside it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policy.model import ActorInput, Counters, EffectInput, Question, RunInput, VoteInput
from receipts.fields import timestamp
from runtime.model.approval import ApprovalStatus
from runtime.model.effect import Effect
from runtime.outbox.action import Action, make_action


@dataclass
class Attempt:
    """An effect on its way. `facts` is what `passage_facts` read; `approval_id` is the approval it may act under.

    `began` says that the connector was, or may have been, called in this passage; `cleared` that the target was read
    back and that what an earlier attempt may have done, was not done.
    """

    effect: Effect
    action: Action
    facts: dict[str, Any]
    approval_id: str | None
    task_id: str | None
    started_at: datetime | None
    tries: int
    decision_id: str | None = None
    began: bool = False
    cleared: bool = False

    @property
    def is_doubtful(self) -> bool:
        """Return whether an earlier attempt may have acted: then nothing may be said to be undone."""
        return self.effect.started_at is not None and not self.cleared

    @property
    def is_changed(self) -> bool:
        """Return whether the action is not the one that was proposed, or not the one that people approved."""
        if self.action.digest != self.effect.digest:
            return True
        return self.approval_id is not None and self.action.digest != self.facts["approval_digest"]


def make_attempt(effect: Effect, facts: dict[str, Any]) -> Attempt:
    """Step 1 of the gate: the canonical action and its digest, from the row as it stands now."""
    action = make_action(
        connector=effect.connector,
        operation=effect.operation,
        target=effect.target,
        fields=effect.fields,
        idempotency_key=effect.idempotency_key,
        tier=effect.tier,
        reversible_by=effect.reversible_by,
        pointers=effect.redact,
        salt=facts["salt"],
    )
    approved = facts["approval_status"] == ApprovalStatus.APPROVED
    return Attempt(
        effect=effect,
        action=action,
        facts=facts,
        approval_id=effect.approval_id if approved else None,
        task_id=facts["task_id"],
        started_at=effect.started_at,
        tries=effect.tries,
    )


def make_question(attempt: Attempt, now: datetime) -> Question:
    """Return what policy is asked about this attempt."""
    effect, action, facts = attempt.effect, attempt.action, attempt.facts
    votes = facts["votes"] if attempt.approval_id is not None else []
    return Question(
        time=timestamp(now),
        tenant=effect.tenant,
        actor=ActorInput(
            id=facts["requested_by"],
            kind=facts["requester_kind"],
            groups=facts["requester_groups"],
            submitted_by=facts["submitted_by"],
        ),
        run=RunInput(
            id=effect.run_id,
            definition=facts["definition_name"],
            version=facts["definition_version"],
            trigger_type=facts["trigger_type"],
        ),
        step=effect.step,
        effect=EffectInput(
            connector=action.connector,
            operation=action.operation,
            target=action.target,
            fields=dict(action.fields),
            tier=effect.tier,  # type: ignore[arg-type]  # pydantic checks it
            reversible=effect.reversible_by is not None,
            digest=action.digest,
        ),
        votes=[VoteInput(**vote) for vote in votes],
        counters=Counters(writes=facts["writes"]),
    )
