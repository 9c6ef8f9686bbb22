"""Who the beneficial owners of a company are, and whether enough is known to say so. Pure computation.

A person's share is the sum, over every chain of holdings from the company up to the person, of the product of the
chain's percentages. Whatever cannot be followed to a person is unresolved, under the name of where the chain broke.
While the unresolved part is below the threshold, no unknown person can reach the threshold through it alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from countersign_kyc.register import Holder

_WHOLE = Decimal(100)
_FLOOR = Decimal("0.1")  # percent; chains thinner than this are not followed, which bounds their number


@dataclass
class Owner:
    """A person and their share in the company, in percent."""

    person_id: str
    name: str
    country: str
    percent: Decimal


@dataclass
class Ownership:
    """Shares by person, and unresolved shares by (code, subject)."""

    owners: dict[str, Owner] = field(default_factory=dict)
    unresolved: dict[tuple[str, str], Decimal] = field(default_factory=dict)

    @property
    def unresolved_percent(self) -> Decimal:
        """Return the whole part of the company that no known person is behind."""
        return sum(self.unresolved.values(), Decimal(0))

    def beneficial(self, threshold: Decimal) -> list[Owner]:
        """Return the people at or above the threshold, largest share first."""
        reached = [owner for owner in self.owners.values() if owner.percent >= threshold]
        return sorted(reached, key=lambda owner: (-owner.percent, owner.name))

    def credit(self, holder: Holder, share: Decimal) -> None:
        """Add a share to a person; people without an id in the register are told apart by name."""
        key = holder.person_id or holder.name
        owner = self.owners.setdefault(key, Owner(holder.person_id, holder.name, holder.country, Decimal(0)))
        owner.percent += share

    def lose(self, code: str, subject: str, share: Decimal) -> None:
        """Add a share to what cannot be followed."""
        self.unresolved[code, subject] = self.unresolved.get((code, subject), Decimal(0)) + share


def trace(lei: str, holders: Mapping[str, Sequence[Holder]]) -> Ownership:
    """Follow all of the company `lei` up to people; `holders` lists the known holders of each company."""
    ownership = Ownership()
    _follow(lei, _WHOLE, (), holders, ownership)
    return ownership


def _follow(
    lei: str, share: Decimal, below: tuple[str, ...], holders: Mapping[str, Sequence[Holder]], ownership: Ownership
) -> None:
    broken = _break(lei, share, below, holders)
    if broken:
        ownership.lose(broken, lei, share)
        return
    for holder in holders[lei]:
        part = share * Decimal(holder.percent) / _WHOLE
        if holder.kind == "person":
            ownership.credit(holder, part)
        elif holder.lei is None:
            ownership.lose("ownership.holder_without_lei", holder.name, part)
        else:
            _follow(holder.lei, part, (*below, lei), holders, ownership)
    rest = _WHOLE - _sum(holders[lei])
    if rest:
        ownership.lose("ownership.undisclosed", lei, share * rest / _WHOLE)


def _break(lei: str, share: Decimal, below: tuple[str, ...], holders: Mapping[str, Sequence[Holder]]) -> str | None:
    """Return why the chain cannot be followed into the company, or None."""
    if lei in below:
        return "ownership.circular"
    if lei not in holders:
        return "ownership.not_in_register"
    if share < _FLOOR:
        return "ownership.remote"
    if _sum(holders[lei]) > _WHOLE:
        return "ownership.above_100_percent"
    return None


def _sum(holders: Sequence[Holder]) -> Decimal:
    return sum((Decimal(holder.percent) for holder in holders), Decimal(0))
