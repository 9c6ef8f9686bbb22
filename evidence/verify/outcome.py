"""Steps 11 and 12 of the verifier's procedure: whether what the run is said to have come to follows from its chain."""

from evidence import names
from evidence.readme import readme
from evidence.timeline import timeline
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.reads import check_costs, check_done
from receipts.chain import Leaf

_QUEUED = "run.queued"
_ENDED = ("run.succeeded", "run.failed_terminal", "run.canceled")
_ANSWERED = ("approval.approved", "approval.rejected")


def ending(contents: Contents) -> str:
    """Step 11: the run was asked for and ended as its chain says, and each write that succeeded was done."""
    queued, ended = _first(contents), _last(contents)
    run = contents.run
    for what, of_run, of_chain in (
        ("status", run.status, ended.event.removeprefix("run.")),
        ("requested_by", run.requested_by, queued.actor.id),
        ("submitted_by", run.submitted_by, queued.data.get("submitted_by")),
        ("definition.digest", run.definition.digest, queued.data.get("definition_digest")),
    ):
        if of_run != of_chain:
            raise BrokenError(names.RUN, f"{what} is {of_run}, where {names.AUDIT} says {of_chain}")
    writes, reads = _check_steps(contents), check_done(contents)
    recorded = f", {reads} reads their records" if contents.version > 1 else ""
    return f"asked for by {run.requested_by}, and {run.status}; {writes} writes have their receipts{recorded}"


def texts(contents: Contents, key_id: str) -> str:
    """Step 12: the texts for reading are the ones that follow from the records."""
    run, version = contents.run, int(contents.statement.predicate.builder_version)
    for name, text in (
        (names.TIMELINE, timeline(run.run_id, contents.leaves)),
        (names.README, readme(run, key_id, version)),
    ):
        if contents.member(name) != text:
            raise BrokenError(name, "is not the text that follows from the records")
    check_costs(contents)
    costs = f", {names.COSTS}" if version > 1 else ""
    return f"{names.TIMELINE}{costs} and {names.README} tell what the records tell"


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


def _check_steps(contents: Contents) -> int:
    """Raise unless each step that succeeded and that writes has its receipt; return how many those are."""
    definition = contents.definition
    verb_of = {step.id: definition.verbs.get(step.verb) for step in definition.steps}
    done, begun = _handled(contents, "success"), _handled(contents)
    repeated = {leaf.correlation.step for leaf in contents.leaves_of("effect.repeated")}
    answered = _answered(contents)
    writes = 0
    for leaf in contents.leaves_of("step.succeeded"):
        path = str(leaf.correlation.step)
        verb = verb_of.get(path)
        if verb is None:
            raise BrokenError(names.AUDIT, f"line {leaf.seq}: no step {path} is in {names.DEFINITION}")
        if verb.effect.kind == "read":
            continue
        writes += 1
        did = (path, verb.execution.handler)
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
