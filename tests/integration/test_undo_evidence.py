"""Undo in evidence: a bundle of its own, and what held steps did and did not.

The evidence of an undo: a bundle of its own, which says whose receipts were taken back, and both verifiers hold.

What is undone of steps that were held: what the run did itself, each of it once, and nothing that people did.
"""

import asyncio
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

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
from runtime.handlers import RefusedError
from runtime.inbox import inbox
from runtime.model.run import RepairAction
from runtime.services.audit import audit
from runtime.services.operator import OperatorService
from runtime.services.sequencer import Sequencer
from tests.bench import TENANT, Bench
from tests.browser import failure_of, report_of, verify_page
from tests.integration.acts_stage import mend, status
from tests.integration.evidence_stage import SealingOffice, open_office
from tests.integration.forger import Forged
from tests.integration.lies_runs import UNDONE
from tests.integration.played import stories_of
from tests.integration.runbooks_stage import Shelves, bench, ran, shelves

__all__ = ["bench", "shelves"]


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture
def office(bench: Bench, dsn: str, tmp_path: Path) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


def _members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


async def _sealed(office: SealingOffice, run_id: str) -> Path:
    while await office.sealer():
        pass
    return office.folder / f"{run_id}.zip"


async def _undone(bench: Bench, run_id: str) -> str:
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, None, "a mistake", None))
    await bench.settle()
    return str(facts["undone_in"])


async def _canceled(bench: Bench, run_id: str) -> str | None:
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
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
    office: SealingOffice, bench: Bench, page: Page, name: str
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
async def pair(office: SealingOffice, bench: Bench) -> tuple[Path, Path]:
    """Give the bundle of an undo, and that of the run that it undid."""
    run_id = await ran(bench, "three")
    undo = await _sealed(office, await _undone(bench, run_id))
    return undo, office.folder / f"{run_id}.zip"


async def _failures(page: Page, office: SealingOffice, undo: Path, first: Path) -> tuple[str, str]:
    """Return the rule that breaks, and the member, of which both verifiers say the same."""
    public = public_path(office.settings.key_path)
    with pytest.raises(VerificationError) as caught:
        verify(undo, public, undoes(first, trust_of(public)))
    found = (await report_of(page, undo.read_bytes(), public.read_text(), {"undone": [first]}))["failure"]
    assert (found["number"], found["member"]) == (caught.value.step, caught.value.member), (found, caught.value)
    return caught.value.rule, caught.value.member


async def test_an_undo_is_compared_with_the_run_that_it_undid(
    office: SealingOffice, page: Page, pair: tuple[Path, Path]
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
    office: SealingOffice, page: Page, pair: tuple[Path, Path]
) -> None:
    undo, first = pair
    assert await _failures(page, office, first, undo) == ("receipts.undone", "definition.json")


@pytest.mark.parametrize("name", UNDONE)
async def test_a_lie_about_what_was_undone_shows_beside_the_other_bundle(
    office: SealingOffice, bench: Bench, page: Page, name: str, tmp_path: Path
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
    office: SealingOffice, bench: Bench
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


NOT_OURS = "omar supplied its result: what was done for that is not the run's to undo"


@pytest.fixture
def desk(bench: Bench) -> OperatorService:
    return OperatorService(bench.engine.pool, bench.clock, TENANT)


async def started(bench: Bench, **trigger: str) -> str:
    run_id = (await bench.start("undo.holding", trigger)).run_id
    await bench.settle()
    return run_id


async def again(bench: Bench, run_id: str, step: str) -> None:
    """Have a held step tried anew, a while later."""
    bench.clock.move(seconds=1)
    await mend(bench, run_id, step, RepairAction.RETRY)


async def answered(bench: Bench, run_id: str) -> None:
    await bench.complete(f"{run_id}:ask", {}, verbs=["ask"])
    await bench.settle()


async def canceled(bench: Bench, desk: OperatorService, run_id: str) -> str | None:
    """Cancel a run; return the run that withdraws what it had asked for."""
    facts = await inbox.apply(bench.engine, await desk.cancel("omar", run_id, "no more", None))
    await bench.settle()
    return None if facts["withdrawn_in"] is None else str(facts["withdrawn_in"])


async def undone(bench: Bench, desk: OperatorService, run_id: str, step: str | None = None) -> Mapping[str, Any]:
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, step, "a mistake", None))
    await bench.settle()
    return facts


def left(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["step"], item["standing"], item["why"]) for item in facts["left"]]


async def test_what_somebody_supplied_is_named_and_is_not_the_runs_to_undo(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    shelves.put.answers = [RefusedError("closed")]
    run_id = await started(bench)
    await mend(bench, run_id, "put", RepairAction.SUPPLY, {"entry": "by hand"})
    await answered(bench, run_id)
    await mend(bench, run_id, "named", RepairAction.SUPPLY, {"entry": "by hand, too"})
    assert (await status(bench, run_id))["run"] == "succeeded"
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["ask"]
    assert left(facts) == [("put", "supplied", NOT_OURS), ("named", "supplied", NOT_OURS)]
    assert [call.params["place"] for call in shelves.take.calls] == ["asked"]
    alone = await undone(bench, desk, run_id, "named")
    assert alone["reason"] == f"nothing of it can be undone; named: {NOT_OURS}"


async def test_a_step_that_was_tried_anew_is_undone_once_and_its_failures_are_not_told(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    shelves.put.answers = [RefusedError("closed"), RefusedError("closed")]
    run_id = await started(bench)
    for _ in range(2):
        await again(bench, run_id, "put")
    facts = await undone(bench, desk, run_id, "put")
    assert ([item["step"] for item in facts["undone"]], facts["left"]) == (["put"], [])
    assert [call.params["entry"] for call in shelves.take.calls] == ["e-here"]


async def test_of_tries_that_did_nothing_one_is_told(bench: Bench, desk: OperatorService, shelves: Shelves) -> None:
    shelves.put.answers = [RefusedError("closed"), RefusedError("closed")]
    run_id = await started(bench)
    await again(bench, run_id, "put")
    await mend(bench, run_id, "put", RepairAction.SKIP)
    facts = await undone(bench, desk, run_id, "put")
    assert facts["reason"] == "nothing of it can be undone; put: not performed: failed"


async def test_what_the_step_itself_had_done_is_not_taken_for_another_runs(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    shelves.put.answers = [{"entry": 7}]
    run_id = await started(bench)
    await again(bench, run_id, "put")
    assert len(shelves.put.calls) == 1
    await mend(bench, run_id, "put", RepairAction.SUPPLY, {"entry": "seven"})
    facts = await undone(bench, desk, run_id, "put")
    assert facts["reason"] == "nothing of it can be undone; put: params of take: /entry: 7 is not of type 'string'"


async def test_each_request_of_a_step_that_was_tried_anew_is_undone(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await started(bench, place="there")
    await bench.later(days=14, seconds=1)
    assert (await status(bench, run_id))["ask"] == "needs_attention"
    await again(bench, run_id, "ask")
    await answered(bench, run_id)
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["named", "ask", "ask", "put"]
    assert facts["left"] == []
    rows = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq DESC", run_id
    )
    assert [call.key for call in shelves.take.calls] == [f"undo:{row['receipt_id']}" for row in rows]
    assert (await bench.run(facts["undone_in"]))["status"] == "succeeded"


async def test_with_a_run_only_the_request_that_it_waits_for_is_withdrawn(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await started(bench)
    await bench.later(days=14, seconds=1)
    await again(bench, run_id, "ask")
    withdrawn = await canceled(bench, desk, run_id)
    assert withdrawn is not None
    (call,) = shelves.take.calls
    assert call.params == {"entry": "e-asked", "run": run_id}
    (last,) = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' = 'ask' ORDER BY seq DESC LIMIT 1",
        run_id,
    )
    assert call.key == f"undo:{last['receipt_id']}"
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["ask", "put"]
    assert left(facts)[0] == ("ask", "undone", f"undone by {withdrawn}")
    assert shelves.take.calls[1].params == {"place": "asked", "entry": "e-asked", "was": "asked"}
