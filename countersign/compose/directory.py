"""Loads the directory file into the database."""

from typing import Any

from countersign.config.directory import AgentEntry, Directory
from runtime.store.database.pool import Conn
from runtime.store.directory import replace_directory


async def load_directory(conn: Conn, tenant: str, directory: Directory) -> None:
    """Make the tenant's directory in the database what the file says."""
    people = [
        {"id": one.id, "kind": "person", "name": one.name, "groups": one.groups, "grants": {}}
        for one in directory.people
    ]
    agents = [
        {"id": one.id, "kind": "agent", "name": one.name, "groups": [], "grants": _grants(one)}
        for one in directory.agents
    ]
    accounts = [(account.team, account.user, one.id) for one in directory.people for account in one.slack]
    await replace_directory(conn, tenant, [*people, *agents], accounts)


def _grants(agent: AgentEntry) -> dict[str, Any]:
    return agent.model_dump(include={"triggers", "on_behalf", "completes"})
