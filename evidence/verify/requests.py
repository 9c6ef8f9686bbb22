"""Approval requests: what people were asked is what policy, a review or a doubt wanted.

Where those who were asked could not decide a request, it went to others as well (`approval.fell_back`).
"""

from evidence import names
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import DecisionForm, FellBack
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, duration_of, moment, rule, same
from receipts.chain import APPROVAL_REQUESTED, FELL_BACK
from receipts.fields import timestamp


def _count(facts: Facts) -> str:
    return counted(len(facts.approvals), "approval")


def _of_kind(facts: Facts, kind: str) -> list[Requested]:
    return [approval for approval in facts.approvals.values() if approval.record.kind == kind]


@rule(
    "approvals.as-told",
    "An approval is requested once. Its `step` and `requested_at` are those of the leaf of its request, and"
    " `expires_at` is later by its requirement's `expires_in`.",
)
def _as_told(facts: Facts) -> str:
    if len(facts.requests) > len(facts.approvals):
        raise BrokenError(names.AUDIT, "requests an approval twice")
    for approval in facts.approvals.values():
        record, leaf = approval.record, approval.leaf
        until = moment(record.requested_at) + duration_of(record.requirement.expires_in, approval.name)
        agree(
            approval.name,
            f"{names.AUDIT} line {leaf.seq}",
            step=(record.step, leaf.correlation.step or ""),
            requested_at=(record.requested_at, leaf.at),
            expires_at=(record.expires_at, timestamp(until)),
        )
    return _count(facts)


@rule(
    "approvals.of-policy",
    "An approval of kind `effect` follows a decision `needs_approval` about that effect and digest, on record at the"
    " same moment, with the same requirement, reasons and tier; its `purpose` is the description of the step's verb.",
)
def _of_policy(facts: Facts) -> str:
    found = _of_kind(facts, "effect")
    for approval in found:
        record = approval.record
        agree(
            approval.name,
            names.DEFINITION,
            purpose=(record.purpose, facts.verb(approval.leaf, record.step).description),
        )
        if not any(
            decision.leaf.seq < approval.leaf.seq
            and decision.leaf.at == approval.leaf.at
            and _asks_for(decision.record, approval)
            for decision in facts.decisions_about.get(record.effect_id, ())
        ):
            raise BrokenError(approval.name, "no decision before it asked for this approval")
    return counted(len(found), "approval")


def _asks_for(decision: DecisionForm, approval: Requested) -> bool:
    record, answer = approval.record, decision.answer
    return (decision.outcome, decision.input.effect.digest) == ("needs_approval", record.digest) and same(
        [answer.requirement, answer.reasons, answer.tier], [record.requirement, record.reasons, record.tier]
    )


@rule(
    "approvals.of-review",
    "An approval of kind `task` is the review of a step whose verb waits for a `human_task`: one person, of the groups"
    " in the effect's `fields`, within the `timeout` of the step, or else of its verb, unless it says `until`;"
    " `escalate_to` are those whom the `escalation` of the step, or else of its verb, asks. `tier` and `purpose` are"
    " the verb's, and the digest is that of the effect that posts it.",
)
def _of_review(facts: Facts) -> str:
    found = _of_kind(facts, "task")
    for approval in found:
        record, required = approval.record, approval.record.requirement
        verb = facts.verb(approval.leaf, record.step)
        posted = [decision.record.input.effect for decision in facts.decisions_about.get(record.effect_id, ())]
        is_timed = facts.plan.node(str(record.step)).until is None
        timeout = verb.execution.timeout if is_timed else required.expires_in
        groups = [effect.fields.get("groups", []) for effect in posted if effect.digest == record.digest]
        agree(
            approval.name,
            names.DEFINITION,
            wait=("human_task", verb.execution.wait),
            tier=(record.tier, verb.effect.tier),
            purpose=(record.purpose, verb.description),
            time=(duration_of(required.expires_in, approval.name), duration_of(timeout, names.DEFINITION)),
            escalate_to=(required.escalate_to, verb.execution.next_in_line),
        )
        one = (required.quorum, required.all_groups, required.exclude, required.reason_required)
        agree(approval.name, "a review", requirement=(one, (1, False, [], False)))
        if required.groups not in groups:
            raise BrokenError(approval.name, "asks other groups than the effect that posted it")
    return counted(len(found), "approval")


@rule(
    "approvals.of-doubt",
    "An approval of kind `in_doubt` follows a receipt `in_doubt` of its effect and digest; it asks one person, for a"
    " reason.",
)
def _of_doubt(facts: Facts) -> str:
    found = _of_kind(facts, "in_doubt")
    for approval in found:
        record, required = approval.record, approval.record.requirement
        one = (required.quorum, required.all_groups, required.exclude, required.reason_required, required.escalate_to)
        agree(approval.name, "a question of doubt", requirement=(one, (1, False, [], True, [])))
        if not any(
            (one.record.outcome, one.record.fingerprint) == ("in_doubt", record.digest)
            and one.leaf.seq < approval.leaf.seq
            for one in facts.receipts_of.get(record.effect_id, ())
        ):
            raise BrokenError(approval.name, f"nothing of effect {record.effect_id} was in doubt before")
    return counted(len(found), "approval")


@rule(
    "approvals.doubt-answered",
    "Where people say of an attempt in doubt that it happened (`approved`), a receipt of its effect says `success` at"
    " that moment, in a later line; where they say that it did not (`rejected`), each later `success` of its effect"
    " rests on a decision that came after their answer.",
)
def _doubt_answered(facts: Facts) -> str:
    answered = [one for one in _of_kind(facts, "in_doubt") if one.record.status in ("approved", "rejected")]
    for approval in answered:
        _check_answer(facts, approval)
    return counted(len(answered), "answer")


def _check_answer(facts: Facts, approval: Requested) -> None:
    """Raise unless the receipts after the end of a question of doubt say what people answered."""
    record, end = approval.record, approval.end
    if end is None:
        raise BrokenError(approval.name, f"is {record.status}, and did not end")
    later = [
        one
        for one in facts.receipts_of.get(record.effect_id, ())
        if one.record.outcome == "success" and one.leaf.seq > end.seq
    ]
    if record.status == "approved" and not any(one.leaf.at == end.at for one in later):
        raise BrokenError(approval.name, f"people say that effect {record.effect_id} happened, and no receipt does")
    for one in later if record.status == "rejected" else ():
        decided = facts.decided.get(str(one.record.decision_id))
        if decided is None or decided.leaf.seq < end.seq:
            raise BrokenError(one.name, f"says success, and people had said in line {end.seq} that it did not happen")


TOLD: tuple[Rule[Facts], ...] = (_as_told,)
RULES: tuple[Rule[Facts], ...] = (_of_policy, _of_review, _of_doubt, _doubt_answered)


@rule(
    "approvals.fell-back",
    "An `approval.fell_back` says `why`, and `to` whom. It is the first leaf about its approval after that of the"
    " request, and has its moment.",
)
def _fell_back(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(FELL_BACK)
    for leaf in leaves:
        about = facts.contents.leaves_about[data_of(FellBack, leaf).approval_id]
        before = about[about.index(leaf) - 1]
        if (before.event, before.at) != (APPROVAL_REQUESTED, leaf.at):
            raise broken_leaf(leaf, "does not come first after the request")
    return counted(len(leaves), "request")


FALLBACK: tuple[Rule[Facts], ...] = (_fell_back,)
