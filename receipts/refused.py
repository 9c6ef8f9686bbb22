"""Acts that record what was refused: commands, delegations, and requests of callers."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from receipts.act import Act, Allowed
from receipts.fields import Closed, NonEmpty, Timestamp

MOST_TRIED = 10
"""How many different requests one record of refusals names."""

TRIED_LENGTH = 200
"""Characters that are kept of a subject, and of a path."""

Bounded = Annotated[str, StringConstraints(max_length=TRIED_LENGTH)]


class CommandRefused(Act):
    """A command in Slack was refused for what its account is; `code` says why. `team` is "" where Slack said none."""

    event = "command.refused"

    team: str
    user: NonEmpty
    command: NonEmpty
    code: NonEmpty

    @property
    def once(self) -> str:
        """Return whose command was refused, and why: who tries again and again is on record once."""
        return f"command refused {self.team} {self.user} {self.command} {self.code}"


class DelegationRefused(Act):
    """Policy denied what somebody wanted of a delegation; `why` are its reasons, `policy` is by which decision.

    The others are what was wanted: `groups` is empty for all, `reason` that of the person who wanted it.
    """

    event = "delegation.refused"

    act: Literal["delegate", "undelegate"]
    delegator: str
    delegate: str
    groups: list[str]
    starts_at: Timestamp
    ends_at: Timestamp
    reason: NonEmpty
    why: NonEmpty
    policy: Allowed


class Tried(Closed):
    """What a refused request was about, as given: the subject of the rule that refused it, and the path."""

    subject: Bounded
    path: Bounded


class RequestRefused(Act):
    """Requests of an authenticated caller, the leaf's actor, were refused with 403: by one rule, on one route.

    `count` says how many there were from `first_at` to `last_at`; `tried` has the first different ones.
    """

    event = "request.refused"

    route: NonEmpty
    rule: NonEmpty
    count: int = Field(ge=1)
    first_at: Timestamp
    last_at: Timestamp
    tried: list[Tried] = Field(min_length=1, max_length=MOST_TRIED)

    def with_later(self, later: "RequestRefused") -> "RequestRefused":
        """Return one record of both, which have the same route and rule."""
        tried = [*self.tried, *(one for one in later.tried if one not in self.tried)]
        sums = {"count": self.count + later.count, "last_at": later.last_at, "tried": tried[:MOST_TRIED]}
        return self.model_copy(update=sums)
