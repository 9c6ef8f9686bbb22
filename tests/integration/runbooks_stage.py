"""Runbooks in tests: versions of one that starts bring, and writes that are taken back.

A bench whose runbook `probe` comes in versions, as starts with newer and newer files bring them.

A bench with the pack of writes that are taken back, and the other sides of them, written by hand.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from countersign.engine import keep_definitions
from policy.client import OpaEngine
from receipts.chain import Actor
from receipts.tenant_acts import DefinitionActivated, DefinitionRetired
from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.engine import Engine
from runtime.handlers import Answer, Call, Handler, JsonObject
from runtime.inbox import inbox
from runtime.model.runbook_version import Activation
from runtime.services.approvals import ApprovalService
from runtime.services.audit import Audit, audit
from runtime.services.callers import TriggerApi, Wish
from runtime.services.definition_versions import definition_handlers
from runtime.services.operator import OperatorService
from runtime.store import definitions
from runtime.worker import Worker
from tests.bench import TENANT, Bench, Target, open_bench
from tests.integration.conftest import PACK
from tests.patience import MINUTE

ACTIVATED, RETIRED = DefinitionActivated.event, DefinitionRetired.event
MOVES = [ACTIVATED, RETIRED]
TYPE = "bench.probe"
RITA = Actor(id="rita", kind="person")


def probe(version: int, *, name: str = "probe", what: str | None = None, verb: str = "look") -> str:
    """Return the file of a version of a runbook that reads something; `what` differs with the version unless given."""
    return (
        f"name: {name}\nversion: {version}\ntitle: Probe\ntrigger: {{type: {TYPE}, schema: {{}}}}\n"
        f"steps:\n  - {{id: only, verb: {verb}, params: {{what: '{what or f'it {version}'}'}}}}\n"
    )


@dataclass
class Lives:
    """The bench as one tenant's installation."""

    bench: Bench
    folder: Path
    handlers: dict[str, Handler]  # of the worker

    def _repr_pretty_(self, printer: Any, _: object) -> None:
        printer.text("life")  # where a property fails, hypothesis writes its arguments down

    @property
    def operator(self) -> OperatorService:
        return OperatorService(self.bench.engine.pool, self.bench.clock, TENANT)

    def catalog(self, *files: str) -> Catalog:
        """Return the catalog of packs that hold these files."""
        runbooks = self.folder / "runbooks"
        runbooks.mkdir(exist_ok=True)
        for old in runbooks.iterdir():
            old.unlink()
        for place, text in enumerate(files):
            (runbooks / f"{place}.yaml").write_text(text, encoding="utf-8")
        return load_catalog([PACK, self.folder], self.bench.engine.handlers)

    async def begin(self, *files: str, rule: Activation = Activation.FIRST) -> TriggerApi:
        """Start a process with packs that hold these files; return its callers' desk."""
        catalog = self.catalog(*files)
        await keep_definitions(self.bench.engine, catalog, rule)
        return TriggerApi(self.bench.engine, TENANT, catalog)

    async def ask(self, asked: str) -> Mapping[str, Any]:
        """Apply what an operator has recorded, do all that can be done, and return the facts of what became of it."""
        facts = await inbox.apply(self.bench.engine, asked)
        await self.bench.settle()
        return facts

    async def activate(self, version: int, name: str = "probe", *, beside: bool = False) -> str:
        """Ask for an activation as Rita; return the run that it is."""
        asked = await self.operator.activate("rita", name, version, "it is time", beside=beside)
        return str((await self.ask(asked))["run_id"])

    async def retire(self, version: int, name: str = "probe") -> str:
        """Ask for a retirement as Rita; return the run that it is."""
        return str((await self.ask(await self.operator.retire("rita", name, version, "it was wrong")))["run_id"])

    async def sign(self) -> None:
        """Have two of compliance sign what is asked."""
        approval = await self.bench.approval_id()
        for person in ("ann", "ben"):
            assert (await self.bench.click(person, approval)).counted
        await self.bench.settle()

    async def statuses(self, name: str = "probe") -> dict[int, str]:
        """Return where each version stands."""
        async with self.bench.engine.pool.connection() as conn:
            return {one.version: str(one.status) for one in await definitions.versions_of_runbook(conn, TENANT, name)}

    async def moves(self, name: str = "probe") -> list[tuple[str, int, str, str | None]]:
        """Return what the tenant's chain says of its moves: event, version, who, and the run that asked."""
        found = await self.bench.rows(
            "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = ANY(%s) AND leaf->'data'->>'name' = %s ORDER BY seq",
            MOVES,
            name,
        )
        leaves = [row["leaf"] for row in found]
        return [(one["event"], one["data"]["version"], one["actor"]["id"], one["data"]["run_id"]) for one in leaves]

    async def audit(self) -> Audit:
        """Return what an audit of the database finds."""
        return await asyncio.to_thread(audit, self.bench.superuser, TENANT, ())


async def started(desk: TriggerApi, ref: str, version: int | None = None) -> int:
    """Trigger a probe; return the version that it started with."""
    claim = await desk.trigger(Wish(TYPE, version, ref, {}), RITA, "portal-bot")
    (row,) = await rows_of(desk, "SELECT definition_version FROM runs WHERE run_id = %s", claim.run_id)
    return int(row["definition_version"])


async def rows_of(desk: TriggerApi, query: str, *values: Any) -> list[dict[str, Any]]:
    """Look into the database."""
    async with desk.engine.pool.connection() as conn:
        return await (await conn.execute(query.encode(), values)).fetchall()


@pytest.fixture
def life(bench: Bench, tmp_path: Path) -> Lives:
    """Return the bench with the connector that moves versions."""
    engine = bench.engine
    handlers = dict(engine.handlers)
    handlers.update(definition_handlers(engine.pool, engine.clock, engine.definitions, handlers))
    return Lives(on(bench, replace(engine, handlers=handlers)), tmp_path, handlers)


def on(bench: Bench, engine: Engine) -> Bench:
    """Return the bench with another engine."""
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))


UNDO_PACK = Path(__file__).parents[1] / "packs/undo"


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
        open_bench(dsn, policy, [UNDO_PACK], shelves.handlers()) as found,
    ):
        yield found


async def ran(bench: Bench, name: str) -> str:
    run_id = (await bench.start(f"undo.{name}", {})).run_id
    await bench.settle()
    return run_id
