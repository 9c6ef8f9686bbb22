"""What people were asked, what they saw, and what they said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from evidence.reading.markdown import is_document
from evidence.reading.material import Material, Record, apart, number, record, records, text, texts
from evidence.reading.words import (
    ALONE,
    IN_CONSOLE,
    NO_MORE,
    WITHDRAWN,
    by_break_glass,
    counted,
    duration,
    ending,
    listed,
    meaning,
    plain,
    verdict,
)
from receipts.canonical import built

_PLUMBING = ("approval_id", "channel", "groups", "title")
"""Fields of a review that are about its card."""


@dataclass(frozen=True)
class Field:
    """One field of what was asked about: a JSON value, and what was there before where that is known."""

    name: str
    after: Any
    before: Any = None
    is_change: bool = False

    @property
    def weight(self) -> int:
        """Return its place for readers: changes first, then plain values, documents, and ids."""
        if self.is_change:
            return 0
        return 3 if self.name.endswith("_id") else 1 + is_document(self.after)


@dataclass(frozen=True)
class Card:
    """A card as it was posted or edited, and when; it may stand apart."""

    at: str
    shown: Any

    @property
    def document(self) -> Record:
        """Return what was shown."""
        document: Record = built(self.shown)
        return document


@dataclass(frozen=True)
class Vote:
    """What a person signed: printed name, time, words, and what the signature means. `card` is the one that stood.

    `opened_at` is when the person first opened the request; "" where that was not recorded. `page` is what the console
    showed them, line by line, where they signed there.
    """

    name: str
    person: str
    account: str
    groups: Sequence[str]
    at: str
    said: str
    meaning: str
    reason: str
    card: Card | None
    opened_at: str
    page: Sequence[str]


@dataclass(frozen=True)
class Question:
    """What somebody who decides asked whoever asked for it, and the answer; `answered_at` is "" where there is none."""

    name: str
    at: str
    question: str
    answered_by: str
    answered_at: str
    answer: str


@dataclass(frozen=True)
class Request:
    """One request to people, bound to a digest. `what` is the action on its target, or a review's own title."""

    id: str
    kind: str
    step: str
    tier: str
    purpose: str
    what: str
    undone_by: str
    rules: Sequence[tuple[str, str]]
    needed: str
    asked_at: str
    expires_at: str
    digest: str
    fields: Sequence[Field]
    cards: Sequence[Card]
    votes: Sequence[Vote]
    questions: Sequence[Question]
    ending: str
    ended_at: str

    @property
    def title(self) -> str:
        """Return what it is about, as its first card is headed; else in the author's words."""
        head = next((heading_of(card.document) for card in self.cards), "")
        return head or (self.what if self.kind == "task" else self.purpose) or self.what

    @property
    def seen(self) -> list[Card]:
        """Return the cards on which people signed; the first where nobody did."""
        signed = [vote.card for vote in self.votes if vote.card is not None]
        found = {id(card): card for card in signed or self.cards[:1]}
        return list(found.values())


def heading_of(card: Record) -> str:
    """Return the heading of a card, "" where it has none."""
    blocks = records(record(card, "card") or card, "blocks")
    return next((text(block, "text", "text") for block in blocks if text(block, "type") == "header"), "")


def requests_of(material: Material, most: int | None = None) -> list[Request]:
    """Return the requests, or `most` of them at most, in the order in which people were asked."""
    return [_request(material, approval) for approval in islice(material.approvals.values(), most)]


def reviews_of(material: Material) -> list[str]:
    """Return the titles of the reviews, in the order in which people were asked."""
    reviews = (approval for approval in material.approvals.values() if text(approval, "kind") == "task")
    return [_what("task", _effect(material, one), material.in_words(text(one, "step"))) for one in reviews]


def needs_of(material: Material) -> list[tuple[str, str, str]]:
    """Return the rules of policy (code and words), each with what it wanted of people, once."""
    needs = (
        (*rule, needed(record(approval, "requirement")))
        for approval in material.approvals.values()
        for rule in _rules(approval)
    )
    return list(dict.fromkeys(needs))


def _effect(material: Material, approval: Record) -> Record:
    return material.effects.get(text(approval, "digest"), {})


def _rules(approval: Record) -> list[tuple[str, str]]:
    return [(text(one, "code"), text(one, "msg")) for one in records(approval, "reasons")]


def _request(material: Material, approval: Record) -> Request:
    approval_id, kind, status = text(approval, "id"), text(approval, "kind"), text(approval, "status")
    about = material.leaves_about(approval_id)
    cards = _cards(approval, about)
    effect = _effect(material, approval)
    verb = record(material.verb(text(approval, "step")), "effect")
    return Request(
        id=approval_id,
        kind=kind,
        step=text(approval, "step"),
        tier=text(approval, "tier"),
        purpose=text(approval, "purpose"),
        what=_what(kind, effect, material.in_words(text(approval, "step"))),
        undone_by=text(verb, "reversible_by"),
        rules=_rules(approval),
        needed=needed(record(approval, "requirement")),
        asked_at=_moment_of(about, "approval.requested"),
        expires_at=text(approval, "expires_at"),
        digest=text(approval, "digest"),
        fields=_fields(kind, effect, record(approval, "before")),
        cards=cards,
        votes=_votes(approval, about, cards),
        questions=[_question(one) for one in records(approval, "questions")],
        ending="replaced by an edited version" if record(approval, "edited") else ending(kind, status),
        ended_at=_moment_of(about, f"approval.{status}") if status != "requested" else "",
    )


def _what(kind: str, effect: Record, step: str) -> str:
    if kind == "task":
        return text(effect, "fields", "title") or step
    target = text(effect, "target")
    return f"{plain(text(effect, 'operation'))} on {target}" if target else plain(text(effect, "operation"))


def _fields(kind: str, effect: Record, before: Record) -> list[Field]:
    fields = record(effect, "fields")
    shown = {name: value for name, value in fields.items() if kind != "task" or name not in _PLUMBING}
    found = [Field(name, value, before.get(name), name in before) for name, value in shown.items()]
    return sorted(found, key=lambda field: field.weight)


def _cards(approval: Record, about: Iterable[Record]) -> list[Card]:
    """Return the cards that were shown, in their order, which is that of the leaves that tell when."""
    shown = (text(leaf, "at") for leaf in about if text(leaf, "event") == "card.shown")
    return [Card(next(shown, ""), card) for card in apart(approval, "cards")]


def _moment_of(about: Iterable[Record], event: str, person: str = "") -> str:
    """Return when something happened of which a leaf tells; where a person is named, to that person."""
    found = (leaf for leaf in about if text(leaf, "event") == event and text(leaf, "data", "person") == person)
    return text(next(found, {}), "at")


def _votes(approval: Record, about: Iterable[Record], cards: Sequence[Card]) -> list[Vote]:
    """Return the votes with the leaves that tell of them: of the votes of one person, the first has the first."""
    counted = [leaf for leaf in about if text(leaf, "event") == "vote.counted"]
    withdrawn = [text(leaf, "data", "digest") for leaf in about if text(leaf, "event") == "vote.withdrawn"]
    found = []
    for vote in records(approval, "votes"):
        person = text(vote, "person")
        leaf = next((one for one in counted if text(one, "data", "person") == person), {})
        counted = [one for one in counted if one is not leaf]
        digest = text(leaf, "data", "digest")
        is_withdrawn = bool(digest) and digest in withdrawn
        if is_withdrawn:
            withdrawn.remove(digest)
        found.append(_vote(approval, vote, leaf, cards, is_withdrawn=is_withdrawn))
    return found


def leaves_open(approval: Record, vote: Record) -> bool:
    """Return whether a vote is a no that ended nothing, since policy gave the veto to others."""
    veto = texts(approval, "requirement", "veto")
    return bool(veto) and text(vote, "verdict") != "approve" and set(veto).isdisjoint(texts(vote, "groups"))


def _vote(approval: Record, vote: Record, leaf: Record, cards: Sequence[Card], *, is_withdrawn: bool) -> Vote:
    kind, at, against = text(approval, "kind"), text(leaf, "at"), leaves_open(approval, vote)
    person, code, ticket = text(vote, "person"), text(vote, "verdict"), text(vote, "break_glass", "ticket")
    stood = [card for card in cards if card.at and card.at <= at]
    return Vote(
        name=(text(vote, "person_name").strip(" ") or person) + _for_whom(vote),
        person=person,
        account=_account(vote),
        groups=texts(vote, "groups"),
        at=at,
        said="".join(
            [
                verdict(kind, code, leaves_open=against),
                IN_CONSOLE if "console" in vote else "",
                by_break_glass(ticket),
                WITHDRAWN if is_withdrawn else "",
            ]
        ),
        meaning=NO_MORE if is_withdrawn else f"{meaning(kind, code, leaves_open=against)}{ALONE if ticket else ''}",
        reason=text(vote, "reason"),
        card=stood[-1] if stood and "console" not in vote else None,
        opened_at=text(leaf, "data", "opened_at"),
        page=texts(vote, "console", "shown", "text"),
    )


def _question(told: Record) -> Question:
    answer = record(told, "answer")
    return Question(
        name=text(told, "person_name").strip(" ") or text(told, "person"),
        at=text(told, "at"),
        question=text(told, "question"),
        answered_by=text(answer, "name").strip(" ") or text(answer, "by"),
        answered_at=text(answer, "at"),
        answer=text(answer, "text"),
    )


def _for_whom(vote: Record) -> str:
    """Return for whom a vote was given, where that is not the voter."""
    delegator = text(vote, "delegation", "delegator")
    return f" for {text(vote, 'delegation', 'delegator_name').strip(' ') or delegator}" if delegator else ""


def _account(vote: Record) -> str:
    """Return the account that clicked, or how the vote came in where none did."""
    via, brought_by = text(vote, "via"), text(vote, "brought_by")
    if "console" in vote:
        return f"{text(vote, 'console', 'subject')} of {text(vote, 'console', 'issuer')}, in the console"
    if via:
        return f"none: by {f'the caller {brought_by}' if brought_by else via}"
    return " ".join(filter(None, [text(vote, "slack", "team"), text(vote, "slack", "user")]))


def class_in_words(one: Record) -> str:
    """Return how many had to be of a class of signers."""
    groups, quorum = texts(one, "groups"), number(one, "quorum")
    if one.get("all_groups") is True and len(groups) > 1:
        return f"{quorum} of {listed(groups)}, a different person for each,"
    return f"{quorum} of {listed(groups, 'or')}"


def needed(requirement: Record) -> str:
    """Return what policy required of people, as a sentence."""
    groups, excluded, veto = (texts(requirement, name) for name in ("groups", "exclude", "veto"))
    line = [(text(entry, "after"), texts(entry, "to")) for entry in records(requirement, "escalate_to")]
    of_all = requirement.get("all_groups") is True and len(groups) > 1
    parts = [
        f"{counted(number(requirement, 'quorum'), 'person', 'people')} of {listed(groups, 'and' if of_all else 'or')}",
        "a different person for each group" if of_all else "",
        *(f"{class_in_words(one)} among them" for one in records(requirement, "classes")),
        f"only a no of {listed(veto, 'or')} ends it" if veto else "",
        f"never {listed(excluded, 'or')}" if excluded else "",
        f"within {duration(text(requirement, 'expires_in'))}" if text(requirement, "expires_in") else "",
        "each with a reason" if requirement.get("reason_required") is True else "",
        *(f"after {duration(after)} also {listed(to)}" for after, to in line),
    ]
    return ", ".join(filter(None, parts))
