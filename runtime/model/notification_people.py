"""What people say about an approval."""

from typing import Annotated, Any, Literal

from pydantic import Field

from runtime.model.passkeys import Assertion
from runtime.model.payload import PayloadModel
from runtime.model.votes import ClaimAct, RefusalCode, Via, VoteVerdict


class VoteRefusal(PayloadModel):
    """Why the bot knows already that a click cannot count."""

    code: RefusalCode
    about: tuple[str, ...]


class PersonPayload(PayloadModel):
    """What a person says about an approval. `person_id` is None where the account belongs to nobody, or to several.

    `team` and `user` are the Slack account, "" where it came otherwise; `brought_by` is then the caller of the edge.
    """

    approval_id: str
    team: str
    user: str
    person_id: str | None
    refusal: VoteRefusal | None
    via: Via = Via.SLACK
    brought_by: str = ""

    @property
    def is_unconfirmed(self) -> bool:
        """Return whether it waits for Slack to confirm who says it."""
        return self.refusal is not None and self.refusal.code is RefusalCode.UNCONFIRMED


class TogetherPayload(PayloadModel):
    """One act that decided several requests: its id, and how many they were."""

    id: Annotated[str, Field(min_length=1, max_length=255)]
    count: Annotated[int, Field(ge=2)]


class VotePayload(PersonPayload):
    """A verdict. `stamp` is that of the approval as the person saw it, "" where an old button did not carry one.

    With a `ticket` it does without the others' signatures: that breaks the glass. `assertion` is there where they have
    signed it with a passkey.
    """

    kind: Literal["vote"] = "vote"
    stamp: str
    verdict: VoteVerdict
    reason: str
    ticket: str = ""
    assertion: Assertion | None = Field(default=None, exclude_if=lambda assertion: assertion is None)
    together: TogetherPayload | None = None


class ClaimPayload(PersonPayload):
    """Somebody takes a review on, or gives it back."""

    kind: Literal["claim"] = "claim"
    act: ClaimAct


class EditPayload(PersonPayload):
    """Somebody edits and resubmits a request: `params` are those that they change, with their new values.

    What is null in them is to be left out. `stamp` as for a vote.
    """

    kind: Literal["edit"] = "edit"
    stamp: str
    params: dict[str, Any]
    reason: str
