"""Acts about the console: whose an account of a provider is, acts on many subjects, and sessions that were ended."""

from pydantic import Field

from receipts.acts import Act
from receipts.fields import NonEmpty, Sha256Hex


class AccountLinked(Act):
    """An account signed in as somebody for the first time, by an address that its issuer has verified.

    From then on this account alone is theirs by that address, whoever the issuer gives the address to later.
    """

    event = "account.linked"

    issuer: NonEmpty
    subject: NonEmpty
    person: NonEmpty
    address: NonEmpty


class ActsAsked(Act):
    """An operator wanted one thing of many subjects, by one form; what became of each is on its own record.

    `form` is the SHA-256 of the form and what it says, `digest` that of the list of the subjects' ids.
    """

    event = "acts.asked"

    form: Sha256Hex
    act: NonEmpty
    reason: NonEmpty
    subjects: int = Field(ge=1)
    digest: Sha256Hex

    @property
    def once(self) -> str:
        """Return the form: one that is sent again is on record once."""
        return f"acts asked {self.form}"


class SessionsEnded(Act):
    """Somebody ended all sessions of a person in the console; there were so many."""

    event = "sessions.ended"

    person: NonEmpty
    sessions: int = Field(ge=0)
    reason: NonEmpty
