"""Rules about what people did with a request beside deciding it: votes taken back, and requests handed on."""

from evidence.verify.approvals import UNTIL_KNOWN
from evidence.verify.comparing import broken, data
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import Handed, Withdrawn
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.voters import barred_from
from evidence.verify.votes import REASON_MIN
from receipts import canonical
from receipts.chain import APPROVAL_HANDED, ONE_BY_ONE, VOTE_COUNTED, VOTE_REFUSED, VOTE_WITHDRAWN, Leaf


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
            _open_approval(facts, leaf, data(Withdrawn, leaf))
            if vote not in votes:
                raise broken(leaf, f"{vote[0]} had no such vote that counted")
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
        said = data(Handed, leaf)
        approval = _open_approval(facts, leaf, said)
        is_either_barred = not who_may_not(facts, approval, leaf).isdisjoint({said.person, said.to})
        if is_either_barred or said.to == said.person or approval.record.kind in UNTIL_KNOWN:
            raise broken(leaf, f"{said.person} hands approval {approval.record.id} to {said.to}, and may not")
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
    """Return the approval of a leaf; raise unless it could be decided then, and its person gave a reason."""
    approval = facts.approvals.get(said.approval_id)
    if approval is None or not is_decidable(facts, approval, leaf):
        raise broken(leaf, "is not about an approval that was open")
    if (leaf.actor.id, leaf.actor.kind) != (said.person, "person"):
        raise broken(leaf, f"is about {said.person}, and by {leaf.actor.id}")
    if len(said.reason.strip()) < REASON_MIN:
        raise broken(leaf, f"{said.person} has to have a reason, and has none")
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
