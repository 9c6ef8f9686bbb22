"""People, their Slack accounts, and groups whose people are those of a Slack user group. Values in, values out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SlackAccount:
    """A Slack identity: the payload's user and the *user's* team."""

    team: str
    user: str


@dataclass(frozen=True)
class Person:
    """The one person behind an account."""

    id: str
    name: str
    groups: tuple[str, ...]


KnownAccount = tuple[str, str, str]
"""A Slack team, a user of it, and the person whose account that is."""


@dataclass(frozen=True)
class Sources:
    """Which groups are which user groups (`S…`), and who has which address; no addresses where they may not tell."""

    groups: Mapping[str, str]
    emails: Mapping[str, str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Sources":
        """Read what is stored; nothing is stored where there are no such groups."""
        return cls(document.get("groups", {}), document.get("emails", {}))

    def document(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {"groups": dict(self.groups), "emails": dict(self.emails)} if self.groups else {}


NO_SOURCES = Sources({}, {})


@dataclass(frozen=True)
class Member:
    """A member of a user group; `email` is an address that Slack says is confirmed, "" where there is none."""

    team: str
    user: str
    email: str = ""


@dataclass(frozen=True)
class MatchedMembers:
    """The people among members, by their ids, and the accounts of those whom only their address told."""

    people: frozenset[str]
    linked: frozenset[KnownAccount]


def match_members(
    members: Iterable[Member], known: Iterable[KnownAccount], emails: Mapping[str, str]
) -> MatchedMembers:
    """Return who the members are: by an account that the directory lists, else by their address.

    Whom an account gives twice is nobody, and an account that is listed is never told by an address.
    """
    owners: dict[str, set[str]] = {}
    for _, user, person in known:
        owners.setdefault(user, set()).add(person)
    found, linked = set[str](), set[KnownAccount]()
    for one in members:
        listed = owners.get(one.user, set())
        addressee = emails.get(one.email.casefold()) if one.email and not listed else None
        if addressee is not None:
            linked.add((one.team, one.user, addressee))
            found.add(addressee)
        found |= listed if len(listed) == 1 else set()
    return MatchedMembers(frozenset(found), frozenset(linked))
