"""What becomes of what could not be undone: people of a group are asked to do it by hand, and to say what they did."""

from collections.abc import Sequence
from datetime import timedelta

from runtime.definitions.model import Edge, EdgeKind, EffectClass, Kind, Retry, StepDefinition, Verb
from runtime.definitions.nodes import BODY, BranchName, BranchSpec, NodeKind, SetSpec, SwitchSpec, case
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.paths import inside
from runtime.model.wait import Correlate, OnInvalid

POST_TASK = "slack::post_task"
REST = "rest"
BY_HAND = inside(REST, "by_hand")
"""The step in which people answer, where anything could not be undone."""

_TEXT = {"type": "string"}

VERB = Verb(
    name="undo_by_hand",
    domain="countersign",
    description="Undo by hand what could not be undone, and say what you did; or reject, and it stays as it is",
    kind=Kind.DURABLE,
    handler=POST_TASK,
    static_params={},
    input_schema={
        "type": "object",
        "required": ["title", "groups", "run", "not_undone"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "maxLength": 150},
            "groups": {"type": "array", "minItems": 1, "items": _TEXT},
            "run": _TEXT,
            "not_undone": {"type": "object"},
        },
    },
    output_schema={
        "type": "object",
        "required": ["decision", "reviewer", "reason"],
        "properties": {"decision": {"enum": ["approved", "rejected"]}, "reviewer": _TEXT, "reason": _TEXT},
    },
    timeout=timedelta(days=30),
    retry=Retry(5, "exponential", timedelta(seconds=2), timedelta(minutes=5)),
    escalation=(),
    effect_class=EffectClass.WRITE,
    tier=Tier.LOW,
    reversible_by="Cancel the run; the card is then closed",
    target="review:${params.groups[0]}",
    idempotency_key="undo-by-hand-${run.id}-${step}",
    in_doubt=OnDoubt.RECONCILE,
    settles_within=None,
    correlation_field=None,
    correlate=Correlate.BY_TOKEN,
    on_invalid=OnInvalid.REFUSE,
    wait_type="human_task",
    redact=(),
)


def noting(path: str, what: str) -> list[StepDefinition]:
    """Return the branch of a step that fails: the run keeps what was not undone and why, and goes on to the next."""
    branch = inside(path, BranchName.FAILURE)
    noted = SetSpec(values={path: {"what": what, "why": "${error.message}"}})
    return [
        StepDefinition(branch, "", {}, None, NodeKind.BRANCH, BranchSpec()),
        StepDefinition(inside(branch, "noted"), "", {}, None, NodeKind.SET, noted, BODY),
    ]


def asking(verb: str, run_id: str, groups: Sequence[str]) -> list[StepDefinition]:
    """Return the steps that come last: where anything was not undone, people are asked to do it by hand."""
    params = {
        "title": f"Undo by hand what {run_id} did",
        "groups": list(groups),
        "run": run_id,
        "not_undone": "${state}",
    }
    switch = SwitchSpec(cases=["size(state) > 0"], otherwise=True)
    return [
        StepDefinition(REST, "", {}, None, NodeKind.SWITCH, switch),
        StepDefinition(BY_HAND, verb, params, None, branch=case(1)),
    ]


def behind(path: str) -> Edge:
    """Return that the question to people comes after a step, the last one: they come one after the other."""
    return Edge(path, REST, EdgeKind.SEQUENCE)
