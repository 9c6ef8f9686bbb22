"""The Web API client: no retries of its own, no payload in its logs, and errors in the runtime's terms.

The log holds no payload of ours or Slack's, and no address that opens a connection.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from runtime.handlers import (
    BlockedError,
    HandlerError,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)

_TICKET = re.compile(r"(ticket=)[^&\s'\"]+")


class _Discretion(logging.Filter):
    """Takes tickets out of messages, and traces, which quote them, out of records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record, and let it pass."""
        record.msg, record.args = _TICKET.sub(r"\1…", record.getMessage()), ()
        record.exc_info = record.exc_text = None
        return True


_DISCRETION = _Discretion()


def slack_logger() -> logging.Logger:
    """Return the logger for Bolt and the SDK. Both write whole payloads at DEBUG, whatever the root logger says."""
    logger = logging.getLogger("bot.slack")
    logger.setLevel(logging.INFO)
    logger.addFilter(_DISCRETION)
    return logger


class Tally:
    """Counts what would fill the log: a line at the first time, the second, the fourth, the eighth and so on."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.count = 0

    def add(self) -> None:
        """Count one more."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            slack_logger().warning("%s: %s so far", self._what, self.count)


# The type under our own name, for those above who hand the client around: slack_sdk is imported in bot/ alone.
SlackClient = AsyncWebClient

FAILURES = (SlackApiError, aiohttp.ClientError, TimeoutError)

NOT_INSTALLED = "not_installed"
"""Our own word beside Slack's errors: the app is not installed there, so there is no token to speak with."""

_LIMITED = frozenset({"ratelimited", "rate_limited"})
_TRANSIENT = frozenset({"message_limit_exceeded", "accesslimited", "external_channel_migrating", "team_added_to_org"})
# What somebody can mend, in the workspace or in the app's settings, while we go on trying.
_FIXABLE = frozenset(
    {
        # the channel
        *("not_in_channel", "channel_not_found", "is_archived", "restricted_action", "no_permission", "not_in_team"),
        *("restricted_action_read_only_channel", "restricted_action_thread_only_channel", "messages_tab_disabled"),
        *("restricted_action_non_threadable_channel", "restricted_action_thread_locked", "posting_to_channel_denied"),
        # the app and its token
        *("not_authed", "invalid_auth", "token_revoked", "token_expired", "account_inactive", "missing_scope"),
        *("not_allowed_token_type", "no_scope", "access_denied", "app_access_restricted", NOT_INSTALLED),
        # the workspace and the organization
        *("ekm_access_denied", "team_access_not_granted", "enterprise_is_restricted", "org_login_required"),
        *("two_factor_setup_required", "team_disabled"),
    }
)
# Slack documents of these that some of the work may have been done.
_UNKNOWN = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
_SERVER_ERROR, _TOO_MANY = 500, 429


def slack_client(token: str | None, base_url: str | None = None, timeout: int = 10) -> AsyncWebClient:
    """Return a client. The SDK would repeat a request whose answer was lost, and so post a message twice."""
    return AsyncWebClient(
        token=token,
        base_url=base_url or AsyncWebClient.BASE_URL,
        timeout=timeout,
        retry_handlers=[],
        logger=slack_logger(),
    )


def error_data(error: SlackApiError) -> Mapping[str, Any]:
    """Return the body of an error, empty when it is not Slack's JSON."""
    data = getattr(error.response, "data", None)
    return data if isinstance(data, dict) else {}


def error_code(error: Exception) -> str:
    """Return Slack's code of an error, or the kind of error where Slack said nothing."""
    code = error_data(error).get("error") if isinstance(error, SlackApiError) else None
    return str(code or type(error).__name__)


def _status(error: SlackApiError) -> int:
    """Return the HTTP status; where Slack's JSON was broken the SDK hands over the bare HTTP response."""
    response = error.response
    return int(response.status if isinstance(response, aiohttp.ClientResponse) else response.status_code)


def retry_after(error: SlackApiError) -> float | None:
    """Return for how many seconds Slack asks to wait, where it does."""
    value = next((value for key, value in error.response.headers.items() if key.lower() == "retry-after"), "")
    return float(value) if value.isdigit() else None


def is_limit(error: SlackApiError) -> bool:
    """Return whether Slack says that it is asked too often."""
    return _status(error) == _TOO_MANY or str(error_data(error).get("error", "")) in _LIMITED


def failure(error: Exception) -> HandlerError:
    """Say what a failed call means for the side effect: not done, blocked, refused, or unknown."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return NotTakenError("Slack cannot be reached")
    if not isinstance(error, SlackApiError):
        return OutcomeUnknownError(f"Slack did not answer: {type(error).__name__}")
    data = error_data(error)
    code = str(data.get("error", ""))
    status = _status(error)
    if is_limit(error):
        return NotTakenError(f"Slack: {code or status}", retry_after(error))
    if code in _TRANSIENT:
        return TransientError(f"Slack: {code or status}", retry_after(error))
    if status >= _SERVER_ERROR or code in _UNKNOWN or not code:
        return OutcomeUnknownError(f"Slack: {code or status}")
    if code in _FIXABLE:
        return BlockedError(f"Slack refuses: {code}")
    details = data.get("response_metadata", {}).get("messages", [])
    return RefusedError("; ".join([f"Slack refused: {code}", *map(str, details)]))
