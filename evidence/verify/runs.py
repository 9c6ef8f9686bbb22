"""The run: it moved from status to status as its leaves say, and came to what its steps came to.

Step 11 of the procedure: whether what the run is said to have come to follows from its chain.
"""

from collections.abc import Sequence

from evidence import names
from evidence.reading.step_paths import address_of
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.forms import CancelForm, Candidate, Chosen
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, rule, same
from evidence.verify.step_repairs import supplied_steps
from receipts.chain import PROGRAM, RUN_ENDED, Leaf

_STATUSES = (
    "running",
    "waiting_approval",
    "waiting",
    "failed_retryable",
    "needs_attention",
    "succeeded",
    "failed_terminal",
    "canceled",
)


@rule(
    "run.definition",
    "`definition.json` has the name, the version and the type of trigger that `run.queued` names; that says what the"
    " run is `about` if and only if the definition's `trigger` says what triggers are about, and `among` which"
    " versions the run's was chosen if and only if the definition's `trigger` says `when`: `name`, `version` and"
    " `digest` of each, no two of one name, with the run's own; none where whoever started it had named the runbook.",
)
def _definition(facts: Facts) -> str:
    queued, definition = facts.leaves[0].data, facts.definition
    agree(
        names.DEFINITION,
        f"{names.AUDIT} line 1",
        name=(definition.name, queued.get("definition_name")),
        version=(definition.version, queued.get("definition_version")),
        **{"trigger.type": (definition.trigger.type, queued.get("trigger_type"))},
    )
    if (definition.trigger.about is None) != ("about" not in queued):
        raise broken_leaf(facts.leaves[0], "it says what the run is about, or not, other than the definition's trigger")
    if (definition.trigger.when is None) != ("among" not in queued):
        raise broken_leaf(
            facts.leaves[0], "it says what was to choose among, or not, other than the definition's trigger"
        )
    if definition.trigger.when is not None:
        _check_choice(facts, data_of(Chosen, facts.leaves[0]).among)
    return f"{definition.name} version {definition.version}"


def _check_choice(facts: Facts, among: Sequence[Candidate]) -> None:
    """Raise unless the run's version is one of those among which it was chosen, of which no two have one name."""
    own = (facts.definition.name, facts.definition.version, facts.contents.run.definition.digest)
    of_name = {one.name: (one.name, one.version, one.digest) for one in among}
    if len(of_name) < len(among) or (among and of_name.get(own[0]) != own):
        raise broken_leaf(facts.leaves[0], f"{own[0]} version {own[1]} is not what was chosen among what it names")


@rule(
    "run.moves",
    "A run starts once, and ends once. Each leaf that gives it a status says which one it had (`from`): that of the"
    " leaf before, `queued` at first; none follows its end. It is canceled after a `run.cancel_requested`, which has a"
    " `reason`, and unless it is by `countersign` says which decision of `policy` (`decision_id`, `digest`) allowed"
    " it.",
)
def _moves(facts: Facts) -> str:
    status, moves, is_asked = "queued", 0, False
    for leaf in facts.leaves:
        kind, _, word = leaf.event.partition(".")
        if leaf.event == "run.cancel_requested":
            is_asked = _is_allowed(leaf)
        if leaf.event == "run.started" and (status != "queued" or leaf.seq != _FIRST):
            raise broken_leaf(leaf, "the run had started before")
        if kind != "run" or word not in _STATUSES:
            continue
        if f"run.{status}" in RUN_ENDED or leaf.data.get("from") != status:
            raise broken_leaf(leaf, f"{leaf.event} from {leaf.data.get('from')}, and the run was {status}")
        if word == "canceled" and not is_asked:
            raise broken_leaf(leaf, "the run was canceled, and nobody had asked for that")
        status, moves = word, moves + 1
    return counted(moves, "move")


def _is_allowed(leaf: Leaf) -> bool:
    """Return True, or raise unless a wish to cancel says why, and by whose leave."""
    if data_of(CancelForm, leaf).policy is None and leaf.actor != PROGRAM:
        raise broken_leaf(leaf, f"{leaf.actor.id} wanted it canceled, and by no decision of policy")
    return True


_FIRST = 2
"""The line of `run.started`: the run's first, but for its queueing, where it starts at all."""


@rule(
    "run.outcome",
    "A run failed if a step failed for good; else it succeeded if a step of the kind `end` did, of which there is one"
    " at most, and none where a step failed; else it was canceled if a step was canceled, else succeeded. Its `outcome`"
    " is the word of that `end`; without one there is none. Its `error` names the first step that failed, in the"
    " definition's order, and what it says; it is empty where none did, or says of a run that succeeded why the"
    " definition's `output` could not be given. There is an `output` of a run that succeeded where the `end` that ended"
    " it has a `result`, or none ended it, its definition has an `output`, and its `error` is empty; and of no other.",
)
def _outcome(facts: Facts) -> str:
    ends = {path: facts.of_steps[path][-1] for path in facts.plan.in_order(facts.of_steps)}
    failed = [path for path, leaf in ends.items() if leaf.event == "step.failed_terminal"]
    is_canceled = any(leaf.event == "step.canceled" for leaf in ends.values())
    if failed and facts.stopped:
        raise BrokenError(names.AUDIT, f"step {failed[0]} failed, and {facts.stopped[0]} ended the run")
    came_to = "failed_terminal" if failed else "canceled" if is_canceled and not facts.stopped else "succeeded"
    error = f"{failed[0]}: {ends[failed[0]].data.get('error', '')}" if failed else _no_output(facts, came_to)
    agree(
        names.RUN,
        f"its steps in {names.AUDIT}",
        status=(facts.end.event.removeprefix("run."), came_to),
        outcome=(facts.end.data.get("outcome"), _word(facts)),
        error=(facts.end.data.get("error"), error),
    )
    _check_output(facts, is_well=came_to == "succeeded" and not error)
    return str(facts.end.data.get("outcome", came_to))


def _word(facts: Facts) -> str | None:
    """Return the word of the step that ended the run, None where none did."""
    if len(facts.stopped) > 1:
        raise BrokenError(names.AUDIT, f"both {facts.stopped[0]} and {facts.stopped[1]} ended the run")
    ends = [facts.plan.node(path).end for path in facts.stopped]
    return ends[0].outcome if ends and ends[0] else None


def _check_output(facts: Facts, *, is_well: bool) -> None:
    has_one = "output" in facts.end.data
    if has_one != (is_well and _gives(facts)):
        raise BrokenError(
            names.RUN, f"has {'an' if has_one else 'no'} output, and {'none' if has_one else 'one'} was given"
        )


def _gives(facts: Facts) -> bool:
    """Return whether the `end` that ended the run says what it gives, or without one its definition."""
    ends = [facts.plan.node(path).end for path in facts.stopped]
    return any(end and end.result is not None for end in ends) if ends else facts.definition.output is not None


def _no_output(facts: Facts, came_to: str) -> str:
    """Return what the run's error is where no step failed: why there is no output, where that is so, or nothing."""
    said = str(facts.end.data.get("error"))
    may_say = came_to == "succeeded" and not facts.stopped and _gives(facts) and "output" not in facts.end.data
    return said if may_say and said.startswith("output: ") else ""


@rule(
    "run.writes",
    "The run's `writes` are its steps' receipts that said `success` before it ended, but for those of governed reads.",
)
def _writes(facts: Facts) -> str:
    done = sum(
        one.record.outcome == "success"
        and bool(one.record.step)
        and one.leaf.seq < facts.end.seq
        and not _reads(facts, one.record.step)
        for one in facts.receipts
    )
    if not same(facts.end.data.get("writes"), done):
        raise BrokenError(names.RUN, f"writes is {facts.end.data.get('writes')}, and {done} receipts say success")
    return counted(done, "write")


def _reads(facts: Facts, path: str) -> bool:
    verb = facts.plan.verb(path)
    return verb is not None and verb.effect.is_governed_read


MOVES: tuple[Rule[Facts], ...] = (_definition, _moves)
OUTCOME: tuple[Rule[Facts], ...] = (_outcome, _writes)


_QUEUED = "run.queued"
_ENDED = ("run.succeeded", "run.failed_terminal", "run.canceled")
_ANSWERED = ("approval.approved", "approval.rejected")


@rule("run.queued", "`run.queued` is the first leaf, and the only one.")
def queued(contents: Contents) -> str:
    """Look for the run's beginning."""
    return _first(contents).at


@rule(
    "run.ended",
    "The run's `requested_by`, `submitted_by` and definition are those that `run.queued` names, and its `status` is"
    " that of the last `run.succeeded`, `.failed_terminal` or `.canceled`.",
)
def ended(contents: Contents) -> str:
    """Compare run.json with the leaves of the run's beginning and end."""
    first, last, run = _first(contents), _last(contents), contents.run
    for what, of_run, of_chain in (
        ("status", run.status, last.event.removeprefix("run.")),
        ("requested_by", run.requested_by, first.actor.id),
        ("submitted_by", run.submitted_by, first.data.get("submitted_by")),
        ("definition.digest", run.definition.digest, first.data.get("definition_digest")),
    ):
        if of_run != of_chain:
            raise BrokenError(names.RUN, f"{what} is {of_run}, where {names.AUDIT} says {of_chain}")
    return run.status


@rule(
    "steps.receipts",
    "A `step.succeeded` is of a step in the definition. If the step's verb is of class `write`, or a governed read,"
    " one of these holds: a receipt of the step and of the verb's handler says `success`; the step has an"
    " `effect.repeated`; or it has such a receipt of any outcome, and its answer came: a `wait.completed`, or a task's"
    " approval or rejection; or somebody supplied its result.",
)
def writes_have_receipts(contents: Contents) -> str:
    """Look for the receipt of each write."""
    return counted(count_writes(contents), "write")


def _first(contents: Contents) -> Leaf:
    """Return the leaf of the run's beginning, of which there is one."""
    queued = contents.leaves_of(_QUEUED)
    if len(queued) != 1 or queued[0].seq != 1:
        raise BrokenError(names.AUDIT, f"{_QUEUED} is not its first line, or not only that")
    return queued[0]


def _last(contents: Contents) -> Leaf:
    """Return the leaf of the run's end."""
    ended = [leaf for leaf in contents.leaves if leaf.event in _ENDED]
    if not ended:
        raise BrokenError(names.AUDIT, "does not say how the run ended")
    return ended[-1]


def count_writes(contents: Contents) -> int:
    """Return how many steps succeeded that write; raise unless each of them has its receipt."""
    definition = contents.definition
    verb_of = {step.id: step.verb for step in definition.steps}
    done, begun = _handled(contents, "success"), _handled(contents)
    repeated = {leaf.correlation.step for leaf in contents.leaves_of("effect.repeated")}
    answered, given = _answered(contents), supplied_steps(contents)
    writes = 0
    for leaf in contents.leaves_of("step.succeeded"):
        path = str(leaf.correlation.step)
        called = verb_of.get(address_of(path))
        verb = definition.verbs.get(called or "")
        if called is None or (called and verb is None):
            raise BrokenError(names.AUDIT, f"line {leaf.seq}: no step {path} is in {names.DEFINITION}")
        if verb is None or not verb.effect.passes_gate:
            continue
        writes += verb.effect.kind == "write"
        did = (path, verb.execution.handler)
        if path in given:
            continue
        if did not in done and path not in repeated and not (path in answered and did in begun):
            raise BrokenError(names.AUDIT, f"line {leaf.seq}: step {path} succeeded, and no receipt says that it acted")
    return writes


def _handled(contents: Contents, *outcomes: str) -> set[tuple[str, str]]:
    """Return the steps that have a receipt (of one of these outcomes, if any is given), each with what handled it."""
    return {
        (receipt.step, f"{receipt.connector}::{receipt.operation}")
        for receipt in contents.receipts.values()
        if not outcomes or receipt.outcome in outcomes
    }


def _answered(contents: Contents) -> set[str | None]:
    """Return the steps whose answer came: from another program, or from the person who had the task."""
    tasks = {approval.id for approval in contents.approvals.values() if approval.kind == "task"}
    return {
        leaf.correlation.step
        for leaf in contents.leaves
        if leaf.event == "wait.completed" or (leaf.event in _ANSWERED and leaf.data.get("approval_id") in tasks)
    }
