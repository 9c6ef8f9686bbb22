"""Fields of an action, as people are shown them: without what nobody may see."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.model.action import Acting, Action, Tier
from runtime.model.approval import AskKind, Change, as_before
from runtime.services.approval_view import FieldView

_PLUMBING = ("approval_id", "channel", "groups", "title")
"""Params of a review that say how to ask, not what to look at."""


def shown_fields(row: Mapping[str, Any], kind: AskKind) -> tuple[FieldView, ...]:
    """Return the fields of an approval's effect, each with its present value where that was known.

    `row` has the effect's columns (its tier as `effect_tier`), the run's `salt`, and `digest` and `before` of the
    approval, and `edits` of the effect where it was read with them.
    """
    action, _ = _as_asked(row)
    if action is None:
        return (FieldView("Do not approve", None, "The action was changed after this request was made."),)
    shown = {name: value for name, value in action.fields.items() if kind is not AskKind.TASK or name not in _PLUMBING}
    return tuple(FieldView(name, row["before"].get(name), value) for name, value in shown.items())


def edits_before(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the edits by which the effect became what the approval is about, the oldest first."""
    _, since = _as_asked(row)
    edits = row.get("edits") or []
    return edits[: len(edits) - since]


def changed_by(edits: Sequence[Mapping[str, Any]]) -> tuple[FieldView, ...]:
    """Return what is another than the run had asked for: each param once, as it was asked for, and as it is now."""
    first: dict[str, Change] = {}
    last: dict[str, Change] = {}
    for change in (change for edit in edits for change in edit["changes"]):
        first.setdefault(change["param"], change)
        last[change["param"]] = change
    found = (FieldView(name, first[name].get("before"), last[name].get("after")) for name in sorted(first))
    return tuple(field for field in found if field.before != field.after)


def _as_asked(row: Mapping[str, Any]) -> tuple[Action | None, int]:
    """Return the action that the approval is about, and how many edits came since; None where there is none such."""
    fields, edits = dict(row["fields"]), row.get("edits") or []
    for since in range(len(edits) + 1):
        action = _action(row, fields)
        if action.digest == row["digest"]:
            return action, since
        if since < len(edits):
            fields = as_before(fields, edits[-1 - since]["changes"])
    return None, 0


def _action(row: Mapping[str, Any], fields: Mapping[str, Any]) -> Action:
    acting = Acting(
        connector=row["connector"],
        operation=row["operation"],
        target=row["target"],
        fields=fields,
        tier=Tier(row["effect_tier"]),
        reversible_by=row["reversible_by"],
        redact=row["redact"],
        idempotency_key=row["idempotency_key"],
        forgotten=row["forgotten"],
    )
    return acting.action(row["salt"])
