"""Plays each planted bug in a small world of its own, and demands that the checker catches it."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from runtime.failpoints import Point
from tests.faults.checker.report import check
from tests.faults.harness.clients import People, Triggers, session
from tests.faults.harness.play import bundles_are_locked, rouse, until_up
from tests.faults.harness.releases import Releases
from tests.faults.harness.schedule import Move, Wish
from tests.faults.world import chat
from tests.faults.world.bugs import Bug
from tests.faults.world.policies import PolicyLife
from tests.faults.world.upstream import Fate
from tests.faults.world.world import WORKERS, Arms, Parts, World, world

_PATIENCE = 60.0
_LONG = 13.0
"""Seconds: longer than a lease, the time in which a request may land, and what another worker needs after that."""


@dataclass(frozen=True)
class Trap:
    """Where a bug shows: runs of a kind, how their requests fare, what is done to workers; and the rule it breaks.

    Their names have an `ending`. Where the policy has versions, another one comes into force before the runs.
    """

    rule: str
    kind: str = "note"
    fate: Fate = Fate.WELL
    officers: int = len(chat.PEOPLE)
    copies: int = 1
    runs: int = 6
    ending: str = ""
    life: PolicyLife = PolicyLife.DEVELOPMENT
    arms: Mapping[str, Arms] = field(default_factory=dict)


TRAPS: Mapping[Bug, Trap] = {
    Bug.NO_FENCE: Trap("effects_happen_once", arms={WORKERS[0]: Arms({}, {Point.ATTEMPT_BEGUN: 1})}),
    Bug.NO_DEDUPE: Trap("triggers_reach_one_end", copies=3),
    Bug.DOUBT_CLEARED_AT_ONCE: Trap("effects_happen_once", fate=Fate.LATE),
    Bug.VOTE_COUNTED_TWICE: Trap("effects_are_allowed", kind="pay", officers=1),
    Bug.COMMIT_LEFT_OUT: Trap(
        "effects_happen_once", arms={name: Arms({Point.CONNECTOR_CALLED: 1}, {}) for name in WORKERS}
    ),
    Bug.VOTE_LOST: Trap("counted_votes_are_on_record", kind="pay"),
    Bug.BUNDLE_UNLOCKED: Trap("bundles_are_locked"),
    Bug.BUDGET_EXCEEDED: Trap("budgets_are_not_exceeded", runs=9, ending="0"),
    Bug.NO_POLICY_FENCE: Trap("decisions_are_of_the_policy_in_force", life=PolicyLife.STUCK),
}
_SETTLED = ("happen", "runs", "counts", "deleted", "to decide")
"""Words of what is wrong for good: what is merely not done yet is no proof."""


async def escaped(parts: Parts, folder: Path) -> list[str]:
    """Play every bug, side by side; return those that were not caught."""
    caught = await asyncio.gather(*(_caught(parts, folder / bug, bug) for bug in Bug))
    return [str(bug) for bug, is_caught in zip(Bug, caught, strict=True) if not is_caught]


async def _caught(parts: Parts, folder: Path, bug: Bug) -> bool:
    trap = TRAPS[bug]
    async with (
        world(parts, folder, f"world_{bug}", 1, bug=bug, fate=trap.fate, arms=trap.arms, life=trap.life) as played,
        session() as http,
    ):
        triggers, people = Triggers(played, http), People(played, http, trap.officers)
        beside = [asyncio.create_task(work) for work in (people.watch(), rouse(played, _LONG))]
        try:
            await until_up(played)
            if played.versions is not None:
                await Releases(played, played.versions).do(Move.NEW)
            names = [f"{trap.kind}-{number}{trap.ending}" for number in range(trap.runs)]
            wishes = [Wish(n, 0.0, trap.kind, name, n, trap.copies) for n, name in enumerate(names)]
            await asyncio.gather(*(triggers.bring(wish) for wish in wishes))
            return await _shows(played, trap.rule)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


async def _shows(played: World, rule: str) -> bool:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(psycopg.OperationalError):
            facts, report = await asyncio.to_thread(check, played.dsn, played.histories)
            report.wrong["bundles_are_locked"] = await asyncio.to_thread(bundles_are_locked, played, facts)
            if any(word in one for one in report.wrong.get(rule, ()) for word in _SETTLED):
                return True
        await asyncio.sleep(1.0)
    return False
