"""The verifier's procedure: twelve steps, each a list of rules, in the order in which they are looked at.

Steps 1 to 4 are about the file and its signature, and stand in `verify`; the others are about what was signed.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evidence import names
from evidence.verify import action_windows as windows
from evidence.verify import (
    answers,
    approvals,
    attempts,
    authority,
    blocks,
    branches,
    chain,
    children,
    decisions,
    edits,
    effects,
    errors,
    escalations,
    glass,
    leaves,
    logged,
    order,
    outcome,
    passkeys,
    policies,
    questions,
    reach,
    reads,
    record,
    requests,
    runs,
    shown,
    stamped,
    standing_in,
    steps,
    tasks,
    texts,
    versions,
    voters,
    votes,
    waits,
)
from evidence.verify import held_steps as held
from evidence.verify import wait_words as words
from evidence.verify.contents import Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule


@dataclass(frozen=True)
class Step:
    """Rules for every format, those for format 2 and later (`bound`), and what is told where they hold."""

    number: int
    rules: tuple[Rule[Contents], ...]
    bound: tuple[Rule[Facts], ...]
    fact: Callable[[Contents], str]


def _run(contents: Contents) -> str:
    run = contents.run
    return f"run {run.run_id} executed {run.definition.name} version {run.definition.version}, and ended {run.word}"


def _chain(contents: Contents) -> str:
    log = "" if contents.version == 1 else f"; {logged.told(contents)}; {stamped.told(contents)}"
    return f"{contents.run.sealed_seq} audit leaves, unbroken to {contents.run.audit_head}{log}"


def _record(contents: Contents) -> str:
    votes = sum(len(approval.votes) for approval in contents.approvals.values())
    reads = f"{len(contents.reads)} reads, " if contents.version > 1 else ""
    return (
        f"{len(contents.decisions)} decisions, {len(contents.receipts)} receipts, {reads}{len(contents.approvals)} "
        f"approvals and {votes} votes are those that the chain names"
    )


def _authority(contents: Contents) -> str:
    receipts = authority.acted(contents).values()
    approved = sum(receipt.approval_id is not None for receipt in receipts)
    return f"{len(receipts)} effects were allowed by policy, {approved} of them approved by people"


def _policies(contents: Contents) -> str:
    return f"{len(policies.texts(contents))} policies, in the words that decided"


def _order(contents: Contents) -> str:
    keys = {receipt.idempotency_key for receipt in authority.acted(contents).values()}
    return f"{len(keys)} idempotency keys, each for one effect, which came after its decision and its votes"


def _ending(contents: Contents) -> str:
    run, writes = contents.run, outcome.count_writes(contents)
    recorded = f", {reads.count_done(contents)} reads their records" if contents.version > 1 else ""
    return f"asked for by {run.requested_by}, and {run.word}; {writes} writes have their receipts{recorded}"


def _texts(contents: Contents) -> str:
    more = f"{names.SUMMARY}, {names.TIMELINE}, {names.COSTS}" if contents.version > 1 else names.TIMELINE
    return f"{more} and {names.README} tell what the records tell"


STEPS = (
    Step(5, (chain.run_stated, chain.definition_digest), (), _run),
    Step(
        6,
        (chain.leaf_size, chain.unbroken, chain.of_format, logged.counted_then),
        (chain.in_time, chain.ended, chain.run_as_leaves_tell, *leaves.RULES, *logged.RULES, stamped.stamped),
        _chain,
    ),
    Step(
        7,
        (
            *(record.decisions, record.receipts, record.receipts_of_run, reads.untold),
            *(record.as_answered, record.approvals, record.card_size),
        ),
        (record.bound, *reads.TOLD, *decisions.RULES, *attempts.RULES, *requests.TOLD, *votes.TOLD, *edits.TOLD),
        _record,
    ),
    Step(
        8,
        (authority.allowed, authority.as_decided, authority.consent, authority.approved, authority.of_votes),
        (
            *(*votes.RULES, *voters.RULES, *standing_in.RULES, *answers.RULES, *glass.RULES, *passkeys.RULES),
            *(*questions.RULES, *tasks.RULES, *reach.RULES),
            *(*requests.RULES, *approvals.RULES),
            *(*edits.RULES, *versions.RULES),
            *windows.RULES,
            *(*shown.RULES, *standing_in.RECORDED),
        ),
        _authority,
    ),
    Step(9, (policies.digest_of_each, policies.there, policies.used), (), _policies),
    Step(
        10,
        (order.lasting, order.keys_once, order.after_decision, order.after_votes),
        (*waits.RULES, *children.RULES, *escalations.RULES, *words.RULES),
        _order,
    ),
    Step(
        11,
        (outcome.queued, outcome.ended, outcome.writes_have_receipts),
        (
            *runs.MOVES,
            *steps.RULES,
            *blocks.RULES,
            *errors.RULES,
            *branches.RULES,
            *held.RULES,
            *runs.OUTCOME,
            *effects.RULES,
            *reads.DONE,
        ),
        _ending,
    ),
    Step(12, (texts.timeline_follows, texts.readme_follows), (*reads.COSTS, *texts.SUMMARY), _texts),
)
