"""Control flow: blocks, iterations, switches and branches.

Blocks are entered for a reason, in order, and end with what is in them. A switch takes one case, and the ending of a
step the branch that there is for it.

One transaction puts the word of what stands in a step behind the word of that step, even where both ended at once: what
follows what is told by the lines between a step and those around it, and by the moments else.
"""

from evidence import names
from evidence.reading.step_paths import around, block_of, inside, iterated
from evidence.verify.contents import BrokenError
from evidence.verify.definition import BODY, Block
from evidence.verify.facts import Facts, Requested
from evidence.verify.rules import Rule, broken_leaf, counted, rule
from receipts.chain import Leaf

ENDED_WELL = ("step.succeeded", "step.skipped", "step.failed_handled")
BEGUN = ("step.parked", "step.succeeded")


def entered(facts: Facts) -> dict[Block, None]:
    """Return the blocks that were entered: the definition, those of which a step is told, and those that were begun."""
    found: dict[Block, None] = {("", ""): None}
    for path, leaves in facts.of_steps.items():
        begun, kind = any(leaf.event in BEGUN for leaf in leaves), facts.plan.node(path).kind
        if not iterated(path) and kind != "branch":
            found[facts.plan.block_of(path)] = None
        if kind == "branch" or (iterated(path) and begun):
            found[path, BODY] = None
        elif kind == "switch" and begun and (case := _case(leaves)) is not None:
            found[path, case] = None
    return found


def _case(leaves: list[Leaf]) -> str | None:
    """Return the case that the leaves of a switch name."""
    return next((str(leaf.data["branch"]) for leaf in leaves if "branch" in leaf.data), None)


@rule(
    "blocks.entered",
    "A step that stands in another has word only behind the first word of that one: `docs[0].request` behind `docs[0]`,"
    " and that behind `docs`. A block is entered where an iteration, a branch or a case of a switch was begun"
    " (`step.parked`, `step.succeeded`), or one of its steps has word.",
)
def _entered(facts: Facts) -> str:
    for path, leaves in facts.of_steps.items():
        holder = next(around(path), None)
        before = facts.of_steps.get(holder) if holder else None
        if holder and (before is None or before[0].seq > leaves[0].seq):
            raise broken_leaf(
                leaves[0], f"{leaves[0].event} of step {path}, and {holder}, in which it stands, was not begun"
            )
    return counted(len(entered(facts)), "block")


@rule(
    "blocks.ended",
    "An iteration, a branch, a switch or a repeat ends no earlier than the last step in it, and it succeeds only if"
    " each of these has succeeded, been skipped, or failed with a branch for that.",
)
def _ended(facts: Facts) -> str:
    holders = set[str]()
    for path, leaves in facts.of_steps.items():
        for holder in _holding(facts, path):
            holders.add(holder)
            end, last = facts.of_steps[holder][-1], leaves[-1]
            if last.at > end.at:
                raise broken_leaf(last, f"step {holder}, in which it stands, had ended in line {end.seq}")
            if end.event == "step.succeeded" and last.event not in ENDED_WELL:
                raise broken_leaf(end, f"step {holder} succeeded, and {path}, which stands in it, had not")
    return counted(len(holders), "step")


def _holding(facts: Facts, path: str) -> list[str]:
    """Return what goes on while a step goes on: all around it but the steps whose ending it follows."""
    return [one for one in around(path) if iterated(one) or facts.plan.node(one).kind in ("branch", "switch", "repeat")]


@rule(
    "blocks.rounds",
    "The iterations of a repeat are numbered from 0, without a gap, and are no more than it may have (`at_most`). No"
    " more go on at once than may (`at_most_at_once`).",
)
def _rounds(facts: Facts) -> str:
    open_now, seen = dict[str, set[int]](), dict[str, set[int]]()
    for leaf in facts.leaves:
        number = iterated(str(leaf.correlation.step)) if leaf.event.startswith("step.") else None
        if number is None:
            continue
        holder, index = number
        seen.setdefault(holder, set()).add(index)
        going = open_now.setdefault(holder, set())
        (going.add if leaf.event == "step.parked" else going.discard)(index)
        repeat = facts.plan.node(holder).repeat
        if repeat is not None and len(going) > repeat.at_most_at_once:
            raise broken_leaf(leaf, f"{len(going)} iterations of step {holder} go on at once")
    for holder, indexes in seen.items():
        _check_count(facts, holder, indexes)
    return counted(sum(map(len, seen.values())), "iteration")


def _check_count(facts: Facts, holder: str, indexes: set[int]) -> None:
    repeat = facts.plan.node(holder).repeat
    if max(indexes) + 1 != len(indexes):
        raise BrokenError(names.AUDIT, f"an iteration of step {holder} is missing")
    if repeat is not None and repeat.at_most is not None and len(indexes) > repeat.at_most:
        raise BrokenError(names.AUDIT, f"step {holder} has {len(indexes)} iterations, and may have {repeat.at_most}")


BLOCKS: tuple[Rule[Facts], ...] = (_entered, _ended, _rounds)


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
            raise broken_leaf(leaves[0], f"step {path} stands in {case} of {holder}, which took {switches[holder]}")
    return counted(len(switches), "switch", "switches")


def _check_case(facts: Facts, path: str, leaf: Leaf, taken: str) -> None:
    switch = facts.plan.node(path).switch
    cases = [f"case_{number}" for number in range(1, len(switch.cases) + 1)] if switch else []
    cases += ["else"] if switch and switch.otherwise else []
    if leaf.data.get("branch") != taken or taken not in cases:
        raise broken_leaf(leaf, f"step {path} took {leaf.data.get('branch')}, which it has not, or another case before")


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
            raise broken_leaf(end, f"{end.event} of step {path}, which has {'a' if wanted else 'no'} branch for that")
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
            raise broken_leaf(end, f"{end.event} of step {block_of(path)}, and there is no word of {path}")
        return False
    if not is_wanted or first.seq < end.seq:
        raise broken_leaf(first, f"{first.event} of {path}, and step {block_of(path)} had not ended like that")
    return True


BRANCHES: tuple[Rule[Facts], ...] = (_cases, _branches)
