"""Usage: what a handler tells of a call beside its result, what a read used, and the costs of a run.

Told is what the other side said of a call, and what was used. Amounts are exact decimals in text, each in its one
spelling, because canonical JSON has binary numbers alone. What was not told is absent or null, and never zero.

A read record says what a read asked, got, used and cost. Both documents stand there as a commitment alone. What a run
used and cost, by provider and model, is the sum of what its read records and receipts tell.
"""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, Inexact
from functools import reduce
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from receipts import canonical
from receipts.fields import Exact, Identifier, NonEmpty, Timestamp

_DIGITS, _PLACES = 15, 12
"""Digits of an amount before and after its point, at most: all of them are within what `Decimal` computes exactly."""

Amount = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{0,11}[1-9])?$")]
Phrase = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Unit = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class Metadata(Exact):
    """What the other side said of a call: HTTP status, its id of the (last) request, how many requests were sent."""

    status: int | None = Field(ge=100, le=599)
    request_id: Phrase | None
    requests: int | None = Field(ge=1, le=2**31)


class Usage(Exact):
    """What a call used of one provider and model: amounts by unit (`input_tokens`), and what that cost.

    `model` is null where the provider has none to name, cost and currency (ISO 4217) where nobody said.
    """

    provider: Phrase
    model: Phrase | None
    units: dict[Unit, Amount] = Field(max_length=32)
    cost: Amount | None
    currency: Currency | None

    @model_validator(mode="after")
    def _cost_has_currency(self) -> Self:
        if (self.cost is None) != (self.currency is None):
            raise ValueError("cost and currency go together")
        return self


class CallReport(Exact):
    """All that was told of one call; `not_recorded` is why what was told is not here, where it could not be read."""

    metadata: Metadata | None
    usage: list[Usage] = Field(max_length=64)
    not_recorded: Annotated[str, StringConstraints(max_length=4000)] | None


def amount(number: object) -> str:
    """Return a whole number or a Decimal as an `Amount`; raise TypeError or ValueError for what has none."""
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise TypeError(f"an amount is a whole number or a Decimal, not {type(number).__name__}")
    exact = Decimal(number)
    if not exact.is_finite() or exact < 0 or (exact and exact.adjusted() not in range(-_PLACES, _DIGITS)):
        raise ValueError(f"an amount is from 0 to below 10**{_DIGITS}, with at most {_PLACES} places")
    return plain_decimal(exact)


def plain_decimal(exact: Decimal) -> str:
    """Return a finite number that is not negative without exponent, and without zeros at the end of its places."""
    text = f"{abs(exact):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Commitment = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class Measured(Exact):
    """A document that is on no record: the bytes of its canonical form, and a commitment under the tenant's salt."""

    bytes: int = Field(ge=0)
    commitment: Commitment


class ReadRecord(Exact):
    """One attempt at a read, which ended. Written once; an attempt whose worker was lost has none.

    `request` are the step's params, `response` its result: null for a failure. `told` is null where nothing was told.
    """

    read_id: Identifier
    tenant: NonEmpty
    run_id: Identifier
    step: NonEmpty
    verb: NonEmpty
    handler: NonEmpty
    attempt: int = Field(ge=1)
    started_at: Timestamp
    finished_at: Timestamp
    outcome: Literal["success", "failure"]
    request: Measured
    response: Measured | None
    told: CallReport | None
    error: str | None

    def document(self) -> bytes:
        """Return the record's canonical form, whose SHA-256 the audit chain carries."""
        return canonical.dumps(self.model_dump())


def measured(document: Any, commitment: str) -> Measured:
    """Return what is put on record of a document, with its commitment."""
    return Measured(bytes=len(canonical.dumps(document)), commitment=commitment)


_EXACT = Context(prec=100, traps=[Inexact])
"""Room for the sum of more amounts than a bundle can hold, and an error where one would be rounded."""


class Costs(Exact):
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
    return [_costs_of(found[key]) for key in sorted(found)]


def usages_of(records: Iterable[Mapping[str, Any]]) -> list[Usage]:
    """Return what read records and receipts tell. One whose word is not in its form counts for nothing."""
    found = list[Usage]()
    for record in records:
        try:
            found += CallReport.model_validate(record["told"]).usage if record.get("told") else []
        except ValidationError:  # the row was changed; whoever verifies its record says so
            continue
    return found


def _costs_of(usages: list[Usage]) -> Costs:
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
    return {name: plain_decimal(reduce(_EXACT.add, found[name])) for name in sorted(found)}
