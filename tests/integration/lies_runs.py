"""Lies about runs: steps, runs below, held steps and undo.

What somebody tells who holds the signing key, about the run: each lie bends a genuine one, and one rule names it.

What somebody tells who holds the signing key, about a run below: each lie breaks one rule.

A lie bends the bundle of the run that waited, or that of the run below; where it is `rebound`, the former then names
the end of the latter as it was bent.

What somebody tells who holds the signing key, about held steps: one rule names each lie.

What somebody tells who holds the signing key, about what a run took back: each lie bends the bundle of the undo.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change, change_leaf, later
from tests.integration.lies_edits import PATIENCE


def _act_after_the_end(forged: Forged) -> None:
    end = forged.leaf("run.succeeded")
    end["data"]["writes"] = 0
    for record in (forged.receipt("success", "file"), forged.decision("allow", "file")):
        forged.move(forged.leaf_of(record), after=end)


def _succeed(forged: Forged) -> None:
    end = forged.leaf("run.failed_terminal")
    end["event"] = "run.succeeded"
    end["data"]["error"] = ""


def _verb(path: str, value: Any) -> Bend:
    return lambda f: change(path, value)(next(iter(f.definition["verbs"].values())))


WAITS: dict[str, Lie] = {
    "until another time": (
        "waits.as-told",
        "filed",
        change_leaf("wait.opened", "data.deadline", "2026-01-06T09:00:00.000000Z"),
    ),
    "for something else": ("waits.as-told", "filed", change_leaf("wait.opened", "data.type", "external")),
    "for longer than the verb says": (
        *("waits.as-told", "late"),
        change_leaf("wait.opened", "data.deadline", "2026-02-06T09:00:00.000000Z"),
    ),
    "twice at a time": (
        *("waits.one-at-a-time", "filed"),
        lambda f: f.leaves.insert(8, copy.deepcopy(f.leaf("wait.opened"))),
    ),
    "another wait's answer": ("waits.ended", "timer", change_leaf("wait.completed", "data.wait_id", "wait_other")),
    "a timer that was over too soon": (
        *("waits.ended", "timer"),
        lambda f: f.delay(f.leaf("wait.completed"), minutes=-30),
    ),
    "given up too soon": ("waits.ended", "late", lambda f: f.delay(f.leaf("wait.escalated"), days=-2)),
    "escalated too soon": (
        *("waits.escalated", "expired"),
        lambda f: f.leaf("wait.escalated").update(at=later(f.leaf("wait.escalated")["at"], hours=-1)),
    ),
    "escalated to others": ("waits.escalated", "expired", change_leaf("wait.escalated", "data.to", ["board"])),
    "a review that was escalated too soon": (
        *("waits.escalated", "kyc"),
        lambda f: f.leaf("wait.escalated").update(at=later(f.leaf("wait.escalated")["at"], days=-1)),
    ),
    "progress of another wait": ("waits.progress", "late", change_leaf("wait.progress", "data.wait_id", "wait_other")),
    "progress before anything was asked": (
        *("waits.progress", "late"),
        lambda f: f.move(f.leaf("wait.progress"), before=f.leaf("wait.opened")),
    ),
    "progress that goes back": (
        *("waits.progress", "late"),
        lambda f: f.leaves.insert(f.leaves.index(f.leaf("wait.progress")), copy.deepcopy(f.leaf("wait.progress"))),
    ),
    "fell back to others": ("approvals.consent", "fell_back", change_leaf("approval.fell_back", "data.to", ["board"])),
    "fell back once somebody had voted": (
        *("approvals.consent", "fell_back"),
        lambda f: f.move(f.leaf("approval.fell_back"), after=f.leaf("vote.counted")),
    ),
    "escalated twice": (
        *("waits.escalated", "expired"),
        lambda f: f.leaves.insert(
            f.leaves.index(f.leaf("wait.escalated")) + 1, copy.deepcopy(f.leaf("wait.escalated"))
        ),
    ),
}

RUNS: dict[str, Lie] = {
    "another version": ("run.definition", "filed", lambda f: f.definition.update(version=9)),
    "about nothing any more": (
        *("run.definition", "incident"),
        lambda f: f.leaf("run.queued")["data"].pop("about"),
    ),
    "about something": ("run.definition", "filed", change_leaf("run.queued", "data.about", "case:1")),
    "from another status": ("run.moves", "filed", change_leaf("run.succeeded", "data.from", "waiting")),
    "canceled by nobody": ("run.moves", "canceled", lambda f: f.drop(f.leaf("run.cancel_requested"))),
    "ended twice": (
        *("run.moves", "filed"),
        lambda f: f.add("run.succeeded", f.leaf("run.succeeded"), dict(f.leaf("run.succeeded")["data"])),
    ),
    "a step before the run began": (
        *("run.moves", "timer"),
        lambda f: f.move(f.leaf("step.parked"), before=f.leaf("run.started")),
    ),
    "succeeded over a step that failed": ("run.outcome", "rejected", _succeed),
    "failed for another reason": (
        "run.outcome",
        "rejected",
        change_leaf("run.failed_terminal", "data.error", "bad luck"),
    ),
    "more writes than receipts": ("run.writes", "filed", change_leaf("run.succeeded", "data.writes", 2)),
}

STEPS: dict[str, Lie] = {
    "a step that left no leaf": (
        *("steps.ended", "kyc"),
        lambda f: f.drop(f.leaf("step.succeeded", step="shareholdings")),
    ),
    "word after the end": (
        *("steps.ended", "filed"),
        lambda f: f.add("step.parked", f.leaf("step.succeeded"), {}, step="file"),
    ),
    "before what it needs": (
        *("steps.in-order", "branches"),
        lambda f: f.move(f.leaf("step.succeeded", step="small"), before=f.leaf("step.succeeded", step="left")),
    ),
    "proposed before what it needs": (
        *("steps.in-order", "branches"),
        lambda f: f.move(f.leaf("effect.proposed", step="small"), before=f.leaf("step.succeeded", step="left")),
    ),
    "skipped without cause": (
        *("steps.skipped", "branches"),
        lambda f: f.leaf("step.succeeded", step="left").update(event="step.skipped"),
    ),
    "done though what it needs was skipped": (
        *("steps.skipped", "branches"),
        lambda f: f.leaf("step.skipped", step="after_big").update(event="step.succeeded"),
    ),
    "a pause that nothing ended": ("steps.answered", "timer", lambda f: f.drop(f.leaf("wait.completed"))),
    "waiting for nobody": (
        *("steps.asked", "filed"),
        lambda f: f.move(f.leaf("step.waiting_approval"), before=f.leaf("approval.requested")),
    ),
}

EFFECTS: dict[str, Lie] = {
    "another handler than the step's": (
        *("effects.of-definition", "expired"),
        _verb("execution.handler", "register::withdraw"),
    ),
    "a read that writes": ("effects.of-definition", "filed", _verb("effect.class", "read")),
    "an effect of no step": (
        *("effects.of-definition", "filed"),
        lambda f: f.add(
            "effect.proposed",
            f.leaf("run.started"),
            {"action": "register::file_report", "target": "register:ACME", "digest": "0" * 64},
            effect_id="eff_other",
        ),
    ),
    "a step's second effect": (
        *("effects.of-definition", "filed"),
        lambda f: f.add(
            "effect.proposed",
            f.leaf("effect.proposed", step="file"),
            f.leaf("effect.proposed", step="file")["data"],
            effect_id="eff_other",
            step="file",
        ),
    ),
    "less at stake than declared": ("effects.as-declared", "filed", _verb("effect.tier", "medium")),
    "another target than declared": ("effects.as-declared", "filed", _verb("effect.target", "bank:${params.company}")),
    "another company than asked for": (
        "effects.as-declared",
        "filed",
        _verb("effect.target", "register:${params.text}"),
    ),
    "another key than declared": ("effects.as-declared", "filed", _verb("effect.idempotency_key", "pay:${run.id}")),
    "another way back than declared": ("effects.as-declared", "filed", _verb("effect.reversible_by", "undo")),
    "a write after the run ended": ("effects.while-wanted", "filed", _act_after_the_end),
}

RUN_GROUPS = {"waits": WAITS, "patience": PATIENCE, "runs": RUNS, "steps": STEPS, "effects": EFFECTS}


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


def _settled(forged: Forged, step: str) -> Json:
    return forged.leaf("repair.decided", step=step)


def _said(step: str, **change: Any) -> Bend:
    """Return what changes the data of what a person said of a step."""
    return lambda f: _settled(f, step)["data"].update(change)


def _by(step: str, kind: str) -> Bend:
    return lambda f: _settled(f, step)["actor"].update(kind=kind)


def _not_said(step: str) -> Bend:
    return lambda f: f.drop(_settled(f, step))


def _node(address: str, *missing: str, **change: Any) -> Bend:
    """Return what changes what the definition says of a step."""

    def bend(forged: Forged) -> None:
        step = next(step for step in forged.definition["steps"] if step["id"] == address)
        step.update(change)
        for name in missing:
            del step[name]

    return bend


ATTENTION: dict[str, Lie] = {
    "held where nothing says so": ("steps.attention", "mended", _node("look", "on_error")),
    "held for what was decided": (
        "steps.attention",
        "mended",
        change_leaf("step.needs_attention", "data.code", "denied"),
    ),
    "let go on by an agent": ("steps.attention", "mended", _by("note", "agent")),
    "let go on by nobody": ("steps.attention", "ended", _not_said("look")),
    "let go on in no known way": ("steps.attention", "mended", _said("note", act="wish")),
    "skipped, and tried anew": ("steps.attention", "mended", _said("again", act="end")),
    "supplied with something else": ("steps.attention", "mended", _said("look", result="0" * 32)),
    "nothing was supplied": ("steps.attention", "mended", _said("look", act="skip")),
    "a result beside what is no supply": ("steps.attention", "mended", _said("note", result="0" * 32)),
    "without a word of policy": ("steps.attention", "mended", lambda f: _settled(f, "note")["data"].pop("policy")),
    "allowed by a text of no digest": (
        *("steps.attention", "mended"),
        _said("note", policy={"decision_id": "d", "digest": "that of the day"}),
    ),
    "without a reason": ("steps.attention", "mended", lambda f: _settled(f, "note")["data"].pop("reason")),
    "an effect more than was asked for": ("steps.attention", "mended", _not_said("ask")),
    "waiting, and tried again": ("steps.attention", "waited", _said("leave", act="retry")),
    "waiting, and skipped by nobody": ("steps.skipped", "waited", _not_said("leave")),
    "by the program": (
        *("steps.attention", "mended"),
        change_leaf("repair.decided", "actor", {"id": "countersign", "kind": "system"}),
    ),
}

HELD_GROUPS = {"attention": ATTENTION}


JsonObject = dict[str, Any]


def _undone_run(forged: Forged) -> JsonObject:
    """Return what the trigger of an undo has to say."""
    found: JsonObject = forged.definition["trigger"]["schema"]["properties"]
    return found


def _of_another_run(forged: Forged) -> None:
    _undone_run(forged)["run_id"]["const"] = "run_other"


def _with_another_digest(forged: Forged) -> None:
    _undone_run(forged)["receipts"]["const"][0]["digest"] = "0" * 64


def _another_receipt(forged: Forged) -> None:
    _undone_run(forged)["receipts"]["const"][0]["receipt_id"] = "rcp_other"


def _one_unnamed(forged: Forged) -> None:
    """Let one receipt that was undone not have been named."""
    del _undone_run(forged)["receipts"]["const"][0]


def _undone_unnamed(forged: Forged) -> None:
    del _undone_run(forged)["receipts"]["const"]


UNDONE: Mapping[str, tuple[str, Bend]] = {
    "an undo of another run": ("receipts.undone", _of_another_run),
    "another receipt than was written": ("receipts.undone", _with_another_digest),
    "a receipt of nobody": ("receipts.undone", _another_receipt),
    "something undone that is not named": ("receipts.undone", _one_unnamed),
    "no receipts named": ("receipts.undone", _undone_unnamed),
}
"""Lies that each bundle hides by itself, and the other shows."""
