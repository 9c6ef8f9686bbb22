"""Rules about what people did with a request beside deciding it: votes taken back, and requests handed on."""

from evidence.verify.material.comparing import broken, data
from evidence.verify.material.facts import Facts, Requested
from evidence.verify.material.forms import Handed, Withdrawn
from evidence.verify.rules import Rule, counted, rule
from receipts import canonical
from receipts.chain import APPROVAL_HANDED, ONE_BY_ONE, VOTE_COUNTED, VOTE_REFUSED, VOTE_WITHDRAWN, Leaf

REASON_MIN = 3
"""Characters of a reason, spaces around it not counted."""


@rule(
    "votes.withdrawn",
    "A `vote.withdrawn` is by its `person`, has a `reason` of three characters or more, and names by its `digest` a"
    " vote of theirs on an approval that was open: counted before, and not withdrawn before.",
)
def _withdrawn(facts: Facts) -> str:
    standing: dict[str, list[tuple[object, object]]] = {}
    found = 0
    for leaf in facts.leaves:
        votes = standing.setdefault(str(leaf.data.get("approval_id")), [])
        vote = (leaf.data.get("person"), leaf.data.get("digest"))
        if leaf.event == VOTE_COUNTED:
            votes.append(vote)
        elif leaf.event == VOTE_WITHDRAWN:
            _open_approval(facts, leaf, data(Withdrawn, leaf))
            if vote not in votes:
                raise broken(leaf, f"{vote[0]} had no such vote that counted")
            votes.remove(vote)
            found += 1
    return counted(found, "vote")


@rule(
    "approvals.handed",
    "An `approval.handed` is by its `person`, has a `reason` of three characters or more, and is about an approval that"
    " was open and asks what became of nothing (`in_doubt`). It hands it `to` somebody else, who is neither the"
    " requester or submitter of the run nor excluded.",
)
def _handed(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(APPROVAL_HANDED)
    for leaf in leaves:
        said = data(Handed, leaf)
        approval = _open_approval(facts, leaf, said)
        run = facts.contents.run
        barred = {said.person, run.requested_by, run.submitted_by, *approval.record.requirement.exclude}
        if said.to in barred or approval.record.kind == "in_doubt":
            raise broken(leaf, f"hands approval {approval.record.id} to {said.to}, who may not have it")
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
            raise broken(leaf, f"is not the refusal that follows {times[about] - 1} of its kind")
    return counted(sum(times.values()), "refusal")


def _open_approval(facts: Facts, leaf: Leaf, said: Withdrawn | Handed) -> Requested:
    """Return the approval of a leaf; raise unless it was open, and its person gave a reason."""
    approval = facts.approvals.get(said.approval_id)
    end = approval.end.seq if approval is not None and approval.end is not None else len(facts.leaves) + 1
    if approval is None or not approval.leaf.seq < leaf.seq < end:
        raise broken(leaf, "is not about an approval that was open")
    if (leaf.actor.id, leaf.actor.kind) != (said.person, "person"):
        raise broken(leaf, f"is about {said.person}, and by {leaf.actor.id}")
    if len(said.reason.strip()) < REASON_MIN:
        raise broken(leaf, f"{said.person} has to have a reason, and has none")
    return approval


RULES: tuple[Rule[Facts], ...] = (_withdrawn, _handed, _refused)
