"""What the doctor says of Slack: of one workspace by its bot's token, or of each in which the app is installed."""

from bot.slack.doctor import Fact, check_app, check_slack
from bot.slack.workspace_doctor import check_workspaces
from countersign.connection import connected
from countersign.routing import RoutingFile, read_routing
from countersign.settings import Settings
from countersign.slack import make_client, make_vault
from runtime.services import workspaces_looking as looking


async def slack(settings: Settings) -> list[Fact]:
    """Check tokens, scopes, and the channels that cards go to."""
    app_token = settings.slack_app_token.get_secret_value() if settings.slack_app_token else None
    routed = read_routing(settings.routing) if settings.routing else RoutingFile()
    usual = [channel for channel in (settings.slack_channel, *settings.slack_channels.values()) if channel]
    channels = [*usual, *routed.channels]
    if settings.slack_client_id is None:
        client = make_client(settings)
        app = [await check_app(client, settings.slack_app_id)] if settings.slack_app_id else []
        return [*await check_slack(client, app_token, channels), *app]
    async with connected(settings) as conn:
        live = await looking.live(conn, settings.tenant, make_vault(settings))
        ended = await looking.ended(conn, settings.tenant)
    return await check_workspaces(live, ended, settings.slack_api_url, app_token, channels)


async def members(settings: Settings) -> list[Fact]:
    """Name the people of the directory whose accounts Slack says are all deactivated: nobody can ask them."""
    async with connected(settings) as conn:
        left = await looking.people_left(conn, settings.tenant)
    detail = f"deactivated in Slack: {', '.join(left)}" if left else "everyone in the directory is active in Slack"
    remedy = "Remove them from the directory file, or update their accounts, and load it as a new version."
    return [Fact("members", ok=not left, detail=detail, remedy=remedy)]
