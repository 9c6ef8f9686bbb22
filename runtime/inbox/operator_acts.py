"""Operators' acts: who asks, what policy says, and the record of an act that is refused; and links to install Slack.

A person whom policy lets may give leave to install the Slack app in a workspace of the tenant's; that is on record.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policy.contract import ActorInput
from policy.operator_contract import Authorization, OperatedRun, OperatorQuestion
from receipts.acts import Allowed, SlackLinkMade
from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.model.commands import InstallLinkPayload
from runtime.model.notification import Addressed, ApplyResult, Judged, Notification
from runtime.model.run import FoundStep
from runtime.model.states import NotificationStatus
from runtime.store import installations as links
from runtime.store.refusals import is_refused
from runtime.store.run_tx import RunTx
from runtime.store.tenants import put_act

DENIED = "act.denied"


async def actor_of(engine: Engine, notification: Notification, submitted_by: str) -> ActorInput:
    """Return who wishes for something as policy is told of them, with the groups that the directory gives them."""
    by = notification.actor
    known = await engine.actor(by.id)
    groups = list(known["groups"]) if known is not None and known["kind"] == by.kind else []
    said = {"id": by.id, "kind": by.kind, "groups": groups, "submitted_by": submitted_by or by.id}
    return ActorInput.model_validate(said)


def operated_run(run: Mapping[str, Any]) -> OperatedRun:
    """Return a run as policy is told of it, by the columns of its row."""
    names = ("trigger_type", "requested_by", "submitted_by")
    which = {"id": run["run_id"], "definition": run["definition_name"], "version": run["definition_version"]}
    return OperatedRun(**which, **{name: run[name] for name in names})


def question_of(engine: Engine, actor: ActorInput, act: str, **about: Any) -> OperatorQuestion:
    """Return what policy is asked about an act now; `about` has the run, step, delegation or passkey."""
    return OperatorQuestion.model_validate(
        {"time": timestamp(engine.clock()), "tenant": engine.tenant, "actor": actor, "act": act, **about}
    )


async def judge(
    engine: Engine, found: Addressed, act: str, submitted_by: str = "", *, known: FoundStep | None = None, **about: Any
) -> Addressed:
    """Return a notification with what policy says of its act, `about` as for `question_of`.

    `known` is the step as policy is told of it. Raise PolicyUnavailableError.
    """
    actor = await actor_of(engine, found.notification, submitted_by)
    return replace(found, judged=Judged(await engine.policy.judge(question_of(engine, actor, act, **about)), known))


def denial(ruling: Authorization) -> str:
    """Return why policy denies it, "" where it does not."""
    if ruling.answer.outcome == "allow":
        return ""
    return f"denied by policy: {'; '.join(reason.msg for reason in ruling.answer.reasons)}"


def policy_of(ruling: Authorization) -> dict[str, str]:
    """Return which decision allowed it, as it is put on record."""
    return {"decision_id": ruling.decision_id, "digest": ruling.policy_digest}


async def refuse_operator_act(
    matter: NotificationContext, tx: RunTx, code: str, reason: str, step: str | None = None
) -> ApplyResult:
    """Put on record that a wish is not done: of those that a person may not have, the first for each step and run."""
    notification, reason = matter.notification, (await tx.privacy()).text(reason)
    if code != DENIED or not await is_refused(tx.conn, tx.run_id, notification.actor.id, code, step):
        facts = {"notification_id": notification.notification_id, "code": code, "reason": reason}
        tx.leaf("notification.refused", facts, actor=notification.actor, step=step)
    return ApplyResult(NotificationStatus.REFUSED, {"reason": reason, "code": code})


async def apply_install_link(matter: NotificationContext, payload: InstallLinkPayload) -> ApplyResult:
    """Give leave, if policy allows it and its time is still to come."""
    ruling, now, by = matter.judged.ruling if matter.judged else None, matter.engine.clock(), matter.notification.actor
    if ruling is None:
        return ApplyResult(NotificationStatus.STALE, {"reason": "policy was not asked"})
    why = denial(ruling) or ("" if payload.expires_at > now else "it would be over before it begins")
    if why:
        return ApplyResult(NotificationStatus.REFUSED, {"reason": why})
    link_id, reason = matter.engine.new_id("lnk"), matter.engine.privacy.text(payload.reason)
    said = {"secret_sha256": payload.secret_sha256, "made_by": by.id, "policy": policy_of(ruling), "made_at": now}
    link = {**said, "link_id": link_id, "reason": reason, "expires_at": payload.expires_at}
    await links.add_install_link(matter.conn, matter.notification.tenant, link)
    act = SlackLinkMade(
        link_id=link_id,
        expires_at=timestamp(payload.expires_at),
        reason=reason,
        policy=Allowed(**policy_of(ruling)),
    )
    await put_act(matter.conn, matter.notification.tenant, act, by, now)
    return ApplyResult(NotificationStatus.APPLIED, {"link_id": link_id})
