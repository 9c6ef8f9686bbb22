"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping
from typing import Self

from countersign_connector.models import ServiceUrl, Settings, read_settings
from pydantic import model_validator

from countersign_incident_triage import classify, incidents, labels, restoring, table
from runtime.handlers import Handler


class TriageSettings(Settings):
    """Where the ServiceNow instance is, and who asks: a user with a password, or a bearer token."""

    servicenow_url: ServiceUrl | None = None
    servicenow_user: str = ""
    servicenow_password: str = ""
    servicenow_token: str = ""

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if bool(self.servicenow_user) != bool(self.servicenow_password):
            raise ValueError("servicenow_user and servicenow_password go together")
        if self.servicenow_url and bool(self.servicenow_user) == bool(self.servicenow_token):
            raise ValueError("servicenow_url wants either servicenow_user and servicenow_password or servicenow_token")
        return self

    @property
    def authorization(self) -> str:
        """Return the Authorization header."""
        if self.servicenow_token:
            return f"Bearer {self.servicenow_token}"
        return table.basic(self.servicenow_user, self.servicenow_password)


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; ValueError names each setting that is unknown or wrong."""
    parsed = read_settings(TriageSettings, settings, "incident-triage")
    servicenow = table.service(parsed.servicenow_url or "", parsed.authorization, parsed.timeout)
    return {
        **incidents.handlers(servicenow),
        **labels.handlers(servicenow),
        **restoring.handlers(servicenow),
        **classify.handlers(),
    }
