"""Edits: each is on record with the request that it voids, and by somebody who might have approved that.

And what edits make of an effect: what is another, that policy was told of it, and who then may not sign.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evidence import names
from evidence.verify.authority import electorate_of, requesters_of
from evidence.verify.contents import BrokenError, grouped
from evidence.verify.facts import Decided, Facts, Requested
from evidence.verify.forms import EditForm, ToldEdits
from evidence.verify.rules import Rule, agree, broken_leaf, counted, rule
from evidence.verify.votes import REASON_MIN
from receipts import canonical
from receipts.chain import Leaf


@dataclass(frozen=True)
class Edited:
    """An edit, its leaf, and the request that it voided."""

    approval: Requested
    record: EditForm
    leaf: Leaf


def edits_of(facts: Facts) -> Iterator[Edited]:
    """Give the edits in their order; raise where a leaf and a file do not name each other."""
    told = {name for name, approval in facts.approvals.items() if approval.record.edited is not None}
    for leaf in (leaf for leaves in facts.edits.values() for leaf in leaves):
        approval = facts.approvals.get(str(leaf.data.get("approval_id")))
        if approval is None or approval.record.edited is None or approval.record.id not in told:
            raise broken_leaf(leaf, "no request in the bundle tells of this edit")
        told.remove(approval.record.id)
        yield Edited(approval, approval.record.edited, leaf)
    for name in sorted(told):
        raise BrokenError(facts.approvals[name].name, f"tells of an edit, and {names.AUDIT} does not")


def count_edits(facts: Facts) -> str:
    """Say how many edits were looked at."""
    return counted(sum(map(len, facts.edits.values())), "edit")


@rule(
    "edits.as-told",
    "The approvals that tell of an edit (`edited`) are those that an `effect.edited` names, each once. The edit gives"
    " the leaf's `digest`, and says its `person`, by whom the leaf is, and its `from`, `to` and moment.",
)
def _as_told(facts: Facts) -> str:
    for edit in edits_of(facts):
        approval, record, leaf = edit.approval, edit.record, edit.leaf
        document = facts.contents.value(approval.name)["edited"]
        agree(
            approval.name,
            f"{names.AUDIT} line {leaf.seq}",
            person=(record.person, leaf.data.get("person")),
            editor=((record.person, "person"), (leaf.actor.id, leaf.actor.kind)),
            before=(record.before, leaf.data.get("from")),
            after=(record.after, leaf.data.get("to")),
            at=(record.at, leaf.at),
            edited=(canonical.digest(document), leaf.data.get("digest")),
            effect_id=(approval.record.effect_id, leaf.correlation.effect_id),
        )
    return count_edits(facts)


@rule(
    "edits.in-place",
    "What was edited is the effect as its approval asked about it, and as it was by then: the approval is of kind"
    " `effect`, its digest is `from`, and it ended as `canceled` with the line before, at the same moment.",
)
def _in_place(facts: Facts) -> str:
    for edit in edits_of(facts):
        record, leaf, end = edit.approval.record, edit.leaf, edit.approval.end
        ended = end and (end.event, end.seq, end.at)
        agree(
            edit.approval.name,
            f"{names.AUDIT} line {leaf.seq}",
            kind=(record.kind, "effect"),
            end=(ended, ("approval.canceled", leaf.seq - 1, leaf.at)),
            digest=(record.digest, edit.record.before),
            standing=(facts.standing(record.effect_id, leaf.seq), edit.record.before),
        )
    return count_edits(facts)


@rule(
    "edits.entitled",
    "Who edited a request might have approved it: before its `expires_at`, as it was moved, for a reason of three"
    " characters or more, as a member of a group that was asked by then, with no vote on it of their own or for them"
    " that was not withdrawn, and neither as requester or submitter of the run nor excluded.",
)
def _entitled(facts: Facts) -> str:
    for edit in edits_of(facts):
        if wrong := _why_not(facts, edit):
            raise BrokenError(edit.approval.name, f"the edit by {edit.record.person} does not count: {wrong}")
    return count_edits(facts)


def _why_not(facts: Facts, edit: Edited) -> str:
    record, said = edit.approval.record, edit.record
    if said.person in requesters_of(facts.contents, record) or said.person in record.requirement.exclude:
        return "they wanted it, or were excluded"
    if any(said.person in vote.record.people for vote in edit.approval.standing):
        return "they had voted"
    if said.at >= facts.until(record.id, record.expires_at, edit.leaf):
        return "it had expired"
    if len(said.reason.strip()) < REASON_MIN:
        return "it has no reason"
    asked = electorate_of(facts.contents, record)[said.person]
    return "" if asked & set(said.groups) else "they are in none of the groups that were asked"


TOLD: tuple[Rule[Facts], ...] = (_as_told,)
RULES: tuple[Rule[Facts], ...] = (_in_place, _entitled)


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
    of_effect = facts.decisions_about.get(edit.approval.record.effect_id, [])
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
    made = grouped(edits_of(facts), lambda edit: edit.approval.record.effect_id)
    for decision in facts.decisions:
        before = [edit for edit in made.get(decision.record.effect_id, ()) if edit.leaf.seq < decision.leaf.seq]
        if _said(decision.record.input.edited) != canonical.dumps(_expected(before)):
            raise BrokenError(decision.name, "policy was told of other edits than were made of the effect")
    return counted(len(facts.decisions), "decision")


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
        for approval in facts.approvals_about.get(edit.approval.record.effect_id, ()):
            if _is_later(approval, edit) and not _lets(approval, edit.record.person):
                raise BrokenError(approval.name, f"does not exclude {edit.record.person}, who had edited the effect")
    return count_edits(facts)


def _is_later(approval: Requested, edit: Edited) -> bool:
    return approval.record.kind == "effect" and approval.leaf.seq > edit.leaf.seq


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


CHANGES: tuple[Rule[Facts], ...] = (_changes, _told, _apart)
