"""Leave to install the Slack app in a workspace of the tenant's: given by a person whom policy lets, and on record."""

from dataclasses import replace

from policy.model import OperatorQuestion
from receipts.act import Allowed
from receipts.fields import timestamp
from receipts.workspaces import SlackLinkMade
from runtime.engine import Engine
from runtime.inbox.matter import Matter
from runtime.inbox.operator_acts import actor_of, denial, policy_of
from runtime.model.notification import Addressed, Applied, Judged
from runtime.model.states import NotificationStatus
from runtime.model.tenant_payloads import InstallLinkPayload
from runtime.store import workspaces_links as links
from runtime.store.tenant_acts import put_act


async def ruled_on_link(engine: Engine, found: Addressed) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError."""
    question = OperatorQuestion(
        time=timestamp(engine.clock()),
        tenant=engine.tenant,
        actor=await actor_of(engine, found.notification, ""),
        act="install_link",
        run=None,
        step=None,
    )
    return replace(found, judged=Judged(await engine.policy.judge(question)))


async def apply_link(matter: Matter, payload: InstallLinkPayload) -> Applied:
    """Give leave, if policy allows it and its time is still to come."""
    ruling, now, by = matter.judged.ruling if matter.judged else None, matter.engine.clock(), matter.notification.actor
    if ruling is None:
        return Applied(NotificationStatus.STALE, {"reason": "policy was not asked"})
    why = denial(ruling) or ("" if payload.expires_at > now else "it would be over before it begins")
    if why:
        return Applied(NotificationStatus.REFUSED, {"reason": why})
    link_id, reason = matter.engine.new_id("lnk"), matter.engine.privacy.text(payload.reason)
    said = {"secret_sha256": payload.secret_sha256, "made_by": by.id, "policy": policy_of(ruling), "made_at": now}
    link = {**said, "link_id": link_id, "reason": reason, "expires_at": payload.expires_at}
    await links.add_link(matter.conn, matter.notification.tenant, link)
    act = SlackLinkMade(
        link_id=link_id,
        expires_at=timestamp(payload.expires_at),
        reason=reason,
        policy=Allowed(**policy_of(ruling)),
    )
    await put_act(matter.conn, matter.notification.tenant, act, by, now)
    return Applied(NotificationStatus.APPLIED, {"link_id": link_id})
