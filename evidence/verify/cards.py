"""Cards: each is about its own approval, and a vote names the one that was shown last before it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.rules import Rule, broken_leaf, counted, rule
from receipts import canonical
from receipts.chain import CARD_SHOWN, VOTE_COUNTED

_REFERENCE = re.compile(r'\{"id":"([^"\\]+)","digest":"([^"\\]+)","stamp":"([^"\\]*)"')
"""How the value of a button begins that is about a request as the card shows it."""
_VALUE = re.compile(
    rb'(?<=[{,])"value":("[^"\\]*+(?:\\(?!"digest\\":).[^"\\]*+)*+\\"digest\\":[^"\\]*+(?:\\.[^"\\]*+)*+")'
)
"""A member `value` of canonical JSON, if its text names a digest."""
_STATUSES = ("requested", "approved", "rejected", "expired", "canceled")
_HEAD = 16
"""Characters of a digest that a button has."""


@rule(
    "cards.about",
    'A card has a button whose `value` begins with `{"id":…,"digest":…,"stamp":…`, and each of these has the `id` of'
    " the card's approval, the first 16 hex digits of its `digest`, and as `stamp` those of the digest of the list of"
    " that digest, the requirement and a status. No other value names a `digest`, unless it is empty.",
)
def _about(facts: Facts) -> str:
    found = 0
    for approval in facts.approvals.values():
        requirement = approval.record.requirement.model_dump()
        for number, card in enumerate(approval.record.cards, start=1):
            _check_card(approval, number, card, requirement)
            found += 1
    return counted(found, "card")


def _is_stamp(approval: Requested, requirement: Mapping[str, Any], said: str) -> bool:
    asked = [approval.record.digest, requirement]
    return any(canonical.digest([*asked, status])[:_HEAD] == said for status in _STATUSES)


def _check_card(approval: Requested, number: int, card: object, requirement: Mapping[str, Any]) -> None:
    about, named = (approval.record.id, approval.record.digest[:_HEAD]), False
    for value in _naming(card):
        named = True
        said = _REFERENCE.match(value)
        if said is None or said.groups()[:2] != about or not _is_stamp(approval, requirement, said[3]):
            raise BrokenError(approval.name, f"card {number} is about something else than was asked: {value[:200]}")
    if not named:
        raise BrokenError(approval.name, f"card {number} does not say which approval it is about")


def _naming(card: object) -> Iterator[str]:
    """Give each `value` that names a digest, of a button or of an entry of a menu, wherever it stands in a card."""
    for found in _VALUE.finditer(canonical.dumps_again(card)):
        value = canonical.loads(found[1])
        if '"digest":""' not in value:
            yield value


@rule(
    "votes.shown",
    "The leaf of a vote names as `card` the `digest` of the last `card.shown` before it that is about its approval, and"
    " none where none stands before it.",
)
def _shown(facts: Facts) -> str:
    for approval in facts.approvals.values():
        last: object = None
        for leaf in facts.contents.leaves_about[approval.record.id]:
            if leaf.event == CARD_SHOWN:
                last = leaf.data.get("digest")
            elif leaf.event == VOTE_COUNTED and leaf.data.get("card") != last:
                was = f"card {last}" if last else "no card"
                raise broken_leaf(leaf, f"{leaf.data.get('person')} voted when {was} was the last that was shown")
    return counted(sum(len(approval.votes) for approval in facts.approvals.values()), "vote")


_POSTS = ("post_card", "update_card")


@rule(
    "cards.receipted",
    "The response of `slack::post_card` and `slack::update_card` may say as `card` the digest of what was shown: a"
    " `card.shown` with that `digest`, about the approval that the request names, then stands before the receipt's"
    " leaf.",
)
def _receipted(facts: Facts) -> str:
    shown, found = _first_shown(facts), 0
    for name, receipt, leaf in ((one.name, one.record, one.leaf) for one in facts.receipts):
        response = receipt.response
        if receipt.connector != "slack" or receipt.operation not in _POSTS or not isinstance(response, dict):
            continue
        if (card := response.get("card")) is None:
            continue
        about = receipt.request.get("approval_id") if isinstance(receipt.request, dict) else None
        at = shown.get(canonical.digest([about, card])) if isinstance(about, str) else None
        if at is None or at >= leaf.seq:
            raise BrokenError(name, f"says that the card {card} was shown, and no card.shown of it stands before it")
        found += 1
    return counted(found, "receipt")


def _first_shown(facts: Facts) -> dict[str, int]:
    """Return the place of the leaf that first tells of a card, by the digest of its approval and digest."""
    found: dict[str, int] = {}
    for leaf in facts.contents.leaves_of(CARD_SHOWN):
        about = leaf.data.get("approval_id", leaf.correlation.approval_id)
        found.setdefault(canonical.digest([about, leaf.data.get("digest")]), leaf.seq)
    return found


RULES: tuple[Rule[Facts], ...] = (_about, _shown, _receipted)
