"""The packs in tests: onboarding and incident triage with their stand-ins, and operations that are run.

What the tests of the KYC pack's handlers share: how an operation is run, and what the stand-ins are told.

What packs declare of their verbs: what a handler gives is held against it.

What tests of the incident triage share: a bench with ServiceNow's stand-in beside it.

What the tests of an onboarding share: a bench with the pack's stand-ins, and the way to each of its turns.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_connector.standin import ask
from countersign_incident_triage.handlers import handlers
from countersign_incident_triage.standins import PASSWORD, USER, settings
from countersign_incident_triage.table import basic
from countersign_kyc.handlers import handlers as kyc_handlers
from countersign_kyc.seed_data import COMPANIES
from countersign_kyc.standins import build
from countersign_kyc.standins import settings as kyc_settings

from policy.client import OpaEngine
from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.loading.yaml_source import read_source
from runtime.definitions.schemas import violations
from runtime.handlers import Call, Handler, Json, JsonObject
from runtime.inbox import inbox
from runtime.planning.triggers import Claim
from runtime.services.callers import TriggerApi, Wish
from runtime.services.operator import OperatorService
from tests.bench import TENANT, Bench, open_bench
from tests.functions import result_of


@cache
def sync_verbs(pack: str) -> dict[str, JsonObject]:
    """Return a pack's sync verbs by handler, each output schema with the definitions that it refers to."""
    declared = read_source(Path(f"packs/{pack}/verbs/{pack}.yaml"), pack).value
    verbs = {verb["execution"]["handler"]: verb for verb in declared["verbs"] if verb["execution"]["kind"] == "sync"}
    for verb in verbs.values():
        verb["output_schema"]["definitions"] = declared["definitions"]
    return verbs


Completions = list[tuple[str, str, str, JsonObject]]


async def run(pack: Mapping[str, Handler], operation: str, params: JsonObject, key: str = "") -> JsonObject:
    result = await result_of(pack[operation], call(operation, params, key))
    verb = sync_verbs("kyc").get(operation)
    assert verb is None or violations(verb["output_schema"], result) == []
    return result


def call(operation: str, params: JsonObject, key: str = "", correlation_key: str = "") -> Call:
    token = f"token of {correlation_key}" if correlation_key else ""
    return Call("acme", "run-1", "step", operation, params, "target", key, correlation_key, token)


async def control(base: str, path: str, body: JsonObject | None = None) -> tuple[int, JsonObject]:
    """Ask the stand-in something that its real counterpart does not offer."""
    async with (
        aiohttp.ClientSession() as session,
        session.request("POST" if body else "GET", f"{base}/__standin/{path}", json=body) as response,
    ):
        return response.status, json.loads(await response.read() or b"{}")


async def actions(base: str) -> int:
    count: int = (await control(base, "actions"))[1]["count"]
    return count


DOCUMENTS = (
    "portal::request_documents",
    {
        "case_id": "c",
        "document_types": ["shareholder_register"],
        "contact_email": "client@example.com",
        "message": "Please.",
    },
)


PACK = Path(__file__).parents[2] / "packs/incident-triage"
SERVICENOW = Actor(id="portal-bot", kind="agent")


@dataclass(frozen=True)
class ServiceNow:
    """The handlers of the pack for a stand-in that is served at `url`."""

    url: str

    def handlers(self) -> dict[str, Handler]:
        return handlers(settings(self.url))


@dataclass
class Desk:
    """A bench with ServiceNow's stand-in beside it."""

    bench: Bench
    url: str

    async def actions(self) -> list[str]:
        async with ClientSession() as session, session.get(f"{self.url}/__standin/actions") as response:
            return [action["operation"] for action in (await response.json())["actions"]]

    async def incident(self, sys_id: str) -> dict[str, Any]:
        """Return category, group and labels of an incident as ServiceNow has them now, and how many notes."""
        tables = {}
        async with ClientSession(headers={"Authorization": basic(USER, PASSWORD)}) as session:
            for name in ("incident", "label_entry", "sys_journal_field"):
                async with session.get(f"{self.url}/api/now/table/{name}") as response:
                    tables[name] = (await response.json())["result"]
        (record,) = [one for one in tables["incident"] if one["sys_id"] == sys_id]
        labels = [one["label"]["value"] for one in tables["label_entry"] if one["table_key"] == sys_id]
        notes = [one["value"] for one in tables["sys_journal_field"] if one["element_id"] == sys_id]
        assigned = {name: record.get(name, "") for name in ("category", "assignment_group")}
        return {**assigned, "labels": sorted(labels), "notes": notes}

    async def change(self, sys_id: str, **values: str) -> None:
        """Change an incident as a person at ServiceNow would."""
        async with (
            ClientSession(headers={"Authorization": basic(USER, PASSWORD)}) as session,
            session.patch(f"{self.url}/api/now/table/incident/{sys_id}", json=values) as response,
        ):
            assert response.status == 200

    async def undo(self, run_id: str) -> dict[str, Any]:
        operators = OperatorService(self.bench.engine.pool, self.bench.clock, TENANT)
        facts = await inbox.apply(self.bench.engine, await operators.undo("omar", run_id, None, "not ours", None))
        await self.bench.settle()
        return await self.bench.run(facts["undone_in"])

    async def hear(self, sys_id: str, ref: str) -> Claim:
        """Have the webhook of an incident come in."""
        desk = TriggerApi(self.bench.engine, TENANT, Catalog({}, (), (), frozenset(), {}))
        payload = {"sys_id": sys_id, "number": "INC0010042", "priority": 3}
        return await desk.trigger(Wish("servicenow.incident", None, ref, payload), SERVICENOW, SERVICENOW.id)

    async def start(self, sys_id: str, ref: str) -> str:
        return (await self.hear(sys_id, ref)).run_id

    async def triaged(self, sys_id: str, ref: str) -> str:
        """Have the webhook come in, and do all that can be done at this moment; return the run."""
        run_id = await self.start(sys_id, ref)
        await self.bench.settle()
        return run_id

    async def asked(self, run_id: str, operation: str) -> str:
        """Return the open approval of the run that is about an operation."""
        (row,) = await self.bench.rows(
            "SELECT a.approval_id FROM approvals a JOIN effects e USING (effect_id)"
            " WHERE a.run_id = %s AND e.operation = %s AND a.status = 'requested'",
            run_id,
            operation,
        )
        return str(row["approval_id"])


KYC_PACK = Path(__file__).parents[2] / "packs/kyc"
TRIGGER = json.loads((KYC_PACK / "example-trigger.json").read_text())
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
        offered = kyc_handlers({**kyc_settings(url), "callback_url": f"{url}/v1/notifications"})
        async with open_bench(dsn, policy, [KYC_PACK], offered) as bench:
            benches.append(bench)
            yield Case(bench, url)


def statuses(run: dict[str, Any]) -> dict[str, str]:
    return {path: step["status"] for path, step in run["steps"].items()}
