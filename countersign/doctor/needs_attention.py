"""What the doctor says of stopped work: effects that need a repair outside, and steps that a person decides."""

from collections.abc import Sequence

from bot.doctor import Fact
from countersign.connection import connected
from countersign.settings import Settings
from runtime.services import health as inspection
from runtime.services.health import BlockedEffects, FoundStep

LISTED = 5
_COUNTED = 1000


async def stopped_work(settings: Settings) -> list[Fact]:
    """Return the facts on stopped work: what is blocked and why, and which steps need attention."""
    async with connected(settings) as conn:
        waiting = await inspection.list_blocked_effects(conn, settings.tenant)
        steps = await inspection.list_steps_needing_attention(conn, settings.tenant, _COUNTED)
    return [_blocked_effects(waiting), _steps_needing_attention(steps)]


def _steps_needing_attention(steps: Sequence[FoundStep]) -> Fact:
    if not steps:
        return Fact("steps", ok=True, detail="no step needs attention")
    said = [f"{step.path} of {step.run_id}: {step.error}" for step in steps[:LISTED]]
    more = [f"and {'at least ' * (len(steps) == _COUNTED)}{len(steps) - LISTED} more"] if len(steps) > LISTED else []
    remedy = "See `countersign steps list`; decide each with `countersign steps retry`, supply, skip or end."
    return Fact("steps", ok=False, detail="; ".join([*said, *more]), remedy=remedy)


def _blocked_effects(waiting: Sequence[BlockedEffects]) -> Fact:
    if not waiting:
        return Fact("blocked effects", ok=True, detail="nothing waits for a repair")
    said = [f"{one.count} times {one.operation} to {one.target}: {one.error}" for one in waiting[:LISTED]]
    more = [f"and {len(waiting) - LISTED} more"] if len(waiting) > LISTED else []
    remedy = "Repair what each reason names, such as inviting the bot; everything is retried automatically."
    return Fact("blocked effects", ok=False, detail="; ".join([*said, *more]), remedy=remedy)
