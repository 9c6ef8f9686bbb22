"""Rules about edits: each is on record with the request that it voids, and by somebody who might have approved that."""

from collections.abc import Iterator
from dataclasses import dataclass

from evidence import names
from evidence.verify.authority import electorate_of, requesters_of
from evidence.verify.comparing import agree, broken
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import EditForm
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.votes import REASON_MIN
from receipts import canonical
from receipts.chain import Leaf


@dataclass(frozen=True)
class Edited:
    """An edit, its leaf, and the request that it voided."""

    approval: Requested
    record: EditForm
    leaf: Leaf


def edits_of(facts: Facts) -> Iterator[Edited]:
    """Give the edits in their order; raise where a leaf and a file do not name each other."""
    told = {name for name, approval in facts.approvals.items() if approval.record.edited is not None}
    for leaf in (leaf for leaves in facts.edits.values() for leaf in leaves):
        approval = facts.approvals.get(str(leaf.data.get("approval_id")))
        if approval is None or approval.record.edited is None or approval.record.id not in told:
            raise broken(leaf, "no request in the bundle tells of this edit")
        told.remove(approval.record.id)
        yield Edited(approval, approval.record.edited, leaf)
    for name in sorted(told):
        raise BrokenError(facts.approvals[name].name, f"tells of an edit, and {names.AUDIT} does not")


def count_edits(facts: Facts) -> str:
    """Say how many edits were looked at."""
    return counted(sum(map(len, facts.edits.values())), "edit")


@rule(
    "edits.as-told",
    "The approvals that tell of an edit (`edited`) are those that an `effect.edited` names, each once. The edit gives"
    " the leaf's `digest`, and says its `person`, by whom the leaf is, and its `from`, `to` and moment.",
)
def _as_told(facts: Facts) -> str:
    for edit in edits_of(facts):
        approval, record, leaf = edit.approval, edit.record, edit.leaf
        document = facts.contents.value(approval.name)["edited"]
        agree(
            approval.name,
            f"{names.AUDIT} line {leaf.seq}",
            person=(record.person, leaf.data.get("person")),
            editor=((record.person, "person"), (leaf.actor.id, leaf.actor.kind)),
            before=(record.before, leaf.data.get("from")),
            after=(record.after, leaf.data.get("to")),
            at=(record.at, leaf.at),
            edited=(canonical.digest(document), leaf.data.get("digest")),
            effect_id=(approval.record.effect_id, leaf.correlation.effect_id),
        )
    return count_edits(facts)


@rule(
    "edits.in-place",
    "What was edited is the effect as its approval asked about it, and as it was by then: the approval is of kind"
    " `effect`, its digest is `from`, and it ended as `canceled` with the line before, at the same moment.",
)
def _in_place(facts: Facts) -> str:
    for edit in edits_of(facts):
        record, leaf, end = edit.approval.record, edit.leaf, edit.approval.end
        ended = end and (end.event, end.seq, end.at)
        agree(
            edit.approval.name,
            f"{names.AUDIT} line {leaf.seq}",
            kind=(record.kind, "effect"),
            end=(ended, ("approval.canceled", leaf.seq - 1, leaf.at)),
            digest=(record.digest, edit.record.before),
            standing=(facts.standing(record.effect_id, leaf.seq), edit.record.before),
        )
    return count_edits(facts)


@rule(
    "edits.entitled",
    "Who edited a request might have approved it: before its `expires_at`, as it was moved, for a reason of three"
    " characters or more, as a member of a group that was asked by then, with no vote on it of their own or for them"
    " that was not withdrawn, and neither as requester or submitter of the run nor excluded.",
)
def _entitled(facts: Facts) -> str:
    for edit in edits_of(facts):
        if wrong := _why_not(facts, edit):
            raise BrokenError(edit.approval.name, f"the edit by {edit.record.person} does not count: {wrong}")
    return count_edits(facts)


def _why_not(facts: Facts, edit: Edited) -> str:
    record, said = edit.approval.record, edit.record
    if said.person in requesters_of(facts.contents, record) or said.person in record.requirement.exclude:
        return "they wanted it, or were excluded"
    if any(said.person in vote.record.people for vote in edit.approval.standing):
        return "they had voted"
    if said.at >= facts.until(record.id, record.expires_at, edit.leaf):
        return "it had expired"
    if len(said.reason.strip()) < REASON_MIN:
        return "it has no reason"
    asked = electorate_of(facts.contents, record)[said.person]
    return "" if asked & set(said.groups) else "they are in none of the groups that were asked"


TOLD: tuple[Rule[Facts], ...] = (_as_told,)
RULES: tuple[Rule[Facts], ...] = (_in_place, _entitled)
