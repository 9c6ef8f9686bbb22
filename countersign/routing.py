"""The routing file: which requests go to which channels and people, and to whom where nobody asked can decide."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from countersign.directory import Title
from countersign.foreseen_errors import CountersignError
from countersign.yaml_files import Fault, read_file
from receipts.canonical import digest
from runtime.model.routing import Destination, Fallback, Rule

MOST_RULES = 200

Channel = Annotated[str, StringConstraints(pattern=r"^[CG][A-Z0-9]{1,20}$")]
Called = Annotated[str, StringConstraints(pattern=r"^[UWS][A-Z0-9]{1,20}$")]
Glob = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9*._-]+$", max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[^.\s]+(\.[^.\s]+)*$", max_length=200)]


class RoutingError(CountersignError):
    """The routing file is not usable; the message names every fault and where it is."""


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | dict) else [value]


def _all_listed(values: Any) -> Any:
    return {name: _listed(value) for name, value in values.items()} if isinstance(values, dict) else values


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | bool | int | float):
        raise ValueError("is no text, no number, and neither true nor false")  # noqa: TRY004 - pydantic's way
    return value


_Tiers = Annotated[list[Literal["low", "medium", "high"]], BeforeValidator(_listed), Field(min_length=1)]
_Titles = Annotated[list[Title], BeforeValidator(_listed), Field(min_length=1)]
_Globs = Annotated[list[Glob], BeforeValidator(_listed), Field(min_length=1)]
_Values = Annotated[
    dict[Name, Annotated[list[Annotated[Any, AfterValidator(_scalar)]], Field(min_length=1)]],
    BeforeValidator(_all_listed),
    Field(min_length=1),
]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class When(_Closed):
    """What a request has to be: all that is said, each by one of its values. With nothing said it is every request."""

    group: _Titles | None = None
    tier: _Tiers | None = None
    verb: _Globs | None = None
    connector: _Globs | None = None
    runbook: _Globs | None = None
    params: _Values | None = None
    trigger: _Values | None = None


class Send(_Closed):
    """Where the card goes. `nobody` is said outright: such a request stands in the Home of those asked alone."""

    channels: list[Channel] = []
    direct: bool = False
    mention: list[Called] | None = None
    nobody: Literal[True] | None = None

    @model_validator(mode="after")
    def _is_clear(self) -> Self:
        if self.nobody and (self.channels or self.direct or self.mention):
            raise ValueError("nobody excludes channels, direct, mention")
        if not (self.nobody or self.channels or self.direct):
            raise ValueError("says nowhere: give channels, direct: true, or nobody: true")
        return self


class RuleEntry(_Closed):
    """One rule; the first that fits is taken."""

    when: When = When()
    send: Send


class FallbackEntry(_Closed):
    """Who is asked, too, where nobody who is asked can decide."""

    groups: list[Title] = []
    channels: list[Channel] = []

    @model_validator(mode="after")
    def _is_somebody(self) -> Self:
        if not (self.groups or self.channels):
            raise ValueError("names neither groups nor channels")
        return self


class RoutingFile(_Closed):
    """The whole file."""

    rules: Annotated[list[RuleEntry], Field(max_length=MOST_RULES)] = []
    fallback: FallbackEntry | None = None

    def of_runtime(self) -> tuple[tuple[Rule, ...], Fallback | None]:
        """Return rules and fallback as the runtime has them."""
        said = self.fallback
        fallback = Fallback(tuple(said.groups), tuple(said.channels)) if said else None
        return tuple(map(_rule, self.rules)), fallback

    @property
    def digest(self) -> str | None:
        """Return the digest of all that it says; None where it says nothing."""
        said = self.model_dump(mode="json", exclude_defaults=True)
        return digest(said) if said else None

    @property
    def channels(self) -> set[str]:
        """Return every channel that is named."""
        fallback = self.fallback.channels if self.fallback else []
        return {*fallback, *(channel for rule in self.rules for channel in rule.send.channels)}

    @property
    def usergroups(self) -> set[str]:
        """Return every Slack user group that is called."""
        called = (one for rule in self.rules for one in rule.send.mention or ())
        return {one for one in called if one.startswith("S")}


def read_routing(path: Path) -> RoutingFile:
    """Return what a strict YAML file says, or raise RoutingError naming file, line and path of every fault."""
    return read_file(path, RoutingFile, _unreachable, RoutingError)


def _unreachable(routing: RoutingFile) -> Iterator[Fault]:
    """Find what no request comes to, since a rule before it is for all."""
    every = next((at for at, rule in enumerate(routing.rules) if rule.when == When()), len(routing.rules))
    for at in range(every + 1, len(routing.rules)):
        yield ("rules", at), f"no request comes here: rules[{every}] is for every one"


def _rule(entry: RuleEntry) -> Rule:
    when, send = entry.when, entry.send
    mention = None if send.mention is None else tuple(send.mention)
    return Rule(
        send=Destination(tuple(dict.fromkeys(send.channels)), send.direct, mention),
        groups=tuple(when.group or ()),
        tiers=tuple(when.tier or ()),
        verbs=tuple(when.verb or ()),
        connectors=tuple(when.connector or ()),
        runbooks=tuple(when.runbook or ()),
        params=when.params or {},
        trigger=when.trigger or {},
    )
