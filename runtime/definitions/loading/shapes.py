"""Shapes of verb, entity and runbook files: which keys there are, and of what type their values.

What is wrong is said in words of the file, not of the library that found it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from runtime.definitions.cards import CardSpec
from runtime.definitions.loading.node_shapes import (
    CaseShape,
    EscalationShape,
    RemindShape,
    RepeatShape,
    RetryShape,
    RunbookName,
    RunShape,
    StepShape,
    SwitchShape,
    WaitingShape,
)
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.nodes import Name, ResponseSpec, Text, WaitSpec
from runtime.definitions.problems import Path, Problem, hint

_EXPECTED = {
    "bool": "true or false",
    "dict": "a mapping",
    "int": "a whole number",
    "list": "a list",
    "model": "a mapping",
    "string": "text",
}


def in_words_of_the_file(fault: Mapping[str, Any]) -> str:
    """Return what one of pydantic's faults says."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing":
        return "this key is missing"
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "literal_error":
        return f"expected {context['expected']}, not {_short(fault['input'])}"
    if kind == "string_pattern_mismatch":
        return f"{fault['input']!r} does not match {context['pattern']}"
    if kind in ("too_short", "string_too_short") and context["min_length"] == 1:
        return "may not be empty"
    if (name := kind.removesuffix("_type").removesuffix("_parsing")) in _EXPECTED:
        return f"expected {_EXPECTED[name]}, not {_short(fault['input'])}"
    if kind == "value_error":
        return str(context["error"])
    return str(fault["msg"])[:1].lower() + str(fault["msg"])[1:]


def _short(value: Any) -> str:
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value)[:60])


VerbName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
HandlerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*::[a-z][a-z0-9_]*$")]


class Shape(BaseModel):
    """Closed to unknown keys, and strict about types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ExecutionShape(WaitingShape):
    """``execution`` of a verb."""

    kind: Literal["sync", "durable"]
    handler: HandlerName
    params: dict[str, Any] = Field(default_factory=dict)
    correlation_field: Text | None = None
    correlate: Literal["by_token", "by_key"] | None = None
    on_invalid: Literal["refuse", "fail"] | None = None
    wait: Literal["external", "human_task", "timer", "child_run"] | None = None


class ReversalShape(Shape):
    """``effect.reversible`` of a write that can be undone."""

    by: Text


def _reversible_tag(value: Any) -> str:
    return "false" if value is False else "(mapping)"


Reversible = Annotated[
    Annotated[Literal[False], Tag("false")] | Annotated[ReversalShape, Tag("(mapping)")],
    Discriminator(_reversible_tag),
]


class EffectShape(Shape):
    """``effect`` of a verb; `governed` is for reads, which then have `tier` and `target`.

    All else is for writes, and demanded of them but for `settles_within`.
    """

    class_: Literal["read", "write"] = Field(alias="class")
    governed: Literal[True] | None = None
    tier: Literal["low", "medium", "high"] | None = None
    reversible: Reversible | None = None
    target: Text | None = None
    idempotency_key: Text | None = None
    in_doubt: Literal["retry", "reconcile", "ask"] | None = None
    settles_within: str | None = None


class CompensationShape(Shape):
    """``compensate`` or ``on_cancel`` of a verb: which verb takes its effect back, with which params."""

    verb: VerbName
    params: dict[str, Any] = {}


class VerbShape(Shape):
    """One verb."""

    name: VerbName
    domain: Text
    description: Text
    execution: ExecutionShape
    effect: EffectShape
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] = {}
    redact: list[Annotated[str, Field(pattern=r"^(/[^/]+)+$")]] = []
    editable: Annotated[list[VerbName], Field(min_length=1)] | None = None
    compensate: CompensationShape | None = None
    on_cancel: CompensationShape | None = None
    card: CardSpec | None = None


class VerbFile(Shape):
    """A file of verbs, with the definitions that their schemas share."""

    verbs: list[Any] = Field(min_length=1)
    definitions: dict[str, Any] = {}


class EntityShape(Shape):
    """One kind of business entity."""

    name: VerbName
    description: Text
    id: VerbName
    schema_: dict[str, Any] = Field(alias="schema")


class EntityFile(Shape):
    """A file of entities, with the definitions that their schemas share."""

    entities: list[Any] = Field(min_length=1)
    definitions: dict[str, Any] = {}


class TriggerShape(Shape):
    """``trigger`` of a runbook."""

    type: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$")]
    schema_: dict[str, Any] = Field(alias="schema")
    when: Text | None = None
    about: Text | None = None
    signal: Name | None = None


class EvidenceShape(Shape):
    """``evidence`` of a runbook."""

    retain: str


class RunbookFile(Shape):
    """A file that holds one runbook."""

    name: RunbookName
    version: int = Field(ge=1)
    title: Text
    description: str = ""
    trigger: TriggerShape
    steps: list[StepShape] = Field(min_length=1)
    evidence: EvidenceShape | None = None
    sla: str | None = None
    on_error: Literal["needs_attention", "fail"] = "fail"
    definitions: dict[str, Any] = {}
    state: dict[str, Any] | None = None
    output: Any = None
    response: ResponseSpec | None = None
    questions_to: Text | None = None


ShapeT = TypeVar("ShapeT", bound=BaseModel)

_PLACES: Mapping[str, type[BaseModel]] = {
    "a verb": VerbShape,
    "execution": ExecutionShape,
    "retry": RetryShape,
    "escalation": EscalationShape,
    "remind": RemindShape,
    "effect": EffectShape,
    "compensate": CompensationShape,
    "card": CardSpec,
    "a runbook": RunbookFile,
    "an entity": EntityShape,
    "trigger": TriggerShape,
    "a step": StepShape,
    "evidence": EvidenceShape,
    "response": ResponseSpec,
    "switch": SwitchShape,
    "a case": CaseShape,
    "repeat": RepeatShape,
    "run": RunShape,
    "wait": WaitSpec,
}


MOST_PROBLEMS = 100
"""How many problems of one place are named: each unknown key is compared with all that are known."""


def read_shape(model: type[ShapeT], source: Source, at: Path = ()) -> tuple[ShapeT | None, list[Problem]]:
    """Return what stands at `at` as `model`, or None and the reasons why it is not one; only the first are named."""
    value = _at(source.value, at)
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        faults = error.errors(include_url=False)
        named = [_problem(source, at, fault) for fault in faults[:MOST_PROBLEMS]]
        more = len(faults) - len(named)
        return None, [*named, *([source.problem(at, "shape", f"{more:,} more problems here")] if more else [])]


def keys_of(model: type[BaseModel]) -> set[str]:
    """Return the keys that `model` knows, as they are written."""
    return {field.alias or name for name, field in model.model_fields.items()}


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _problem(source: Source, at: Path, fault: Any) -> Problem:
    kind, location = fault["type"], tuple(fault["loc"])
    path = (*at, *_real(_at(source.value, at), location))
    if kind == "missing":
        return source.problem(path, "missing_key", f"the key '{location[-1]}' is missing")
    if kind == "extra_forbidden":
        return source.problem(path, "unknown_key", _unknown_key(str(location[-1])))
    return source.problem(path, "shape", in_words_of_the_file(fault))


def _real(value: Any, location: Sequence[str | int]) -> Iterator[str | int]:
    """Yield the parts of `location` that are in the document, leaving out pydantic's names for alternatives."""
    for part in location:
        members = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if part in members:
            yield part
            value = members[part]


def _unknown_key(key: str) -> str:
    owners = [place for place, model in _PLACES.items() if key in keys_of(model)]
    if owners:
        return f"the key '{key}' does not belong here but to {' or '.join(owners)}"
    return f"unknown key '{key}'{hint(key, set().union(*map(keys_of, _PLACES.values())))}"
