"""A bench with the bench pack: handlers are targets written by hand, everything else is real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import Handler
from tests.bench import Bench, Target, open_bench
from tests.integration.acts_stage import HEAD, Opener, Register
from tests.integration.console_stage import ConsoleStage, open_console
from tests.integration.packs_stage import Case, open_case
from tests.patience import MINUTE

PACK = Path(__file__).parents[1] / "packs/bench"
PATIENCE = Path(__file__).parents[1] / "packs/patience"


@dataclass
class Targets:
    """The other sides of the bench pack's verbs."""

    look: Target
    note: Target
    file: Target
    portal: Target

    @classmethod
    def fresh(cls) -> "Targets":
        """Return targets that nobody has called."""
        return cls(Target(default={"value": 3}), Target(), Target(), Target())

    def handlers(self) -> dict[str, Handler]:
        return {
            "bench::look": self.look.handler(writes=False),
            "servicenow::add_work_note": self.note.handler(reconcile=self.note.reconcile),
            "register::file_report": self.file.handler(reconcile=self.file.reconcile),
            "portal::request_documents": self.portal.handler(),
        }


@pytest.fixture
def targets() -> Targets:
    return Targets.fresh()


@pytest.fixture(scope="session")
async def policy(opa: OpaChild) -> AsyncIterator[OpaEngine]:
    """Ask the shared OPA, whose policies never change: their whole text is read once, not for each bench."""
    async with OpaEngine(opa.url, timeout=MINUTE) as asked:
        yield asked


@pytest.fixture
async def bench(dsn: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Bench]:
    async with open_bench(dsn, policy, [PACK], targets.handlers()) as found:
        yield found


@pytest.fixture
async def patient(dsn: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Bench]:
    """Give a bench with verbs that wait for others: again and again, up to an end, with others who are asked."""
    async with open_bench(dsn, policy, [PATIENCE], targets.handlers()) as found:
        yield found


@pytest.fixture
def opened(dsn: str, policy: OpaEngine, targets: Targets, tmp_path: Path) -> Opener:
    """Return what opens a bench with a runbook beside those of the bench's own pack."""

    @asynccontextmanager
    async def with_runbook(text: str) -> AsyncIterator[Bench]:
        (tmp_path / "runbooks").mkdir()
        (tmp_path / "runbooks" / "tree.yaml").write_text(HEAD + text, encoding="utf-8")
        async with open_bench(dsn, policy, [PACK, tmp_path], targets.handlers()) as found:
            yield found

    return with_runbook


@pytest.fixture
async def case(dsn: str, policy: OpaEngine) -> AsyncIterator[Case]:
    """Give a bench with the pack of onboarding, and its stand-ins beside it."""
    async with open_case(dsn, policy) as found:
        yield found


@pytest.fixture
async def editing(dsn: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Bench]:
    """Give a bench with a write of which some params may be edited, beside the bench's own pack."""
    targets.file = Register()
    async with open_bench(dsn, policy, [PACK, PACK.with_name("editing")], targets.handlers()) as found:
        yield found


@pytest.fixture
async def console(bench: Bench, tmp_path: Path) -> AsyncIterator[ConsoleStage]:
    """Give the console of a bench, with an archive in a folder."""
    async with open_console(bench, tmp_path / "evidence") as stage:
        yield stage
