"""The evidence of an undo: a bundle of its own, which says whose receipts were taken back, and both verifiers hold."""

import asyncio
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page
from typer.testing import CliRunner

from countersign.cli.app import app
from evidence import names
from evidence.verify.linked_bundles import undoes
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from receipts.canonical import loads
from receipts.signing import public_path
from runtime.inbox import inbox
from runtime.services.audit import audit
from runtime.services.operator import OperatorDesk
from runtime.services.sequencer import Sequencer
from tests.bench import TENANT, Bench
from tests.browser import failure_of, report_of, verify_page
from tests.integration.forger import Forged
from tests.integration.lies_undone import UNDONE
from tests.integration.played import stories_of
from tests.integration.sealing_stage import Office, open_office
from tests.integration.undo_stage import bench, ran, shelves

__all__ = ["bench", "shelves"]


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture
def office(bench: Bench, dsn: str, tmp_path: Path) -> Office:
    return open_office(bench, tmp_path, dsn)


def _members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


async def _sealed(office: Office, run_id: str) -> Path:
    while await office.sealer():
        pass
    return office.folder / f"{run_id}.zip"


async def _undone(bench: Bench, run_id: str) -> str:
    desk = OperatorDesk(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, None, "a mistake", None))
    await bench.settle()
    return str(facts["undone_in"])


async def _canceled(bench: Bench, run_id: str) -> str | None:
    desk = OperatorDesk(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.cancel("omar", run_id, "a mistake", None))
    await bench.settle()
    withdrawn: str | None = facts["withdrawn_in"]
    return withdrawn


async def _whole(bench: Bench) -> str:
    """Have all undone of a run that is over."""
    return await _undone(bench, await ran(bench, "three"))


async def _by_hand(bench: Bench) -> str:
    """Have a run undone of which one step is refused, and answered for by people."""
    run_id = await ran(bench, "twelve")
    await _canceled(bench, run_id)
    undo = await _undone(bench, run_id)
    assert (await bench.click("ann", await bench.approval_id(), "reject", "not wanted")).counted
    await bench.settle()
    await bench.meddle("UPDATE actors SET groups = '[\"operators\"]' WHERE actor_id = 'cat'")
    assert (await bench.click("cat", await bench.approval_id("task"), "approve", "a correction by post")).counted
    await bench.settle()
    return undo


async def _given_up(bench: Bench) -> str:
    """Have an undo canceled that waits for people."""
    run_id = await ran(bench, "twelve")
    await _canceled(bench, run_id)
    undo = await _undone(bench, run_id)
    await _canceled(bench, undo)
    return undo


async def _withdrawn(bench: Bench) -> str:
    """Cancel a run that waits for an answer."""
    withdrawn_in = await _canceled(bench, await ran(bench, "asking"))
    assert withdrawn_in is not None
    return withdrawn_in


PLAYED: dict[str, tuple[Callable[[Bench], Awaitable[str]], str]] = {
    "all of it": (_whole, "succeeded"),
    "the rest by hand": (_by_hand, "succeeded"),
    "given up": (_given_up, "canceled"),
    "a question withdrawn": (_withdrawn, "succeeded"),
}


@pytest.mark.parametrize("name", PLAYED)
async def test_both_verifiers_hold_every_bundle_of_an_undo_and_of_what_it_undid(
    office: Office, bench: Bench, page: Page, name: str
) -> None:
    play, status = PLAYED[name]
    undo = await play(bench)
    assert (await bench.run(undo))["status"] == status
    await _sealed(office, undo)
    bundles = {path.stem: path for path in office.folder.glob("*.zip")}
    assert len(bundles) == 2
    assert undo in bundles
    public = public_path(office.settings.key_path)
    for run_id, bundle in bundles.items():
        assert verify(bundle, public).run_id == run_id
        assert await failure_of(page, bundle.read_bytes(), public.read_text()) is None


@pytest.fixture
async def pair(office: Office, bench: Bench) -> tuple[Path, Path]:
    """Give the bundle of an undo, and that of the run that it undid."""
    run_id = await ran(bench, "three")
    undo = await _sealed(office, await _undone(bench, run_id))
    return undo, office.folder / f"{run_id}.zip"


async def _failures(page: Page, office: Office, undo: Path, first: Path) -> tuple[str, str]:
    """Return the rule that breaks, and the member, of which both verifiers say the same."""
    public = public_path(office.settings.key_path)
    with pytest.raises(VerificationError) as caught:
        verify(undo, public, undoes(first, trust_of(public)))
    found = (await report_of(page, undo.read_bytes(), public.read_text(), {"undone": [first]}))["failure"]
    assert (found["number"], found["member"]) == (caught.value.step, caught.value.member), (found, caught.value)
    return caught.value.rule, caught.value.member


async def test_an_undo_is_compared_with_the_run_that_it_undid(
    office: Office, page: Page, pair: tuple[Path, Path]
) -> None:
    undo, first = pair
    public = public_path(office.settings.key_path)
    report = verify(undo, public, undoes(first, trust_of(public)))
    assert report.steps[-1].fact == f"2 receipts of {first.stem} named, to be undone"
    found = await report_of(page, undo.read_bytes(), public.read_text(), {"undone": [first]})
    assert (found["failure"], found["passed"][-1]["fact"]) == (None, report.steps[-1].fact)
    args = ["evidence", "verify", str(undo), "--key", str(public), "--undoes", str(first)]
    assert CliRunner().invoke(app, args).exit_code == 0
    assert CliRunner().invoke(app, [*args[:2], str(first), *args[3:]]).exit_code == 1


async def test_a_run_that_undoes_nothing_of_another_does_not_hold_beside_it(
    office: Office, page: Page, pair: tuple[Path, Path]
) -> None:
    undo, first = pair
    assert await _failures(page, office, first, undo) == ("receipts.undone", "definition.json")


@pytest.mark.parametrize("name", UNDONE)
async def test_a_lie_about_what_was_undone_shows_beside_the_other_bundle(
    office: Office, bench: Bench, page: Page, name: str, tmp_path: Path
) -> None:
    run_id = await ran(bench, "three")
    told = await stories_of(office.key, bench, {"first": run_id, "undo": await _undone(bench, run_id)})
    rule, bend = UNDONE[name]
    first, undo, forged = tmp_path / "first.zip", tmp_path / "undo.zip", Forged.of(told["undo"])
    first.write_bytes(Forged.of(told["first"]).seal(office.key))
    bend(forged)
    undo.write_bytes(forged.seal(office.key))
    assert verify(undo, public_path(office.settings.key_path)).run_id
    assert (await _failures(page, office, undo, first))[0] == rule


async def test_the_audit_of_the_database_accounts_for_the_definition_that_undoes(bench: Bench) -> None:
    undo = await bench.run(await _whole(bench))
    while await Sequencer(bench.engine)():
        pass
    found = await asyncio.to_thread(audit, bench.superuser, TENANT, ())
    assert (found.findings, found.waiting) == ([], 0)
    acts = await bench.rows("SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' = 'definition.stored'")
    assert undo["definition_name"] in [row["leaf"]["data"]["name"] for row in acts]


async def test_the_bundle_of_an_undo_names_the_receipts_of_the_other_bundle_that_it_took_back(
    office: Office, bench: Bench
) -> None:
    run_id = await ran(bench, "three")
    first = await _sealed(office, run_id)
    undo = await _sealed(office, await _undone(bench, run_id))
    assert verify(first, public_path(office.settings.key_path)).run_id == run_id
    receipts = [
        canonical.digest(loads(data)) for name, data in _members(first).items() if name.startswith(names.RECEIPTS)
    ]
    definition = loads(_members(undo)[names.DEFINITION])
    named = definition["trigger"]["schema"]["properties"]
    assert named["run_id"]["const"] == run_id
    assert {one["digest"] for one in named["receipts"]["const"]} <= set(receipts)
    acted = (loads(data) for name, data in _members(undo).items() if name.startswith(names.RECEIPTS))
    undone = [one["idempotency_key"] for one in acted if one["step"]]
    assert sorted(undone) == sorted(f"undo:{one['receipt_id']}" for one in named["receipts"]["const"])
