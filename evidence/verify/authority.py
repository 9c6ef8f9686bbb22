"""Step 8 of the procedure: whether all that was done had been allowed, and by those who had to be asked."""

from collections.abc import Sequence

from evidence import names
from evidence.records import (
    ApprovalRecord,
    AskedEffect,
    DecisionRecord,
    RequirementRecord,
    VoteRecord,
)
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.quorum import check_quorum, uses_break_glass
from evidence.verify.rules import counted, rule, same
from receipts import canonical
from receipts.chain import APPROVAL_REQUESTED, EFFECT_EDITED, FELL_BACK, VOTE_COUNTED, WAIT_ESCALATED, Leaf
from receipts.errors import ReceiptsError
from receipts.fields import in_parts
from receipts.receipt import Receipt
from receipts.redaction import redact

ACTED = ("success", "in_doubt")
_REQUEST = "/request"


def acted(contents: Contents) -> dict[str, Receipt]:
    """Return the receipts of what was done, or may have been done."""
    return {name: receipt for name, receipt in contents.receipts.items() if receipt.outcome in ACTED}


@rule(
    "acts.allowed",
    "Each receipt that says `success` or `in_doubt` names a decision that says `allow`, about the same effect, digest,"
    " connector, operation and target.",
)
def allowed(contents: Contents) -> str:
    """Look at the decision of each act."""
    for name, receipt in acted(contents).items():
        decision = _decision_of(contents, name, receipt)
        if decision.outcome != "allow":
            raise BrokenError(name, f"acted, though its decision {decision.id} says {decision.outcome}")
        asked = decision.input.effect
        told = (decision.effect_id, asked.digest, asked.connector, asked.operation, asked.target)
        if told != (receipt.effect_id, receipt.fingerprint, receipt.connector, receipt.operation, receipt.target):
            raise BrokenError(name, f"its decision {decision.id} is about another effect")
    return counted(len(acted(contents)), "receipt")


@rule(
    "acts.as-decided",
    "The canonical action of what acted gives that digest, and the receipt's `request` is what its `fields` give with"
    " the listed places hidden.",
)
def as_decided(contents: Contents) -> str:
    """Compare what was decided on with what was sent."""
    for name, receipt in acted(contents).items():
        _check_action(name, receipt, _decision_of(contents, name, receipt).input.effect)
    return counted(len(acted(contents)), "receipt")


@rule(
    "approvals.consent",
    "Every approval that is approved, whatever its kind and whether or not anything followed, has votes that were not"
    " withdrawn (`vote.withdrawn`) by distinct people, among whom are those for whom one was given (`delegation`);"
    " none is by, for, or by leave of (`recorded_by`) the requester or submitter of the run, an actor whom policy was"
    " told of for that effect, or an excluded person; each is of a group that was asked: one of `groups`, or of those"
    " of `escalate_to` whom a `wait.escalated` before the vote asks (`to`), or an `approval.fell_back` that comes"
    " first after `approval.requested`. At least `quorum` of such votes approved; with `all_groups`, every group has a"
    " person of its own among those who did. Of each of `classes`, at least its `quorum` of people of its `groups` did,"
    " and with its `all_groups` every one of these has a person of its own; a person may count in several. Instead of"
    " all that, one vote with a `break_glass` is enough, by somebody of the groups of the requirement's `break_glass`,"
    " for nobody else, whose `nth` is no more than its `at_most`. Where the requirement has a `veto`, no vote of"
    " somebody of these groups says no.",
)
def consent(contents: Contents) -> str:
    """Look at who approved."""
    found = {name: one for name, one in contents.approvals.items() if one.status == "approved"}
    for name, approval in found.items():
        _check_consent(contents, name, approval)
    return counted(len(found), "approval")


def _check_consent(contents: Contents, name: str, approval: ApprovalRecord) -> None:
    """Raise unless an approval that says so was granted: by people who might, and enough of them."""
    votes = contents.standing(approval)
    people = [person for vote in votes for person in vote.people]
    if len(set(people)) < len(people):
        raise BrokenError(name, "counts a person twice")
    requesters = requesters_of(contents, approval)
    electorate = electorate_of(contents, approval)
    for vote in votes:
        for person in (*vote.people, *([vote.delegation.recorded_by] if vote.delegation else ())):
            if person in requesters:
                raise BrokenError(name, f"counts the vote of the requester, {person}")
            if person in approval.requirement.exclude:
                raise BrokenError(name, f"counts the vote of {person}, who was excluded")
        if not electorate[vote.person] & set(vote.groups) and not uses_break_glass(approval.requirement, vote):
            raise BrokenError(name, f"counts the vote of {vote.person}, who is in none of the groups that were asked")
    check_quorum(name, approval.requirement, votes, electorate)


@rule(
    "acts.approved",
    "If policy had answered `needs_approval` for the effect and digest of what acted, or the decision was told of"
    " votes, the receipt names an approval: of kind `effect`, approved, bound to that effect and digest, with a"
    " requirement that policy had stated, and with the very votes that policy was then told. Those are enough with the"
    " people's groups that policy was told of, too.",
)
def approved(contents: Contents) -> str:
    """Look at the approval of each act that needed one."""
    found = acted(contents)
    for name, receipt in found.items():
        decision = _decision_of(contents, name, receipt)
        requirements = contents.requirements.get((receipt.effect_id, receipt.fingerprint), [])
        if receipt.approval_id is not None:
            _check_approval(contents, receipt, decision, requirements)
        elif requirements or decision.input.votes:
            raise BrokenError(name, "policy asked for approval, and the receipt names none")
    return counted(sum(receipt.approval_id is not None for receipt in found.values()), "receipt")


@rule(
    "decisions.of-votes",
    "Every decision that allows and was told of votes has an approved approval of kind `effect` for its effect and"
    " digest with these votes.",
)
def of_votes(contents: Contents) -> str:
    """Look for the votes that policy was told of."""
    for name, decision in contents.decisions.items():
        _check_votes(contents, name, decision)
    return counted(len(contents.decisions), "decision")


def _check_votes(contents: Contents, name: str, decision: DecisionRecord) -> None:
    """Raise if policy allowed an effect on votes that no approval of it has."""
    bound = ("effect", "approved", decision.input.effect.digest)
    if decision.outcome != "allow" or not decision.input.votes:
        return
    for approval in contents.approvals_about.get(decision.effect_id, ()):
        is_of_it = (approval.kind, approval.status, approval.digest) == bound
        if is_of_it and _said(contents.standing(approval)) == _said(decision.input.votes):
            return
    raise BrokenError(name, "allows on votes that no approval in the bundle has")


def _decision_of(contents: Contents, name: str, receipt: Receipt) -> DecisionRecord:
    """Return the decision that a receipt rests on."""
    decision = contents.decision_of.get(str(receipt.decision_id))
    if decision is None:
        raise BrokenError(name, f"acted, and its decision {receipt.decision_id} is not in the bundle")
    return decision


def _check_action(name: str, receipt: Receipt, asked: AskedEffect) -> None:
    """Raise unless the canonical action gives the digest, and what was sent is what policy was asked about."""
    body = {
        "connector": asked.connector,
        "operation": asked.operation,
        "target": asked.target,
        "fields": asked.fields,
        "idempotency_key": receipt.idempotency_key,
        "tier": asked.tier,
        "reversible_by": receipt.reversible_by,
    }
    if canonical.digest(body) != asked.digest:
        raise BrokenError(name, "the action that was decided on does not give its digest")
    every = (path for paths in in_parts(receipt.redacted) for path in paths)
    hidden = (path.removeprefix(_REQUEST) for path in every if path == _REQUEST or path.startswith(f"{_REQUEST}/"))
    try:
        sent = redact(asked.fields, hidden).value
    except ReceiptsError as error:
        raise BrokenError(name, f"redacted: {error}") from error
    if canonical.dumps(sent) != canonical.dumps(receipt.request):
        raise BrokenError(name, "its request is not what was decided on")


def _check_approval(
    contents: Contents, receipt: Receipt, decision: DecisionRecord, requirements: list[RequirementRecord | None]
) -> None:
    """Raise unless the receipt's approval is bound to its effect, was granted, and is what policy asked for."""
    name = names.approval(str(receipt.approval_id))
    approval = contents.approvals.get(name)
    if approval is None:
        raise BrokenError(name, f"is not in the bundle, and receipt {receipt.receipt_id} rests on it")
    if (approval.kind, approval.status) != ("effect", "approved"):
        what = approval.status if approval.kind == "effect" else f"of kind {approval.kind}"
        raise BrokenError(name, f"is {what}, and receipt {receipt.receipt_id} rests on it")
    if (approval.effect_id, approval.digest) != (receipt.effect_id, receipt.fingerprint):
        raise BrokenError(name, f"is bound to another effect than that of receipt {receipt.receipt_id}")
    if not any(same(approval.requirement, stated) for stated in requirements):
        raise BrokenError(name, "its requirement is not one that policy asked for")
    if _said(contents.standing(approval)) != _said(decision.input.votes):
        raise BrokenError(name, f"its votes are not those that policy was told in decision {decision.id}")
    check_quorum(name, approval.requirement, decision.input.votes, electorate_of(contents, approval))


def _said(votes: Sequence[VoteRecord]) -> list[tuple[str, str, str, bool, bool]]:
    return sorted(
        (vote.person, vote.verdict, vote.delegator or "", vote.is_signed, vote.is_from_console) for vote in votes
    )


def requesters_of(contents: Contents, approval: ApprovalRecord) -> set[str]:
    """Return everybody who wanted the effect, and so may not consent to it."""
    told = {decision.input.actor.id for decision in contents.decisions_about.get(approval.effect_id, ())}
    return {contents.run.requested_by, contents.run.submitted_by} | told


def electorate_of(contents: Contents, approval: ApprovalRecord) -> dict[str, set[str]]:
    """Return for each voter, and who edited, the groups asked by the last time that they did."""
    asked = asked_at(contents, approval)
    about = (leaf for leaf in contents.leaves_about.get(approval.id, []) if leaf.seq in asked)
    return {str(leaf.data.get("person")): asked[leaf.seq] for leaf in about}


def asked_at(contents: Contents, approval: ApprovalRecord) -> dict[int, set[str]]:
    """Return the groups asked by each vote and edit, by its line: who is next in line, only from then on."""
    asked, before = set(approval.requirement.groups), ""
    found: dict[int, set[str]] = {}
    for leaf in contents.leaves_about.get(approval.id, []):
        falls_back = leaf.event == FELL_BACK and before == APPROVAL_REQUESTED
        if leaf.event == WAIT_ESCALATED or falls_back:
            asked = asked | _joined(leaf, approval)
        elif leaf.event in (VOTE_COUNTED, EFFECT_EDITED):
            found[leaf.seq] = asked
        before = leaf.event
    return found


def _joined(leaf: Leaf, approval: ApprovalRecord) -> set[str]:
    """Return who is asked from then on: of those next in line the ones that the leaf names."""
    named = leaf.data.get("to")
    return set(approval.requirement.leads).intersection(map(str, named)) if isinstance(named, list) else set()
