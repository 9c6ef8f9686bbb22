"""The receipt: what was attempted and what happened, redacted before anything is hashed."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from receipts import canonical
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex, Texts, Timestamp, timestamp
from receipts.redaction import hide
from receipts.usage import CallReport

ReceiptOutcome = Literal["success", "failure", "refusal", "in_doubt"]


class Receipt(Exact):
    """One attempt at one effect. Written once, never changed: a later fact about the effect is another receipt.

    `fingerprint` is the digest of the canonical action; `attempt` is 0 where the effect was refused before any;
    `redacted` are JSON pointers into this receipt; `decision_id` is the stored decision's own id, not OPA's. `told` is
    what the handler told beside its result, and absent where it told nothing.
    `mocked` says that the run was on mocks, and is absent where it was not.
    """

    receipt_id: Identifier
    tenant: NonEmpty
    run_id: Identifier
    step: str
    effect_id: Identifier
    attempt: int = Field(ge=0)
    connector: NonEmpty
    operation: NonEmpty
    target: str
    idempotency_key: NonEmpty
    fingerprint: Sha256Hex
    outcome: ReceiptOutcome
    request: Any  # of JSON, like the response: the receipt has a canonical form
    response: Any
    redacted: Texts
    reversible_by: str | None
    decision_id: Identifier | None
    approval_id: Identifier | None
    started_at: Timestamp
    finished_at: Timestamp
    error: str | None
    mocked: bool = Field(default=False, exclude_if=lambda mocked: not mocked)
    told: CallReport | None = Field(default=None, exclude_if=lambda told: told is None)

    def document(self) -> bytes:
        """Return the receipt's canonical form; its SHA-256 is what the audit chain and the evidence bundle carry."""
        return canonical.dumps(self.model_dump())


def make_receipt(
    *,
    request: Any,
    response: Any,
    pointers: Iterable[str],
    started_at: datetime,
    finished_at: datetime,
    **facts: Any,
) -> Receipt:
    """Build a receipt from raw metadata: `pointers` lead into the request, names like secrets' are hidden in both.

    A clock that was set back between the two moments must not cost a receipt: the end is never before the start.
    """
    sent, received = hide(request, pointers), hide(response)
    return Receipt(
        **facts,
        request=sent.value,
        response=received.value,
        redacted=[f"/request{path}" for path in sent.paths] + [f"/response{path}" for path in received.paths],
        started_at=timestamp(started_at),
        finished_at=timestamp(max(started_at, finished_at)),
    )
