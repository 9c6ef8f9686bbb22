"""A small world in one process: the bench, whose other sides write histories as those of the real world do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countersign.embedded.opa import OpaChild
from evidence.local import LocalArchive
from policy.client import OpaEngine
from runtime.gate import gate
from runtime.handlers import Answer, Call, JsonObject
from runtime.model.effect import Effect
from tests.bench import Bench, Target, open_bench
from tests.faults.checker.facts import gather
from tests.faults.checker.rules import broken
from tests.faults.world.history import History
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE
from tests.sealing import sealer_of

NOTE = {"incident": "I1", "text": "x", "api_token": "t0ken-of-the-note"}
FILE = {"company": "C1", "text": "x"}


@dataclass
class WrittenTarget(Target):
    """The other side of a verb: what it does is on record at once, or later where the request lands late."""

    small: "SmallWorld | None" = None
    late: bool = False
    landing: list[Call] = field(default_factory=list)

    async def run(self, call: Call) -> JsonObject | Answer:
        if self.late:
            self.landing.append(call)
            raise TimeoutError
        answer = await super().run(call)
        self.act(call)
        return answer

    def act(self, call: Call) -> None:
        """Do it."""
        assert self.small is not None
        self.done[call.key] = dict(self.default)
        self.small.add("upstream", "acted", operation=call.operation, key=call.key, ref="", run=call.run_id)

    def land(self) -> None:
        """Let requests land that nobody waits for any more."""
        while self.landing:
            self.act(self.landing.pop())


@dataclass
class SmallWorld:
    """A bench and its histories."""

    bench: Bench
    folder: Path
    note: WrittenTarget
    file: WrittenTarget

    def add(self, who: str, kind: str, **facts: Any) -> None:
        """Write down what somebody did, at the moment that the bench's clock shows."""
        History(self.histories / f"{who}.jsonl").add(kind, **{"at": self.bench.clock().timestamp(), **facts})

    @property
    def histories(self) -> Path:
        """Return the folder of histories."""
        return self.folder / "histories"

    async def start(self, kind: str, payload: dict[str, Any], ref: str) -> str:
        """Have a trigger accepted."""
        claim = await self.bench.start(kind, payload, ref)
        sent = self.bench.clock().timestamp()
        self.add("triggers", "triggered", ref=ref, type=kind, ok=True, sent=sent, status=202, run_id=claim.run_id)
        return claim.run_id

    async def sign(self, *people: str) -> None:
        """Have people approve what is asked for."""
        approval = await self.bench.approval_id()
        for person in people:
            self.add("people", "clicking", approval_id=approval, person=person)
            await self.bench.click(person, approval)

    async def lease(self) -> Effect:
        """Lease the one effect that is due, as a worker would that then is away."""
        effects = await self.bench.lease("away", self.bench.engine.timing.lease)
        return effects[0]

    async def perform(self, effect: Effect) -> None:
        """Take a leased effect through the gate."""
        await gate.perform(self.bench.engine, effect)

    async def seal(self) -> None:
        """Do all that can be done, evidence included."""
        await self.bench.settle()
        archive = LocalArchive(self.folder / "evidence")
        sealer = sealer_of(self.bench.engine, archive, self.folder / "keys/evidence.pem")
        while await sealer():
            await self.bench.settle()

    async def wrong(self) -> dict[str, list[str]]:
        """Return what the checker says."""
        return broken(await asyncio.to_thread(gather, self.bench.superuser, self.histories))


@asynccontextmanager
async def small_world(dsn: str, opa: OpaChild, folder: Path) -> AsyncIterator[SmallWorld]:
    """Open a small world over a database."""
    note, file = WrittenTarget(), WrittenTarget()
    targets = Targets(Target(default={"value": 3}), note, file, Target())
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        small = SmallWorld(bench, folder, note, file)
        note.small = file.small = small
        yield small
