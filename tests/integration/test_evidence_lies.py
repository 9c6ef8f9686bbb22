"""Somebody who holds the signing key bends genuine runs of every ending: each lie is found, by its rule."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import pytest
from aiohttp.test_utils import TestServer
from countersign_kyc.handlers import handlers
from countersign_kyc.standins import build, settings

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from receipts.signing import SigningKey
from runtime.desk.desk import StoredCards
from runtime.desk.evidence import EvidenceDesk, Story
from runtime.desk.operator import OperatorDesk
from runtime.handlers import OutcomeUnknownError
from tests.bench import Bench, open_bench
from tests.conftest import fresh_database
from tests.integration import lies_run, lies_told
from tests.integration.conftest import PACK, Targets
from tests.integration.forger import Forged
from tests.integration.test_kyc_run import PACK as KYC
from tests.integration.test_kyc_run import Case
from tests.patience import MINUTE
from tests.unit.evidence_sample import Office

FILE = {"company": "ACME", "text": "report"}
LIES = {
    f"{group}: {name}": lie
    for group, lies in {**lies_told.GROUPS, **lies_run.GROUPS}.items()
    for name, lie in lies.items()
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
async def stories(postgres: str, opa: OpaChild, office: Office) -> AsyncIterator[Mapping[str, Story]]:
    """Genuine runs, by what became of them."""
    with fresh_database(postgres) as bench_dsn, fresh_database(postgres) as kyc_dsn:
        async with OpaEngine(opa.url, timeout=MINUTE) as policy, TestServer(build()) as server:
            targets = Targets.fresh()
            async with open_bench(bench_dsn, policy, [PACK], targets.handlers()) as bench:
                runs = await _stories(office.key, bench, {**await _filings(bench, targets), **await _others(bench)})
            url = str(server.make_url("")).rstrip("/")
            offered = handlers({**settings(url), "callback_url": f"{url}/v1/notifications"})
            async with open_bench(kyc_dsn, policy, [KYC], offered) as bench:
                runs |= await _stories(office.key, bench, {"kyc": await _onboarded(Case(bench, url))})
            yield runs


async def _stories(key: SigningKey, bench: Bench, run_ids: Mapping[str, str]) -> dict[str, Story]:
    desk = EvidenceDesk(bench.engine)
    while await desk.next_bundle(timedelta(minutes=2), key, [key.public.key_id]) is not None:
        pass
    return {name: await desk.story(run_id) for name, run_id in run_ids.items()}


async def _filings(bench: Bench, targets: Targets) -> dict[str, str]:
    """Play filings that were approved, rejected, not decided in time, in doubt, and canceled."""
    run_ids = {}
    for name in ("filed", "rejected", "doubt", "canceled", "expired"):
        run_ids[name] = (await bench.start("bench.file", FILE, ref=name)).run_id
        await bench.settle()
        approval = await bench.approval_id()
        match name:
            case "rejected":
                assert (await bench.click("ann", approval, "reject", "not like this")).counted
            case "canceled":
                operator = OperatorDesk(bench.engine.pool, bench.engine.clock, "acme")
                await operator.cancel("omar", run_ids[name], "not needed", None)
            case "expired":
                await bench.later(hours=6)
                await bench.later(hours=3)
            case _:
                await StoredCards(bench.engine).remember(approval, "C1", "1.0", {"text": "File it?"})
                targets.file.answers = [OutcomeUnknownError("reset")] if name == "doubt" else []
                for person in ("ann", "ben"):
                    assert (await bench.click(person, approval)).counted
        await bench.settle()
        if name == "doubt":
            await bench.later(minutes=6)
            assert (await bench.click("omar", await bench.approval_id("in_doubt"))).counted
            await bench.settle()
    return run_ids


async def _others(bench: Bench) -> dict[str, str]:
    """Play a timer, an answer that did not come, and branches of which one was skipped."""
    timer = (await bench.start("bench.timer", {})).run_id
    branches = (await bench.start("bench.branches", {})).run_id
    late = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.later(hours=1)
    await bench.later(days=15)
    return {"timer": timer, "branches": branches, "late": late}


async def _onboarded(case: Case) -> str:
    """Play an onboarding whose review was escalated."""
    run_id = await case.to_review()
    await case.bench.later(days=5)
    assert (await case.bench.click("ben", await case.bench.approval_id("task"))).counted
    await case.bench.settle()
    for person in ("ann", "cat"):
        assert (await case.bench.click(person, await case.bench.approval_id())).counted
        await case.bench.settle()
    return run_id


RUNS = sorted({run for _, run, _ in LIES.values()})


@pytest.mark.parametrize("name", RUNS)
def test_genuine_run_holds_and_its_chain_made_anew_is_the_same(
    office: Office, stories: Mapping[str, Story], name: str
) -> None:
    report = verify(office.write(Forged.of(stories[name]).seal(office.key)), office.public)
    assert report.run_id == stories[name].leaves[0]["run_id"]
    forged = Forged.of(stories[name])
    forged.retime()
    assert verify(office.write(forged.seal(office.key)), office.public).version == "2"


@pytest.mark.parametrize("name", LIES)
def test_lie_is_found_by_its_rule(office: Office, stories: Mapping[str, Story], name: str) -> None:
    rule, run, bend = LIES[name]
    forged = Forged.of(stories[run])
    bend(forged)
    with pytest.raises(VerificationError) as caught:
        verify(office.write(forged.seal(office.key)), office.public)
    assert caught.value.rule == rule, caught.value
