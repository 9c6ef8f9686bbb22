"""Whether everything that was done had been allowed, and by those who had to be asked."""

from evidence import names
from evidence.contents import BrokenError, Contents
from evidence.records import ApprovalRecord, AskedVote, DecisionRecord, RequirementRecord
from receipts.model import Receipt

ACTED = ("success", "in_doubt")


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
    requirements = contents.requirements.get((receipt.effect_id, receipt.fingerprint), [])
    if receipt.approval_id is not None:
        _check_approval(contents, receipt, decision, requirements)
    elif requirements:
        raise BrokenError(name, "policy asked for approval, and the receipt names none")


def decision_of(contents: Contents, name: str, receipt: Receipt) -> DecisionRecord:
    """Return the decision that a receipt rests on."""
    decision = contents.decision_of.get(str(receipt.decision_id))
    if decision is None:
        raise BrokenError(name, f"acted, and its decision {receipt.decision_id} is not in the bundle")
    return decision


def _check_approval(
    contents: Contents, receipt: Receipt, decision: DecisionRecord, requirements: list[RequirementRecord | None]
) -> None:
    """Raise unless the receipt's approval is bound to its effect, was granted, and is what policy asked for."""
    name = names.approval(str(receipt.approval_id))
    approval = contents.approvals.get(name)
    if approval is None:
        raise BrokenError(name, f"is not in the bundle, and receipt {receipt.receipt_id} rests on it")
    if approval.status != "approved":
        raise BrokenError(name, f"is {approval.status}, and receipt {receipt.receipt_id} rests on it")
    if (approval.effect_id, approval.digest) != (receipt.effect_id, receipt.fingerprint):
        raise BrokenError(name, f"is bound to another effect than that of receipt {receipt.receipt_id}")
    if approval.requirement not in requirements:
        raise BrokenError(name, "its requirement is not one that policy asked for")
    if _votes(approval) != sorted((vote.person, vote.verdict) for vote in decision.input.votes):
        raise BrokenError(name, f"its votes are not those that policy was told in decision {decision.id}")
    requesters = {contents.run.requested_by, decision.input.actor.id}
    _check_quorum(name, approval.requirement, requesters, decision.input.votes)


def _votes(approval: ApprovalRecord) -> list[tuple[str, str]]:
    return sorted((vote.person, vote.verdict) for vote in approval.votes)


def _check_quorum(name: str, requirement: RequirementRecord, requesters: set[str], votes: list[AskedVote]) -> None:
    """Raise unless enough distinct people of the right groups approved, none of them shut out."""
    people = [vote.person for vote in votes]
    if len(set(people)) < len(people):
        raise BrokenError(name, "counts a person twice")
    for vote in votes:
        if vote.person in requesters:
            raise BrokenError(name, f"counts the vote of the requester, {vote.person}")
        if vote.person in requirement.exclude:
            raise BrokenError(name, f"counts the vote of {vote.person}, who was excluded")
        if not set(vote.groups) & {*requirement.groups, *requirement.escalate_to}:
            raise BrokenError(name, f"counts the vote of {vote.person}, who is in none of the groups that were asked")
    approving = [vote for vote in votes if vote.verdict == "approve"]
    if len(approving) < requirement.quorum:
        raise BrokenError(name, f"{len(approving)} approved, where {requirement.quorum} had to")
    missing = set(requirement.groups).difference(*(vote.groups for vote in approving))
    if requirement.all_groups and missing:
        raise BrokenError(name, f"nobody of {', '.join(sorted(missing))} approved")
