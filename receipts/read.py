"""The read record: what a read asked, got, used and cost. Both documents stand there as a commitment alone."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from receipts import canonical
from receipts.fields import Closed, Identifier, NonEmpty, Timestamp
from receipts.usage import Told

Commitment = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class Measured(Closed):
    """A document that is on no record: the bytes of its canonical form, and a commitment under the tenant's salt."""

    bytes: int = Field(ge=0)
    commitment: Commitment


class ReadRecord(Closed):
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
    told: Told | None
    error: str | None

    def document(self) -> bytes:
        """Return the record's canonical form, whose SHA-256 the audit chain carries."""
        return canonical.dumps(self.model_dump())


def measured(document: Any, commitment: str) -> Measured:
    """Return what is put on record of a document, with its commitment."""
    return Measured(bytes=len(canonical.dumps(document)), commitment=commitment)
