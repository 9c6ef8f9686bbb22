"""The KYC onboarding, from trigger to filing, on real PostgreSQL and OPA; its connectors' other sides are stand-ins."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_kyc.handlers import handlers
from countersign_kyc.standins import build, settings

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import verify_chain
from tests.bench import Bench, open_bench
from tests.patience import MINUTE

PACK = Path(__file__).parents[2] / "packs/kyc"
TRIGGER = json.loads((PACK / "example-trigger.json").read_text())
DOCUMENTS = {
    "documents": [
        {"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64}
        for kind in ("certificate_of_incorporation", "shareholder_register")
    ]
}


@dataclass
class Case:
    """A bench with the pack's stand-ins beside it."""

    bench: Bench
    url: str

    async def get(self, path: str) -> Any:
        async with ClientSession() as session, session.get(f"{self.url}/__standin/{path}") as response:
            return await response.json()

    async def filings(self) -> int:
        actions = (await self.get("actions"))["actions"]
        return sum(action["operation"] == "register::file_report" for action in actions)

    async def to_review(self, ref: str = "1") -> str:
        """Start a run and bring it to the compliance review."""
        claim = await self.bench.start("kyc.onboarding", TRIGGER, ref)
        await self.bench.settle()
        requests = (await self.get("portal/requests"))["requests"]
        asked = requests[-1]
        await self.bench.complete(asked["correlation_key"], DOCUMENTS, f"documents-{ref}", asked["token"])
        await self.bench.settle()
        return claim.run_id

    async def to_filing(self, ref: str = "1") -> tuple[str, str]:
        """Bring a run to the approval of its filing; return the run and the approval."""
        run_id = await self.to_review(ref)
        outcome = await self.bench.click("ben", await self.bench.approval_id("task"))
        assert outcome.counted
        await self.bench.settle()
        return run_id, await self.bench.approval_id()


@pytest.fixture
async def case(dsn: str, opa: OpaChild) -> AsyncIterator[Case]:
    async with TestServer(build()) as server:
        url = str(server.make_url("")).rstrip("/")
        offered = handlers({**settings(url), "callback_url": f"{url}/v1/notifications"})
        async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_bench(dsn, policy, [PACK], offered) as bench:
            yield Case(bench, url)


def statuses(run: dict[str, Any]) -> dict[str, str]:
    return {path: step["status"] for path, step in run["steps"].items()}


async def test_onboarding_parks_until_the_client_uploads(case: Case) -> None:
    claim = await case.bench.start("kyc.onboarding", TRIGGER)
    await case.bench.settle()
    run = await case.bench.run(claim.run_id)
    assert run["status"] == "waiting"
    assert statuses(run)["documents"] == "parked"
    assert statuses(run)["shareholdings"] == "succeeded"


async def test_a_run_shows_how_many_requests_gleif_counted(case: Case) -> None:
    claim = await case.bench.start("kyc.onboarding", TRIGGER)
    await case.bench.settle()
    (costs,) = (await case.bench.run(claim.run_id))["costs"]
    assert (costs["provider"], costs["calls"], costs["calls_without_cost"]) == ("gleif", 1, 1)
    assert (set(costs["units"]), costs["amounts"]) == ({"requests"}, {})


async def test_filing_needs_two_distinct_people_and_happens_once(case: Case) -> None:
    run_id, approval = await case.to_filing()
    assert (await case.bench.run(run_id))["status"] == "waiting_approval"
    assert (await case.bench.click("rita", approval)).refusal.code == "vote.requester"  # type: ignore[union-attr]
    assert (await case.bench.click("ann", approval)).counted
    await case.bench.settle()
    assert await case.filings() == 0
    assert (await case.bench.click("ann", approval, nonce="2")).refusal.code == "vote.repeated"  # type: ignore[union-attr]
    assert (await case.bench.click("ben", approval)).counted
    await case.bench.settle()
    run = await case.bench.run(run_id)
    assert run["status"] == "succeeded", run
    assert statuses(run)["additional_information"] == "skipped"
    assert await case.filings() == 1
    verify_chain(await case.bench.chain(run_id))


async def test_rejection_ends_the_run_and_leaves_a_refusal_receipt(case: Case) -> None:
    run_id, approval = await case.to_filing()
    outcome = await case.bench.click("ann", approval, "reject", "the shares do not add up")
    assert outcome.counted
    await case.bench.settle()
    run = await case.bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "the shares do not add up" in run["error"]
    refusals = await case.bench.rows("SELECT document FROM receipts WHERE run_id = %s AND outcome = 'refusal'", run_id)
    assert [row["document"]["operation"] for row in refusals] == ["file_report"]
    assert await case.filings() == 0


async def test_a_second_claim_of_a_trigger_returns_the_first_run(case: Case) -> None:
    first = await case.bench.start("kyc.onboarding", TRIGGER)
    second = await case.bench.start("kyc.onboarding", TRIGGER)
    assert second.run_id == first.run_id
    assert not second.is_new


async def test_a_review_goes_to_the_channel_of_its_groups(case: Case) -> None:
    await case.to_review()
    (task,) = case.bench.chat.said("post_task")
    assert task["channel"] == "C0COMPLIANCE"
    (effect,) = await case.bench.rows("SELECT target, fields FROM effects WHERE operation = 'post_task'")
    assert (effect["target"], effect["fields"]["channel"]) == ("C0COMPLIANCE", "C0COMPLIANCE")


async def test_who_asked_is_told_that_the_review_said_no_and_what_was_not_done(case: Case) -> None:
    run_id = await case.to_review()
    task = await case.bench.approval_id("task")
    assert (await case.bench.click("ben", task, "reject", "an owner is missing")).counted
    await case.bench.settle()
    assert (await case.bench.run(run_id))["status"] == "succeeded"
    said = [message["text"] for message in case.bench.chat.said("direct_message")][-1]
    assert said.startswith("Corporate onboarding (")
    assert ") has finished. Rejected: review (an owner is missing). Not done: " in said
    assert run_id not in said
    assert "filing (not so: " in said
    assert "every step" not in said
