"""Answers and signals that came before anything waited for them: they wait for their wait, and not for ever.

An answer waits for seven days, since what will wait for it need not have been thought of. A signal is for a run, and
waits as long as that goes on; then a trigger that became one starts a run after all.
"""

import logging
from datetime import timedelta

from runtime.engine import Engine
from runtime.model.answers import AnswerCode
from runtime.model.states import NotificationStatus
from runtime.store import notifications

EARLY_LASTS = timedelta(days=7)
"""After that an early answer is a dead letter."""
ENDED = {
    "status": str(NotificationStatus.STALE),
    "code": str(AnswerCode.LATE),
    "reason": "the run ended before a step of it waited for this",
}
"""What became of a signal that came early, and whose run has ended."""
_MEANWHILE = timedelta(minutes=10)
"""Longer than the transaction lasts in which a wait opens: what came before, was seen by it."""

log = logging.getLogger(__name__)


async def look_after_early(engine: Engine) -> int:
    """Have those applied whose wait has opened meanwhile, and put away those for which none has in time, or can."""
    outcome = {
        "status": str(NotificationStatus.DEAD_LETTER),
        "code": str(AnswerCode.UNMATCHED),
        "reason": f"no step waited for this within {EARLY_LASTS.days} days",
    }
    now = engine.clock()
    async with engine.pool.connection() as conn:
        opened = await notifications.receive_opened(conn, engine.tenant, now - _MEANWHILE)
        ended = await notifications.end_early_signals(conn, engine.tenant, ENDED, now)
        left = await notifications.receive_left(conn, engine.tenant)
        buried = await notifications.bury_early(conn, engine.tenant, now - EARLY_LASTS, outcome)
    for notification_id in buried:
        log.warning("notification %s is a dead letter: %s", notification_id, outcome["reason"])
    if opened or left:
        engine.wakeup.poke()
    return opened + ended + left + len(buried)
