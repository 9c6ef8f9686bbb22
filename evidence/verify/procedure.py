"""The verifier's procedure: twelve steps, each a list of rules, in the order in which they are looked at.

Steps 1 to 4 are about the file and its signature, and stand in `verify`; the others are about what was signed.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evidence import names
from evidence.verify import (
    approvals,
    attempts,
    audit_log,
    authority,
    break_glass,
    budgets,
    cards,
    chain,
    child_runs,
    control_flow,
    decisions,
    delegations,
    edits,
    effects,
    escalations,
    execution_windows,
    members,
    passkey_votes,
    questions,
    reads,
    request_actions,
    requests,
    runs,
    step_repairs,
    steps,
    votes,
    waits,
)
from evidence.verify.contents import Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule


@dataclass(frozen=True)
class Step:
    """Rules about the members, those about the facts that they give (`bound`), and what is told where they hold."""

    number: int
    rules: tuple[Rule[Contents], ...]
    bound: tuple[Rule[Facts], ...]
    fact: Callable[[Contents], str]


def _run(contents: Contents) -> str:
    run = contents.run
    return f"run {run.run_id} executed {run.definition.name} version {run.definition.version}, and ended {run.word}"


def _chain(contents: Contents) -> str:
    log = f"; {audit_log.log_fact(contents)}; {audit_log.stamp_fact(contents)}"
    return f"{contents.run.sealed_seq} audit leaves, unbroken to {contents.run.audit_head}{log}"


def _record(contents: Contents) -> str:
    votes = sum(len(approval.votes) for approval in contents.approvals.values())
    return (
        f"{len(contents.decisions)} decisions, {len(contents.receipts)} receipts, {len(contents.reads)} reads, "
        f"{len(contents.approvals)} approvals and {votes} votes are those that the chain names"
    )


def _authority(contents: Contents) -> str:
    receipts = authority.acted(contents).values()
    approved = sum(receipt.approval_id is not None for receipt in receipts)
    return f"{len(receipts)} effects were allowed by policy, {approved} of them approved by people"


def _policies(contents: Contents) -> str:
    return f"{len(decisions.policy_texts(contents))} policies, in the words that decided"


def _order(contents: Contents) -> str:
    keys = {receipt.idempotency_key for receipt in authority.acted(contents).values()}
    return f"{len(keys)} idempotency keys, each for one effect, which came after its decision and its votes"


def _ending(contents: Contents) -> str:
    run, writes = contents.run, runs.count_writes(contents)
    recorded = f"{writes} writes have their receipts, {reads.count_done(contents)} reads their records"
    return f"asked for by {run.requested_by}, and {run.word}; {recorded}"


def _texts(_: Contents) -> str:
    return f"{names.SUMMARY}, {names.TIMELINE}, {names.COSTS} and {names.README} tell what the records tell"


STEPS = (
    Step(5, (chain.run_stated, chain.definition_digest), (), _run),
    Step(
        6,
        (chain.leaf_size, chain.unbroken, chain.of_format, audit_log.key_counted),
        (chain.in_time, chain.ended, chain.run_as_leaves_tell, *chain.LEAVES, *audit_log.RULES, audit_log.stamped),
        _chain,
    ),
    Step(
        7,
        (
            *(members.decisions_on_record, members.receipts_on_record, members.receipts_of_run),
            *(members.as_answered, members.approvals_on_record, members.card_size),
        ),
        (
            members.approvals_bound,
            *reads.TOLD,
            *decisions.RULES,
            *attempts.RULES,
            *requests.TOLD,
            *votes.TOLD,
            *edits.TOLD,
        ),
        _record,
    ),
    Step(
        8,
        (authority.allowed, authority.as_decided, authority.consent, authority.approved, authority.of_votes),
        (
            *(
                *votes.RULES,
                *votes.VOTERS,
                *delegations.RULES,
                *request_actions.RULES,
                *break_glass.RULES,
                *passkey_votes.RULES,
            ),
            *(*questions.RULES, *request_actions.REVIEWS, *requests.FALLBACK),
            *(*requests.RULES, *approvals.RULES),
            *(*edits.RULES, *edits.CHANGES),
            *execution_windows.RULES,
            *budgets.RULES,
            *(*cards.RULES, *delegations.RECORDED),
        ),
        _authority,
    ),
    Step(9, (decisions.policy_digests, decisions.policies_there, decisions.policies_used), (), _policies),
    Step(
        10,
        (attempts.lasting, attempts.keys_once, attempts.after_decision, attempts.after_votes),
        (*waits.RULES, *child_runs.RULES, *escalations.RULES, *waits.PROGRESS),
        _order,
    ),
    Step(
        11,
        (runs.queued, runs.ended, runs.writes_have_receipts),
        (
            *runs.MOVES,
            *steps.RULES,
            *control_flow.BLOCKS,
            *steps.ERRORS,
            *control_flow.BRANCHES,
            *step_repairs.RULES,
            *runs.OUTCOME,
            *effects.RULES,
            *reads.DONE,
        ),
        _ending,
    ),
    Step(12, (members.timeline_follows, members.readme_follows), (*reads.COSTS, *members.SUMMARY), _texts),
)
