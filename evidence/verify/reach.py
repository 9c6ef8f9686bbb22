"""The rule about requests that went to others as well, since those who were asked could not decide them."""

from evidence.verify.comparing import broken, data
from evidence.verify.facts import Facts
from evidence.verify.forms import FellBack
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import APPROVAL_REQUESTED, FELL_BACK


@rule(
    "approvals.fell-back",
    "An `approval.fell_back` says `why`, and `to` whom. It is the first leaf about its approval after that of the"
    " request, and has its moment.",
)
def _fell_back(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(FELL_BACK)
    for leaf in leaves:
        about = facts.contents.leaves_about[data(FellBack, leaf).approval_id]
        before = about[about.index(leaf) - 1]
        if (before.event, before.at) != (APPROVAL_REQUESTED, leaf.at):
            raise broken(leaf, "does not come first after the request")
    return counted(len(leaves), "request")


RULES: tuple[Rule[Facts], ...] = (_fell_back,)
