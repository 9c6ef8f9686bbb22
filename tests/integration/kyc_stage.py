"""What the tests of an onboarding share: a bench with the pack's stand-ins, and the way to each of its turns."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_connector.standin import ask
from countersign_kyc.handlers import handlers
from countersign_kyc.seed_data import COMPANIES
from countersign_kyc.standins import build, settings

from policy.client import OpaEngine
from runtime.handlers import Json, JsonObject
from tests.bench import Bench, open_bench

PACK = Path(__file__).parents[2] / "packs/kyc"
TRIGGER = json.loads((PACK / "example-trigger.json").read_text())
CASE_ID = TRIGGER["case_id"]
KINDS = ("certificate_of_incorporation", "shareholder_register")


def documents(*kinds: str) -> JsonObject:
    return {"documents": [{"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64} for kind in kinds]}


def about(lei: str) -> JsonObject:
    """Return the trigger of an onboarding of this company."""
    return {**TRIGGER, "lei": lei, "legal_name": COMPANIES[lei].name}


@dataclass
class Case:
    """A bench with the pack's stand-ins beside it."""

    bench: Bench
    url: str

    async def get(self, path: str) -> Any:
        return await ask(f"{self.url}/__standin/{path}")

    async def tell(self, path: str, body: JsonObject) -> None:
        """Play the world outside."""
        async with ClientSession() as session, session.post(f"{self.url}/__standin/{path}", json=body) as response:
            assert response.status == HTTPStatus.NO_CONTENT, await response.text()

    async def count(self, operation: str) -> int:
        """Return how often the stand-ins did something."""
        return sum(action["operation"] == operation for action in (await self.get("actions"))["actions"])

    async def filings(self) -> int:
        return await self.count("register::file_report")

    async def asked(self) -> list[JsonObject]:
        """Return what the client was asked for, the last thing last."""
        found: list[JsonObject] = (await self.get("portal/requests"))["requests"]
        return found

    async def start(self, ref: str = "1", trigger: JsonObject = TRIGGER) -> str:
        """Start a run and bring it to where the client is asked for documents, and all else was looked up."""
        run_id = (await self.bench.start("kyc.onboarding", trigger, ref)).run_id
        await self.bench.settle()
        await self.bench.later(seconds=2)  # Bloomberg has no answer at the first look
        return run_id

    async def answer(self, result: Json) -> None:
        """Answer what the client was asked last."""
        await self.tell("portal/upload", {"request_id": (await self.asked())[-1]["request_id"], "result": result})
        await self.bench.settle()

    async def to_review(self, ref: str = "1") -> str:
        """Start a run and bring it to the compliance review."""
        run_id = await self.start(ref)
        await self.answer(documents(*KINDS))
        return run_id

    async def to_filing(self, ref: str = "1") -> tuple[str, str]:
        """Bring a run to the approval of its filing; return the run and the approval."""
        run_id = await self.to_review(ref)
        await self.say("ben")
        return run_id, await self.bench.approval_id()

    async def to_decision(self) -> str:
        """Bring a run to where the client gave nothing, whatever it was asked, and a person has to decide."""
        run_id = await self.start()
        await self.answer(documents())
        for _ in range(3):
            await self.answer({"answers": []})
        return run_id

    async def say(self, person: str, verdict: str = "approve", reason: str = "seen and checked") -> None:
        """Answer the review, or the decision, that is open."""
        outcome = await self.bench.click(person, await self.bench.approval_id("task"), verdict, reason)
        assert outcome.counted, outcome
        await self.bench.settle()

    async def sign(self, *people: str) -> None:
        """Sign the filing."""
        for person in people:
            assert (await self.bench.click(person, await self.bench.approval_id())).counted
            await self.bench.settle()

    async def statuses(self, run_id: str) -> dict[str, str]:
        return statuses(await self.bench.run(run_id))

    async def end(self, run_id: str) -> tuple[str, JsonObject]:
        """Return the word with which a run ended, and its output."""
        run = await self.bench.run(run_id)
        assert run["status"] == "succeeded", run
        return run["outcome"], run["output"]

    async def result(self, run_id: str, path: str) -> Any:
        rows = await self.bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = %s", run_id, path)
        return rows[0]["result"]

    async def turns(self) -> list[str]:
        """Return the statuses through which the case went."""
        rows = await self.bench.rows("SELECT result FROM entity_changes ORDER BY entity_id, version")
        return [row["result"]["after"]["status"] for row in rows]


@asynccontextmanager
async def open_case(dsn: str, policy: OpaEngine) -> AsyncIterator[Case]:
    """Open a bench with the pack and its stand-ins, whose portal brings the client's answers to the bench."""
    benches: list[Bench] = []

    async def complete(url: str, correlation_key: str, token: str, result: JsonObject) -> None:
        del url
        outcome = await benches[0].complete(correlation_key, result, token, token)
        assert outcome["status"] == "applied", outcome

    async with TestServer(build(complete)) as server:
        url = str(server.make_url("")).rstrip("/")
        offered = handlers({**settings(url), "callback_url": f"{url}/v1/notifications"})
        async with open_bench(dsn, policy, [PACK], offered) as bench:
            benches.append(bench)
            yield Case(bench, url)


def statuses(run: dict[str, Any]) -> dict[str, str]:
    return {path: step["status"] for path, step in run["steps"].items()}
