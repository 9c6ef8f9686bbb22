"""The pack's settings: what is secret in them has the type SecretStr."""

from typing import Self

from countersign_connector.models import ServiceUrl, Settings
from pydantic import SecretStr, model_validator


class TriageSettings(Settings):
    """Where the ServiceNow instance is, and who asks: a user with a password, or a bearer token."""

    servicenow_url: ServiceUrl | None = None
    servicenow_user: str = ""
    servicenow_password: SecretStr = SecretStr("")
    servicenow_token: SecretStr = SecretStr("")

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if bool(self.servicenow_user) != bool(self.servicenow_password):
            raise ValueError("servicenow_user and servicenow_password go together")
        if self.servicenow_url and bool(self.servicenow_user) == bool(self.servicenow_token):
            raise ValueError("servicenow_url wants either servicenow_user and servicenow_password or servicenow_token")
        return self
