"""Rules about steps: each of the definition came to one end, in the order of the definition, and for its reason."""

from evidence import names
from evidence.verify.material.comparing import broken
from evidence.verify.material.contents import BrokenError
from evidence.verify.material.facts import PROPOSED, Facts
from evidence.verify.people.approvals import OVER
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import Leaf

DONE = ("step.succeeded", "step.skipped")
_CANCELED = "step.canceled"
_STARTED = "run.started"


def _end_of(facts: Facts, path: str) -> Leaf | None:
    """Return the leaf with which a step ended."""
    return next((leaf for leaf in facts.of_steps.get(path, ()) if leaf.event in OVER), None)


@rule(
    "steps.ended",
    "Each step of the definition came to one end (`step.succeeded`, `.failed_terminal`, `.skipped` or `.canceled`)"
    " before its run did, and there is no word of it after that.",
)
def _ended(facts: Facts) -> str:
    for path in facts.steps:
        end = _end_of(facts, path)
        if end is None or end.seq > facts.end.seq:
            raise BrokenError(names.AUDIT, f"the run ended, and step {path} had not")
        last = facts.of_steps[path][-1]
        if last is not end:
            raise broken(last, f"step {path} had ended before, in line {end.seq}")
    return counted(len(facts.steps), "step")


@rule(
    "steps.in-order",
    "There is word of a step, and an effect of it is proposed, after `run.started` and once all that it waits for"
    " (`edges`) had succeeded or been skipped; a step can be canceled at any time.",
)
def _in_order(facts: Facts) -> str:
    done, is_started = set[str | None](), False
    for leaf in facts.leaves:
        path = leaf.correlation.step
        is_started = is_started or leaf.event == _STARTED
        is_word = leaf.event.startswith("step.") and leaf.event != _CANCELED
        if path is not None and (is_word or leaf.event == PROPOSED):
            if not is_started:
                raise broken(leaf, f"{leaf.event} of step {path}, and the run had not started")
            if missing := sorted(facts.needs.get(path, set()).difference(done)):
                raise broken(leaf, f"{leaf.event} of step {path}, and {missing[0]}, which it needs, was not done")
        if leaf.event in DONE:
            done.add(path)
    return counted(len(facts.steps), "step")


@rule(
    "steps.skipped",
    "A step is skipped that has a condition (`when`), or that has none and waits for a step that was skipped; and every"
    " such step without a condition is skipped or canceled.",
)
def _skipped(facts: Facts) -> str:
    skipped = {path for path, leaves in facts.of_steps.items() if leaves[-1].event == "step.skipped"}
    for path, step in facts.steps.items():
        end = facts.of_steps[path][-1]
        has_to_be = bool(facts.needs[path] & skipped)
        if step.when is None and end.event != _CANCELED and (path in skipped) != has_to_be:
            why = "it needs one that was skipped" if has_to_be else "nothing that it needs was"
            raise broken(end, f"{end.event} of step {path}, which has no condition, and {why}")
    return counted(len(skipped), "step")


_ANSWERED = ("approval.approved", "approval.rejected")


@rule(
    "steps.answered",
    "A step whose verb is `durable` succeeds at the moment of its answer: a `wait.completed`, or where people are"
    " asked (`human_task`) the end of its task.",
)
def _answered_steps(facts: Facts) -> str:
    tasks = {approval.record.id for approval in facts.approvals.values() if approval.record.kind == "task"}
    durable = 0
    for leaf in facts.contents.leaves_of("step.succeeded"):
        path = str(leaf.correlation.step)
        execution = facts.verb(leaf, path).execution
        if execution.kind != "durable":
            continue
        durable += 1
        is_task = execution.wait == "human_task"
        if not any(
            one.seq < leaf.seq and one.at == leaf.at and one.correlation.step == path
            for one in facts.leaves
            if (one.event in _ANSWERED and one.correlation.approval_id in tasks if is_task else _completes(one))
        ):
            raise broken(leaf, f"step {path} succeeded without its answer")
    return counted(durable, "step")


def _completes(leaf: Leaf) -> bool:
    return leaf.event == "wait.completed"


@rule(
    "steps.asked",
    "A step waits for approval (`step.waiting_approval`) while an approval about it, and no review, is open.",
)
def _asked(facts: Facts) -> str:
    waiting = facts.contents.leaves_of("step.waiting_approval")
    for leaf in waiting:
        if not any(
            one.record.step == leaf.correlation.step
            and one.record.kind != "task"
            and one.leaf.seq < leaf.seq < (one.end.seq if one.end else leaf.seq + 1)
            for one in facts.approvals.values()
        ):
            raise broken(leaf, f"step {leaf.correlation.step} waits for approval, and nobody was asked")
    return counted(len(waiting), "time")


RULES: tuple[Rule[Facts], ...] = (_ended, _in_order, _skipped, _answered_steps, _asked)
