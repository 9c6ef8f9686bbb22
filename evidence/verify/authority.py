"""Whether everything that was done had been allowed, and by those who had to be asked."""

from collections.abc import Mapping, Sequence

from evidence import names
from evidence.records import ApprovalRecord, AskedEffect, DecisionRecord, RequirementRecord, VoteRecord
from evidence.verify.contents import BrokenError, Contents
from receipts import canonical
from receipts.chain import VOTE_COUNTED
from receipts.errors import ReceiptsError
from receipts.model import Receipt
from receipts.redaction import redact

ACTED = ("success", "in_doubt")
_REQUEST = "/request"


def acted(contents: Contents) -> dict[str, Receipt]:
    """Return the receipts of what was done, or may have been done."""
    return {name: receipt for name, receipt in contents.receipts.items() if receipt.outcome in ACTED}


def check_authority(contents: Contents, name: str, receipt: Receipt) -> None:
    """Raise unless policy allowed exactly this effect, and people approved it where policy had asked for that."""
    decision = decision_of(contents, name, receipt)
    if decision.outcome != "allow":
        raise BrokenError(name, f"acted, though its decision {decision.id} says {decision.outcome}")
    asked = decision.input.effect
    told = (decision.effect_id, asked.digest, asked.connector, asked.operation, asked.target)
    if told != (receipt.effect_id, receipt.fingerprint, receipt.connector, receipt.operation, receipt.target):
        raise BrokenError(name, f"its decision {decision.id} is about another effect")
    _check_action(name, receipt, asked)
    requirements = contents.requirements.get((receipt.effect_id, receipt.fingerprint), [])
    if receipt.approval_id is not None:
        _check_approval(contents, receipt, decision, requirements)
    elif requirements or decision.input.votes:
        raise BrokenError(name, "policy asked for approval, and the receipt names none")


def check_consent(contents: Contents, name: str, approval: ApprovalRecord) -> None:
    """Raise unless an approval that says so was granted: by people who might, and enough of them."""
    people = [vote.person for vote in approval.votes]
    if len(set(people)) < len(people):
        raise BrokenError(name, "counts a person twice")
    requesters = _requesters(contents, approval)
    electorate = _electorate(contents, approval)
    for vote in approval.votes:
        if vote.person in requesters:
            raise BrokenError(name, f"counts the vote of the requester, {vote.person}")
        if vote.person in approval.requirement.exclude:
            raise BrokenError(name, f"counts the vote of {vote.person}, who was excluded")
        if not electorate[vote.person] & set(vote.groups):
            raise BrokenError(name, f"counts the vote of {vote.person}, who is in none of the groups that were asked")
    _check_quorum(name, approval.requirement, approval.votes, electorate)


def check_votes(contents: Contents, name: str, decision: DecisionRecord) -> None:
    """Raise if policy allowed an effect on votes that no approval of it has."""
    bound = (decision.effect_id, decision.input.effect.digest)
    if decision.outcome != "allow" or not decision.input.votes:
        return
    for approval in contents.approvals.values():
        is_of_it = (approval.kind, approval.status, approval.effect_id, approval.digest) == (
            *("effect", "approved"),
            *bound,
        )
        if is_of_it and _said(approval.votes) == _said(decision.input.votes):
            return
    raise BrokenError(name, "allows on votes that no approval in the bundle has")


def decision_of(contents: Contents, name: str, receipt: Receipt) -> DecisionRecord:
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
    paths = [path.removeprefix(_REQUEST) for path in receipt.redacted if f"{path}/".startswith(f"{_REQUEST}/")]
    try:
        sent = redact(asked.fields, paths).value
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
    if approval.requirement not in requirements:
        raise BrokenError(name, "its requirement is not one that policy asked for")
    if _said(approval.votes) != _said(decision.input.votes):
        raise BrokenError(name, f"its votes are not those that policy was told in decision {decision.id}")
    check_consent(contents, name, approval)
    _check_quorum(name, approval.requirement, decision.input.votes, _electorate(contents, approval))


def _said(votes: Sequence[VoteRecord]) -> list[tuple[str, str]]:
    return sorted((vote.person, vote.verdict) for vote in votes)


def _requesters(contents: Contents, approval: ApprovalRecord) -> set[str]:
    """Return everybody who wanted the effect, and so may not consent to it."""
    told = {d.input.actor.id for d in contents.decisions.values() if d.effect_id == approval.effect_id}
    return {contents.run.requested_by, contents.run.submitted_by} | told


def _electorate(contents: Contents, approval: ApprovalRecord) -> dict[str, set[str]]:
    """Return for each voter the groups that were asked when the vote was counted: who is next in line, only then."""
    asked = set(approval.requirement.groups)
    found: dict[str, set[str]] = {}
    for leaf in contents.leaves_about.get(approval.id, []):
        if leaf.event == "wait.escalated":
            asked = asked | set(approval.requirement.escalate_to)
        elif leaf.event == VOTE_COUNTED:
            found[str(leaf.data.get("person"))] = asked
    return found


def _check_quorum(
    name: str, requirement: RequirementRecord, votes: Sequence[VoteRecord], electorate: dict[str, set[str]]
) -> None:
    """Raise unless enough people approved who are in a group that was asked; with `all_groups`, of each of them."""
    approving = [vote for vote in votes if vote.verdict == "approve" and electorate[vote.person] & set(vote.groups)]
    if len(approving) < requirement.quorum:
        raise BrokenError(name, f"{len(approving)} approved, where {requirement.quorum} had to")
    if requirement.all_groups and (missing := _groups_without_signer(requirement.groups, approving)):
        raise BrokenError(name, f"each group needs an approval of its own, and {', '.join(missing)} has none")


def _groups_without_signer(groups: Sequence[str], approving: Sequence[VoteRecord]) -> list[str]:
    """Return the groups that are left over when each one takes a person of its own, as few as can be."""
    signs_for: dict[str, str] = {}
    return [group for group in sorted(set(groups)) if not _gets_signer(group, approving, signs_for)]


def _gets_signer(start: str, approving: Sequence[VoteRecord], signs_for: dict[str, str]) -> bool:
    """Give a group a person of its own, having others sign for another of their groups where that frees one."""
    via: dict[str, str] = {}  # person: the group for which the search came upon them
    ahead = [start]
    while ahead:
        group = ahead.pop()
        for vote in approving:
            if group not in vote.groups or vote.person in via:
                continue
            via[vote.person] = group
            if vote.person not in signs_for:
                _move_up(vote.person, via, signs_for)
                return True
            ahead.append(signs_for[vote.person])
    return False


def _move_up(free: str, via: Mapping[str, str], signs_for: dict[str, str]) -> None:
    """Have everybody on the way from the free person back to the start sign for the group before theirs."""
    person: str | None = free
    while person is not None:
        group = via[person]
        before = next((other for other, theirs in signs_for.items() if theirs == group), None)
        signs_for[person], person = group, before
