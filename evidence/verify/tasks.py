"""Rules about reviews that somebody works on, and about answers that did not come from Slack."""

from collections.abc import Iterator

from evidence.verify.comparing import broken
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Counted, Facts, Requested
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.voters import barred_from
from receipts.chain import APPROVAL_ENDED, APPROVAL_HANDED, PROGRAM, VOTE_COUNTED, Leaf

_CLAIMED, _RELEASED = "task.claimed", "task.released"


@rule(
    "votes.brought",
    "A vote that did not come from Slack says how (`via`: `command` or `edge`), and is on an approval of kind `task`."
    " What came by the `edge` names the caller that brought it (`brought_by`), who neither asked for the run nor"
    " submitted it; what came by `command` names none.",
)
def _brought(facts: Facts) -> str:
    found = 0
    for approval in facts.approvals.values():
        for vote in approval.votes:
            if vote.record.way != (None, None):
                _check_way(facts, approval, vote)
                found += 1
    return counted(found, "vote")


def _check_way(facts: Facts, approval: Requested, vote: Counted) -> None:
    via, brought_by = vote.record.way
    run = facts.contents.run
    if approval.record.kind != "task":
        raise BrokenError(approval.name, f"the vote of {vote.record.person} came by {via}, and it is no review")
    is_named = isinstance(brought_by, str) and bool(brought_by)
    if (via, is_named) not in (("edge", True), ("command", False)):
        raise BrokenError(approval.name, f"the vote of {vote.record.person} does not say how it came in")
    if brought_by in (run.requested_by, run.submitted_by):
        raise BrokenError(
            approval.name, f"the vote of {vote.record.person} was brought by {brought_by}, as the run was"
        )


@rule(
    "tasks.claimed",
    "A `task.claimed` is about an open approval of kind `task`, by the person whom it names, and says who had claimed"
    " it until then (`from`); they neither wanted the run nor are excluded. A `task.released` names who had, and is by"
    " them or by `countersign`. What somebody has claimed is handed on by them alone, and is then claimed by whom an"
    " `approval.handed` names (`to`).",
)
def _claimed(facts: Facts) -> str:
    said = 0
    for leaf, holder in _with_holders(facts):
        if leaf.event in (_CLAIMED, _RELEASED):
            _check_claim(facts, leaf, holder)
            said += 1
        elif leaf.event == APPROVAL_HANDED and holder not in (None, leaf.data.get("person")):
            raise broken(leaf, f"{leaf.data.get('person')} handed on what {holder} had claimed")
    return counted(said, "claim")


def _check_claim(facts: Facts, leaf: Leaf, holder: object) -> None:
    approval, person = facts.approvals.get(str(leaf.data.get("approval_id"))), leaf.data.get("person")
    if approval is None or approval.record.kind != "task" or not approval.is_open_at(leaf):
        raise broken(leaf, "is not about a review that was open")
    by_person = (leaf.actor.id, leaf.actor.kind) == (person, "person")
    if not by_person and not (leaf.event == _RELEASED and leaf.actor == PROGRAM):
        raise broken(leaf, f"is about {person}, and by {leaf.actor.id}")
    if leaf.event == _CLAIMED and person in barred_from(facts, approval):
        raise broken(leaf, f"{person} wanted it, or was excluded")
    before = leaf.data.get("from") if leaf.event == _CLAIMED else person
    if before != holder or person is None:
        raise broken(leaf, f"says that {before} had claimed it, and {holder} had")


@rule(
    "tasks.answered",
    "A vote on an approval that somebody has claimed, and that was not given back, is theirs, or for them.",
)
def _answered(facts: Facts) -> str:
    votes = 0
    for leaf, holder in _with_holders(facts):
        if leaf.event == VOTE_COUNTED and holder is not None:
            if holder not in (leaf.data.get("person"), leaf.data.get("delegator")):
                raise broken(leaf, f"{leaf.data.get('person')} voted on what {holder} had claimed")
            votes += 1
    return counted(votes, "vote")


def _with_holders(facts: Facts) -> Iterator[tuple[Leaf, object]]:
    """Give votes, claims and what ends or moves these, each with who had claimed its approval before, if anybody."""
    holders = dict[str, object]()
    for leaf in facts.contents.leaves_of(_CLAIMED, _RELEASED, APPROVAL_HANDED, VOTE_COUNTED, *APPROVAL_ENDED):
        approval_id = str(leaf.data.get("approval_id"))
        yield leaf, holders.get(approval_id)
        if leaf.event == _CLAIMED:
            holders[approval_id] = leaf.data.get("person")
        elif leaf.event == APPROVAL_HANDED and _is_task(facts, approval_id):
            holders[approval_id] = leaf.data.get("to")
        elif leaf.event == _RELEASED or leaf.event in APPROVAL_ENDED:
            holders.pop(approval_id, None)


def _is_task(facts: Facts, approval_id: str) -> bool:
    approval = facts.approvals.get(approval_id)
    return approval is not None and approval.record.kind == "task"


RULES: tuple[Rule[Facts], ...] = (_brought, _claimed, _answered)
