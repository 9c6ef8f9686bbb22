"""A committee of seven: five sign, among them two of risk and one of legal; legal alone has a veto."""

import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from policy.client import OpaEngine
from receipts.signing import SigningKey
from runtime.model.votes import CardAct
from runtime.services.sealing import Story
from runtime.store import directory
from tests.bench import PEOPLE, TEAM, TENANT, Bench, open_bench
from tests.databases import fresh_database
from tests.integration.acts_stage import say
from tests.integration.conftest import PACK, Targets
from tests.integration.played import stories_of
from tests.integration.policies_stage import filing
from tests.logins import loading
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

SEATS = {
    "ray": ["risk"],
    "rik": ["risk"],
    "lea": ["legal"],
    "leo": ["legal"],
    "oda": ["operations"],
    "ole": ["operations"],
    "ona": ["operations"],
}
REQUIRED = {
    "quorum": 5,
    "groups": ["risk", "legal", "operations"],
    "all_groups": False,
    "expires_in": "PT8H",
    "escalate_to": [],
    "classes": [
        {"groups": ["risk"], "quorum": 2, "all_groups": False},
        {"groups": ["legal"], "quorum": 1, "all_groups": False},
    ],
    "veto": ["legal"],
}
WRONG = "the figures are old"


@asynccontextmanager
async def committee_bench(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[Bench]:
    """Open a bench on which the committee signs high-tier writes."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"] = REQUIRED
    file.write_text(json.dumps(config), encoding="utf-8")
    async with (
        OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        await seat(bench, 1, SEATS)
        yield bench


async def seat(bench: Bench, version: int, seats: Mapping[str, list[str]]) -> None:
    """Load a directory of the bench's people and this committee, and do what follows."""
    known = {**PEOPLE, **seats}
    people = [{"id": i, "kind": "person", "name": i.title(), "groups": g, "grants": {}} for i, g in known.items()]
    agent = {"id": "portal-bot", "kind": "agent", "name": "Portal", "groups": [], "grants": {}}
    accounts = [(TEAM, f"U{i.upper()}", i) for i in known]
    edition = directory.Edition(version, f"{version:064x}")
    async with loading(bench.superuser) as conn:
        await directory.replace_directory(conn, TENANT, edition, [*people, agent], accounts, bench.clock())
    await bench.later(seconds=5)


async def approve(bench: Bench, approval: str, *people: str) -> None:
    """Have people approve, one after the other; each counts."""
    for person in people:
        assert (await bench.click(person, approval)).counted
        bench.clock.move(seconds=1)


async def play_committee(postgres: str, key: SigningKey) -> Mapping[str, Story]:
    """Play a filing that the committee agreed on against a no without veto, and one that a veto ended."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_database(postgres) as dsn, committee_bench(dsn, Targets.fresh(), Path(folder)) as bench:
            agreed, first = await filing(bench, "agreed")
            await approve(bench, first, "ray")
            assert (await bench.click("oda", first, "reject", WRONG)).counted
            assert (await bench.click("ole", first, "changes", WRONG)).counted
            assert (await say(bench, "ole", first, CardAct.WITHDRAW, "read again")).counted
            await approve(bench, first, "ole", "rik", "ona", "lea")
            await bench.settle()
            vetoed, second = await filing(bench, "vetoed")
            await approve(bench, second, "ray")
            assert (await bench.click("oda", second, "reject", WRONG)).counted
            assert (await bench.click("leo", second, "reject", "it is not ours to file")).counted
            await bench.settle()
            return await stories_of(key, bench, {"agreed": agreed, "vetoed": vetoed})
