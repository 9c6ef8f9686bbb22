"""The bot on a stage for what goes wrong around a click: people known oddly, and a database that takes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import slack_client
from bot.signature import sign
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import Call, JsonObject
from sandbox.harness import Faults, SandboxUser, served
from sandbox.server import create_app
from tests.bench import TEAM, TENANT, HandClock
from tests.functions import result_of
from tests.integration.chat_stage import BOT_TOKEN, SECRET, WORKSPACE, Chat, Slack, chatting, workspace_of
from tests.integration.conftest import PACK, Targets
from tests.integration.runbooks_stage import UNDO_PACK as OPENING
from tests.integration.runbooks_stage import Shelf
from tests.integration.seen import actions
from tests.patience import MINUTE, until

ODD: list[dict[str, Any]] = [
    {"id": "UPHONE", "name": "phone", "real_name": "Ann (phone)"},
    {"id": "UTWIN", "name": "twin", "real_name": "Two People"},
    {"id": "UNEW", "name": "new", "real_name": "Nobody Knows"},
    {"id": "UGUEST", "name": "gil", "real_name": "Gil Ortega", "is_restricted": True},
    {"id": "UGONE", "name": "dora", "real_name": "Dora Falk", "deleted": True},
    {"id": "UEXT", "name": "eve", "real_name": "Eve Stone", "team_id": "T0OTHER"},
    {"id": "UROBOT", "name": "robot", "real_name": "Robot", "is_bot": True},
    {"id": "UVAGUE", "name": "vague", "real_name": "Olga Dahl", "is_restricted": None},
]
"""Users of whom Slack says something odd, or whom the directory maps oddly; compliance is whoever it maps."""
ACCOUNTS = {
    "UPHONE": ["ann"],
    "UTWIN": ["ann", "ben"],
    **{user: ["cat"] for user in ("UGUEST", "UGONE", "UEXT", "UROBOT", "UVAGUE")},
}


class Sides(Targets):
    """The other sides of the bench's own verbs, and of those that are taken back."""

    def handlers(self) -> dict[str, Any]:
        """Return them by operation."""
        put = Shelf()
        taken_back = {
            "servicenow::add_work_note": put.handler(before=put.before, reconcile=put.reconcile),
            "portal::request_information": self.look.handler(),
        }
        return {**super().handlers(), **taken_back}


@asynccontextmanager
async def staged(
    dsn: str, opa: OpaChild, slack: Slack | None = None, targets: Targets | None = None, **how: Any
) -> AsyncIterator[Chat]:
    """Run everything, with the odd users beside the usual ones, until the block ends."""
    slack = slack or Slack()
    slack = replace(slack, workspace={**with_users(*ODD), **slack.workspace})
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets or Sides.fresh(), PACK, OPENING, slack=slack, **how) as chat,
    ):
        await know(chat, ACCOUNTS)
        yield chat


def with_users(*more: dict[str, Any]) -> dict[str, Any]:
    """Return the workspace's users and channels with more users in them."""
    members = [*WORKSPACE["channels"][0]["members"], *(one["id"] for one in more)]
    return {
        "users": [*WORKSPACE["users"], *more],
        "channels": [{**channel, "members": members} for channel in WORKSPACE["channels"]],
    }


async def know(chat: Chat, accounts: dict[str, list[str]], team: str = TEAM) -> None:
    """Have the directory map accounts to people."""
    pairs = [(user, person) for user, people in accounts.items() for person in people]
    await chat.bench.meddle(
        "INSERT INTO slack_accounts (tenant, team, account, actor_id)"
        " SELECT %s, %s, * FROM unnest(%s::text[], %s::text[])",
        *(TENANT, team, [user for user, _ in pairs], [person for _, person in pairs]),
    )


async def plain(chat: Chat, ref: str = "1") -> str:
    """Ask for what two of compliance approve with a click, without a word of why; return the request."""
    return await chat.file(ref, "undo.opening")


async def the_card(person: SandboxUser) -> dict[str, Any]:
    """Return the newest card as the person sees it now."""
    return await person.find_card(lambda message: bool(actions(message)))


async def clicks(chat: Chat) -> list[dict[str, Any]]:
    """Return what people have said by the inbox: user, person, refusal and status, the oldest first."""
    return await chat.bench.rows(
        "SELECT payload ->> 'user' AS user, payload ->> 'person_id' AS person,"
        " coalesce(outcome ->> 'code', payload -> 'refusal' ->> 'code') AS refusal, status"
        " FROM notifications WHERE kind IN ('vote', 'claim') ORDER BY received_at, notification_id"
    )


async def votes(chat: Chat, count: int) -> list[dict[str, Any]]:
    """Wait until so many votes count; return them by their people."""
    found: list[dict[str, Any]] = []

    async def are_there() -> bool:
        found[:] = await chat.bench.rows("SELECT person, account, verdict, reason FROM votes ORDER BY person")
        return len(found) >= count

    await until(are_there)
    return found


async def refused(chat: Chat, count: int = 1) -> list[dict[str, Any]]:
    """Wait until so many clicks are refused on record; return them, the oldest first."""
    found: list[dict[str, Any]] = []

    async def are_there() -> bool:
        found[:] = [one for one in await clicks(chat) if one["status"] in ("refused", "stale")]
        return len(found) >= count

    await until(are_there)
    return found


@asynccontextmanager
async def without(chat: Chat, table: str) -> AsyncIterator[None]:
    """Let the database know no such table until the block ends: what reads or writes it fails."""
    await chat.bench.meddle(f"ALTER TABLE {table} RENAME TO elsewhere")
    try:
        yield
    finally:
        await chat.bench.meddle(f"ALTER TABLE elsewhere RENAME TO {table}")


@asynccontextmanager
async def locked(chat: Chat, table: str) -> AsyncIterator[AsyncConnection[Any]]:
    """Let nobody but the connection given write into a table until the block ends: who wants to, waits."""
    async with await AsyncConnection.connect(chat.bench.superuser) as conn:
        await conn.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
        yield conn


async def require(chat: Chat, approval_id: str, **changes: Any) -> None:
    """Let a request require something else from now on, and its card say so."""
    [row] = await chat.bench.meddle(
        "UPDATE approvals SET requirement = (requirement::jsonb || %s::jsonb)::json, revision = revision + 1"
        " WHERE approval_id = %s RETURNING revision",
        *(json.dumps(changes), approval_id),
    )
    await run(chat, "slack::update_card", approval_id=approval_id, revision=row["revision"])


async def run(chat: Chat, operation: str, key: str = "", **params: Any) -> JsonObject:
    """Carry out one of the chat's operations."""
    return await result_of(chat.bench.engine.handlers[operation], call(operation, key, **params))


def call(operation: str, key: str = "", **params: Any) -> Call:
    """Return an invocation of one of the chat's operations."""
    return Call(tenant=TENANT, run_id="run-1", step="card", operation=operation, params=params, key=key)


@asynccontextmanager
async def only_slack(**workspace: Any) -> AsyncIterator[tuple[AsyncWebClient, Faults]]:
    """Run a workspace without a bot; give the app's client, and the faults."""
    faults = Faults()
    app = create_app(workspace_of(Slack(workspace=workspace)), clock=HandClock(), sleep=asyncio.sleep, limits=None)
    faults.attach(app)
    async with served(app) as url:
        yield slack_client(BOT_TOKEN, f"{url}/api/"), faults


def headers_of(chat: Chat, body: bytes, content_type: str) -> dict[str, str]:
    """Return the headers with which Slack would send a body now."""
    stamp = str(int(chat.bench.clock().timestamp()))
    signature = sign(SECRET, stamp.encode(), body).decode()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature, "Content-Type": content_type}
