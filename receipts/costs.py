"""What a run used and cost, by provider and model: sums of what its read records and receipts tell."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, Inexact
from functools import reduce
from typing import Any

from pydantic import ValidationError

from receipts.fields import Closed
from receipts.usage import Told, Usage, plain

_EXACT = Context(prec=100, traps=[Inexact])
"""Room for the sum of more amounts than a bundle can hold, and an error where one would be rounded."""


class Costs(Closed):
    """What was told of one provider and model; `amounts` by currency, for the calls that told a cost.

    A call is one entry of `usage`. What no call told is absent.
    """

    provider: str
    model: str | None
    calls: int
    calls_without_cost: int
    units: dict[str, str]
    amounts: dict[str, str]


def rollup(usages: Iterable[Usage]) -> list[Costs]:
    """Return the sums, in order of provider and model; nothing where nobody told anything."""
    found: dict[tuple[str, str], list[Usage]] = {}
    for usage in usages:
        found.setdefault((usage.provider, usage.model or ""), []).append(usage)
    return [_costs(found[key]) for key in sorted(found)]


def usages_of(records: Iterable[Mapping[str, Any]]) -> list[Usage]:
    """Return what read records and receipts tell. One whose word is not in its form counts for nothing."""
    found = list[Usage]()
    for record in records:
        try:
            found += Told.model_validate(record["told"]).usage if record.get("told") else []
        except ValidationError:  # the row was changed; whoever verifies its record says so
            continue
    return found


def _costs(usages: list[Usage]) -> Costs:
    return Costs(
        provider=usages[0].provider,
        model=usages[0].model,
        calls=len(usages),
        calls_without_cost=sum(usage.cost is None for usage in usages),
        units=_sums(unit for usage in usages for unit in usage.units.items()),
        amounts=_sums((usage.currency, usage.cost) for usage in usages if usage.currency and usage.cost),
    )


def _sums(amounts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return exact sums by name."""
    found: dict[str, list[Decimal]] = {}
    for name, amount in amounts:
        found.setdefault(name, []).append(Decimal(amount))
    return {name: plain(reduce(_EXACT.add, found[name])) for name in sorted(found)}
