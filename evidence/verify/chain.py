"""The audit chain: steps 5 and 6 of the procedure, which run the bundle is about, and its chain.

Leaves, whatever they tell, are by somebody who may tell it, and about something that is there.
"""

from itertools import pairwise

from evidence import names
from evidence.run_record import run_as_told
from evidence.statement import sha256
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import PROPOSED, Facts
from evidence.verify.rules import Rule, broken_leaf, counted, rule, same
from receipts import canonical
from receipts.chain import (
    APPROVAL_REQUESTED,
    EFFECT_EDITED,
    EVIDENCE_BEGUN,
    EVIDENCE_FORMAT,
    MAX_LINE,
    PROGRAM,
    REPAIR_DECIDED,
    ChainError,
    Correlation,
    Head,
    Leaf,
    verify_chain,
)


@rule(
    "run.stated",
    "`run.json` has the `run_id`, tenant, definition's digest, `sealed_seq` and `audit_head` of the predicate.",
)
def run_stated(contents: Contents) -> str:
    """Compare run.json with the statement."""
    run, predicate = contents.run, contents.predicate
    for what, of_run, of_statement in (
        ("run_id", run.run_id, predicate.run_id),
        ("tenant", run.tenant, predicate.tenant),
        ("definition.digest", run.definition.digest, predicate.definition_digest),
        ("sealed_seq", run.sealed_seq, predicate.sealed_seq),
        ("audit_head", run.audit_head, predicate.audit_head),
    ):
        if of_run != of_statement:
            raise BrokenError(names.RUN, f"{what} is {of_run}, where the statement says {of_statement}")
    return run.run_id


@rule("definition.digest", "The SHA-256 of `definition.json` is the definition's digest in `run.json`.")
def definition_digest(contents: Contents) -> str:
    """Compare definition.json with its digest."""
    digest = contents.run.definition.digest
    if sha256(contents.member(names.DEFINITION)) != digest:
        raise BrokenError(names.DEFINITION, f"its SHA-256 is not the digest that {names.RUN} names, {digest}")
    return digest


@rule("chain.leaf-size", f"A line of `audit.jsonl` has at most {MAX_LINE:,} bytes.")
def leaf_size(contents: Contents) -> str:
    """Look at the size of each line before any is read."""
    for number, line in enumerate(contents.lines(), start=1):
        if len(line) > MAX_LINE:
            raise BrokenError(names.AUDIT, f"line {number} has {len(line)} bytes, and may have {MAX_LINE}")
    return names.AUDIT


@rule(
    "chain.unbroken",
    "The leaves are this run's chain, from genesis to `audit_head` at `sealed_seq`: each hash is right, and each"
    " `prev_hash` is that of the leaf before.",
)
def unbroken(contents: Contents) -> str:
    """Verify the chain."""
    run = contents.run
    try:
        verify_chain(contents.leaves, Head(run.sealed_seq, run.audit_head), contents.lines())
    except ChainError as error:
        raise BrokenError(names.AUDIT, str(error)) from error
    if contents.leaves[0].run_id != run.run_id:
        raise BrokenError(names.AUDIT, f"is the chain of run {contents.leaves[0].run_id}")
    return counted(run.sealed_seq, "leaf", "leaves")


@rule("chain.format", "The format that the statement names is the one that the first leaf names.")
def of_format(contents: Contents) -> str:
    """Compare the format of the leaves with the one that the statement's type names."""
    told = contents.leaves[0].data.get("format")
    if not same(told, EVIDENCE_FORMAT):
        raise BrokenError(names.STATEMENT, f"is of format {EVIDENCE_FORMAT}, and the chain of format {told}")
    return f"format {EVIDENCE_FORMAT}"


@rule("chain.in-time", "No leaf's `at` is before that of the leaf before it.")
def in_time(facts: Facts) -> str:
    """Look at the order of time."""
    for before, after in pairwise(facts.leaves):
        if after.at < before.at:
            raise BrokenError(names.AUDIT, f"line {after.seq} is earlier than the line before it")
    return f"{facts.leaves[0].at} to {facts.leaves[-1].at}"


@rule("chain.ended", "The last leaf is `evidence.begun`.")
def ended(facts: Facts) -> str:
    """Look at the end of the chain."""
    if facts.leaves[-1].event != EVIDENCE_BEGUN:
        raise BrokenError(names.AUDIT, f"does not end with {EVIDENCE_BEGUN}: its end was cut off")
    return EVIDENCE_BEGUN


@rule("run.as-told", "`run.json` is, byte for byte, the run as its leaves tell it.")
def run_as_leaves_tell(facts: Facts) -> str:
    """Compare run.json with what the leaves tell."""
    if facts.contents.member(names.RUN) != canonical.dumps(run_as_told(facts.leaves)):
        raise BrokenError(names.RUN, f"is not the run that {names.AUDIT} tells")
    return names.RUN


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
        REPAIR_DECIDED,
    }
)


@rule(
    "leaves.actors",
    "A leaf is by `countersign`, a system, but for those of the events that tell what others asked for, answered or"
    " said: `run.queued`, `run.cancel_requested`, `run.retry_requested`, `vote.counted`, `vote.refused`,"
    " `effect.edited`, `vote.withdrawn`, `approval.handed`, `question.asked`, `question.answered`, `task.claimed`,"
    " `task.released`, `wait.completed`, `wait.progress`, `notification.refused` and `repair.decided`.",
)
def _actors(facts: Facts) -> str:
    for leaf in facts.leaves:
        if leaf.actor != PROGRAM and leaf.event not in _BY_OTHERS:
            raise broken_leaf(leaf, f"{leaf.event} is by {leaf.actor.id}, a {leaf.actor.kind}")
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
            raise broken_leaf(leaf, f"no step {about.step} is in {names.DEFINITION}")
        if leaf.data.get("approval_id", about.approval_id) != about.approval_id:
            raise broken_leaf(leaf, f"is about approval {about.approval_id}, and names {leaf.data['approval_id']}")
        effect = _known(leaf, "effect", effects, about.effect_id)
        approval = _known(leaf, "approval", approvals, about.approval_id)
        if effect and approval and effect.effect_id != approval.effect_id:
            raise broken_leaf(leaf, f"approval {about.approval_id} is not of effect {about.effect_id}")
    return f"{counted(len(effects), 'effect')}, {counted(len(approvals), 'approval')}"


def _known(leaf: Leaf, what: str, known: dict[str, Correlation], named: str | None) -> Correlation | None:
    """Return what the leaf that first named an effect or an approval is about."""
    if named is None:
        return None
    if named not in known:
        raise broken_leaf(leaf, f"{what} {named} was not {'proposed' if what == 'effect' else 'requested'} before")
    if leaf.correlation.step not in (None, known[named].step):
        raise broken_leaf(leaf, f"{what} {named} is of step {known[named].step}, and not of {leaf.correlation.step}")
    return known[named]


LEAVES: tuple[Rule[Facts], ...] = (_actors, _about)
