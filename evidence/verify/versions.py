"""Rules about what edits make of an effect: what is another, that policy was told of it, and who then may not sign."""

from collections.abc import Mapping
from typing import Any

from evidence.verify.contents import BrokenError
from evidence.verify.edits import Edited, count_edits, edits_of
from evidence.verify.facts import Decided, Facts, Requested
from evidence.verify.forms import ToldEdits
from evidence.verify.rules import Rule, counted, rule
from receipts import canonical


@rule(
    "edits.changes",
    "The `changes` of an edit are of params that the step's verb names as `editable`, each once, and another value"
    " `after` than `before`. The `fields` of which policy was told with the digest `from` before it, and of which it"
    " was told first after it, differ in these and nothing else.",
)
def _changes(facts: Facts) -> str:
    for edit in edits_of(facts):
        verb = facts.verb(edit.leaf, edit.approval.record.step)
        params = [change.param for change in edit.record.changes]
        if len(set(params)) < len(params) or not set(params) <= set(verb.editable):
            raise BrokenError(edit.approval.name, f"edits {', '.join(params)}, and its verb does not let anybody")
        _check_values(facts, edit)
    return count_edits(facts)


def _check_values(facts: Facts, edit: Edited) -> None:
    """Raise unless policy was told before and after what the edit says; after it, policy may not have been asked."""
    record, changes = edit.record, [change.model_dump() for change in edit.record.changes]
    if any(_value(change, "before") == _value(change, "after") for change in changes):
        raise BrokenError(edit.approval.name, "edits a param to what it was")
    of_effect = [one for one in facts.decisions if one.record.effect_id == edit.approval.record.effect_id]
    earlier = [one for one in of_effect if one.leaf.seq < edit.leaf.seq and _digest(one) == record.before][-1:]
    later = [one for one in of_effect if one.leaf.seq > edit.leaf.seq and _digest(one) == record.after][:1]
    for decisions, when in ((earlier, "before"), (later, "after")):
        for decision in decisions:
            _check_told(edit, decision, changes, when)
    rests = {_rest(one, {change["param"] for change in changes}) for one in (*earlier, *later)}
    if len(rests) > 1:
        raise BrokenError(edit.approval.name, f"{later[0].name} was told of more than the edit changed")


def _check_told(edit: Edited, decision: Decided, changes: list[dict[str, Any]], when: str) -> None:
    fields = decision.record.input.effect.fields
    for change in changes:
        if _value(change, when) != _value(fields, change["param"]):
            raise BrokenError(edit.approval.name, f"{decision.name} was told another {change['param']} {when} the edit")


@rule(
    "edits.told",
    "Policy was told of edits (`edited`) if, and only if, the effect had been edited: by whom (`by`), each once in"
    " their order, and in `requested` what the run had asked for in the place of what they changed.",
)
def _told(facts: Facts) -> str:
    made = list(edits_of(facts))
    for decision in facts.decisions:
        before = [edit for edit in made if _is_before(edit, decision)]
        if _said(decision.record.input.edited) != canonical.dumps(_expected(before)):
            raise BrokenError(decision.name, "policy was told of other edits than were made of the effect")
    return counted(len(facts.decisions), "decision")


def _is_before(edit: Edited, decision: Decided) -> bool:
    return edit.approval.record.effect_id == decision.record.effect_id and edit.leaf.seq < decision.leaf.seq


def _said(edited: ToldEdits | None) -> bytes:
    return canonical.dumps(edited and edited.model_dump())


def _expected(edits: list[Edited]) -> dict[str, Any] | None:
    first: dict[str, dict[str, Any]] = {}
    for change in (change.model_dump() for edit in edits for change in edit.record.changes):
        first.setdefault(change["param"], change)
    requested = {name: change["before"] for name, change in first.items() if "before" in change}
    by = list(dict.fromkeys(edit.record.person for edit in edits))
    return {"by": by, "requested": requested} if edits else None


@rule(
    "edits.apart",
    "What people are asked about an effect that was edited excludes (`exclude`) everybody who edited it before, or says"
    " that they may sign (`editors_may_sign`).",
)
def _apart(facts: Facts) -> str:
    for edit in edits_of(facts):
        for approval in facts.approvals.values():
            if _is_later(approval, edit) and not _lets(approval, edit.record.person):
                raise BrokenError(approval.name, f"does not exclude {edit.record.person}, who had edited the effect")
    return count_edits(facts)


def _is_later(approval: Requested, edit: Edited) -> bool:
    asked = (approval.record.kind, approval.record.effect_id) == ("effect", edit.approval.record.effect_id)
    return asked and approval.leaf.seq > edit.leaf.seq


def _lets(approval: Requested, person: str) -> bool:
    required = approval.record.requirement
    return person in required.exclude or (required.model_extra or {}).get("editors_may_sign") is True


def _digest(decision: Decided) -> str:
    return decision.record.input.effect.digest


def _value(values: Mapping[str, Any], name: str) -> bytes:
    """Return a member in canonical JSON, nothing where it is not given."""
    return canonical.dumps(values[name]) if name in values else b""


def _rest(decision: Decided, changed: set[str]) -> bytes:
    fields = decision.record.input.effect.fields
    return canonical.dumps({name: value for name, value in fields.items() if name not in changed})


RULES: tuple[Rule[Facts], ...] = (_changes, _told, _apart)
