"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping

from countersign_connector.http import Service
from countersign_connector.models import ServiceUrl, Settings, read_settings

from countersign_kyc import completeness, gleif, portal, register, report
from runtime.handlers import Handler

GLEIF_URL = "https://api.gleif.org/api/v1"


class KycSettings(Settings):
    """Where the systems are; the register and the portal are asked with bearer tokens."""

    gleif_url: ServiceUrl = GLEIF_URL
    register_url: ServiceUrl | None = None
    register_token: str = ""
    portal_url: ServiceUrl | None = None
    portal_token: str = ""
    callback_url: ServiceUrl | None = None


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; ValueError names each setting that is unknown or wrong."""
    parsed = read_settings(KycSettings, settings, "kyc")
    return {
        **gleif.handlers(gleif.service(parsed.gleif_url, parsed.timeout)),
        **register.handlers(_service("register", parsed.register_url, parsed.register_token, parsed.timeout)),
        **portal.handlers(
            _service("portal", parsed.portal_url, parsed.portal_token, parsed.timeout), parsed.callback_url
        ),
        **completeness.handlers(),
        **report.handlers(),
    }


def _service(name: str, url: str | None, token: str, timeout: float) -> Service:
    """Describe a service; one without a URL refuses when it is used, so that the pack loads without it."""
    return Service(name, url or "", {"Authorization": f"Bearer {token}"}, timeout, register.explain)
