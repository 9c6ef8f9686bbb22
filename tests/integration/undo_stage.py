"""A bench with the pack of writes that are taken back, and the other sides of them, written by hand."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import Answer, Call, Handler, JsonObject
from tests.bench import Bench, Target, open_bench
from tests.patience import MINUTE

PACK = Path(__file__).parents[1] / "packs/undo"


class Shelf(Target):
    """What holds things: says what it held, and under which entry it has what was put there."""

    async def run(self, call: Call) -> JsonObject | Answer:
        answer = await super().run(call)
        if answer != self.default:
            return answer
        self.done[call.key] = {"entry": f"e-{call.params['place']}"}
        return self.done[call.key]

    async def before(self, call: Call) -> JsonObject:
        return {"held": f"nothing at {call.params['place']}"}


@dataclass
class Shelves:
    """The other sides: where things are put, what takes them away, the register, and the portal."""

    put: Shelf
    take: Target
    register: Target
    portal: Shelf

    def handlers(self) -> dict[str, Handler]:
        return {
            "servicenow::add_work_note": self.put.handler(before=self.put.before),
            "portal::request_information": self.take.handler(),
            "register::file_report": self.register.handler(reconcile=self.register.reconcile),
            "portal::request_documents": self.portal.handler(),
        }


@pytest.fixture
def shelves() -> Shelves:
    return Shelves(Shelf(), Target(), Target(), Shelf())


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, shelves: Shelves) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], shelves.handlers()) as found,
    ):
        yield found


async def ran(bench: Bench, name: str) -> str:
    run_id = (await bench.start(f"undo.{name}", {})).run_id
    await bench.settle()
    return run_id
