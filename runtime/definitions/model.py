"""What executes: verbs and definitions as immutable values, made by the loader and read by the planner."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.wait import Correlate, OnInvalid


class Kind(StrEnum):
    """How a verb executes (seed 1, section 2.1): there is no third kind."""

    SYNC = "sync"
    DURABLE = "durable"


class EffectClass(StrEnum):
    """Whether a verb changes the world outside."""

    READ = "read"
    WRITE = "write"


class EdgeKind(StrEnum):
    """Why one step waits for another: it needs the result, or only the order."""

    DATA = "data"
    SEQUENCE = "sequence"


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


SETTLES, SETTLES_FINALLY = timedelta(minutes=1), timedelta(minutes=5)
"""How long a request may still land after its timeout, where the verb does not say; the latter if much is at stake."""


@dataclass(frozen=True)
class Verb:
    """A named operation. `static_params` are merged under the step's own; `redact` holds JSON pointers into params.

    `settles_within` is None where the author did not say it; `settles` is what then holds.
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

    @property
    def next_in_line(self) -> tuple[str, ...]:
        """Return the groups that may answer once time has run short, each once."""
        return tuple(dict.fromkeys(group for entry in self.escalation for group in entry.to))

    @property
    def settles(self) -> timedelta:
        """Return for how long after its timeout a request of this write may still land."""
        if self.settles_within is not None:
            return self.settles_within
        return SETTLES_FINALLY if self.tier is Tier.HIGH or self.reversible_by is None else SETTLES


@dataclass(frozen=True)
class StepDefinition:
    """One node: `params` may hold `${...}` CEL expressions, `when` is a CEL condition or None."""

    path: str
    verb: str
    params: Mapping[str, Any]
    when: str | None


@dataclass(frozen=True)
class Edge:
    """`target` waits for `source`."""

    source: str
    target: str
    kind: EdgeKind


@dataclass(frozen=True)
class Definition:
    """A runbook made canonical. `canonical` is the RFC 8785 text whose SHA-256 (hex) is `digest`.

    `retain_days` is for how many days the evidence of a run is kept, None where the installation's setting says it.
    After `sla`, counted from when a run was asked for, nothing of it is tried again.
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

    def verb_of(self, path: str) -> Verb:
        """Return the verb of the step at `path`."""
        return self.verbs[self.steps[path].verb]

    def needs(self, path: str) -> tuple[str, ...]:
        """Return the paths that the step at `path` waits for, in order, each once."""
        return self._needs.get(path, ())

    def needed_by(self, path: str) -> tuple[str, ...]:
        """Return the paths of the steps that wait for the one at `path`, in order, each once."""
        return self._needed_by.get(path, ())

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Return the paths as the definition orders them, each once."""
        return sorted(set(paths), key=self._places.__getitem__)

    # Made once: a run asks for them at every move, and there are as many edges as steps, or more.
    @cached_property
    def _needs(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((edge.target, edge.source) for edge in self.edges)

    @cached_property
    def _needed_by(self) -> Mapping[str, tuple[str, ...]]:
        return _grouped((edge.source, edge.target) for edge in self.edges)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {path: place for place, path in enumerate(self.steps)}


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for one, other in pairs:
        found.setdefault(one, {})[other] = None
    return {one: tuple(others) for one, others in found.items()}
