"""Actions on a request beside deciding it: votes withdrawn, requests handed over, reviews claimed.

What somebody has claimed is answered by them, until they release it. A vote that did not come from Slack says how it
came. Of votes that were refused, few stand on record one by one.
"""

from collections.abc import Iterator

from evidence.records import CONSOLE
from evidence.verify.approvals import UNTIL_KNOWN
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Counted, Facts, Requested
from evidence.verify.forms import Handed, Withdrawn
from evidence.verify.rules import Rule, broken_leaf, counted, data_of, rule
from evidence.verify.votes import REASON_MIN, barred_from
from receipts import canonical
from receipts.chain import (
    APPROVAL_ENDED,
    APPROVAL_HANDED,
    ONE_BY_ONE,
    PROGRAM,
    VOTE_COUNTED,
    VOTE_REFUSED,
    VOTE_WITHDRAWN,
    Leaf,
)


@rule(
    "votes.withdrawn",
    "A `vote.withdrawn` is by its `person`, has a `reason` of three characters or more, and names by its `digest` a"
    " vote of theirs on an approval that was open, and had not expired: counted before, and not withdrawn before.",
)
def _withdrawn(facts: Facts) -> str:
    standing: dict[str, list[tuple[object, object]]] = {}
    found = 0
    for leaf in facts.contents.leaves_of(VOTE_COUNTED, VOTE_WITHDRAWN):
        votes = standing.setdefault(str(leaf.data.get("approval_id")), [])
        vote = (leaf.data.get("person"), leaf.data.get("digest"))
        if leaf.event == VOTE_COUNTED:
            votes.append(vote)
        else:
            _open_approval(facts, leaf, data_of(Withdrawn, leaf))
            if vote not in votes:
                raise broken_leaf(leaf, f"{vote[0]} had no such vote that counted")
            votes.remove(vote)
            found += 1
    return counted(found, "vote")


@rule(
    "approvals.handed",
    "An `approval.handed` is by its `person`, has a `reason` of three characters or more, and is about an approval that"
    " was open, had not expired, and is of kind `effect` or `task`. It hands it `to` somebody else. Neither of them"
    " wanted the effect or is excluded, as in `approvals.consent`, or had a vote on it that counted then.",
)
def _handed(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(APPROVAL_HANDED)
    for leaf in leaves:
        said = data_of(Handed, leaf)
        approval = _open_approval(facts, leaf, said)
        is_either_barred = not who_may_not(facts, approval, leaf).isdisjoint({said.person, said.to})
        if is_either_barred or said.to == said.person or approval.record.kind in UNTIL_KNOWN:
            raise broken_leaf(leaf, f"{said.person} hands approval {approval.record.id} to {said.to}, and may not")
    return counted(len(leaves), "time")


@rule(
    "votes.refused",
    "Of the `vote.refused` about one approval by one actor for one `code`, the first eight stand one by one, and have"
    " no `nth`. Those that follow are the 16th, the 32nd, the 64th and so on, each twice the one before, which is its"
    " `nth`.",
)
def _refused(facts: Facts) -> str:
    times = dict[bytes, int]()
    for leaf in facts.contents.leaves_of(VOTE_REFUSED):
        about = canonical.dumps([leaf.data.get("approval_id"), leaf.data.get("code"), leaf.actor.id])
        times[about] = times.get(about, 0) + 1
        more = times[about] - ONE_BY_ONE
        if leaf.data.get("nth") != (ONE_BY_ONE << more if more > 0 else None):
            raise broken_leaf(leaf, f"is not the refusal that follows {times[about] - 1} of its kind")
    return counted(sum(times.values()), "refusal")


def _open_approval(facts: Facts, leaf: Leaf, said: Withdrawn | Handed) -> Requested:
    """Return the approval of a leaf; raise unless it could be decided then, and its person gave a reason."""
    approval = facts.approvals.get(said.approval_id)
    if approval is None or not is_decidable(facts, approval, leaf):
        raise broken_leaf(leaf, "is not about an approval that was open")
    if (leaf.actor.id, leaf.actor.kind) != (said.person, "person"):
        raise broken_leaf(leaf, f"is about {said.person}, and by {leaf.actor.id}")
    if len(said.reason.strip()) < REASON_MIN:
        raise broken_leaf(leaf, f"{said.person} has to have a reason, and has none")
    return approval


def who_may_not(facts: Facts, approval: Requested, leaf: Leaf) -> set[str]:
    """Return who could not decide an approval when a leaf was written, since they wanted it, were excluded or voted."""
    voted = {person for vote in approval.standing_before(leaf) for person in vote.record.people}
    return barred_from(facts, approval) | voted


def is_decidable(facts: Facts, approval: Requested, leaf: Leaf) -> bool:
    """Return whether an approval was open when a leaf was written, and had not expired."""
    record = approval.record
    is_in_time = record.kind in UNTIL_KNOWN or leaf.at < facts.until(record.id, record.expires_at, leaf)
    return approval.is_open_at(leaf) and is_in_time


RULES: tuple[Rule[Facts], ...] = (_withdrawn, _handed, _refused)


_CLAIMED, _RELEASED = "task.claimed", "task.released"


@rule(
    "votes.brought",
    "A vote that did not come from Slack says how (`via`: `command`, `edge` or `console`). What did not come by the"
    " `console` either is on an approval of kind `task`. What came by the `edge` names the caller that brought it"
    " (`brought_by`), who neither asked for the run nor submitted it; what came by `command` or `console` names none.",
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
    if via != CONSOLE and approval.record.kind != "task":
        raise BrokenError(approval.name, f"the vote of {vote.record.person} came by {via}, and it is no review")
    is_named = isinstance(brought_by, str) and bool(brought_by)
    if (via, is_named) not in (("edge", True), ("command", False), (CONSOLE, False)):
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
            raise broken_leaf(leaf, f"{leaf.data.get('person')} handed on what {holder} had claimed")
    return counted(said, "claim")


def _check_claim(facts: Facts, leaf: Leaf, holder: object) -> None:
    approval, person = facts.approvals.get(str(leaf.data.get("approval_id"))), leaf.data.get("person")
    if approval is None or approval.record.kind != "task" or not approval.is_open_at(leaf):
        raise broken_leaf(leaf, "is not about a review that was open")
    by_person = (leaf.actor.id, leaf.actor.kind) == (person, "person")
    if not by_person and not (leaf.event == _RELEASED and leaf.actor == PROGRAM):
        raise broken_leaf(leaf, f"is about {person}, and by {leaf.actor.id}")
    if leaf.event == _CLAIMED and person in barred_from(facts, approval):
        raise broken_leaf(leaf, f"{person} wanted it, or was excluded")
    before = leaf.data.get("from") if leaf.event == _CLAIMED else person
    if before != holder or person is None:
        raise broken_leaf(leaf, f"says that {before} had claimed it, and {holder} had")


@rule(
    "tasks.answered",
    "A vote on an approval that somebody has claimed, and that was not given back, is theirs, or for them.",
)
def _answered(facts: Facts) -> str:
    votes = 0
    for leaf, holder in _with_holders(facts):
        if leaf.event == VOTE_COUNTED and holder is not None:
            if holder not in (leaf.data.get("person"), leaf.data.get("delegator")):
                raise broken_leaf(leaf, f"{leaf.data.get('person')} voted on what {holder} had claimed")
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


REVIEWS: tuple[Rule[Facts], ...] = (_brought, _claimed, _answered)
