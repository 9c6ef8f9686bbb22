"""Rules about steps that stand in others: blocks are entered for a reason, in order, and end with what is in them.

One transaction puts the word of what stands in a step behind the word of that step, even where both ended at once: what
follows what is told by the lines between a step and those around it, and by the moments else.
"""

from evidence import names
from evidence.reading.paths import around, iterated
from evidence.verify.comparing import broken
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts
from evidence.verify.plan import BODY, Block
from evidence.verify.rules import Rule, counted, rule
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
            raise broken(
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
                raise broken(last, f"step {holder}, in which it stands, had ended in line {end.seq}")
            if end.event == "step.succeeded" and last.event not in ENDED_WELL:
                raise broken(end, f"step {holder} succeeded, and {path}, which stands in it, had not")
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
            raise broken(leaf, f"{len(going)} iterations of step {holder} go on at once")
    for holder, indexes in seen.items():
        _check_count(facts, holder, indexes)
    return counted(sum(map(len, seen.values())), "iteration")


def _check_count(facts: Facts, holder: str, indexes: set[int]) -> None:
    repeat = facts.plan.node(holder).repeat
    if max(indexes) + 1 != len(indexes):
        raise BrokenError(names.AUDIT, f"an iteration of step {holder} is missing")
    if repeat is not None and repeat.at_most is not None and len(indexes) > repeat.at_most:
        raise BrokenError(names.AUDIT, f"step {holder} has {len(indexes)} iterations, and may have {repeat.at_most}")


RULES: tuple[Rule[Facts], ...] = (_entered, _ended, _rounds)
