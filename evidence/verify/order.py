"""Step 10 of the procedure: votes came before the decision, the decision before the act, and no key acted twice."""

from evidence.verify.authority import acted
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import counted, rule
from receipts.chain import APPROVAL_REQUESTED, DECISION_RECORDED, RECEIPT_WRITTEN, VOTE_COUNTED, Leaf
from receipts.model import Receipt

_BEFORE_DECISION = {APPROVAL_REQUESTED, VOTE_COUNTED, "approval.approved"}


@rule("receipts.lasting", "No receipt ends before it starts.")
def lasting(contents: Contents) -> str:
    """Look at the moments of each receipt."""
    for name, receipt in contents.receipts.items():
        if receipt.started_at > receipt.finished_at:
            raise BrokenError(name, "finished before it started")
    return counted(len(contents.receipts), "receipt")


@rule("keys.once", "No idempotency key acted again after a success, or for two fingerprints.")
def keys_once(contents: Contents) -> str:
    """Look for a key that acted twice."""
    by_key: dict[str, Receipt] = {}
    for name, receipt in acted(contents).items():
        _check_key(name, receipt, by_key.get(receipt.idempotency_key))
        by_key[receipt.idempotency_key] = receipt
    return counted(len(by_key), "idempotency key")


def _check_key(name: str, receipt: Receipt, earlier: Receipt | None) -> None:
    """Raise if the key of a receipt had served another effect, or had succeeded already."""
    if earlier is None:
        return
    if earlier.fingerprint != receipt.fingerprint:
        raise BrokenError(name, f"its idempotency key had served another effect, in receipt {earlier.receipt_id}")
    if earlier.outcome == "success":
        raise BrokenError(name, f"acted again after the success in receipt {earlier.receipt_id}")


@rule(
    "acts.after-decision",
    "The decision of what acted stands before its receipt on the chain, and it started no earlier than the decision's"
    " leaf.",
)
def after_decision(contents: Contents) -> str:
    """Compare the places of receipts and their decisions."""
    decided = _decided(contents)
    written = {leaf.data.get("receipt_id"): leaf.seq for leaf in contents.leaves_of(RECEIPT_WRITTEN)}
    found = acted(contents)
    for name, receipt in found.items():
        decision = decided[receipt.decision_id]
        if decision.seq > written[receipt.receipt_id] or decision.at > receipt.started_at:
            raise BrokenError(name, f"acted before its decision {receipt.decision_id}")
    return counted(len(found), "receipt")


@rule("acts.after-votes", "The request, the votes and the consent that it rests on stand before that decision.")
def after_votes(contents: Contents) -> str:
    """Compare the places of decisions and of the approvals that they rest on."""
    decided, found = _decided(contents), acted(contents)
    for name, receipt in found.items():
        for leaf in contents.leaves_about.get(str(receipt.approval_id), []):
            if leaf.event in _BEFORE_DECISION and leaf.seq > decided[receipt.decision_id].seq:
                raise BrokenError(name, f"{leaf.event} (leaf {leaf.seq}) came after its decision {receipt.decision_id}")
    return counted(len(found), "receipt")


def _decided(contents: Contents) -> dict[str | None, Leaf]:
    return {leaf.data.get("decision_id"): leaf for leaf in contents.leaves_of(DECISION_RECORDED)}
