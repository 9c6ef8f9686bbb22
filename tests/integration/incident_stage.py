"""What tests of the incident triage share: a bench with ServiceNow's stand-in beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from countersign_incident_triage.handlers import handlers
from countersign_incident_triage.standins import PASSWORD, USER, settings
from countersign_incident_triage.table import basic

from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.handlers import Handler
from runtime.inbox import inbox
from runtime.planning.triggers import Claim
from runtime.services.callers import TriggerApi, Wish
from runtime.services.operator import OperatorDesk
from tests.bench import TENANT, Bench

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
        operators = OperatorDesk(self.bench.engine.pool, self.bench.clock, TENANT)
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
