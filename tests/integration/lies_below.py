"""What somebody tells who holds the signing key, about a run below: each lie breaks one rule.

A lie bends the bundle of the run that waited, or that of the run below; where it is `rebound`, the former then names
the end of the latter as it was bent.
"""

from dataclasses import dataclass

from tests.integration.forger import Bend, Forged, change_leaf


def _keep(_: Forged) -> None:
    """Leave a bundle as it is."""


@dataclass(frozen=True)
class LieBelow:
    """Which rule breaks, in which of the pairs of runs, and how the two are bent."""

    rule: str
    runs: str
    above: Bend = _keep
    below: Bend = _keep
    rebound: bool = False


def _named(**change: str) -> Bend:
    """Return what changes how the run below is named."""
    return lambda f: f.leaf("wait.completed", type="child_run")["data"].update(change)


def _another_run(forged: Forged) -> None:
    forged.receipt("success", "sub")["response"]["run_id"] = "run_other"
    _named(child="run_other")(forged)


def _unnamed(forged: Forged) -> None:
    del forged.leaf("wait.completed", type="child_run")["data"]["child_end"]


def _orphan(forged: Forged) -> None:
    del forged.leaf("run.queued")["data"]["parent"]


def _of_another_step(forged: Forged) -> None:
    forged.leaf("run.queued")["data"]["parent"]["step"] = "after"


def _succeeded(forged: Forged) -> None:
    """Let the step have succeeded, and the run with it."""
    forged.leaf("step.failed_terminal").update(event="step.succeeded", data={"result": "0" * 32})
    end = forged.leaf("run.failed_terminal")
    end["event"] = "run.succeeded"
    end["data"] |= {"error": ""}


def _timer(forged: Forged) -> None:
    forged.leaf("wait.completed", type="timer")["data"] |= {"child": "run_other", "child_end": "0" * 64}


ALONE: dict[str, LieBelow] = {
    "the end of another run is named by no leaf": LieBelow("waits.children", "done", _unnamed),
    "the end of a run that the step did not start": LieBelow("waits.children", "done", _named(child="run_other")),
    "the end of another run, where a time was over": LieBelow("waits.children", "done", _timer),
}
"""Lies that the bundle of the run that waited shows by itself."""

TOGETHER: dict[str, LieBelow] = {
    "another end than that of the run below": LieBelow("waits.below", "done", _named(child_end="0" * 64)),
    "a run below that went otherwise": LieBelow(
        "waits.below", "done", below=change_leaf("run.queued", "data.trigger_ref", "another")
    ),
    "a run below for which nobody waited": LieBelow("waits.below", "done", _another_run),
    "a run below that nobody started": LieBelow("waits.below", "done", below=_orphan, rebound=True),
    "a run below that another step started": LieBelow("waits.below", "done", below=_of_another_step, rebound=True),
    "a step that succeeded, though the run below failed": LieBelow("waits.below", "failed", _succeeded),
}
"""Lies that the bundle of the run below shows."""
