"""What the doctor says of held work: effects that need a repair outside, and held steps that a person decides."""

from collections.abc import Sequence

from bot.slack.doctor import Fact
from countersign.connection import connected
from countersign.settings import Settings
from runtime.services import health as inspection
from runtime.services.health import FoundStep, Held

LISTED = 5
_COUNTED = 1000


async def held_work(settings: Settings) -> list[Fact]:
    """Name what is held, with the other side's reason and how many effects wait for it."""
    async with connected(settings) as conn:
        waiting = await inspection.held(conn, settings.tenant)
        steps = await inspection.held_steps(conn, settings.tenant, _COUNTED)
    return [_held_effects(waiting), _held_steps(steps)]


def _held_steps(steps: Sequence[FoundStep]) -> Fact:
    if not steps:
        return Fact("held steps", ok=True, detail="no step is held")
    said = [f"{step.path} of {step.run_id}: {step.error}" for step in steps[:LISTED]]
    more = [f"and {'at least ' * (len(steps) == _COUNTED)}{len(steps) - LISTED} more"] if len(steps) > LISTED else []
    remedy = "See `countersign held list`; decide each with `countersign held retry`, supply, skip or end."
    return Fact("held steps", ok=False, detail="; ".join([*said, *more]), remedy=remedy)


def _held_effects(waiting: Sequence[Held]) -> Fact:
    if not waiting:
        return Fact("held", ok=True, detail="nothing waits for a repair")
    said = [f"{one.count} times {one.operation} to {one.target}: {one.error}" for one in waiting[:LISTED]]
    more = [f"and {len(waiting) - LISTED} more"] if len(waiting) > LISTED else []
    remedy = "Repair what each reason names, such as inviting the bot; everything is retried automatically."
    return Fact("held", ok=False, detail="; ".join([*said, *more]), remedy=remedy)
