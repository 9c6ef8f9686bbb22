"""What somebody tells who holds the signing key, about the run: each lie bends a genuine one, and one rule names it."""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Lie, change, change_leaf, later
from tests.integration.lies_patience import PATIENCE


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

GROUPS = {"waits": WAITS, "patience": PATIENCE, "runs": RUNS, "steps": STEPS, "effects": EFFECTS}
