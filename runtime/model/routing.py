"""Routing: where the cards of a request go.

The tenant's rules say which requests go where: values in, values out; the first rule that fits is taken. The route of
one request is decided once, when people are asked, and kept with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from runtime.model.stored import Stored

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Subject:
    """A request as far as its way depends on it, each value as it is on record: nothing in it is redacted later."""

    groups: tuple[str, ...]  # that are asked
    tier: str
    verb: str  # its name; "" where there is none
    connector: str
    runbook: str
    params: Mapping[str, Any]  # of the action, in their public form
    trigger: Mapping[str, Any]  # of the run, in its public form


@dataclass(frozen=True)
class Destination:
    """Where a card goes: to these channels, and with `direct` to each person asked; nowhere where neither is said.

    `mention` are people (U…) and user groups (S…) that the card calls, in the place of those who are asked.
    """

    channels: tuple[str, ...] = ()
    direct: bool = False
    mention: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Rule:
    """What a request has to be, all of it, for the destination; empty members fit every request.

    `verbs`, `connectors` and `runbooks` are patterns in which ``*`` stands for any text. `params` and `trigger` name
    values by their dotted path, and those that fit.
    """

    send: Destination
    groups: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    runbooks: tuple[str, ...] = ()
    params: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    trigger: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)

    def fits(self, subject: Subject) -> bool:
        """Return whether a request is one of those that the rule is for."""
        return (
            (not self.groups or not set(self.groups).isdisjoint(subject.groups))
            and (not self.tiers or subject.tier in self.tiers)
            and _like(self.verbs, subject.verb)
            and _like(self.connectors, subject.connector)
            and _like(self.runbooks, subject.runbook)
            and _has(self.params, subject.params)
            and _has(self.trigger, subject.trigger)
        )


@dataclass(frozen=True)
class Fallback:
    """Who is asked, too, where nobody who is asked can decide."""

    groups: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def first_fit(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return the first rule that is for the request, or None."""
    return next((rule for rule in rules if rule.fits(subject)), None)


def surely_sent(rules: Sequence[Rule], group: str) -> Destination | None:
    """Return where a rule sends whatever a group must sign, whatever it is; None where no rule does."""
    for rule in rules:
        if rule.groups and group not in rule.groups:
            continue
        return rule.send if rule == Rule(rule.send, rule.groups) else None
    return None


def _like(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _has(wanted: Mapping[str, Sequence[Scalar]], document: Mapping[str, Any]) -> bool:
    return all(_equals(_at(document, path), values) for path, values in wanted.items())


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _equals(value: Any, values: Sequence[Scalar]) -> bool:
    """Return whether it is one of these: yes and no are no numbers."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in values)


MOST_CALLED = 5
"""People of a group whom a card calls by name; a larger group reads its channel."""


def is_person(place: str) -> bool:
    """Return whether a place is a person, by their Slack id, and not a conversation."""
    return place.startswith(("U", "W"))


@dataclass(frozen=True)
class Route(Stored):
    """`places` are conversations (C…, G…, D…) and people (U…, W…), each once; under the first is the thread.

    `mention` is whom the card calls, None for those who are asked. `fallback` are groups that it went to as well since
    `why`: those who are asked cannot decide it; with no groups it went to channels alone.
    """

    places: tuple[str, ...]
    mention: tuple[str, ...] | None = None
    why: str = ""
    fallback: tuple[str, ...] = ()

    @property
    def copies(self) -> tuple[str, ...]:
        """Return where there are cards beside the first."""
        return self.places[1:]


NOWHERE = Route(())
"""Before it is decided; and of a request that is decided in the Home alone."""
