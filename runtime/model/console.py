"""Who may use the console: roles, and whose an account of an identity provider is."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

SLACK = "https://slack.com"
"""The issuer of Sign in with Slack, of whatever workspace: its subjects are here `TEAM/USER`, as in the directory."""


LINK = "countersign:link"
"""What stands for the issuer where a link of the sandbox opened a session; the subject is then the person's id."""


class ConsoleRole(StrEnum):
    """What somebody may do: all read pages; an `auditor` gets bundles, an `officer` answers, an `operator` acts."""

    VIEWER = "viewer"
    AUDITOR = "auditor"
    OFFICER = "officer"
    OPERATOR = "operator"


class SignInRefusal(StrEnum):
    """Why an account is not let in."""

    UNKNOWN = "account.unknown"  # it leads to nobody
    AMBIGUOUS = "account.ambiguous"  # it leads to more than one person
    UNVERIFIED = "address.unverified"  # its issuer has not verified the address
    UNTRUSTED = "address.untrusted"  # the settings do not trust the issuer for the address's domain
    CHANGED = "account.changed"  # the address led another account in before, or the account was somebody else
    NO_ROLE = "person.no_role"  # the person is in no group of the console


@dataclass(frozen=True)
class ProviderAccount:
    """An account as its identity provider says it: `sub` and `iss`, and its mail address, "" where there is none."""

    issuer: str
    subject: str
    email: str = ""
    is_verified: bool = False

    @property
    def address(self) -> str:
        """Return the address as the directory's are kept; "" for one that others could look like."""
        return self.email.lower() if self.email.isascii() and self.email.isprintable() else ""


@dataclass(frozen=True)
class Link:
    """An account that has signed in as a person by an address before."""

    subject: str
    actor_id: str
    address: str


@dataclass(frozen=True)
class Known:
    """What is known of an account: who lists it, whose its address is, and links of its subject or that person."""

    listed: Collection[str]
    addressee: str | None
    links: Collection[Link]


def whose(account: ProviderAccount, known: Known, domains: Collection[str]) -> tuple[str, str | None] | SignInRefusal:
    """Return the person whose account it is, and the address that tells it, None where the directory lists it.

    An address counts if the issuer has verified it, its domain is one of `domains`, and no link says otherwise: the
    person had no other account by this address, and the account was nobody else's.
    """
    if len(known.listed) > 1:
        return SignInRefusal.AMBIGUOUS
    if known.listed:
        return next(iter(known.listed)), None
    if not account.address:
        return SignInRefusal.UNKNOWN
    if domain_of(account.address) not in domains:
        return SignInRefusal.UNTRUSTED
    if not account.is_verified:
        return SignInRefusal.UNVERIFIED
    person = known.addressee
    if person is None:
        return SignInRefusal.UNKNOWN
    if any(_contradicts(link, account, person) for link in known.links):
        return SignInRefusal.CHANGED
    return person, account.address


def domain_of(address: str) -> str:
    """Return the domain of a mail address."""
    return address.rpartition("@")[2]


def _contradicts(link: Link, account: ProviderAccount, person: str) -> bool:
    if link.subject == account.subject:
        return link.actor_id != person
    return (link.actor_id, link.address) == (person, account.address)
