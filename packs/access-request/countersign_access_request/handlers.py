"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping

from countersign_connector.http import Service
from countersign_connector.models import read_settings

from countersign_access_request import grants
from countersign_access_request.settings import AccessSettings
from runtime.handlers import Handler, Json


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; ValueError names each setting that is unknown or wrong."""
    parsed = read_settings(AccessSettings, settings, "access-request")
    authorization = {"Authorization": f"Bearer {parsed.access_token.get_secret_value()}"}
    return grants.handlers(Service("access system", parsed.access_url or "", authorization, parsed.timeout, _explain))


def _explain(body: Json) -> str:
    """Return the detail of a problem document (RFC 9457)."""
    return str(body.get("detail", "")) if isinstance(body, dict) else ""
