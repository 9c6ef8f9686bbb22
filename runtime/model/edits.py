"""Requests that were edited and resubmitted: who changed which params of an action before it was approved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.canonical import dumps
from receipts.fields import timestamp

Change = Mapping[str, Any]
"""Of one param (`param`): its value `before` and `after`; a member is left out where it was, or is, not given."""


@dataclass(frozen=True)
class Edit:
    """One person's edit. It voids the approval and makes the action anew; `team` and `account` are who clicked."""

    approval_id: str  # that it voided
    effect_id: str
    person: str
    person_name: str
    groups: Sequence[str]  # of the person, then
    reason: str
    team: str
    account: str
    replaced: str  # digest of the action as it was
    digest: str  # and as it is since
    changes: Sequence[Change]
    at: datetime

    def document(self) -> dict[str, Any]:
        """Return the edit as evidence has it."""
        return {
            "person": self.person,
            "person_name": self.person_name,
            "groups": list(self.groups),
            "reason": self.reason,
            "slack": {"team": self.team, "user": self.account},
            "from": self.replaced,
            "to": self.digest,
            "changes": [dict(change) for change in self.changes],
            "at": timestamp(self.at),
        }


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return what is another in the fields of an action, by the params' names; 1 and 1.0 are the same number."""
    return [
        {"param": name, **_given("before", before, name), **_given("after", after, name)}
        for name in sorted({*before, *after})
        if (name in before) != (name in after) or dumps(before.get(name)) != dumps(after.get(name))
    ]


def as_before(fields: Mapping[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """Return the fields of an action as they were before changes that were made to them."""
    kept = {name: value for name, value in fields.items() if name not in {change["param"] for change in changes}}
    return kept | {change["param"]: change["before"] for change in changes if "before" in change}


def _given(what: str, fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {what: fields[name]} if name in fields else {}
