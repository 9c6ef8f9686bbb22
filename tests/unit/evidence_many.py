"""The sample run with many writes like its own, one after another: each its own step, request and votes."""

import json
from typing import Any

from receipts import canonical
from tests.unit.evidence_sample import REQUIREMENT, WRITE, Story, action, at, story
from tests.unit.evidence_variants import redefine

_MINUTES = 10
"""Minutes that each takes."""
_KEY = "key-E"
_MOMENTS = (0, 2, 6, 7, 8, 9, 482)
_HEAD = 16
_OF_STEP = ("step.waiting_approval", "step.succeeded")

Renamed = list[tuple[str, str]]


class _Many(Story):
    """Each vote was given when the last card of its own approval was shown."""

    def _last_card(self, data: Any) -> dict[str, str]:
        return {"card": canonical.digest(self.approvals[data["approval_id"]]["cards"][-1])}


def many(count: int, answer: Any = None) -> Story:
    """Return the sound one with so many more writes, each answered with this."""
    sound = story()
    sound.receipts["r-3"]["response"] = {"id": "42", "rows": answer}
    told = _Many(**vars(sound))
    told.events = list(sound.events)
    mine = [(event, data) for event, data in told.events if data.get("effect_id") == "e-write" or event in _OF_STEP]
    for _, data in told.events[-2:]:
        data["minute"] += _MINUTES * (count + 1)
    told.events[-2][1]["writes"] = count + 1
    for number in range(1, count + 1):
        _add(told, sound, mine, number)
    _define(told, count)
    return told


def _add(told: Story, sound: Story, mine: list[tuple[str, dict[str, Any]]], number: int) -> None:
    """Add a write: what the sound one has of it, under other names and at a later time."""
    renamed = _names(f"x{number:06d}", _MINUTES * number)
    for record in (sound.decisions["d-1"], sound.decisions["d-3"]):
        one = _other(record, renamed)
        told.decisions[one["id"]] = one
    approval, receipt = _other(sound.approvals["a-1"], renamed), _other(sound.receipts["r-3"], renamed)
    told.approvals[approval["id"]], told.receipts[receipt["receipt_id"]] = approval, receipt
    later = [(event, _other({"step": "file", **data}, renamed)) for event, data in mine]
    for _, data in later:
        data["minute"] += _MINUTES * number
    told.events[-2:-2] = later


def _names(name: str, minutes: int) -> Renamed:
    """Return what of the sound write has another name in this one, and what that is."""
    digest = canonical.digest({**action("e-write"), "idempotency_key": f"key-e-file-{name}"})
    before, now = (canonical.digest([one, dict(REQUIREMENT), "requested"])[:_HEAD] for one in (WRITE, digest))
    return [
        ("key-e-write", f"{_KEY}-file-{name}"),
        ("e-write", f"e-{name}"),
        (_KEY, "key-e"),
        ("a-1", f"a-{name}"),
        *((WRITE, digest), (WRITE[:_HEAD], digest[:_HEAD]), (before, now)),
        *((f"{kind}-{number}", f"{kind}-{name}-{number}") for kind, number in (("d", 1), ("d", 3), ("r", 3), ("w", 1))),
        ('"file"', f'"file-{name}"'),
        *((at(minute), f"@{minute}@") for minute in _MOMENTS),
        *((f"@{minute}@", at(minute + minutes)) for minute in _MOMENTS),
    ]


def _other(record: dict[str, Any], renamed: Renamed) -> dict[str, Any]:
    text = canonical.dumps(record).decode()
    for before, now in renamed:
        text = text.replace(before, now)
    found: dict[str, Any] = json.loads(text)  # its members may be in another order
    return found


def _define(told: Story, count: int) -> None:
    """Let the definition have a step for each, with a key of its own."""
    definition = canonical.loads(told.definition)
    verb = definition["verbs"]["register.file"]
    definition["verbs"]["register.more"] = {**verb, "effect": {**verb["effect"], "idempotency_key": "key-e-${step}"}}
    ids = [f"file-x{number:06d}" for number in range(1, count + 1)]
    definition["steps"] += [{"id": name, "verb": "register.more", "when": None} for name in ids]
    redefine(told, definition)
