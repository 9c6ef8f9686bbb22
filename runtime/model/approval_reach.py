"""Whom a request reaches: the people of its groups, by which accounts, and who may vote for them just now."""

from dataclasses import dataclass

from runtime.model.actor import Person


@dataclass(frozen=True)
class Deputy:
    """Who may vote for somebody now, in these groups of theirs; `users` are Slack accounts."""

    id: str
    name: str
    recorded_by: str
    groups: tuple[str, ...]
    users: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A person of a group; without `users`, their Slack accounts, they cannot be asked themselves."""

    person: Person
    users: tuple[str, ...]
    deputies: tuple[Deputy, ...] = ()
