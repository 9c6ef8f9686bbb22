"""What can be said about the Slack side without posting anything."""

from dataclasses import dataclass

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.client import FAILURES, error_data

# What the methods that we call need, and nothing else; the manifest asks for the same.
SCOPES = frozenset({"chat:write", "channels:history", "groups:history", "im:history", "im:write", "users:read"})


@dataclass(frozen=True)
class Fact:
    """One thing that was checked; `remedy` says what to do where it is not as it should be."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def why(error: Exception) -> str:
    """Return why a call failed: Slack's own code, or the kind of error."""
    code = error_data(error).get("error") if isinstance(error, SlackApiError) else None
    return str(code or type(error).__name__)


async def _token(client: AsyncWebClient) -> list[Fact]:
    try:
        answer = await client.auth_test()
    except FAILURES as error:
        remedy = "Set the bot token (xoxb-…) from OAuth & Permissions, and check that Slack can be reached."
        return [Fact("slack token", ok=False, detail=why(error), remedy=remedy)]
    who = f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')})"
    return [Fact("slack token", ok=True, detail=who), _scopes(answer)]


def _scopes(answer: AsyncSlackResponse) -> Fact:
    header = next((value for name, value in answer.headers.items() if name.lower() == "x-oauth-scopes"), "")
    missing = SCOPES - {scope.strip() for scope in header.split(",")}
    if missing:
        remedy = "Add them under OAuth & Permissions, and install the app again."
        return Fact("slack scopes", ok=False, detail=f"missing: {', '.join(sorted(missing))}", remedy=remedy)
    return Fact("slack scopes", ok=True, detail=", ".join(sorted(SCOPES)))


async def _socket_mode(client: AsyncWebClient, app_token: str) -> Fact:
    try:
        await client.apps_connections_open(app_token=app_token)
    except FAILURES as error:
        remedy = "Set an app-level token (xapp-…) with connections:write, and turn Socket Mode on."
        return Fact("slack socket mode", ok=False, detail=why(error), remedy=remedy)
    return Fact("slack socket mode", ok=True, detail="a connection can be opened")


async def check_slack(client: AsyncWebClient, app_token: str | None = None) -> list[Fact]:
    """Check the bot token, its scopes and, where there is one, the app-level token."""
    facts = await _token(client)
    return [*facts, await _socket_mode(client, app_token)] if app_token else facts
