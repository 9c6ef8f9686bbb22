"""What somebody tells who holds the signing key, about held steps: one rule names each lie."""

from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change_leaf


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

GROUPS = {"attention": ATTENTION}
