"""A trigger became a signal to a run, which ended before it took it: it is claimed anew, since nobody has heard it."""

from runtime.inbox.matter import Matter
from runtime.model.answers import SignalPayload, TriggerSaid
from runtime.model.life import NotActiveError
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus
from runtime.planning.runbook_choice import choose
from runtime.planning.triggers import Claim, Trigger, TriggerError, check_payload, claim_in
from runtime.store.lives import lives_of_trigger


async def claim_anew(matter: Matter, signal: SignalPayload, said: TriggerSaid) -> Applied:
    """Start a run, or send the trigger on to the one that is about the same by now."""
    try:
        claimed = await _claim(matter, signal, said)
    except (NotActiveError, TriggerError) as error:
        return Applied(NotificationStatus.STALE, {"reason": f"the run had ended, and none was started: {error}"})
    matter.conn.on_commit(matter.engine.wakeup.poke)
    done = "is told" if claimed.signal else "was started"
    facts = {"reason": f"the run had ended before: run {claimed.run_id} {done}", "went_to": claimed.run_id}
    return Applied(NotificationStatus.APPLIED, {**facts, "started": claimed.signal is None}, is_passed_on=True)


async def _claim(matter: Matter, signal: SignalPayload, said: TriggerSaid) -> Claim:
    engine, notification = matter.engine, matter.notification
    lives = await lives_of_trigger(matter.conn, notification.tenant, said.type)
    life, among = choose(lives, None, signal.data)
    definition = await engine.definitions.get(matter.conn, life.name, life.version)
    trigger = Trigger(
        tenant=notification.tenant,
        type=said.type,
        ref=said.ref,
        payload=signal.data,
        requested_by=notification.actor,
        submitted_by=said.submitted_by,
        request_id=notification.request_id,
        among=among,
    )
    check_payload(definition, trigger)
    return await claim_in(engine, matter.conn, definition, trigger, notification.notification_id)
