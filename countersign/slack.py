"""Slack as the settings name it: the client that sends, what the bot needs to hear, and the app's manifest."""

from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from bot.app import BotSettings, Places
from bot.client import SlackClient, slack_client
from bot.connector import slack_handlers
from bot.doctor import SCOPES
from bot.listeners.oauth import InstallPages, OAuthSettings
from bot.workspaces import AppCredentials, Workspaces
from countersign.settings import ConfigError, Settings, required
from receipts.vault import Vault, parse_key
from runtime.engine import Engine
from runtime.handlers import Handler
from runtime.model.limits import Rate
from runtime.services import installations
from runtime.services.installations import InstallationLifecycle, Installations
from runtime.store.database.pool import Conn


def make_client(settings: Settings) -> SlackClient:
    """Return the client of the installed app."""
    return slack_client(required(settings, "slack_bot_token"), settings.slack_api_url)


async def clients_of(settings: Settings, conn: Conn) -> list[SlackClient]:
    """Return a client for each workspace in which the app is installed."""
    if settings.slack_client_id is None:
        return [make_client(settings)]
    live = await installations.live(conn, settings.tenant, make_vault(settings))
    return [slack_client(one.tokens.access, settings.slack_api_url) for one in live]


def unconnected_handlers() -> dict[str, Handler]:
    """Return the chat's handlers for a process that calls none of them: definitions are checked against their names."""
    nobody: Any = None
    return slack_handlers(slack_client(None), nobody, nobody, nobody, mocked=False)


def check_hearing(settings: Settings) -> None:
    """Raise ConfigError where the bot could hear nobody."""
    if not (settings.slack_app_token or settings.slack_signing_secrets):
        raise ConfigError(
            "no click can be heard: set COUNTERSIGN_SLACK_SIGNING_SECRETS for HTTP,"
            " or COUNTERSIGN_SLACK_APP_TOKEN for Socket Mode"
        )


def bot_settings(settings: Settings) -> BotSettings:
    """Return what the bot needs; raise ConfigError where installing the app by OAuth lacks something."""
    if missing := settings.missing_of_app():
        raise ConfigError(missing)
    return BotSettings(
        token=None if settings.slack_client_id else required(settings, "slack_bot_token"),
        signing_secrets=tuple(secret.get_secret_value() for secret in settings.slack_signing_secrets),
        app_token=settings.slack_app_token.get_secret_value() if settings.slack_app_token else None,
        base_url=settings.slack_api_url,
        rate=Rate(settings.person_rate, settings.person_burst),
    )


def make_vault(settings: Settings) -> Vault:
    """Return what keeps the tokens of workspaces; raise ConfigError where there is no key."""
    if not settings.slack_token_keys:
        raise ConfigError("COUNTERSIGN_SLACK_TOKEN_KEYS is not set; `countersign slack new-key` makes a key")
    return Vault([parse_key(key.get_secret_value()) for key in settings.slack_token_keys])


def make_places(settings: Settings, engine: Engine) -> Places:
    """Return where the app is: in one workspace by its bot's token, or in those in which it is installed by OAuth."""
    life = InstallationLifecycle(engine, settings.tenant)
    if settings.slack_client_id is None:
        return Places(life)
    app = AppCredentials(settings.slack_client_id, required(settings, "slack_client_secret"))
    oauth = OAuthSettings(
        app, required(settings, "public_url"), settings.slack_authorize_url, sorted(SCOPES), settings.slack_api_url
    )
    desk = Installations(engine, settings.tenant, make_vault(settings))
    workspaces = Workspaces(desk, app, engine.clock, settings.slack_api_url)
    return Places(life, workspaces, InstallPages(oauth, desk, workspaces, engine.clock))


_DOMAINS_LINE = (
    "  # unfurl_domains: [YOUR-HOST] # of COUNTERSIGN_PUBLIC_URL; `countersign slack manifest` fills it in\n"
)


def manifest_of(public_url: str | None) -> str:
    """Return its text. With our address the domain of our links stands in it, which Slack then tells us of."""
    text = files("bot").joinpath("manifest.yaml").read_text(encoding="utf-8")
    assert _DOMAINS_LINE in text  # noqa: S101 - a file of ours
    host = urlsplit(public_url).hostname if public_url else None
    return text.replace(_DOMAINS_LINE, f"  unfurl_domains: [{host}]\n") if host else text
