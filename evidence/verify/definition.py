"""The definition and the tree of its steps, as far as rules compare them.

The forms are what `definition.json` has beside the members of `evidence.records`. The tree says what stands
in what, who waits for whom, and which paths there can be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from evidence.reading.step_paths import address_of, block_of, inside, iterated, near, parts_of, place_of
from evidence.records import (
    DefinitionRecord,
    EffectClass,
    Execution,
    Extensible,
    NextInLineRecord,
    OmittedIfNone,
    StepRecord,
    VerbRecord,
)
from evidence.verify.forms import Tier
from receipts.fields import NonEmpty


class EscalationForm(Extensible):
    """After how long those next in line are asked, how much longer there is then (ISO 8601), and what is started."""

    after: NonEmpty
    to: Sequence[str] = ()
    extend: NonEmpty = ""
    start: NonEmpty | None = None


Escalations = list[EscalationForm] | None


class ExecutionForm(Execution):
    """How a verb executes; `wait` is what a durable one waits for."""

    kind: Literal["sync", "durable"]
    timeout: NonEmpty
    wait: str | None
    escalation: Escalations
    correlation_field: str | None

    @property
    def entries(self) -> list[EscalationForm]:
        """Return what happens as time runs short."""
        return self.escalation or []

    @property
    def next_in_line(self) -> list[NextInLineRecord]:
        """Return who is asked then, and when."""
        return [NextInLineRecord(after=entry.after, to=list(entry.to)) for entry in self.entries if entry.to]


class EffectClassForm(EffectClass):
    """What a verb does to the world; `target` and `idempotency_key` are templates."""

    tier: Tier
    reversible_by: str | None
    target: str
    idempotency_key: str


class VerbForm(VerbRecord):
    """One verb of the definition."""

    description: str
    execution: ExecutionForm
    effect: EffectClassForm
    editable: list[str] = Field(default_factory=list)


class SwitchForm(Extensible):
    """The conditions of the cases, and whether there is an `else`."""

    cases: list[str]
    otherwise: bool


class RepeatForm(Extensible):
    """How often at most, None where a list says it, and how often at a time."""

    at_most: int | None = None
    at_most_at_once: int = 1


class WaitForm(Extensible):
    """A time (`for`) or moment (`until`), or a signal within `timeout` or before `until`: texts with expressions."""

    for_: str | None = Field(None, alias="for")
    until: str | None = None
    signal: str | None = None
    timeout: str | None = None


class EndForm(Extensible):
    """The word with which the run ends, and what it gives; None where nothing is said of that."""

    outcome: NonEmpty
    result: JsonValue = None


KINDS = ("verb", "set", "reference", "switch", "repeat", "wait", "end", "branch")
"""The members of a step of which it has one, which says what it is."""


class StepForm(StepRecord):
    """One step of the definition: `when` is its condition, `within` the branch of the step around it that it is in.

    It has one of `KINDS`, and that is not null. `timeout` (ISO 8601) and `escalation` stand for those of its verb,
    and where it says `until`, a moment as a text with expressions, its wait ends then, whatever the timeout.
    `on_error` says that an error waits for a person.
    """

    when: JsonValue
    within: str = Field("", alias="in")
    timeout: NonEmpty | None = None
    until: NonEmpty | None = None
    escalation: Escalations = None
    on_error: Literal["needs_attention"] | None = None
    switch: SwitchForm | None = None
    repeat: RepeatForm | None = None
    wait: WaitForm | None = None
    end: EndForm | None = None

    @property
    def kind(self) -> str:
        """Return which of the kinds it is."""
        return self._kinds()[0]

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if len(self._kinds()) != 1:
            raise ValueError(f"must have one of {', '.join(KINDS)}")
        return self

    def _kinds(self) -> list[str]:
        said = {**(self.model_extra or {}), **{name: getattr(self, name) for name in self.model_fields_set}}
        return [name for name in KINDS if said.get(name) is not None]


class EdgeForm(Extensible):
    """`target` waits for `source`; where it only comes after it, `kind` is `order`."""

    source: str
    target: str
    kind: str = ""


class TriggerForm(Extensible):
    """What starts runs of the definition; `when` is the condition for it, None where each trigger of the type does.

    `about` is a template of what a run is about, None where it is of nothing.
    """

    type: str
    when: NonEmpty | None = None
    about: NonEmpty | None = None


class DefinitionForm(DefinitionRecord):
    """`definition.json`."""

    name: NonEmpty
    version: int
    trigger: TriggerForm
    steps: Sequence[StepForm]
    edges: list[EdgeForm]
    verbs: Mapping[str, VerbForm]
    output: JsonValue = None
    questions_to: OmittedIfNone[NonEmpty] = None


BODY = "do"
"""The branch of what stands in an iteration, or in a branch of an ending."""
ORDER = "order"

Block = tuple[str, str]
"""The path of what holds it, an iteration where that is repeated, and the branch; ("", "") is the whole definition."""


@dataclass(frozen=True)
class Plan:
    """A definition's steps by their addresses, in its order."""

    definition: DefinitionForm
    _known: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> Mapping[str, StepForm]:
        """Return the steps by their addresses."""
        return {step.id: step for step in self.definition.steps}

    def node(self, path: str) -> StepForm:
        """Return the step of the definition that stands at a path."""
        return self.nodes[address_of(path)]

    def verb(self, path: str) -> VerbForm | None:
        """Return the verb of the step at a path, None for none. It waits as the step says, where that says so."""
        step = self.nodes.get(address_of(path))
        verb = self.definition.verbs.get(step.verb) if step else None
        if step is None or verb is None:
            return verb
        own = {"timeout": step.timeout, "escalation": step.escalation}
        said = {name: value for name, value in own.items() if value is not None}
        return verb.model_copy(update={"execution": verb.execution.model_copy(update=said)}) if said else verb

    def knows(self, path: str) -> bool:
        """Return whether there can be a step at this path."""
        if path not in self._known:
            self._known[path] = path in self.nodes if "." not in path and "[" not in path else self._fits(path)
        return self._known[path]

    def _fits(self, path: str) -> bool:
        """Each part is a step; only what is repeated has a number, and must where others stand in an iteration."""
        parts = parts_of(path)
        if parts is None or any(address not in self.nodes for address, _, _ in parts):
            return False
        kinds = [self.nodes[address].kind for address, _, _ in parts]
        if any(is_numbered and kind != "repeat" for kind, (_, _, is_numbered) in zip(kinds, parts, strict=True)):
            return False
        inner = zip(kinds, kinds[1:], parts, strict=False)
        return all(
            not part[2] and kind != "branch" if within == "branch" else part[2] or kind in ("switch", "branch")
            for kind, within, part in inner
        )

    def needs(self, path: str) -> list[str]:
        """Return the paths of the steps for which the one at a path waits."""
        return [] if iterated(path) else [near(address, path) for address in self._needs.get(address_of(path), ())]

    def skips_with(self, path: str) -> list[str]:
        """Return those of them without which it is skipped, too."""
        return [] if iterated(path) else [near(address, path) for address in self._skips.get(address_of(path), ())]

    def block(self, block: Block) -> list[str]:
        """Return the paths of the steps in a block."""
        holder, branch = block
        return [inside(holder, address) for address in self._blocks.get((address_of(holder), branch), ())]

    def block_of(self, path: str) -> Block:
        """Return the block in which the step at a path stands."""
        return block_of(path), self.node(path).within

    def branches(self, path: str) -> frozenset[str]:
        """Return the endings of the step at a path that have steps of their own."""
        found = self._blocks.get((address_of(path), ""), ()) if path and not iterated(path) else ()
        return frozenset(one.rpartition(".")[2] for one in found if self.nodes[one].kind == "branch")

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Return paths as the definition orders its steps; iterations by their numbers."""
        return sorted(paths, key=lambda path: (self._places[address_of(path)], place_of(path)))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {address: place for place, address in enumerate(self.nodes)}

    @cached_property
    def _needs(self) -> Mapping[str, list[str]]:
        return _grouped((edge.target, edge.source) for edge in self.definition.edges)

    @cached_property
    def _skips(self) -> Mapping[str, list[str]]:
        return _grouped((edge.target, edge.source) for edge in self.definition.edges if edge.kind != ORDER)

    @cached_property
    def _blocks(self) -> Mapping[Block, list[str]]:
        found: dict[Block, list[str]] = {}
        for address, step in self.nodes.items():
            found.setdefault((block_of(address), step.within), []).append(address)
        return found


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return {one: sorted(set(others)) for one, others in found.items()}
