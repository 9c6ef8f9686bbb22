"""What the bot sees of requests that people may edit and resubmit: the form, the edit, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.model.actor import SlackAccount
from runtime.model.votes import Refusal


@dataclass(frozen=True)
class EditForm:
    """What of a request may be edited: `schema` has these params alone, `present` their values now.

    `title` is what people call the request.
    """

    approval_id: str
    stamp: str
    title: str
    schema: Mapping[str, Any]
    present: Mapping[str, Any]


@dataclass(frozen=True)
class EditWish:
    """A person's edit as it came from Slack. `dedupe_key` is equal for deliveries of the same one.

    `params` are those that are to be another; what is None in them is to be left out. `refusal` as for a click.
    """

    dedupe_key: str
    approval_id: str
    stamp: str
    params: Mapping[str, Any]
    reason: str
    account: SlackAccount
    person_id: str | None
    refusal: Refusal | None
    request_id: str


class EditingDesk(Protocol):
    """The counter for edits."""

    async def form(self, approval_id: str) -> EditForm | None:
        """Return what of an open request may be edited, or None where nothing may."""
        ...

    def faults(self, form: EditForm, params: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Return what is wrong with the params as a person wants them, by their names; nothing where they fit."""
        ...

    async def refusal(self, approval_id: str, person_id: str, params: Mapping[str, Any]) -> Refusal | None:
        """Return why policy, or too few people left to sign, would end what the person makes of a request; or None.

        Reads only; raise PolicyUnavailableError.
        """
        ...

    async def record(self, wish: EditWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        ...

    async def apply(self, notification_id: str) -> Refusal | None:
        """Apply a recorded wish, at most once; return why it did not count, None where it did."""
        ...
