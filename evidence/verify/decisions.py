"""Policy decisions: each is of this run, about the effect that was proposed, and what its leaf says.

Step 9 of the procedure is about the policies, in the words that decided.
"""

from datetime import timedelta

from evidence import names
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Decided, Facts
from evidence.verify.rules import Rule, agree, counted, moment, rule
from receipts import canonical

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


@rule(
    "decisions.named",
    "Nobody signs who policy was told is named in fields of the effect (`named`: ids by field, null where somebody was"
    " not known): each is among the `exclude` of the requirement, where people are asked, and all are known then.",
)
def _named(facts: Facts) -> str:
    asking = [decision for decision in facts.decisions if decision.record.input.named]
    for decision in asking:
        named, requirement = decision.record.input.named or {}, decision.record.answer.requirement
        if requirement is None:
            continue
        if unknown := sorted(path for path, people in named.items() if people is None):
            raise BrokenError(decision.name, f"asks people, and it was not known who is named in {unknown[0]}")
        if left := sorted({one for people in named.values() for one in people or ()}.difference(requirement.exclude)):
            raise BrokenError(decision.name, f"lets {left[0]} sign, who is named in the effect")
    return counted(len(asking), "decision")


_CONFIG = "countersign_config."


@rule(
    "decisions.rules",
    "Where an answer names the rules behind it (`rules`), each stands once, in the order of their characters, as its"
    " path, `#` and a code: these are the codes of the answer's reasons, all of them and no others. Only beside a"
    " requirement may members of the configuration stand among them (`countersign_config.…`).",
)
def _rules(facts: Facts) -> str:
    naming = [decision for decision in facts.decisions if decision.record.answer.rules is not None]
    for decision in naming:
        answer = decision.record.answer
        named = answer.rules or []
        if named != sorted(set(named)):
            raise BrokenError(decision.name, "its rules are not each there once, in order")
        stated = {name for name in named if name.startswith(_CONFIG)}
        if stated and answer.requirement is None:
            raise BrokenError(decision.name, f"states no requirement, and names {min(stated)}")
        if {name.partition("#")[2] for name in named if name not in stated} != {each.code for each in answer.reasons}:
            raise BrokenError(decision.name, "its rules are not those of its reasons")
    return counted(len(naming), "decision")


RULES: tuple[Rule[Facts], ...] = (_as_told, _of_run, _of_effect, _tier, _named, _rules)


def policy_texts(contents: Contents) -> dict[str, dict[str, str]]:
    """Return the policies of the bundle: file name to text, by the digest that the folder is named after."""
    found: dict[str, dict[str, str]] = {}
    for name in contents.folder(names.POLICIES):
        _, digest, file = name.split("/", 2) if name.count("/") > 1 else ("", "", name)
        try:
            found.setdefault(digest, {})[file] = contents.members[name].decode()
        except UnicodeDecodeError as error:
            raise BrokenError(name, "is not UTF-8 text") from error
    return found


@rule("policies.digest", "Each policy folder is named after the digest that its files give.")
def policy_digests(contents: Contents) -> str:
    """Compare each policy with its digest."""
    found = policy_texts(contents)
    for digest, files in found.items():
        if canonical.digest(files) != digest:
            raise BrokenError(f"{names.POLICIES}/{digest}", "its files do not give the digest that it is named after")
    return counted(len(found), "policy", "policies")


@rule("policies.there", "The policy of each decision is in the bundle.")
def policies_there(contents: Contents) -> str:
    """Look for the policy of each decision."""
    found = policy_texts(contents)
    for name, decision in contents.decisions.items():
        if decision.policy_digest not in found:
            raise BrokenError(name, f"its policy {decision.policy_digest} is not in the bundle")
    return counted(len(contents.decisions), "decision")


@rule("policies.used", "Each policy of the bundle made a decision.")
def policies_used(contents: Contents) -> str:
    """Look for a decision by each policy."""
    found = policy_texts(contents)
    for digest in sorted(found.keys() - {decision.policy_digest for decision in contents.decisions.values()}):
        raise BrokenError(f"{names.POLICIES}/{digest}", "no decision was made by it")
    return counted(len(found), "policy", "policies")
