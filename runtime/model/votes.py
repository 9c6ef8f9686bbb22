"""Votes, claims and other acts on a request, why one may not count, and what a vote is judged by at one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import ConfigDict

from receipts.fields import timestamp
from runtime.model.approval import Approval
from runtime.model.delegation import Account
from runtime.model.passkey import Key
from runtime.model.person import Person


class VoteVerdict(StrEnum):
    """What one person says."""

    APPROVE = "approve"
    REJECT = "reject"
    CHANGES = "changes"  # is a no as a rejection is, and says what should be otherwise

    @property
    def is_no(self) -> bool:
        """Return whether it is a no; one ends the request unless policy gives the veto to others."""
        return self is not VoteVerdict.APPROVE


class ClaimAct(StrEnum):
    """What one person does with a review beside answering it: says that they work on it, or gives it back."""

    CLAIM = "claim"
    RELEASE = "release"


class CardAct(StrEnum):
    """What one person does with a request beside deciding it or taking it on."""

    WITHDRAW = "withdraw"
    HAND = "hand"
    EDIT = "edit"
    ASK = "ask"
    REPLY = "reply"


class Via(StrEnum):
    """How a person's word came in."""

    SLACK = "slack"
    COMMAND = "command"
    EDGE = "edge"  # brought by a caller that may answer for the person
    CONSOLE = "console"  # on a page, by an account of an identity provider


class RefusalCode(StrEnum):
    """Why a click does not count; stable, since it goes into the audit. The bot words each of them."""

    UNKNOWN = "vote.unknown"
    OTHER_ACTION = "vote.other_action"
    CLOSED = "vote.closed"
    EXPIRED = "vote.expired"
    STALE = "vote.stale"
    REQUESTER = "vote.requester"
    EXCLUDED = "vote.excluded"
    NOT_IN_GROUP = "vote.not_in_group"
    REPEATED = "vote.repeated"
    REASON_MISSING = "vote.reason_missing"
    BROUGHT = "vote.brought"
    NO_BREAK_GLASS = "break_glass.none"
    BREAK_GLASS_SPENT = "break_glass.spent"
    NO_TICKET = "break_glass.ticket"
    NO_VOTE = "vote.none"
    IN_DOUBT = "vote.in_doubt"
    QUESTION_OPEN = "question.open"
    QUESTIONS_FULL = "question.too_many"
    NO_QUESTION = "question.none"
    NOT_ASKED = "question.not_asked"
    NOBODY_ANSWERS = "question.nobody"
    NOT_ENTITLED = "hand.not_entitled"
    NO_TASK = "task.none"
    CLAIMED = "task.claimed"
    CLAIMED_BEFORE = "task.claimed_before"
    NOT_CLAIMED = "task.not_claimed"
    NOT_EDITABLE = "edit.not_editable"
    UNCHANGED = "edit.unchanged"
    UNFIT = "edit.unfit"
    EDIT_DENIED = "edit.denied"
    NOT_ENOUGH_APPROVERS = "approvers.too_few"
    PASSKEY_NEEDED = "passkey.needed"
    PASSKEY_UNKNOWN = "passkey.unknown"
    PASSKEY_REVOKED = "passkey.revoked"
    PASSKEY_WRONG = "passkey.wrong"
    OTHER_TEAM = "identity.other_team"
    DEACTIVATED = "identity.deactivated"
    BOT = "identity.bot"
    GUEST = "identity.guest"
    UNCLEAR = "identity.unclear"
    NOT_IN_DIRECTORY = "identity.unknown"
    AMBIGUOUS = "identity.ambiguous"
    LOOKUP_FAILED = "identity.lookup_failed"
    UNCONFIRMED = "identity.unconfirmed"  # by Slack, so far: it waits, and is no refusal yet
    UNUSABLE = "inbox.unusable"
    FAILING = "inbox.failing"


@dataclass(frozen=True)
class Refusal:
    """Why a click does not count.

    `about` are the status that a closed request has, the groups that are asked, the name of who works on it, what is
    wrong with an edit, why policy denies it, or why too few people would be left to approve.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # in payloads: what the bot knows already

    code: RefusalCode
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class JointDecision:
    """One act that decided several requests, a vote each: its id, and how many they were."""

    id: str
    count: int


@dataclass(frozen=True)
class Vote:
    """One person's verdict; `team` and `account` are the Slack account that clicked.

    One that was given for somebody else has the groups of theirs that the delegation gives. One that was given in the
    console says in `console` which account of which issuer gave it, and what the page showed (`ConsoleWord`).
    Where the word did not come from Slack, they are the account by which the directory knows the person, and
    `brought_by` is the caller of the edge that brought it. Who has no account has "" and their own id.
    """

    person: str
    person_name: str
    groups: Sequence[str]
    verdict: VoteVerdict
    reason: str
    team: str
    account: str
    at: datetime
    via: Via = Via.SLACK
    brought_by: str = ""
    delegation: Mapping[str, Any] | None = None  # by which it was given for somebody else, as `StandIn.document`
    break_glass: Mapping[str, Any] | None = None  # ticket, and the how manieth time (nth), where it does without others
    passkey: Mapping[str, Any] | None = None  # with which it was signed, as `Signature.document`
    together: Mapping[str, Any] | None = None  # `id` and `count` of the act that decided several at once
    console: Mapping[str, Any] | None = None

    @property
    def accounts(self) -> frozenset[Account]:
        """Return the accounts behind it: nobody counts twice by another name."""
        issued = {(str(self.console["issuer"]), str(self.console["subject"]))} if self.console else frozenset[Account]()
        return frozenset({(self.team, self.account)} | issued)

    @property
    def delegator(self) -> str | None:
        """Return the person for whom it was given, or None where that is the voter."""
        return None if self.delegation is None else str(self.delegation["delegator"])

    @property
    def people(self) -> frozenset[str]:
        """Return who has voted with it: the voter, and for whom."""
        return frozenset({self.person, self.delegator or self.person})

    @property
    def given_by(self) -> str:
        """Return by whom it was given, and for whom, as people are told."""
        return f"{self.person_name} for {self.delegation['delegator_name']}" if self.delegation else self.person_name

    def document(self) -> dict[str, Any]:
        """Return the vote as evidence has it."""
        otherwise = {} if self.via is Via.SLACK else {"via": str(self.via), "brought_by": self.brought_by}
        delegated = {} if self.delegation is None else {"delegation": dict(self.delegation)}
        break_glass = {} if self.break_glass is None else {"break_glass": dict(self.break_glass)}
        signed = {} if self.passkey is None else {"passkey": dict(self.passkey)}
        together = {} if self.together is None else {"together": dict(self.together)}
        console = {} if self.console is None else {"console": dict(self.console)}
        return {
            **otherwise,
            **console,
            **delegated,
            **break_glass,
            **signed,
            **together,
            "person": self.person,
            "person_name": self.person_name,
            "groups": list(self.groups),
            "verdict": str(self.verdict),
            "reason": self.reason,
            "slack": {"team": self.team, "user": self.account},
            "at": timestamp(self.at),
        }


class VoteContext(NamedTuple):
    """A request with its counted votes and newest card, who votes by which accounts, and when they opened it.

    `key` is the passkey with which the vote is signed, where it is.
    """

    approval: Approval
    votes: Sequence[Vote]
    person: Person | Refusal
    accounts: Sequence[Account]
    card: str | None
    opened_at: datetime | None
    key: Key
