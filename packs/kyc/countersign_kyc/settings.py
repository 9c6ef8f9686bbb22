"""The pack's settings: what is secret in them has the type SecretStr."""

from countersign_connector.models import ServiceUrl, Settings
from pydantic import SecretStr

GLEIF_URL = "https://api.gleif.org/api/v1"
BLOOMBERG_URL = "https://api.bloomberg.com/eap"
BLOOMBERG_TOKEN_URL = "https://bsso.blpprofessional.com/ext/api/as/token.oauth2"  # noqa: S105 - an address


class KycSettings(Settings):
    """Where the systems are; the register and the portal are asked with bearer tokens, Bloomberg with credentials."""

    gleif_url: ServiceUrl = GLEIF_URL
    bloomberg_url: ServiceUrl = BLOOMBERG_URL
    bloomberg_token_url: ServiceUrl = BLOOMBERG_TOKEN_URL
    bloomberg_client_id: str = ""
    bloomberg_client_secret: SecretStr = SecretStr("")
    register_url: ServiceUrl | None = None
    register_token: SecretStr = SecretStr("")
    portal_url: ServiceUrl | None = None
    portal_token: SecretStr = SecretStr("")
    callback_url: ServiceUrl | None = None
