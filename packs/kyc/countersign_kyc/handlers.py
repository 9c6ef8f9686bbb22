"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping

from countersign_connector.http import Service
from countersign_connector.models import ServiceUrl, Settings, read_settings

from countersign_kyc import completeness, gleif, portal, register, report
from countersign_kyc.bloomberg import client as bloomberg
from countersign_kyc.bloomberg import subsidiaries
from runtime.clock import utc_now
from runtime.handlers import Handler

GLEIF_URL = "https://api.gleif.org/api/v1"
BLOOMBERG_URL = "https://api.bloomberg.com/eap"
BLOOMBERG_TOKEN_URL = "https://bsso.blpprofessional.com/ext/api/as/token.oauth2"  # noqa: S105 - an address


class KycSettings(Settings):
    """Where the systems are; the register and the portal are asked with bearer tokens, Bloomberg with credentials."""

    gleif_url: ServiceUrl = GLEIF_URL
    bloomberg_url: ServiceUrl = BLOOMBERG_URL
    bloomberg_token_url: ServiceUrl = BLOOMBERG_TOKEN_URL
    bloomberg_client_id: str = ""
    bloomberg_client_secret: str = ""
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
        **subsidiaries.handlers(bloomberg.service(parsed.bloomberg_url, parsed.timeout), _sign_in(parsed)),
        **register.handlers(_service("register", parsed.register_url, parsed.register_token, parsed.timeout)),
        **portal.handlers(
            _service("portal", parsed.portal_url, parsed.portal_token, parsed.timeout), parsed.callback_url
        ),
        **completeness.handlers(),
        **report.handlers(),
    }


def _sign_in(parsed: KycSettings) -> bloomberg.SignIn:
    return bloomberg.SignIn(
        parsed.bloomberg_token_url, parsed.bloomberg_client_id, parsed.bloomberg_client_secret, parsed.timeout, utc_now
    )


def _service(name: str, url: str | None, token: str, timeout: float) -> Service:
    """Describe a service; one without a URL refuses when it is used, so that the pack loads without it."""
    return Service(name, url or "", {"Authorization": f"Bearer {token}"}, timeout, register.explain)
