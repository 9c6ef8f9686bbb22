"""Receipts of attempts: each says what its leaf says, at the moments that the chain has.

Step 10 of the procedure: votes came before the decision, the decision before the act, and no key acted twice.
"""

from evidence import names
from evidence.verify.authority import acted
from evidence.verify.budgets import SPENT
from evidence.verify.contents import BrokenError, Contents, grouped
from evidence.verify.execution_windows import WAITING
from evidence.verify.facts import Decided, Facts, Received
from evidence.verify.rules import Rule, agree, broken_leaf, counted, rule
from receipts.chain import APPROVAL_REQUESTED, DECISION_RECORDED, RECEIPT_WRITTEN, VOTE_COUNTED, Leaf
from receipts.receipt import Receipt


@rule(
    "receipts.as-told",
    'No two receipts have one id. A receipt\'s `outcome`, `step` ("" for none), `effect_id` and `approval_id` are'
    " those of its leaf. `attempt` is 0 for a refusal and no less than 1 for all else; `error` is null for a success"
    " alone.",
)
def _as_told(facts: Facts) -> str:
    seen = set[str]()
    for receipt in facts.receipts:
        record, leaf = receipt.record, receipt.leaf
        if record.receipt_id in seen:
            raise BrokenError(receipt.name, f"another receipt has the id {record.receipt_id}, too")
        seen.add(record.receipt_id)
        agree(
            receipt.name,
            f"{names.AUDIT} line {leaf.seq}",
            outcome=(record.outcome, leaf.data.get("outcome")),
            step=(record.step, leaf.correlation.step or ""),
            effect_id=(record.effect_id, leaf.correlation.effect_id),
            approval_id=(record.approval_id, leaf.correlation.approval_id),
        )
        agree(
            receipt.name,
            f"its outcome, {record.outcome},",
            **{
                "attempt is 0": (record.attempt == 0, record.outcome == "refusal"),
                "error is null": (record.error is None, record.outcome == "success"),
            },
        )
    return counted(len(seen), "receipt")


@rule(
    "receipts.of-effect",
    "What a receipt says was attempted is the effect that was proposed: `connector::operation`, `target`, and for what"
    " acted the digest (`fingerprint`), that of the last edit before its decision, or one that people approved.",
)
def _of_effect(facts: Facts) -> str:
    for receipt in facts.receipts:
        record = receipt.record
        leaf, proposal = facts.proposed[record.effect_id]
        agree(
            receipt.name,
            f"{names.AUDIT} line {leaf.seq}",
            action=(f"{record.connector}::{record.operation}", proposal.action),
            target=(record.target, proposal.target),
        )
        if record.outcome in ("success", "in_doubt") and record.fingerprint not in _digests(facts, receipt):
            raise BrokenError(receipt.name, "what acted is neither what was proposed nor what people approved")
    return counted(len(facts.receipts), "receipt")


def _digests(facts: Facts, receipt: Received) -> set[str]:
    """Return the digests of what may act: as proposed, or as approved."""
    effect_id, decided = receipt.record.effect_id, facts.decided.get(str(receipt.record.decision_id))
    return {facts.standing(effect_id, decided.leaf.seq if decided else receipt.leaf.seq)} | {
        one.record.digest
        for one in facts.approvals_about.get(effect_id, ())
        if (one.record.kind, one.record.status) == ("effect", "approved")
    }


@rule(
    "receipts.in-time",
    "A receipt's `finished_at` is its leaf's `at`, and its `started_at` is that too, or that of the leaf of a decision"
    " that allowed its effect.",
)
def _in_time(facts: Facts) -> str:
    begun: dict[str, set[str]] = {}
    for decision in facts.decisions:
        if decision.record.outcome == "allow":
            begun.setdefault(decision.record.effect_id, set()).add(decision.leaf.at)
    for receipt in facts.receipts:
        record, at = receipt.record, receipt.leaf.at
        agree(receipt.name, f"{names.AUDIT} line {receipt.leaf.seq}", finished_at=(record.finished_at, at))
        if record.started_at != at and record.started_at not in begun.get(record.effect_id, ()):
            raise BrokenError(receipt.name, f"no attempt began at {record.started_at}")
    return counted(len(facts.receipts), "receipt")


_AGAIN = "step.failed_retryable"
_FAILED = (_AGAIN, "step.failed_handled", "step.failed_terminal", "step.needs_attention")


@rule(
    "receipts.of-failures",
    "Where a step is told to have failed or to need attention after an attempt at its effect, a receipt of that effect"
    " stands between. An attempt begins with the last decision before that allows an effect of the step, unless an"
    " `effect.waiting` or a `budget.spent` names it, or people answered after it what had become of an attempt"
    " (`in_doubt`). A step whose verb waits for something (`execution.wait`) may fail without its attempt: of such a"
    " step that is so where it is tried again (`step.failed_retryable`).",
)
def _of_failures(facts: Facts) -> str:
    waited = {str(leaf.data.get("decision_id")) for leaf in facts.contents.leaves_of(WAITING, SPENT)}
    allowed = (one for one in facts.decisions if one.record.outcome == "allow" and one.record.id not in waited)
    begun = grouped(allowed, lambda one: one.record.step)
    failed = [leaf for leaf in facts.leaves if leaf.event in _FAILED and _ends_attempt(facts, leaf)]
    for leaf in failed:
        step = leaf.correlation.step
        before = [one for one in (begun.get(step, ()) if step else ()) if one.leaf.seq < leaf.seq]
        if before and not _is_explained(facts, before[-1], leaf):
            raise broken_leaf(leaf, f"no receipt tells of the attempt that began with decision {before[-1].record.id}")
    return counted(len(failed), "failure")


def _ends_attempt(facts: Facts, leaf: Leaf) -> bool:
    """Return whether a step fails by its attempt alone."""
    verb = facts.plan.verb(str(leaf.correlation.step))
    return leaf.event == _AGAIN or (verb is not None and verb.execution.wait is None)


def _is_explained(facts: Facts, begun: Decided, leaf: Leaf) -> bool:
    effect_id = begun.record.effect_id
    told = [one.leaf for one in facts.receipts_of.get(effect_id, ())]
    ends = [one.end for one in facts.approvals_about.get(effect_id, ()) if one.record.kind == "in_doubt"]
    return any(one is not None and begun.leaf.seq < one.seq < leaf.seq for one in (*told, *ends))


RULES: tuple[Rule[Facts], ...] = (_as_told, _of_effect, _in_time, _of_failures)


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
