"""What policy says of a person's wish, and what is on record of one that is not done."""

from policy.model import ActorInput, Ruling
from runtime.engine import Engine
from runtime.inbox.matter import Matter
from runtime.model.notification import Applied, Notification
from runtime.model.states import NotificationStatus
from runtime.store.log_refusals import is_refused
from runtime.store.run_tx import RunTx

DENIED = "act.denied"


async def actor_of(engine: Engine, notification: Notification, submitted_by: str) -> ActorInput:
    """Return who wishes for something as policy is told of them, with the groups that the directory gives them."""
    by = notification.actor
    known = await engine.actor(by.id)
    groups = list(known["groups"]) if known is not None and known["kind"] == by.kind else []
    said = {"id": by.id, "kind": by.kind, "groups": groups, "submitted_by": submitted_by or by.id}
    return ActorInput.model_validate(said)


def denial(ruling: Ruling) -> str:
    """Return why policy denies it, "" where it does not."""
    if ruling.answer.outcome == "allow":
        return ""
    return f"denied by policy: {'; '.join(reason.msg for reason in ruling.answer.reasons)}"


def policy_of(ruling: Ruling) -> dict[str, str]:
    """Return which decision allowed it, as it is put on record."""
    return {"decision_id": ruling.decision_id, "digest": ruling.policy_digest}


async def refuse_wish(matter: Matter, tx: RunTx, code: str, reason: str, step: str | None = None) -> Applied:
    """Put on record that a wish is not done: of those that a person may not have, the first for each step and run."""
    notification, reason = matter.notification, (await tx.privacy()).text(reason)
    if code != DENIED or not await is_refused(tx.conn, tx.run_id, notification.actor.id, code, step):
        facts = {"notification_id": notification.notification_id, "code": code, "reason": reason}
        tx.leaf("notification.refused", facts, actor=notification.actor, step=step)
    return Applied(NotificationStatus.REFUSED, {"reason": reason, "code": code})
