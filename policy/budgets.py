"""What an effect takes of budgets, as policy says it: parsed strictly, with exact sums."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from policy.execution_windows import ZoneName
from policy.texts import Exact, Text, printable

LONGEST_KEY = 400
"""Characters of whom a budget is counted for: it stands in an index of the database."""

DecimalText = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?$")]
"""A decimal number of at least zero, exactly as it is written."""
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY), AfterValidator(printable)]


class BudgetUse(Exact):
    """What an allowed effect takes of a budget: one effect of `count`, and `amount` of `sum`, in a `currency`.

    `key` says whose budget it is, of those that are counted `by` that: a requester, agent or target. It begins again
    each day or month, by the calendar of `time_zone`. `over` says what follows where too little is left.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")
    comment: Text
    by: Literal["requester", "agent", "target"]
    key: Key
    per: Literal["day", "month"]
    time_zone: ZoneName
    count: int | None = Field(default=None, ge=1, le=1_000_000_000, exclude_if=lambda count: count is None)
    sum: DecimalText | None = Field(default=None, exclude_if=lambda text: text is None)
    currency: str | None = Field(default=None, pattern=r"^[A-Z0-9]{1,10}$", exclude_if=lambda text: text is None)
    amount: DecimalText | None = Field(default=None, exclude_if=lambda text: text is None)
    over: Literal["deny", "wait", "approve"]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len({self.sum is None, self.currency is None, self.amount is None}) > 1:
            raise ValueError("`sum`, `currency` and `amount` are said together")
        if self.count is None and self.sum is None:
            raise ValueError("a budget has a `count`, a `sum`, or both")
        return self
