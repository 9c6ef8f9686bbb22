"""The runbook of a run that tells delegator and delegate of a delegation; its messages pass the gate like any other."""

from functools import cache

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.model import Definition, StepDefinition
from runtime.definitions.nodes import NodeKind, SetSpec

DELEGATION = "countersign.delegation"
"""The trigger type; what begins with `countersign.` no pack may claim."""

_NAME = "countersign-delegation"
_TEXT = {"type": "string"}


@cache
def delegation_definition() -> Definition:
    """Return the definition: it keeps which delegation was recorded, or ended."""
    members = {"delegation_id": _TEXT, "act": {"enum": ["recorded", "ended"]}}
    kept = SetSpec(values={name: f"${{trigger.{name}}}" for name in members})
    draft = Definition(
        name=_NAME,
        version=1,
        title="Delegation",
        description="Tells delegator and delegate that a delegation was recorded or ended.",
        trigger_type=DELEGATION,
        trigger_schema={
            "type": "object",
            "required": list(members),
            "additionalProperties": False,
            "properties": members,
        },
        steps={"keep": StepDefinition("keep", "", {}, None, NodeKind.SET, kept)},
        edges=(),
        verbs={},
        canonical=b"",
        digest="",
    )
    return from_canonical(dumps(definition_document(draft)))
