"""`--child`: whether the bundles of runs that this one waited for are those that it names."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from evidence import names
from evidence.errors import UndecidedError
from evidence.verify.children import CHILD_RUN
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.ended import EndedRun
from evidence.verify.opening import READ
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, verify
from receipts.chain import Leaf

NAME = "waits.below"
SENTENCE = (
    "Each bundle of a run below that is given holds by itself, under the same keys. It is of a run that a step waited"
    " for: a `wait.completed` names the run and the hash of the leaf with which it ended, and its `run.queued` names"
    " this run and that step (`parent`). Where the step succeeded at that moment, the run below had."
)


def ends_below(files: Sequence[Path], trust: Trust) -> Rule[Contents]:
    """Return the rule that a bundle names the runs of these files."""
    return Rule(NAME, SENTENCE, partial(_check, files, trust))


def _check(files: Sequence[Path], trust: Trust, contents: Contents) -> str:
    for file in files:
        _compare(contents, read_other(file, trust, "the run below"))
    return f"{counted(len(files), 'run')} below, as named"


def read_other(file: Path, trust: Trust, what: str) -> EndedRun:
    """Return the run of another bundle, which has to hold; `what` it is to the one that is verified."""
    try:
        return verify(file, trust).ended
    except VerificationError as error:
        if error.rule == READ:
            raise UndecidedError(str(error)) from error
        raise BrokenError("", f"{what}, {file}: {error}") from error


def _compare(contents: Contents, child: EndedRun) -> None:
    """Raise BrokenError unless the run of these contents waited for that one, as it ended."""
    told = next((leaf for leaf in contents.leaves_of("wait.completed") if _names(leaf, child)), None)
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


def _names(leaf: Leaf, child: EndedRun) -> bool:
    return leaf.data.get("type") == CHILD_RUN and leaf.data.get("child") == child.run_id


def _succeeded(contents: Contents, told: Leaf) -> bool:
    path = told.correlation.step
    return any(
        leaf.correlation.step == path and leaf.seq > told.seq and leaf.at == told.at
        for leaf in contents.leaves_of("step.succeeded")
    )
