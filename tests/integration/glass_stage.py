"""A bench whose policy lets incident managers do without the others, and what they say then."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from policy.client import OpaEngine
from runtime.model.person import SlackAccount
from runtime.model.votes import VoteVerdict
from runtime.services.clicks import Click, ClickOutcome
from tests.bench import TEAM, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

FILE = {"company": "ACME", "text": "report"}
AT_MOST = 2
GLASS = {
    "groups": ["incident-managers", "onboarding"],
    "at_most": AT_MOST,
    "within": "P1D",
    "tell": ["security"],
    "review_by": ["senior-compliance", "incident-managers"],
    "review_within": "P3D",
}


@asynccontextmanager
async def glass_policy(folder: Path, requirement: str = "high") -> AsyncIterator[OpaEngine]:
    """Serve a policy by which a requirement, that of high-tier writes, has a glass that can be broken."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"][requirement]["break_glass"] = GLASS
    file.write_text(json.dumps(config), encoding="utf-8")
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def glass_bench(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[Bench]:
    """Open a bench on which high-tier writes have a glass that can be broken."""
    async with glass_policy(folder) as policy, open_bench(dsn, policy, [PACK], targets.handlers()) as found:
        yield found


async def filing(bench: Bench, ref: str = "1") -> tuple[str, str]:
    """Ask for a filing; return its run and its request."""
    run_id = (await bench.start("bench.file", FILE, ref)).run_id
    await bench.settle()
    (asked,) = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return run_id, str(asked["approval_id"])


async def record_break(bench: Bench, person: str, approval: str, reason: str, ticket: str, stamp: str) -> str:
    """Record what somebody says who does without the others; return the notification."""
    click = Click(
        dedupe_key=f"{approval}:{person}:glass:{reason}:{ticket}",
        approval_id=approval,
        stamp=stamp,
        verdict=VoteVerdict.APPROVE,
        reason=reason,
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-glass",
        ticket=ticket,
    )
    return await bench.desk.record(click)


async def break_glass(
    bench: Bench, person: str, approval: str, reason: str = "the bank is down", ticket: str = "INC-7", stamp: str = ""
) -> ClickOutcome:
    """Do without the others."""
    return await bench.desk.apply(await record_break(bench, person, approval, reason, ticket, stamp))
