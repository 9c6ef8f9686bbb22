"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping

from countersign_connector.http import Service
from countersign_connector.models import read_settings
from pydantic import SecretStr

from countersign_kyc import bloomberg, completeness, gleif, portal, register, report
from countersign_kyc.settings import KycSettings
from runtime.clock import utc_now
from runtime.handlers import Handler


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; ValueError names each setting that is unknown or wrong."""
    parsed = read_settings(KycSettings, settings, "kyc")
    return {
        **gleif.handlers(gleif.service(parsed.gleif_url, parsed.timeout)),
        **bloomberg.handlers(bloomberg.service(parsed.bloomberg_url, parsed.timeout), _sign_in(parsed)),
        **register.handlers(_service("register", parsed.register_url, parsed.register_token, parsed.timeout)),
        **portal.handlers(
            _service("portal", parsed.portal_url, parsed.portal_token, parsed.timeout), parsed.callback_url
        ),
        **completeness.handlers(),
        **report.handlers(),
    }


def _sign_in(parsed: KycSettings) -> bloomberg.SignIn:
    return bloomberg.SignIn(
        parsed.bloomberg_token_url,
        parsed.bloomberg_client_id,
        parsed.bloomberg_client_secret.get_secret_value(),
        parsed.timeout,
        utc_now,
    )


def _service(name: str, url: str | None, token: SecretStr, timeout: float) -> Service:
    """Describe a service; one without a URL refuses when it is used, so that the pack loads without it."""
    return Service(name, url or "", {"Authorization": f"Bearer {token.get_secret_value()}"}, timeout, register.explain)
