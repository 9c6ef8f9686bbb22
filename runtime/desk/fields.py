"""What people are shown of an action: its fields, without what nobody may see."""

from collections.abc import Mapping
from typing import Any

from runtime.desk.model import FieldView
from runtime.model.approvals.approval import AskKind
from runtime.model.effects.action import Acting, Tier

_PLUMBING = ("approval_id", "channel", "groups", "title")
"""Params of a review that say how to ask, not what to look at."""


def shown_fields(row: Mapping[str, Any], kind: AskKind) -> tuple[FieldView, ...]:
    """Return the fields of an approval's effect, each with its present value where that was known.

    `row` has the effect's columns (its tier as `effect_tier`), the run's `salt`, and `digest` and `before` of the
    approval.
    """
    acting = Acting(
        connector=row["connector"],
        operation=row["operation"],
        target=row["target"],
        fields=row["fields"],
        tier=Tier(row["effect_tier"]),
        reversible_by=row["reversible_by"],
        redact=row["redact"],
        idempotency_key=row["idempotency_key"],
        forgotten=row["forgotten"],
    )
    action = acting.action(row["salt"])
    if action.digest != row["digest"]:
        return (FieldView("Do not approve", None, "The action was changed after this request was made."),)
    shown = {name: value for name, value in action.fields.items() if kind is not AskKind.TASK or name not in _PLUMBING}
    return tuple(FieldView(name, row["before"].get(name), value) for name, value in shown.items())
