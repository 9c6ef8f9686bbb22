"""Rules about leaves, whatever they tell: who they are by, and what they are about."""

from evidence import names
from evidence.verify.comparing import broken
from evidence.verify.facts import PROPOSED, Facts
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import APPROVAL_REQUESTED, EFFECT_EDITED, HELD_SETTLED, PROGRAM, Correlation, Leaf

_BY_OTHERS = frozenset(
    {
        "run.queued",
        "run.cancel_requested",
        "run.retry_requested",
        "vote.counted",
        "vote.refused",
        EFFECT_EDITED,
        "vote.withdrawn",
        "approval.handed",
        "question.asked",
        "question.answered",
        "task.claimed",
        "task.released",
        "wait.completed",
        "wait.progress",
        "notification.refused",
        HELD_SETTLED,
    }
)


@rule(
    "leaves.actors",
    "A leaf is by `countersign`, a system, but for those of the events that tell what others asked for, answered or"
    " said: `run.queued`, `run.cancel_requested`, `run.retry_requested`, `vote.counted`, `vote.refused`,"
    " `effect.edited`, `vote.withdrawn`, `approval.handed`, `question.asked`, `question.answered`, `task.claimed`,"
    " `task.released`, `wait.completed`, `wait.progress`, `notification.refused` and `held.settled`.",
)
def _actors(facts: Facts) -> str:
    for leaf in facts.leaves:
        if leaf.actor != PROGRAM and leaf.event not in _BY_OTHERS:
            raise broken(leaf, f"{leaf.event} is by {leaf.actor.id}, a {leaf.actor.kind}")
    return counted(len(facts.leaves), "leaf", "leaves")


@rule(
    "leaves.about",
    "The step that a leaf is about is in the definition: its path without the numbers is the `id` of a step, and what"
    " is repeated, and nothing else, has a number where others stand in it. Its effect was proposed, and its approval"
    " requested, by an earlier leaf or this one, for that step. Where `data` names an approval, it is that one; where"
    " a leaf has an approval and an effect, the one is the other's.",
)
def _about(facts: Facts) -> str:
    effects, approvals = dict[str, Correlation](), dict[str, Correlation]()
    for leaf in facts.leaves:
        about = leaf.correlation
        if leaf.event == PROPOSED:
            effects[str(about.effect_id)] = about
        if leaf.event == APPROVAL_REQUESTED:
            approvals[str(about.approval_id)] = about
        if about.step is not None and not facts.plan.knows(about.step):
            raise broken(leaf, f"no step {about.step} is in {names.DEFINITION}")
        if leaf.data.get("approval_id", about.approval_id) != about.approval_id:
            raise broken(leaf, f"is about approval {about.approval_id}, and names {leaf.data['approval_id']}")
        effect = _known(leaf, "effect", effects, about.effect_id)
        approval = _known(leaf, "approval", approvals, about.approval_id)
        if effect and approval and effect.effect_id != approval.effect_id:
            raise broken(leaf, f"approval {about.approval_id} is not of effect {about.effect_id}")
    return f"{counted(len(effects), 'effect')}, {counted(len(approvals), 'approval')}"


def _known(leaf: Leaf, what: str, known: dict[str, Correlation], named: str | None) -> Correlation | None:
    """Return what the leaf that first named an effect or an approval is about."""
    if named is None:
        return None
    if named not in known:
        raise broken(leaf, f"{what} {named} was not {'proposed' if what == 'effect' else 'requested'} before")
    if leaf.correlation.step not in (None, known[named].step):
        raise broken(leaf, f"{what} {named} is of step {known[named].step}, and not of {leaf.correlation.step}")
    return known[named]


RULES: tuple[Rule[Facts], ...] = (_actors, _about)
