"""Answers that came before anything waited for them: they wait for their wait, and not for ever."""

import logging
from datetime import timedelta

from runtime.engine import Engine
from runtime.model.notification import AnswerCode
from runtime.model.states import NotificationStatus
from runtime.store import notifications

EARLY_LASTS = timedelta(days=7)
"""After that an early answer is a dead letter."""

log = logging.getLogger(__name__)


async def look_after_early(engine: Engine) -> int:
    """Have early answers applied whose wait has opened meanwhile, and bury those for which none has in time."""
    outcome = {
        "status": str(NotificationStatus.DEAD_LETTER),
        "code": str(AnswerCode.UNMATCHED),
        "reason": f"no step waited for this within {EARLY_LASTS.days} days",
    }
    async with engine.pool.connection() as conn:
        opened = await notifications.receive_opened(conn, engine.tenant)
        buried = await notifications.bury_early(conn, engine.tenant, engine.clock() - EARLY_LASTS, outcome)
    for notification_id in buried:
        log.warning("notification %s is a dead letter: %s", notification_id, outcome["reason"])
    if opened:
        engine.wakeup.poke()
    return opened + len(buried)
