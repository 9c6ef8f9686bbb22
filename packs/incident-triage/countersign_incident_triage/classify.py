"""Classification of incidents by rules, which stand in the verb's own declaration. Pure computation."""

import re

from countersign_connector.models import Params, read_params
from pydantic import Field

from countersign_incident_triage.incidents import Name, Priority
from countersign_incident_triage.labels import Label
from runtime.handlers import Call, Handler, JsonObject

_WORDS = re.compile(r"[a-z0-9]+")
_HIGHEST = 1


class Outcome(Params):
    """Where an incident belongs."""

    category: Name
    assignment_group: Name
    labels: list[Label]


class Rule(Outcome):
    """An outcome, and the words of which at least one must be in the text."""

    name: str
    words: list[str] = Field(min_length=1)


class ClassifyParams(Params):
    """What the incident says, and the rules; the rule with most words in the text wins, the first among equals."""

    number: str
    short_description: str
    description: str
    impact: Priority
    urgency: Priority
    rules: list[Rule]
    otherwise: Outcome
    urgent_label: Label


def handlers() -> dict[str, Handler]:
    """Return the operation of the connector `triage`; it computes and calls nobody."""

    async def classify(call: Call) -> JsonObject:
        return classification(read_params(ClassifyParams, call))

    return {"triage::classify": Handler(classify, writes=False)}


def classification(params: ClassifyParams) -> JsonObject:
    """Choose the outcome, and say in a work note why."""
    text = set(_WORDS.findall(f"{params.short_description} {params.description}".lower()))
    hits = [(rule, [word for word in rule.words if word in text]) for rule in params.rules]
    rule, words = max(hits, key=lambda hit: len(hit[1]), default=(None, []))
    outcome: Outcome = rule if rule and words else params.otherwise
    urgent = params.impact == params.urgency == _HIGHEST
    why = f"rule {rule.name!r}, words: {', '.join(words)}" if rule and words else "no rule matched"
    return {
        "category": outcome.category,
        "assignment_group": outcome.assignment_group,
        "labels": [*outcome.labels, params.urgent_label] if urgent else outcome.labels,
        "note": f"Triage of {params.number}: category {outcome.category}, group {outcome.assignment_group} ({why}).",
    }
