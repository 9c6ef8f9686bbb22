"""What executes: verbs and definitions as immutable values, made by the loader and read by the planner."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from runtime.definitions.cards import CardSpec
from runtime.definitions.nodes import BODY, BranchName, NodeKind, ResponseSpec, Spec
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.states import WaitType
from runtime.model.steps import address_of, block_of, id_of, indexes, inside, near
from runtime.model.wait import Correlate, OnInvalid

SpecT = TypeVar("SpecT", bound=Spec)


class Kind(StrEnum):
    """How a verb executes (seed 1, section 2.1): there is no third kind."""

    SYNC = "sync"
    DURABLE = "durable"


class EffectClass(StrEnum):
    """Whether a verb changes the world outside."""

    READ = "read"
    WRITE = "write"


class EdgeKind(StrEnum):
    """Why one step waits for another: it needs the result, or the other done, or only comes after it.

    What comes after a step in its block (`order`) starts even where that step was skipped.
    """

    DATA = "data"
    SEQUENCE = "sequence"
    ORDER = "order"


@dataclass(frozen=True)
class Retry:
    """When to try again: `max_attempts` counts the first, and chance takes off at most the share `jitter` of a pause.

    By `backoff`, pauses double from `base_delay` up to `max_delay` (`exponential`), stay as they are (`fixed`), grow by
    `factor`, or are those of the `ladder`, whose last one repeats; `max_delay` is then the longest of them.
    """

    max_attempts: int
    backoff: str
    base_delay: timedelta
    max_delay: timedelta
    factor: float | None = None
    ladder: tuple[timedelta, ...] = ()
    jitter: float | None = None  # 0 to 1; a half where it is not given


@dataclass(frozen=True)
class Escalation:
    """What happens when `after` has passed without an answer: the groups `to` are told, and may answer from then on.

    `extend` is how much longer there is from then. `start` names the runbook of which a run is started.
    """

    after: timedelta
    to: tuple[str, ...] = ()
    extend: timedelta | None = None
    start: str | None = None


@dataclass(frozen=True)
class Compensation:
    """The verb that takes a write back, and its params: `${...}` over request, response, before, run and tenant."""

    verb: str
    params: Mapping[str, Any]


SETTLES, SETTLES_FINALLY = timedelta(minutes=1), timedelta(minutes=5)
"""How long a request may still land after its timeout, where the verb does not say; the latter if much is at stake."""


@dataclass(frozen=True)
class Verb:
    """A named operation. `static_params` are merged under the step's own; `redact` holds JSON pointers into params.

    `settles_within` is None where the author did not say it; `settles` is what then holds. A read that is `governed`
    passes the gate as a write does. `compensate` undoes what was done; `on_cancel` tells the other side that its answer
    is not wanted any more.
    """

    name: str
    domain: str
    description: str
    kind: Kind
    handler: str
    static_params: Mapping[str, Any]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    timeout: timedelta
    retry: Retry
    escalation: tuple[Escalation, ...]  # in the order of their time
    effect_class: EffectClass
    tier: Tier
    reversible_by: str | None
    target: str
    idempotency_key: str
    in_doubt: OnDoubt
    settles_within: timedelta | None
    correlation_field: str | None
    correlate: Correlate
    on_invalid: OnInvalid
    wait_type: str | None
    redact: tuple[str, ...]
    remind: tuple[timedelta, ...] = ()  # pauses between reminders of those who are asked
    compensate: Compensation | None = None
    on_cancel: Compensation | None = None
    card: CardSpec | None = None  # how a request for it is shown
    editable: tuple[str, ...] = ()  # the params that who may approve a request for it may change
    governed: bool = False

    @property
    def passes_gate(self) -> bool:
        """Return whether policy is asked before it is done: always about a write, about a read where it is governed."""
        return self.governed or self.effect_class is EffectClass.WRITE

    @property
    def compensations(self) -> tuple[Compensation, ...]:
        """Return every way in which the verb's effect may be taken back."""
        return tuple(way for way in (self.compensate, self.on_cancel) if way)

    @property
    def settles(self) -> timedelta:
        """Return for how long after its timeout a request of this write may still land."""
        if self.settles_within is not None:
            return self.settles_within
        return SETTLES_FINALLY if self.tier is Tier.HIGH or self.reversible_by is None else SETTLES


@dataclass(frozen=True)
class StepDefinition:
    """One node. `params` may hold `${...}` CEL expressions, `when` is a CEL condition or None.

    `path` is its address. A node inside another belongs to one of that one's branches. A call has a verb and params,
    any other kind its `spec`. The result of a call goes into the business state under `result_key`, where
    there is one. `timeout`, `retry`, `escalation` and `remind` are the verb's where the step does not say its own.
    `until` is the moment at which its wait ends, a text that may hold expressions, "" where the timeout says when.
    With `needs_attention`, an error that no branch takes up waits for a person instead of failing the run.
    """

    path: str
    verb: str
    params: Mapping[str, Any]
    when: str | None
    kind: NodeKind = NodeKind.CALL
    spec: Spec | None = None
    branch: str = ""
    result_key: str = ""
    timeout: timedelta | None = None
    until: str = ""
    retry: Retry | None = None
    escalation: tuple[Escalation, ...] = ()
    remind: tuple[timedelta, ...] = ()
    needs_attention: bool = False
    card: CardSpec | None = None  # in the place of its verb's

    def calling(self, verb: Verb) -> Verb:
        """Return its verb with how the step itself says that it waits."""
        return replace(
            verb,
            timeout=self.timeout or verb.timeout,
            retry=self.retry or verb.retry,
            escalation=self.escalation or verb.escalation,
            remind=self.remind or verb.remind,
        )


@dataclass(frozen=True)
class Edge:
    """`target` waits for `source`, which stands in its block, or in one around it."""

    source: str
    target: str
    kind: EdgeKind


@dataclass(frozen=True)
class About:
    """What a trigger is about, as a text with expressions over it, and the signal that it becomes for a run about that.

    Of a runbook's runs at most one goes on about the same.
    """

    reference: str
    signal: str


@dataclass(frozen=True)
class Definition:
    """A runbook made canonical. `canonical` is the RFC 8785 text whose SHA-256 (hex) is `digest`.

    `steps` are the nodes by their addresses, each behind what it needs and behind the node in which it stands.
    `retain_days` is for how many days the evidence of a run is kept, None where the installation's setting says it.
    `state` is the schema of the business state, `output` what a run that succeeds gives, None where nothing is
    said. After `sla`, counted from when a run was asked for, nothing of it is tried again. `when` is the CEL
    condition under which it takes a trigger of its type, None where it takes each. `about` is None where each
    trigger starts a run. `functions` are those of packs that its expressions call, with the version that they were
    checked with and are called in. `response` is what whoever asked is told at the end, None where nothing is said.
    `questions_to` names the group that answers questions where no person asked, "" where there is no such group.
    """

    name: str
    version: int
    title: str
    trigger_type: str
    trigger_schema: Mapping[str, Any]
    steps: Mapping[str, StepDefinition]
    edges: tuple[Edge, ...]
    verbs: Mapping[str, Verb]
    canonical: bytes
    digest: str
    description: str = ""
    retain_days: int | None = None
    sla: timedelta | None = None
    state: Mapping[str, Any] | None = None
    output: Any = None
    when: str | None = None
    about: About | None = None
    functions: Mapping[str, int] = field(default_factory=dict)
    response: ResponseSpec | None = None
    questions_to: str = ""

    def node(self, path: str) -> StepDefinition:
        """Return the node of the step at `path`."""
        return self.steps[address_of(path)]

    def spec(self, path: str, kind: type[SpecT]) -> SpecT:
        """Return what the node of the step at `path` says; raise TypeError where it is of another kind."""
        spec = self.node(path).spec
        if not isinstance(spec, kind):
            raise TypeError(f"{path} is no {kind.__name__}")
        return spec

    def verb_of(self, path: str) -> Verb:
        """Return the verb of the step at `path`; raise KeyError where that is no call."""
        return self._verbs[address_of(path)]

    def calls(self, path: str) -> Verb | None:
        """Return the verb of the step at `path`, None where it calls none."""
        return self._verbs.get(address_of(path))

    def needs(self, path: str) -> tuple[str, ...]:
        """Return the paths that the step at `path` waits for, in order, each once."""
        found = self._needs.get(address_of(path), ())
        return found if "." not in path else tuple(near(address, path) for address in found)

    def skips_with(self, path: str) -> tuple[str, ...]:
        """Return those of the steps that `path` needs without which it is skipped too, unless it has a condition."""
        found = self._skips_with.get(address_of(path), ())
        return found if "." not in path else tuple(near(address, path) for address in found)

    def needed_by(self, path: str) -> tuple[str, ...]:
        """Return the paths of the steps in its block that wait for the one at `path`, in order, each once."""
        found = self._needed_by.get(address_of(path), ())
        return found if "." not in path else tuple(near(address, path) for address in found)

    def block(self, path: str, branch: str = BODY) -> tuple[str, ...]:
        """Return the paths of the steps in a branch of the step, or iteration, at `path`; "" is the whole runbook."""
        found = self._blocks.get((address_of(path), branch if path else ""), ())
        return tuple(inside(path, id_of(address)) for address in found) if path else found

    def last(self, path: str, branch: str = BODY) -> tuple[str, ...]:
        """Return those steps of a block for which no other of it waits: when they are done, all is."""
        return tuple(one for one in self.block(path, branch) if not self._needed_by.get(address_of(one)))

    def branches(self, path: str) -> frozenset[BranchName]:
        """Return the endings of the step at `path` that have steps of their own."""
        return self._branches.get(address_of(path), frozenset())

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Return the paths as the definition orders them, each once; iterations in the order of their numbers."""
        return sorted(set(paths), key=self._place)

    def position(self, path: str) -> int:
        """Return the place of the step's node among all."""
        return self._places[address_of(path)]

    def redacts(self, path: str) -> tuple[str, ...]:
        """Return the JSON pointers to what nobody may see in the params of the step at `path`."""
        verb = self.calls(path)
        return verb.redact if verb else ()

    def _place(self, path: str) -> tuple[int, tuple[int, ...]]:
        return self._places[address_of(path)], indexes(path)

    @cached_property
    def reads_start(self) -> bool:
        """Return whether anything may read when the run started: the moment is written out for those alone."""
        return b"started_at" in self.canonical

    @cached_property
    def has_repeats(self) -> bool:
        """Return whether a run may have more steps than there are nodes."""
        return any(node.kind is NodeKind.REPEAT for node in self.steps.values())

    @cached_property
    def reads_signers(self) -> bool:
        """Return whether anything may read who signed for a step: votes are looked up for those alone."""
        return b"signers" in self.canonical

    @property
    def may_need_attention(self) -> bool:
        """Return whether any step of it waits for a person where it fails."""
        return any(step.needs_attention for step in self.steps.values())

    @property
    def starts_runs(self) -> bool:
        """Return whether any step of it may wait for the end of another run."""
        return any(verb.wait_type == WaitType.CHILD_RUN for verb in self.verbs.values())

    # Made once: a run asks for them at every move, and there are as many edges as steps, or more.
    @cached_property
    def _needs(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((edge.target, edge.source) for edge in self.edges)

    @cached_property
    def _verbs(self) -> Mapping[str, Verb]:
        """Return the verb of each call, as the step has it."""
        calls = (node for node in self.steps.values() if node.kind is NodeKind.CALL)
        return {node.path: node.calling(self.verbs[node.verb]) for node in calls}

    @cached_property
    def _skips_with(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((edge.target, edge.source) for edge in self.edges if edge.kind is not EdgeKind.ORDER)

    @cached_property
    def _needed_by(self) -> Mapping[str, tuple[str, ...]]:
        beside = (edge for edge in self.edges if block_of(edge.source) == block_of(edge.target))
        return _grouped((edge.source, edge.target) for edge in beside)

    @cached_property
    def _blocks(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        return _grouped(((block_of(node.path), node.branch), node.path) for node in self.steps.values())

    @cached_property
    def _branches(self) -> Mapping[str, frozenset[BranchName]]:
        found = ((block_of(node.path), node.path) for node in self.steps.values() if node.kind is NodeKind.BRANCH)
        return {path: frozenset(BranchName(id_of(one)) for one in all_) for path, all_ in _grouped(found).items()}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {path: place for place, path in enumerate(self.steps)}


Key = TypeVar("Key", bound=Hashable)


def _grouped(pairs: Iterable[tuple[Key, str]]) -> dict[Key, tuple[str, ...]]:
    found: dict[Key, dict[str, None]] = {}
    for one, other in pairs:
        found.setdefault(one, {})[other] = None
    return {one: tuple(others) for one, others in found.items()}
