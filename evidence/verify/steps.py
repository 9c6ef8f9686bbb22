"""Steps: each of the definition came to one end, in the order of the definition, and for its reason.

What failed says by which error code, of those that there are.
"""

from evidence import names
from evidence.reading.step_paths import around, block_of
from evidence.verify.approvals import OVER
from evidence.verify.contents import BrokenError
from evidence.verify.control_flow import ENDED_WELL, entered
from evidence.verify.facts import PROPOSED, Facts
from evidence.verify.rules import Rule, broken_leaf, counted, rule
from evidence.verify.step_repairs import supplied_steps
from receipts.chain import REPAIR_DECIDED, Leaf

_CANCELED = "step.canceled"
_STARTED = "run.started"
_SKIPPED = "step.skipped"


def _end_of(facts: Facts, path: str) -> Leaf | None:
    """Return the leaf with which a step ended."""
    return next((leaf for leaf in facts.of_steps.get(path, ()) if leaf.event in OVER), None)


@rule(
    "steps.ended",
    "Each step of the definition that stands in no other, each in a block that was entered (`blocks.entered`), and each"
    " of which there is word at all, came to one end (`step.succeeded`, `.failed_handled`, `.failed_terminal`,"
    " `.skipped` or `.canceled`) before its run did, and there is no word of it after that.",
)
def _ended(facts: Facts) -> str:
    wanted = {path: None for block in entered(facts) for path in facts.plan.block(block)}
    paths = facts.plan.in_order({**wanted, **dict.fromkeys(facts.of_steps)})
    for path in paths:
        end = _end_of(facts, path)
        if end is None or end.seq > facts.end.seq:
            raise BrokenError(names.AUDIT, f"the run ended, and step {path} had not")
        last = facts.of_steps[path][-1]
        if last is not end:
            raise broken_leaf(last, f"step {path} had ended before, in line {end.seq}")
    return counted(len(paths), "step")


@rule(
    "steps.in-order",
    "There is word of a step, and an effect of it is proposed, after `run.started` and once all that it waits for"
    " (`edges`) had succeeded, been skipped or failed with a branch for that, and what stands in those of its own block"
    " had ended, at that moment at the latest. A step can be canceled at any time, and is skipped where an `end` ended"
    " the run before it was begun.",
)
def _in_order(facts: Facts) -> str:
    done, is_started, inner = set[str | None](), False, _inner_ends(facts)
    for leaf in facts.leaves:
        path = leaf.correlation.step
        is_started = is_started or leaf.event == _STARTED
        is_word = leaf.event.startswith("step.") and leaf.event != _CANCELED and not _is_left(facts, leaf)
        if path is not None and (is_word or leaf.event == PROPOSED):
            if not is_started:
                raise broken_leaf(leaf, f"{leaf.event} of step {path}, and the run had not started")
            missing = sorted(need for need in facts.plan.needs(path) if need not in done or _goes_on(need, leaf, inner))
            if missing:
                raise broken_leaf(leaf, f"{leaf.event} of step {path}, and {missing[0]}, which it needs, was not done")
        if leaf.event in ENDED_WELL:
            done.add(path)
    return counted(len(facts.of_steps), "step")


def _is_left(facts: Facts, leaf: Leaf) -> bool:
    return leaf.event == _SKIPPED and facts.is_left(leaf)


def _inner_ends(facts: Facts) -> dict[str, str]:
    """Return for each step in which others stand when the last of those ended."""
    found = dict[str, str]()
    for path, leaves in facts.of_steps.items():
        for holder in around(path):
            found[holder] = max(found.get(holder, ""), leaves[-1].at)
    return found


def _goes_on(need: str, leaf: Leaf, inner: dict[str, str]) -> bool:
    """Return whether something in a step beside that of a leaf ended later; what stands in it may name it before."""
    return block_of(need) == block_of(str(leaf.correlation.step)) and inner.get(need, "") > leaf.at


@rule(
    "steps.skipped",
    "A step is skipped that has a condition (`when`), or that has none and waits for a step that was skipped, by an"
    " edge that says more than `order`; and every such step without a condition is skipped or canceled. Where an `end`"
    " ended the run, what was skipped at that moment needs no reason; nor does what a person skipped"
    " (`steps.attention`).",
)
def _skipped(facts: Facts) -> str:
    skipped = {path for path, leaves in facts.of_steps.items() if leaves[-1].event == _SKIPPED}
    repaired = {str(leaf.correlation.step) for leaf in facts.contents.leaves_of(REPAIR_DECIDED)}
    for path, leaves in facts.of_steps.items():
        end = leaves[-1]
        has_to_be = not skipped.isdisjoint(facts.plan.skips_with(path))
        if facts.plan.node(path).when is not None or end.event == _CANCELED or _is_left(facts, end) or path in repaired:
            continue
        if (path in skipped) != has_to_be:
            why = "it needs one that was skipped" if has_to_be else "nothing that it needs was"
            raise broken_leaf(end, f"{end.event} of step {path}, which has no condition, and {why}")
    return counted(len(skipped), "step")


_ANSWERED = ("approval.approved", "approval.rejected")


@rule(
    "steps.answered",
    "A step whose verb is `durable`, or that waits by itself (`wait`), succeeds at the moment of its answer: a"
    " `wait.completed`, or where people are asked (`human_task`) the end of its task; or with the result that somebody"
    " supplied.",
)
def _answered_steps(facts: Facts) -> str:
    tasks = {approval.record.id for approval in facts.approvals.values() if approval.record.kind == "task"}
    answers = {
        (leaf.correlation.step, leaf.at, is_task): leaf.seq
        for leaf in reversed(facts.leaves)
        if (is_task := leaf.event in _ANSWERED and leaf.correlation.approval_id in tasks)
        or leaf.event == "wait.completed"
    }
    durable, given = 0, supplied_steps(facts.contents)
    for leaf in facts.contents.leaves_of("step.succeeded"):
        path = str(leaf.correlation.step)
        verb = facts.plan.verb(path)
        if facts.plan.node(path).kind != "wait" and (verb is None or verb.execution.kind != "durable"):
            continue
        durable += 1
        is_task = verb is not None and verb.execution.wait == "human_task"
        if path not in given and answers.get((path, leaf.at, is_task), leaf.seq) >= leaf.seq:
            raise broken_leaf(leaf, f"step {path} succeeded without its answer")
    return counted(durable, "step")


@rule(
    "steps.asked",
    "A step waits for approval (`step.waiting_approval`) while an approval about it, and no review, is open.",
)
def _asked(facts: Facts) -> str:
    waiting = facts.contents.leaves_of("step.waiting_approval")
    for leaf in waiting:
        if not any(
            one.record.kind != "task" and one.leaf.seq < leaf.seq < (one.end.seq if one.end else leaf.seq + 1)
            for one in facts.approvals_of_steps.get(leaf.correlation.step, ())
        ):
            raise broken_leaf(leaf, f"step {leaf.correlation.step} waits for approval, and nobody was asked")
    return counted(len(waiting), "time")


RULES: tuple[Rule[Facts], ...] = (_ended, _in_order, _skipped, _answered_steps, _asked)


_BY_CLASS = (
    ("definition",),
    ("expression", "cost", "params", "unrecordable"),
    ("refused", "not_taken", "unavailable", "blocked", "outcome_unknown", "result", "failed", "unexpected"),
    ("no_answer", "expired", "not_begun", "sla"),
    ("denied", "budget", "rejected", "changes_requested", "no_policy", "unauthenticated", "forbidden"),
    ("illegal_transition", "lease_lost", "key_in_use"),
)
CODES = frozenset(code for codes in _BY_CLASS for code in codes)
"""The codes of all errors, stable: a test compares them with the engine's."""
_WITH_ERROR = ("step.failed_handled", "step.failed_terminal", "step.failed_retryable", "step.needs_attention")


@rule(
    "steps.errors",
    "The leaf of a step that failed or needs attention has the `code` of its error, one of those that there are:"
    " `definition`; `expression`, `cost`, `params`, `unrecordable`; `refused`, `not_taken`, `unavailable`, `blocked`,"
    " `outcome_unknown`, `result`, `failed`, `unexpected`; `no_answer`, `expired`, `not_begun`, `sla`; `denied`,"
    " `budget`, `rejected`, `changes_requested`, `no_policy`, `unauthenticated`, `forbidden`; `illegal_transition`,"
    " `lease_lost`, `key_in_use`. No other leaf of a step has one.",
)
def _error_codes(facts: Facts) -> str:
    codes = 0
    for leaves in facts.of_steps.values():
        for leaf in leaves:
            code, has_error = str(leaf.data.get("code")), leaf.event in _WITH_ERROR
            if (code not in CODES) if has_error else ("code" in leaf.data):
                raise broken_leaf(leaf, f"{leaf.event} of step {leaf.correlation.step} with the code {code}")
            codes += has_error
    return counted(codes, "error")


ERRORS: tuple[Rule[Facts], ...] = (_error_codes,)
