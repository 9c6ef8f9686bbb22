"""A short form on a terminal for a question that policy is asked: what is to be done, and who asks."""

from datetime import datetime
from typing import Any

import typer

from policy.bundle import strict_json
from policy.vetting import sample_question
from runtime.model.action import Tier


def ask_for_question(tenant: str, now: datetime) -> dict[str, Any]:
    """Return the question that a person puts together; what a policy seldom reads is that of a first question."""
    connector, operation = typer.prompt("Connector"), typer.prompt("Operation")
    target = typer.prompt("Target", default=f"{connector}:1")
    tier = typer.prompt("Tier", default=Tier.MEDIUM, value_proc=_tier)
    reversible = typer.confirm("Can it be undone?", default=False)
    requester = typer.prompt("Requester")
    fields = typer.prompt("Fields, as JSON", default="{}", value_proc=_fields)
    question = sample_question(tenant, connector, operation, target, tier, f"{now:%Y-%m-%dT%H:%M:%SZ}")
    document = question.model_dump(mode="json")
    actor = {"id": requester, "kind": "person", "groups": [], "submitted_by": requester}
    return {**document, "actor": actor, "effect": {**document["effect"], "reversible": reversible, "fields": fields}}


def _tier(text: str) -> str:
    if text not in set(Tier):
        raise typer.BadParameter(f"write {', '.join(Tier)}")
    return text


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = strict_json(text)
    except ValueError as error:
        raise typer.BadParameter(f"this is no JSON: {error}") from error
    if not isinstance(fields, dict):
        raise typer.BadParameter('write an object, such as {"amount": 900}')
    return fields
