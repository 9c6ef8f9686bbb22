"""Step 11 of the verifier's procedure: whether what the run is said to have come to follows from its chain."""

from evidence import names
from evidence.reading.paths import address_of
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.mended import supplied
from evidence.verify.rules import counted, rule
from receipts.chain import Leaf

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
    answered, given = _answered(contents), supplied(contents)
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
