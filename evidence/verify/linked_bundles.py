"""Linked bundles: those of child runs (`--child`) and of the run that is undone (`--undoes`).

The bundles of runs that this one waited for are those that it names. The bundle of the run that this one takes back is
the one whose receipts it names.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evidence import names
from evidence.errors import UndecidedError
from evidence.verify.child_runs import CHILD_RUN, EndedRun
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust
from evidence.verify.verify import READ, VerificationError, verify
from receipts import canonical
from receipts.chain import Leaf

CHILDREN = "waits.below"
CHILDREN_SENTENCE = (
    "Each bundle of a run below that is given holds by itself, under the same keys. It is of a run that a step waited"
    " for: a `wait.completed` names the run and the hash of the leaf with which it ended, and its `run.queued` names"
    " this run and that step (`parent`). Where the step succeeded at that moment, the run below had."
)


def ends_below(files: Sequence[Path], trust: Trust) -> Rule[Contents]:
    """Return the rule that a bundle names the runs of these files."""
    return Rule(CHILDREN, CHILDREN_SENTENCE, partial(_check_children, files, trust))


def _check_children(files: Sequence[Path], trust: Trust, contents: Contents) -> str:
    for file in files:
        _compare_child(contents, read_other(file, trust, "the run below"))
    return f"{counted(len(files), 'run')} below, as named"


def read_other(file: Path, trust: Trust, what: str) -> EndedRun:
    """Return the run of another bundle, which has to hold; `what` it is to the one that is verified."""
    try:
        return verify(file, trust).ended
    except VerificationError as error:
        if error.rule == READ:
            raise UndecidedError(str(error)) from error
        raise BrokenError("", f"{what}, {file}: {error}") from error


def _compare_child(contents: Contents, child: EndedRun) -> None:
    """Raise BrokenError unless the run of these contents waited for that one, as it ended."""
    told = next((leaf for leaf in contents.leaves_of("wait.completed") if _is_about(leaf, child)), None)
    if told is None:
        raise BrokenError(names.AUDIT, f"no step waited for the run {child.run_id}")
    if told.data["child_end"] != child.end:
        ended = f"the run {child.run_id} ended with {told.data['child_end']}, and its bundle with {child.end}"
        raise BrokenError(names.AUDIT, f"line {told.seq}: {ended}")
    by = (contents.run.run_id, told.correlation.step)
    if child.started_by != by:
        raise BrokenError(names.AUDIT, f"line {told.seq}: the run {child.run_id} says that another step started it")
    if not child.succeeded and _succeeded(contents, told):
        raise BrokenError(names.AUDIT, f"line {told.seq}: the run {child.run_id} did not succeed, and its step did")


def _is_about(leaf: Leaf, child: EndedRun) -> bool:
    return leaf.data.get("type") == CHILD_RUN and leaf.data.get("child") == child.run_id


def _succeeded(contents: Contents, told: Leaf) -> bool:
    path = told.correlation.step
    return any(
        leaf.correlation.step == path and leaf.seq > told.seq and leaf.at == told.at
        for leaf in contents.leaves_of("step.succeeded")
    )


UNDONE = "receipts.undone"
UNDONE_SENTENCE = (
    "The bundle of the run that is undone, where it is given, holds by itself, under the same keys, and is of the same"
    " tenant. This run was queued by `countersign.undo`, and the schema of its definition's trigger has that run"
    " (`run_id`) and receipts of it (`receipts`: `receipt_id` and `digest`) as constants, each of which says `success`."
    " What this run did for its steps has as idempotency key `undo:` with one of these ids, and the number of a further"
    " try, as in `#2`."
)
_ACTED = ("success", "in_doubt")


def undoes(file: Path, trust: Trust) -> Rule[Contents]:
    """Return the rule that a bundle undoes the run of this file."""
    return Rule(UNDONE, UNDONE_SENTENCE, partial(_check_undone, file, trust))


def _check_undone(file: Path, trust: Trust, contents: Contents) -> str:
    undone = read_other(file, trust, "the run that is undone")
    named = _named_receipts(contents, undone)
    for receipt in named:
        if undone.receipts.get(str(receipt.get("receipt_id"))) != receipt.get("digest"):
            raise BrokenError(names.DEFINITION, f"names a receipt that {undone.run_id} has not: {receipt}"[:200])
    keys = {f"undo:{receipt['receipt_id']}" for receipt in named}
    for name, record in contents.receipts.items():
        if record.step and record.outcome in _ACTED and record.idempotency_key.partition("#")[0] not in keys:
            raise BrokenError(name, f"undoes nothing of {undone.run_id} that {names.DEFINITION} names")
    return f"{counted(len(named), 'receipt')} of {undone.run_id} named, to be undone"


def _named_receipts(contents: Contents, undone: EndedRun) -> list[dict[str, Any]]:
    """Return the receipts that are undone, as the definition names them; raise unless they are of that run."""
    definition = canonical.loads(contents.member(names.DEFINITION))
    run_id, receipts = (_constant(definition, member) for member in ("run_id", "receipts"))
    queued = contents.leaves[0].data.get("trigger_type")
    if (queued, contents.run.tenant, run_id) != ("countersign.undo", undone.tenant, undone.run_id):
        raise BrokenError(names.DEFINITION, f"does not undo the run {undone.run_id} of {undone.tenant}")
    if not isinstance(receipts, list) or not all(isinstance(one, dict) for one in receipts):
        raise BrokenError(names.DEFINITION, "names no receipts that are undone")
    return receipts


def _constant(definition: Any, member: str) -> Any:
    """Return what a member of the trigger's payload has to be; None where it may be anything."""
    for name in ("trigger", "schema", "properties", member, "const"):
        definition = definition.get(name) if isinstance(definition, dict) else None
    return definition
