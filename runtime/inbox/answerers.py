"""Who can answer questions about a run: who requested or submitted it, else a group, or a program over HTTP."""

from collections.abc import Mapping
from typing import Any

from runtime.model.questions import Answerers
from runtime.store import directory
from runtime.store.database.pool import Conn


async def answerers_of(conn: Conn, tenant: str, run: Mapping[str, Any], group: str, asked_by: str) -> Answerers:
    """Return whom a question calls, and the programs that may fetch it.

    `run` is the run's row, `group` the one that its runbook names for questions; who asked is not called.
    """
    names, users, programs = list[str](), list[str](), list[str]()
    for actor_id in dict.fromkeys((run["requested_by"], run["submitted_by"])):
        known = await directory.actor(conn, tenant, actor_id)
        if known is None:
            continue
        if known["kind"] != "person":
            programs.append(known["name"])
        elif not users and (accounts := await directory.reached_accounts_of(conn, tenant, actor_id)):
            names.append(known["name"])
            users += [user for _, user in accounts]
    if group and not users and (members := await directory.reached_members_of(conn, tenant, group, asked_by)):
        return Answerers((), tuple(members), tuple(programs), group)
    return Answerers(tuple(names), tuple(users), tuple(programs))
