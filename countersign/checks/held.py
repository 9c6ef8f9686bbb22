"""What the doctor says of work that waits for somebody to mend something outside."""

from bot.slack.doctor import Fact
from countersign.compose.connection import connected
from countersign.config.settings import Settings
from runtime.desk import inspection

LISTED = 5


async def held(settings: Settings) -> list[Fact]:
    """Name what is held, with the other side's reason and how many effects wait for it."""
    async with connected(settings) as conn:
        waiting = await inspection.held(conn, settings.tenant)
    if not waiting:
        return [Fact("held", ok=True, detail="nothing waits for somebody to mend something")]
    said = [f"{one.count} times {one.operation} to {one.target}: {one.error}" for one in waiting[:LISTED]]
    more = [f"and {len(waiting) - LISTED} more"] if len(waiting) > LISTED else []
    remedy = "Mend what each reason names, such as inviting the bot; all of it is tried again by itself."
    return [Fact("held", ok=False, detail="; ".join([*said, *more]), remedy=remedy)]
