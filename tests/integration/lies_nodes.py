"""What somebody tells who holds the signing key, about steps that stand in others: one rule names each lie."""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change_leaf, later


def _step(forged: Forged, path: str, number: int = 0) -> Json:
    """Return a leaf that says how a step stands; the last is -1."""
    return [one for one in forged.leaves if one["event"].startswith("step.") and one["correlation"]["step"] == path][
        number
    ]


def _said(path: str, number: int = 0, **change: Any) -> Bend:
    """Return what changes such a leaf: its `event`, or a member of its data."""

    def bend(forged: Forged) -> None:
        leaf = _step(forged, path, number)
        leaf["event"] = change.get("event", leaf["event"])
        leaf["data"] |= {name: value for name, value in change.items() if name != "event"}

    return bend


def _without(*paths: str) -> Bend:
    """Return what leaves out all that says how these steps stand."""
    return lambda f: f.drop(*(leaf for path in paths for leaf in _of(f, path)))


def _of(forged: Forged, path: str) -> list[Json]:
    return [one for one in forged.leaves if one["event"].startswith("step.") and one["correlation"]["step"] == path]


def _moved(old: str, new: str) -> Bend:
    """Return what gives everything about a step, and what stands in it, another path."""

    def bend(forged: Forged) -> None:
        for one in forged.leaves:
            step = one["correlation"]["step"] or ""
            if step == old or step.startswith((f"{old}.", f"{old}[")):
                one["correlation"]["step"] = new + step[len(old) :]

    return bend


def _node(address: str, kind: str, **change: Any) -> Bend:
    """Return what changes what the definition says of a step."""
    return lambda f: next(step for step in f.definition["steps"] if step["id"] == address)[kind].update(change)


def _wait_instead(forged: Forged) -> None:
    """Let a write in a branch have been a wait of its own, which nothing ended."""
    step = next(step for step in forged.definition["steps"] if step["id"] == "first.failure.mark")
    del step["set"]
    step["wait"] = {"signal": "closed", "timeout": "P1D"}


def _later(path: str, *after: str) -> Bend:
    """Return what lets a step end behind the ends of others, and it and all that follows be a minute later."""

    def bend(forged: Forged) -> None:
        leaf = _step(forged, path)
        forged.move(leaf, after=max((_step(forged, one, -1) for one in after), key=forged.leaves.index))
        forged.delay(leaf, minutes=1)
        data = forged.leaf("wait.opened", step="hear")["data"]
        data["deadline"] = later(data["deadline"], minutes=1)

    return bend


def _ended_twice(forged: Forged) -> None:
    """Let another end have succeeded, too."""
    stop = next(step for step in forged.definition["steps"] if step["id"] == "stop")
    forged.definition["steps"].append(copy.deepcopy(stop) | {"id": "stop_too"})
    forged.add("step.succeeded", _step(forged, "stop"), {}, step="stop_too")


def _failed_under_the_end(forged: Forged) -> None:
    """Let the run have failed though an `end` ended it."""
    forged.leaf("run.succeeded").update(event="run.failed_terminal")


def _failure(forged: Forged) -> None:
    """Let a step that was canceled have failed for good."""
    _said("long", -1, event="step.failed_terminal", error="no answer", code="no_answer")(forged)


def _ended_over_a_failure(forged: Forged) -> None:
    """Let the run have succeeded by its `end` though a step failed for good."""
    _failure(forged)
    forged.leaf("run.succeeded")["data"]["error"] = "long: no answer"


def _failed_beside_the_end(forged: Forged) -> None:
    """Let the run have failed by a step, though its `end` is told to have been reached."""
    _failure(forged)
    end = forged.leaf("run.succeeded")
    end["event"] = "run.failed_terminal"
    end["data"] = {name: value for name, value in end["data"].items() if name not in ("outcome", "output")}
    end["data"]["error"] = "long: no answer"


PATHS: dict[str, Lie] = {
    "a step that is not in its block": ("leaves.about", "nodes", _moved("route.middle", "route.small")),
    "a step of a repeat, in no iteration": ("leaves.about", "nodes", _moved("letters[2]", "letters")),
    "a number where nothing is repeated": ("leaves.about", "nodes", _moved("quick", "quick[0]")),
    "a number in another spelling": ("leaves.about", "nodes", _moved("letters[2]", "letters[02]")),
    "an iteration inside an iteration": ("leaves.about", "nodes", _moved("letters[2]", "letters[2][0]")),
    "a step of two kinds": (
        *("leaves.about", "nodes"),
        lambda f: f.definition["steps"][0].update(end={"outcome": "approved"}),
    ),
}

ENTERED: dict[str, Lie] = {
    "nothing is told of an iteration": ("blocks.entered", "nodes", _without("letters[1]")),
    "an iteration before its repeat": (
        *("blocks.entered", "nodes"),
        lambda f: f.move(_step(f, "letters[0]"), before=_step(f, "letters")),
    ),
    "a step before its switch": (
        *("blocks.entered", "nodes"),
        lambda f: f.move(_step(f, "quick.now"), before=_step(f, "quick")),
    ),
    "a step before its branch": (
        *("blocks.entered", "nodes"),
        lambda f: f.move(_step(f, "hear.timeout.note_it"), before=_step(f, "hear.timeout")),
    ),
    "nothing is told of a step of the case": ("steps.ended", "nodes", _without("route.behind")),
    "nothing is told of what stands in a branch": ("steps.ended", "nodes", _without("hear.timeout.note_it")),
    "nothing is told of what stands in an iteration": ("steps.ended", "nodes", _without("rounds[1].count")),
    "an iteration that did not end": ("steps.ended", "letters", lambda f: f.drop(_step(f, "letters[0]", -1))),
    "a case that was not entered": (
        *("steps.ended", "nodes"),
        lambda f: f.drop(*(leaf for path in ("now",) for leaf in _of(f, f"quick.{path}"))),
    ),
}

ENDED: dict[str, Lie] = {
    "an iteration that succeeded over a failure": (
        *("blocks.ended", "letters"),
        _said("letters[1]", -1, event="step.succeeded"),
    ),
    "a repeat that succeeded over a failure": ("blocks.ended", "letters", _said("letters", -1, event="step.succeeded")),
    "a step that ended after its branch": ("blocks.ended", "nodes", _later("rounds[1].count", "rounds[1]")),
    "a step before what stands in the one that it needs was done": (
        *("steps.in-order", "nodes"),
        _later("quick.now", "quick", "letters"),
    ),
    "a step of a block before the one that it needs": (
        *("steps.in-order", "nodes"),
        lambda f: f.move(_step(f, "letters[1].write"), before=_step(f, "letters[1].read")),
    ),
    "skipped though it only comes after what was skipped": (
        *("steps.skipped", "nodes"),
        _said("letters", -1, event="step.skipped"),
    ),
    "skipped before the run's end for no reason": (
        *("steps.skipped", "nodes"),
        _said("quick.now", event="step.skipped"),
    ),
    "a signal that nobody sent": ("steps.answered", "nodes", _wait_instead),
}

ROUNDS: dict[str, Lie] = {
    "an iteration is missing": ("blocks.rounds", "nodes", _moved("rounds[1]", "rounds[2]")),
    "more at once than may": ("blocks.rounds", "nodes", _node("letters", "repeat", at_most_at_once=1)),
    "more than may be": ("blocks.rounds", "nodes", _node("rounds", "repeat", at_most=1)),
}


def _both_cases(forged: Forged) -> None:
    """Let a step of the other case have been skipped."""
    next(step for step in forged.definition["steps"] if step["id"] == "route.big")["when"] = "false"
    forged.add("step.skipped", _step(forged, "route.left_out"), {}, step="route.big")


CASES: dict[str, Lie] = {
    "a case that the switch has not": ("blocks.case", "nodes", _node("route", "switch", cases=["true"])),
    "no case": (
        *("blocks.case", "nodes"),
        lambda f: [leaf["data"].pop("branch", None) for leaf in _of(f, "quick")],
    ),
    "one case, then another": ("blocks.case", "nodes", _said("route", -1, branch="else")),
    "a case of what is no switch": ("blocks.case", "nodes", _said("stop", -1, branch="case_1")),
    "a step of another case": ("blocks.case", "nodes", _both_cases),
}


def _as_if_accepted(forged: Forged) -> None:
    """Let the steps that follow a review be those of its success."""
    named = {"review.success.thank": "review.success.sorry", "review.rejected.sorry": "review.rejected.thank"}
    for step in forged.definition["steps"]:
        step["id"] = named.get(step["id"], step["id"])
    _moved("review.rejected", "review.success")(forged)
    for record in (*forged.decisions.values(), *forged.receipts.values()):
        record["step"] = record["step"].replace("review.rejected", "review.success")
        if "input" in record:
            record["input"]["step"] = record["step"]


BRANCHES: dict[str, Lie] = {
    "a failure that nothing took up": (
        *("blocks.branch", "nodes"),
        lambda f: f.drop(*(leaf for path in ("", ".tell", ".mark") for leaf in _of(f, f"first.failure{path}"))),
    ),
    "failed for good, with a branch for it": (
        *("blocks.branch", "nodes"),
        lambda f: (
            _said("hear", -1, event="step.failed_terminal")(f),
            f.definition.update(edges=[one for one in f.definition["edges"] if one["source"] != "hear"]),
        ),
    ),
    "handled, without a branch for it": (
        *("blocks.branch", "letters"),
        _said("letters[1].write", -1, event="step.failed_handled"),
    ),
    "the branch of another ending": ("blocks.branch", "nodes", _said("hear", -1, code="refused")),
    "a branch for a failure of time, of what people rejected": (
        *("blocks.branch", "asked"),
        _said("file", -1, code="expired"),
    ),
    "a branch before the ending that it follows": (
        *("blocks.branch", "nodes"),
        lambda f: f.move(_step(f, "hear", -1), after=_step(f, "hear.timeout.note_it")),
    ),
    "the branch of a success, where people said no": ("blocks.branch", "asked", _as_if_accepted),
}

ERRORS: dict[str, Lie] = {
    "an error that there is not": ("steps.errors", "nodes", _said("hear", -1, code="bored")),
    "an error that is no text": ("steps.errors", "nodes", _said("hear", -1, code=["no_answer"])),
    "a failure without its error": ("steps.errors", "nodes", lambda f: _step(f, "hear", -1)["data"].pop("code")),
    "an error of what went well": ("steps.errors", "nodes", _said("quick", -1, code="no_answer")),
}

OUTCOMES: dict[str, Lie] = {
    "another word than the end's": ("run.outcome", "nodes", change_leaf("run.succeeded", "data.outcome", "approved")),
    "no word": ("run.outcome", "nodes", lambda f: f.leaf("run.succeeded")["data"].pop("outcome")),
    "a word without an end": ("run.outcome", "asked", change_leaf("run.succeeded", "data.outcome", "approved")),
    "failed, though it was ended": ("run.outcome", "nodes", _failed_under_the_end),
    "ended twice over": ("run.outcome", "nodes", _ended_twice),
    "ended with its word, though a step failed": ("run.outcome", "nodes", _ended_over_a_failure),
    "failed by a step, though its end was reached": ("run.outcome", "nodes", _failed_beside_the_end),
    "no output, though the definition gives one": (
        *("run.outcome", "asked"),
        lambda f: f.leaf("run.succeeded")["data"].pop("output"),
    ),
    "no output, though the end gives one": (
        *("run.outcome", "nodes"),
        lambda f: f.leaf("run.succeeded")["data"].pop("output"),
    ),
    "an output of an end that gives none": ("run.outcome", "nodes", _node("stop", "end", result=None)),
    "an output that nothing gives": ("run.outcome", "asked", lambda f: f.definition.update(output=None)),
    "an error beside an output": (
        *("run.outcome", "asked"),
        change_leaf("run.succeeded", "data.error", "output: no such step"),
    ),
}

WAITS: dict[str, Lie] = {
    "for a signal, as a timer": ("waits.as-told", "nodes", _node("long", "wait", signal="closed", timeout="P30D")),
    "for longer than it says": ("waits.as-told", "nodes", _node("hear", "wait", timeout="P2D")),
    "for less than it says": ("waits.as-told", "nodes", _node("long", "wait", **{"for": "P31D"})),
    "for another run, for less than it says": (
        *("waits.as-told", "asked"),
        lambda f: next(step for step in f.definition["steps"] if step["id"] == "below").update(timeout="P2D"),
    ),
    "a step that does not wait": ("waits.as-told", "nodes", change_leaf("wait.opened", "correlation.step", "know")),
}

GROUPS = {
    "paths": PATHS,
    "entered": ENTERED,
    "ended": ENDED,
    "rounds": ROUNDS,
    "cases": CASES,
    "branches": BRANCHES,
    "errors": ERRORS,
    "outcomes": OUTCOMES,
    "node waits": WAITS,
}
