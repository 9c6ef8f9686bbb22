"""Rules about cards: each is about its own approval, and a vote names the one that was shown last before it."""

import re
from collections.abc import Iterator

from evidence.verify.material.comparing import broken
from evidence.verify.material.contents import BrokenError
from evidence.verify.material.facts import Facts, Requested
from evidence.verify.rules import Rule, counted, rule
from receipts import canonical
from receipts.chain import CARD_SHOWN, VOTE_COUNTED

_REFERENCE = re.compile(r'\{"id":"([^"\\]+)","digest":"([^"\\]+)","stamp":"([^"\\]*)"')
"""How the value of a button begins that is about a request as the card shows it."""
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
        for number, card in enumerate(approval.record.cards, start=1):
            _check_card(approval, number, list(_values(card)))
            found += 1
    return counted(found, "card")


def _check_card(approval: Requested, number: int, values: list[str]) -> None:
    record = approval.record
    named = [value for value in values if '"digest":' in value and '"digest":""' not in value]
    if not named:
        raise BrokenError(approval.name, f"card {number} does not say which approval it is about")
    requirement = record.requirement.model_dump()
    stamps = {canonical.digest([record.digest, requirement, status])[:_HEAD] for status in _STATUSES}
    for value in named:
        said = _REFERENCE.match(value)
        if said is None or said.groups()[:2] != (record.id, record.digest[:_HEAD]) or said[3] not in stamps:
            raise BrokenError(approval.name, f"card {number} is about something else than was asked: {value[:200]}")


def _values(part: object) -> Iterator[str]:
    """Give the `value` of each button and of each entry of a menu, wherever it stands in a card."""
    if isinstance(part, list):
        for one in part:
            yield from _values(one)
    elif isinstance(part, dict):
        for name, one in part.items():
            if name == "value" and isinstance(one, str):
                yield one
            else:
                yield from _values(one)


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
                raise broken(leaf, f"{leaf.data.get('person')} voted when {was} was the last that was shown")
    return counted(sum(len(approval.votes) for approval in facts.approvals.values()), "vote")


RULES: tuple[Rule[Facts], ...] = (_about, _shown)
