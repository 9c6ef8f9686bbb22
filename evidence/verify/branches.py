"""Rules about ways that part: a switch takes one case, and the ending of a step the branch that there is for it."""

from evidence.reading.paths import block_of, inside, iterated
from evidence.verify.blocks import BEGUN
from evidence.verify.comparing import broken
from evidence.verify.facts import Facts, Requested
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import Leaf

_FAILED = ("step.failed_handled", "step.failed_terminal")
TIMEOUTS = ("no_answer", "expired", "not_begun", "sla")
"""The codes of errors that are of time."""


@rule(
    "blocks.case",
    "A switch that was begun names its case (`branch`), the same each time, and one that it has; nothing else names"
    " one. All steps in a switch of which there is word stand in one case, and in the one that it names.",
)
def _cases(facts: Facts) -> str:
    switches = dict[str, str]()
    for path, leaves in facts.of_steps.items():
        is_switch = facts.plan.node(path).kind == "switch"
        for leaf in leaves:
            if "branch" in leaf.data or (is_switch and leaf.event in BEGUN):
                _check_case(facts, path, leaf, switches.setdefault(path, str(leaf.data.get("branch"))))
    for path, leaves in facts.of_steps.items():
        holder, case = facts.plan.block_of(path)
        is_in_switch = holder and not iterated(path) and facts.plan.node(holder).kind == "switch"
        if is_in_switch and switches.setdefault(holder, case) != case:
            raise broken(leaves[0], f"step {path} stands in {case} of {holder}, which took {switches[holder]}")
    return counted(len(switches), "switch", "switches")


def _check_case(facts: Facts, path: str, leaf: Leaf, taken: str) -> None:
    switch = facts.plan.node(path).switch
    cases = [f"case_{number}" for number in range(1, len(switch.cases) + 1)] if switch else []
    cases += ["else"] if switch and switch.otherwise else []
    if leaf.data.get("branch") != taken or taken not in cases:
        raise broken(leaf, f"step {path} took {leaf.data.get('branch')}, which it has not, or another case before")


@rule(
    "blocks.branch",
    "The ending of a step that may have steps of its own has them: of a success `success`, where people said no to a"
    " review `rejected`, or before that `changes_requested` where the vote asked for these; of a failure `timeout` if"
    " its `code` is `no_answer`, `expired`, `not_begun` or `sla`, `rejected` if it is `rejected`, `changes_requested`"
    " or else `rejected` if it is `changes_requested`, and where the definition has no such branch `failure`. A"
    " failure is `step.failed_handled` if there is a branch for it, else `step.failed_terminal`. Of all branches of a"
    " step that one alone has word, behind that of its ending; it has, unless an `end` ended the run at that moment.",
)
def _branches(facts: Facts) -> str:
    said_no = {one.record.step: _no_to(one) for one in facts.approvals.values() if _is_no(one)}
    taken = 0
    for path, leaves in facts.of_steps.items():
        if iterated(path):
            continue
        end, wanted = leaves[-1], _wanted(facts, path, leaves[-1], said_no.get(path))
        if end.event in _FAILED and (end.event == "step.failed_handled") != (wanted is not None):
            raise broken(end, f"{end.event} of step {path}, which has {'a' if wanted else 'no'} branch for that")
        for branch in sorted(facts.plan.branches(path)):
            taken += _is_taken(facts, end, inside(path, branch), is_wanted=branch == wanted)
    return counted(taken, "branch", "branches")


_NO = {"rejected": ["rejected"], "changes_requested": ["changes_requested", "rejected"]}
"""The branches of people's no, the first that there is taken."""


def _is_no(approval: Requested) -> bool:
    return (approval.record.kind, approval.record.status) == ("task", "rejected")


def _no_to(approval: Requested) -> list[str]:
    is_changes = any(vote.record.verdict == "changes" for vote in approval.standing)
    return _NO["changes_requested" if is_changes else "rejected"]


def _wanted(facts: Facts, path: str, end: Leaf, no: list[str] | None) -> str | None:
    """Return the branch that the ending of a step takes, None where it has none for that; `no` are those of a no."""
    if end.event == "step.succeeded":
        wanted = no or ["success"]
    elif end.event in _FAILED:
        code = str(end.data.get("code"))
        wanted = [*(["timeout"] if code in TIMEOUTS else _NO.get(code, [])), "failure"]
    else:
        wanted = []
    there = facts.plan.branches(path)
    return next((branch for branch in wanted if branch in there), None)


def _is_taken(facts: Facts, end: Leaf, path: str, *, is_wanted: bool) -> bool:
    """Return whether there is word of a branch; raise where there must not be, or must."""
    first = facts.of_steps.get(path, [None])[0]
    if first is None:
        if is_wanted and not facts.is_left(end):
            raise broken(end, f"{end.event} of step {block_of(path)}, and there is no word of {path}")
        return False
    if not is_wanted or first.seq < end.seq:
        raise broken(first, f"{first.event} of {path}, and step {block_of(path)} had not ended like that")
    return True


RULES: tuple[Rule[Facts], ...] = (_cases, _branches)
