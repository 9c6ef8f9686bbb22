"""Acts about the console: which account of an identity provider is whose, and sessions that were ended."""

from pydantic import Field

from receipts.acts import Act
from receipts.fields import NonEmpty


class AccountLinked(Act):
    """An account signed in as somebody for the first time, by an address that its issuer has verified.

    From then on this account alone is theirs by that address, whoever the issuer gives the address to later.
    """

    event = "account.linked"

    issuer: NonEmpty
    subject: NonEmpty
    person: NonEmpty
    address: NonEmpty


class SessionsEnded(Act):
    """Somebody ended all sessions of a person in the console; there were so many."""

    event = "sessions.ended"

    person: NonEmpty
    sessions: int = Field(ge=0)
    reason: NonEmpty
