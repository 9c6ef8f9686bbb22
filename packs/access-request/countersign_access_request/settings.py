"""The pack's settings: what is secret in them has the type SecretStr."""

from countersign_connector.models import ServiceUrl, Settings
from pydantic import SecretStr


class AccessSettings(Settings):
    """Where the access system is; it is asked with a bearer token."""

    access_url: ServiceUrl | None = None
    access_token: SecretStr = SecretStr("")
