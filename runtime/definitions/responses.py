"""``response`` of a runbook: what whoever asked is told when a run of it ends, in its author's words."""

from typing import Any

from pydantic import Field

from runtime.definitions.nodes import Name, Spec, Text
from runtime.model.states import RunStatus


class ResponseSpec(Spec):
    """``response``: a text with ``${...}`` for each end; `outcomes` for runs that end with one of these words."""

    succeeded: Text | None = None
    failed: Text | None = None
    canceled: Text | None = None
    outcomes: dict[Name, Text] = Field(default_factory=dict, max_length=50)

    def text_for(self, status: RunStatus, outcome: str) -> str | None:
        """Return the text for how a run ended, None where the author says nothing of that."""
        of_status = {
            RunStatus.SUCCEEDED: self.succeeded,
            RunStatus.FAILED_TERMINAL: self.failed,
            RunStatus.CANCELED: self.canceled,
        }
        return self.outcomes.get(outcome) or of_status.get(status)


def response_document(response: ResponseSpec) -> dict[str, Any]:
    """Return the JSON of it; what nothing is said of is left out."""
    return response.model_dump(mode="json", exclude_defaults=True)


def read_response(document: Any) -> ResponseSpec:
    """Return what it says, or raise ValidationError."""
    return ResponseSpec.model_validate(document)
