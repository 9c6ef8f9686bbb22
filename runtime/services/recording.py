"""Puts on record what a person says, before anybody is told that it was heard."""

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import Notification, Payload


async def record_said(
    engine: Engine, tenant: str, payload: Payload, *, by: str, about: str, key: str, request_id: str
) -> str:
    """Write it into the inbox, durably; return the notification's id. Repeats of a key return the first's.

    `by` is the person's id, or that of the Slack account of nobody; `about` is what it is correlated by.
    """
    notification = Notification(
        notification_id=engine.new_id("ntf"),
        tenant=tenant,
        dedupe_key=key,
        correlation_key=about,
        payload=payload,
        actor=Actor(id=by, kind="person"),
        request_id=request_id,
    )
    return await inbox.record(engine, notification)
