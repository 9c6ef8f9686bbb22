"""What a handler tells of a call beside its result: what the other side said of it, and what was used.

Amounts are exact decimals in text, each in its one spelling, because canonical JSON has binary numbers alone. What was
not told is absent or null, and never zero.
"""

from decimal import Decimal
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from receipts.fields import Closed

_DIGITS, _PLACES = 15, 12
"""Digits of an amount before and after its point, at most: all of them are within what `Decimal` computes exactly."""

Amount = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{0,11}[1-9])?$")]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Unit = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class Metadata(Closed):
    """What the other side said of a call: HTTP status, its id of the (last) request, how many requests were sent."""

    status: int | None = Field(ge=100, le=599)
    request_id: Word | None
    requests: int | None = Field(ge=1, le=2**31)


class Usage(Closed):
    """What a call used of one provider and model: amounts by unit (`input_tokens`), and what that cost.

    `model` is null where the provider has none to name, cost and currency (ISO 4217) where nobody said.
    """

    provider: Word
    model: Word | None
    units: dict[Unit, Amount] = Field(max_length=32)
    cost: Amount | None
    currency: Currency | None

    @model_validator(mode="after")
    def _cost_has_currency(self) -> Self:
        if (self.cost is None) != (self.currency is None):
            raise ValueError("cost and currency go together")
        return self


class Told(Closed):
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
    return plain(exact)


def plain(exact: Decimal) -> str:
    """Return a finite number that is not negative without exponent, and without zeros at the end of its places."""
    text = f"{abs(exact):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
