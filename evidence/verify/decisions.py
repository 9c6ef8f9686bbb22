"""Rules about decisions: each is of this run, about the effect that was proposed, and what its leaf says."""

from datetime import timedelta

from evidence import names
from evidence.verify.comparing import agree, moment
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Decided, Facts
from evidence.verify.rules import Rule, counted, rule

_BETWEEN = timedelta(hours=1)
"""How far the moment of a question and that of its leaf may lie apart: clocks differ, and processes are held up."""


@rule(
    "decisions.as-told",
    "No two decisions have one id, and each names OPA's version. A decision's `run_id`, `step` (empty for none),"
    " `effect_id`, `outcome` and the codes of its answer's reasons are those of its leaf. Its answer states a"
    " requirement if, and only if, it asks for approval.",
)
def _as_told(facts: Facts) -> str:
    for decision in facts.decisions:
        record, leaf = decision.record, decision.leaf
        if facts.decided[record.id] is not decision:
            raise BrokenError(decision.name, f"another decision has the id {record.id}, too")
        agree(
            decision.name,
            f"{names.AUDIT} line {leaf.seq}",
            run_id=(record.run_id, leaf.run_id),
            step=(record.step, leaf.correlation.step or ""),
            effect_id=(record.effect_id, leaf.correlation.effect_id),
            outcome=(record.outcome, leaf.data.get("outcome")),
            reasons=([reason.code for reason in record.answer.reasons], leaf.data.get("reasons")),
        )
        if (record.answer.requirement is not None) != (record.outcome == "needs_approval"):
            raise BrokenError(decision.name, f"says {record.outcome}, and its requirement says otherwise")
    return counted(len(facts.decisions), "decision")


@rule(
    "decisions.of-run",
    "Policy was told of this run: its id, tenant, definition's name and version, type of trigger, who requested it"
    " (`id` and `kind`) and who submitted it, as `run.queued` has them; and of the step and the time of the decision:"
    " `time` is within an hour of its leaf's.",
)
def _of_run(facts: Facts) -> str:
    first, queued = facts.leaves[0], facts.leaves[0].data
    for decision in facts.decisions:
        asked = decision.record.input
        agree(
            decision.name,
            f"{names.AUDIT} line 1",
            **{
                "input.run.id": (asked.run.id, first.run_id),
                "input.tenant": (asked.tenant, queued.get("tenant")),
                "input.run.definition": (asked.run.definition, queued.get("definition_name")),
                "input.run.version": (asked.run.version, queued.get("definition_version")),
                "input.run.trigger_type": (asked.run.trigger_type, queued.get("trigger_type")),
                "input.actor.id": (asked.actor.id, first.actor.id),
                "input.actor.kind": (asked.actor.kind, first.actor.kind),
                "input.actor.submitted_by": (asked.actor.submitted_by, queued.get("submitted_by")),
            },
        )
        agree(decision.name, "the decision", **{"input.step": (asked.step, decision.record.step)})
        if abs(moment(asked.time) - moment(decision.leaf.at)) > _BETWEEN:
            raise BrokenError(decision.name, f"was asked at {asked.time}, and is on record at {decision.leaf.at}")
    return counted(len(facts.decisions), "decision")


@rule(
    "decisions.of-effect",
    "Policy was asked about the effect as it was proposed, or as it had been edited last (`effect.edited`, `to`): with"
    " that digest, and the proposal's action (`connector::operation`) and target; or, where the digest is another, an"
    " `approval.voided` says that it was `found`. The canonical action gives the digest (step 8 looks at it where"
    " something acted).",
)
def _of_effect(facts: Facts) -> str:
    found = {(leaf.correlation.effect_id, str(leaf.data.get("found"))) for leaf in facts.contents.leaves_of(_VOIDED)}
    for decision in facts.decisions:
        if (decision.record.effect_id, decision.record.input.effect.digest) not in found:
            _check_proposed(facts, decision)
    return counted(len(facts.decisions), "decision")


_VOIDED = "approval.voided"


def _check_proposed(facts: Facts, decision: Decided) -> None:
    leaf, proposal = facts.proposed[decision.record.effect_id]
    asked = decision.record.input.effect
    agree(
        decision.name,
        f"{names.AUDIT} line {leaf.seq}",
        **{
            "input.effect.digest": (asked.digest, facts.standing(decision.record.effect_id, decision.leaf.seq)),
            "input.effect.target": (asked.target, proposal.target),
            "action": (f"{asked.connector}::{asked.operation}", proposal.action),
        },
    )


_TIERS = ("low", "medium", "high")


@rule(
    "decisions.tier",
    "Policy may raise the tier of an effect, and never lowers it: the `tier` of an answer is no lower than that of the"
    " effect that it is about (`low`, `medium`, `high`).",
)
def _tier(facts: Facts) -> str:
    for decision in facts.decisions:
        declared, answered = decision.record.input.effect.tier, decision.record.answer.tier
        if declared not in _TIERS or _TIERS.index(answered) < _TIERS.index(declared):
            raise BrokenError(decision.name, f"takes an effect of tier {declared} for one of tier {answered}")
    return counted(len(facts.decisions), "decision")


RULES: tuple[Rule[Facts], ...] = (_as_told, _of_run, _of_effect, _tier)
