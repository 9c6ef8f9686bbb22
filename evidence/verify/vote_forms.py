"""The forms of votes in a bundle: by which account, for whom, with what they were signed, and on which page."""

from typing import Annotated

from pydantic import AfterValidator, Field

from evidence.records import DelegationRecord, Extensible, OmittedIfNone, VoteRecord
from receipts.chain import Correlation, Leaf
from receipts.fields import NonEmpty, Timestamp
from receipts.passkey_records import Base64Url


def _must_name_all(leaf: Leaf) -> Leaf:
    if leaf.correlation.model_fields_set != Correlation.model_fields.keys():
        raise ValueError("a leaf names all that it could be about, null where it is not")
    return leaf


WrittenLeaf = Annotated[Leaf, AfterValidator(_must_name_all)]
"""A leaf as it was written: filled up, its record would have another digest than the one that is bound."""


class AccountForm(Extensible):
    """The Slack account that clicked."""

    team: str
    user: str


class DelegationForm(DelegationRecord):
    """A delegation, as it stands on a vote."""

    delegation_id: NonEmpty
    delegator_name: str
    groups: list[str]
    starts_at: Timestamp
    ends_at: Timestamp
    reason: str
    acts: list[WrittenLeaf] = Field(min_length=1)


class PasskeyForm(Extensible):
    """With what a vote was signed, and the acts about that passkey in the tenant's chain until then."""

    credential_id: Base64Url
    nonce: str
    authenticator_data: Base64Url
    client_data: Base64Url
    signature: Base64Url
    acts: list[WrittenLeaf] = Field(min_length=1)


class TogetherForm(Extensible):
    """One act that decided several requests, as it stands on each vote."""

    id: NonEmpty
    count: Annotated[int, Field(ge=2)]


class ShownForm(Extensible):
    """What a page of the console showed: of which approval, as it was then, and its text, line by line."""

    id: NonEmpty
    digest: NonEmpty
    stamp: NonEmpty
    text: list[str]


class ConsoleForm(Extensible):
    """By which account of which issuer a vote was given in the console, and what the page showed."""

    issuer: NonEmpty
    subject: NonEmpty
    shown: ShownForm


class VoteForm(VoteRecord):
    """A counted vote."""

    console: OmittedIfNone[ConsoleForm] = None

    passkey: OmittedIfNone[PasskeyForm] = None
    delegation: OmittedIfNone[DelegationForm] = None
    together: OmittedIfNone[TogetherForm] = None
    person_name: str
    reason: str
    slack: AccountForm
    at: Timestamp

    @property
    def way(self) -> tuple[object, object]:
        """Return how it came in and who brought it, both None where it came from Slack: then the record has neither."""
        more = self.model_extra or {}
        return more.get("via"), more.get("brought_by")
