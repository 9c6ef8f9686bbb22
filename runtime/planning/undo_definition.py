"""Definition of a run that undoes another: one call for each receipt, the last first, under the key of that receipt.

One that fails or is refused does not stop the others. What was not undone is put to people when all were tried: those
of a group are asked to do it by hand, and to say what they did.

All of it stands in the definition: whose receipts, which ones, their digests and the params. So its digest, which is on
record with the run's first leaf, says what was to be undone.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.model import Definition, Edge, EdgeKind, EffectClass, Kind, Retry, StepDefinition, Verb
from runtime.definitions.nodes import BODY, BranchName, BranchSpec, NodeKind, SetSpec, SwitchSpec, case
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.steps import inside
from runtime.model.undo import BY_HAND, REST, UNDO, UNDO_KEY, Item, name_of
from runtime.model.wait import Correlate, OnInvalid

POST_TASK = "slack::post_task"

_TEXT = {"type": "string"}

BY_HAND_VERB = Verb(
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


def noting_branch(path: str, what: str) -> list[StepDefinition]:
    """Return the branch of a step that fails: the run keeps what was not undone and why, and goes on to the next."""
    branch = inside(path, BranchName.FAILURE)
    noted = SetSpec(values={path: {"what": what, "why": "${error.message}"}})
    return [
        StepDefinition(branch, "", {}, None, NodeKind.BRANCH, BranchSpec()),
        StepDefinition(inside(branch, "noted"), "", {}, None, NodeKind.SET, noted, BODY),
    ]


def by_hand_steps(verb: str, run_id: str, groups: Sequence[str]) -> list[StepDefinition]:
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


def edge_behind(path: str) -> Edge:
    """Return that the question to people comes after a step, the last one: they come one after the other."""
    return Edge(path, REST, EdgeKind.SEQUENCE)


_UNFIT = re.compile(r"[^a-z0-9_]+")


def key_of(receipt_id: str) -> str:
    """Return the idempotency key under which what a receipt says is undone, once."""
    return f"{UNDO_KEY}{receipt_id}"


def payload_of(run_id: str, items: Sequence[Item]) -> dict[str, Any]:
    """Return the trigger's payload: which receipts of which run are undone."""
    return {"run_id": run_id, "receipts": [_named(item) for item in items]}


def _named(item: Item) -> dict[str, Any]:
    return {"receipt_id": item.receipt_id, "digest": item.digest, "step": item.step}


def undo_definition(
    of: Definition, run_id: str, number: int, items: Sequence[Item], groups: Sequence[str]
) -> Definition:
    """Return the definition that undoes these (possible) items of a run of `of`, in their order.

    `groups` are asked to do by hand what could not be undone.
    """
    verbs, calls, nodes = _verbs_after(of, items), list[str](), list[StepDefinition]()
    for item in items:
        path = _free(_UNFIT.sub("_", f"undo_{item.step}").strip("_"), verbs)
        verbs[path] = replace(of.verbs[item.by], idempotency_key=key_of(str(item.receipt_id)))
        calls.append(path)
        nodes.append(StepDefinition(path, path, _literal(item.params), None))
        nodes += noting_branch(path, f"{item.what} on {item.target}, by {item.by}".replace("${", "$${"))
    asking = _free(BY_HAND_VERB.name, verbs)
    verbs[asking] = BY_HAND_VERB
    nodes += by_hand_steps(asking, run_id, groups)
    one_by_one = (Edge(first, then, EdgeKind.SEQUENCE) for first, then in pairwise(calls))
    draft = Definition(
        name=name_of(run_id),
        version=number,
        title=f"Undo of {of.title}",
        description=f"Takes back what {run_id}, a run of {of.name} v{of.version}, did.",
        trigger_type=UNDO,
        trigger_schema=_schema(payload_of(run_id, items)),
        steps={node.path: node for node in nodes},
        edges=(*one_by_one, edge_behind(calls[-1])),
        verbs=verbs,
        canonical=b"",
        digest="",
        retain_days=of.retain_days,
        questions_to=of.questions_to,
    )
    return from_canonical(dumps(definition_document(draft)))


def _schema(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema that no other payload fits."""
    members = {name: {"const": value} for name, value in payload.items()}
    return {"type": "object", "required": list(members), "additionalProperties": False, "properties": members}


def _verbs_after(of: Definition, items: Sequence[Item]) -> dict[str, Verb]:
    """Return the verbs that undo those which undo, as the run's definition keeps them."""
    left, found = [way.verb for item in items for way in of.verbs[item.by].compensations], dict[str, Verb]()
    while left:
        name = left.pop()
        if name not in found:
            found[name] = of.verbs[name]
            left += [way.verb for way in found[name].compensations]
    return found


def _free(name: str, taken: Collection[str]) -> str:
    number, free = 1, name
    while free in taken:
        number, free = number + 1, f"{name}_{number + 1}"
    return free


def _literal(value: Any) -> Any:
    """Return a param that gives the value: what looks like an expression in it is none."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {name: _literal(member) for name, member in value.items()}
    return [_literal(member) for member in value] if isinstance(value, list) else value
