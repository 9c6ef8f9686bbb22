"""Slack as the settings name it: the client that sends, and what the bot needs to hear."""

from typing import Any

from bot.listeners.app import BotSettings
from bot.slack.client import SlackClient, slack_client
from bot.slack.connector import slack_handlers
from countersign.config.settings import ConfigError, Settings, required
from runtime.handlers import Handler


def make_client(settings: Settings) -> SlackClient:
    """Return the client of the installed app."""
    return slack_client(required(settings, "slack_bot_token"), settings.slack_api_url)


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
    """Return what the bot needs."""
    return BotSettings(
        token=required(settings, "slack_bot_token"),
        signing_secrets=tuple(secret.get_secret_value() for secret in settings.slack_signing_secrets),
        app_token=settings.slack_app_token.get_secret_value() if settings.slack_app_token else None,
        base_url=settings.slack_api_url,
    )
