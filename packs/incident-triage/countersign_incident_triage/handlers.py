"""The pack's entry point: its settings, and every operation it offers."""

from collections.abc import Mapping

from countersign_connector.models import read_settings

from countersign_incident_triage import classify, incidents, labels, table
from countersign_incident_triage.settings import TriageSettings
from runtime.handlers import Handler


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; ValueError names each setting that is unknown or wrong."""
    parsed = read_settings(TriageSettings, settings, "incident-triage")
    servicenow = table.service(parsed.servicenow_url or "", _authorization(parsed), parsed.timeout)
    return {
        **incidents.handlers(servicenow),
        **labels.handlers(servicenow),
        **incidents.restore_handlers(servicenow),
        **classify.handlers(),
    }


def _authorization(parsed: TriageSettings) -> str:
    """Return the Authorization header."""
    if parsed.servicenow_token:
        return f"Bearer {parsed.servicenow_token.get_secret_value()}"
    return table.basic(parsed.servicenow_user, parsed.servicenow_password.get_secret_value())
