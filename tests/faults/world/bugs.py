"""Bugs that a test of the checker plants in our program: each takes away one rule on which everything rests."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import runtime.gate.gate as gate_module
import runtime.inbox.votes as votes_module
from evidence.s3 import S3Archive
from policy.contract import Question
from runtime.approvals.rules import tally
from runtime.model.notification import ApplyResult
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus, NotificationStatus
from runtime.outbox.attempts import Attempt, make_question
from runtime.planning import triggers
from runtime.store import budgets, effects, records

Patch = Callable[[Any, str, Any], None]


class Bug(StrEnum):
    """What is wrong."""

    NO_FENCE = "no_fence"  # a worker that slept past its lease calls the connector all the same
    NO_DEDUPE = "no_dedupe"  # a trigger that is sent again starts another run
    DOUBT_CLEARED_AT_ONCE = "doubt_cleared_at_once"  # what has not landed yet is taken for never to land
    VOTE_COUNTED_TWICE = "vote_counted_twice"
    COMMIT_LEFT_OUT = "commit_left_out"  # that an attempt begins is not written before the connector is called
    VOTE_LOST = "vote_lost"  # a person is told that their vote counts, and it is not written
    BUNDLE_UNLOCKED = "bundle_unlocked"  # a bundle is stored without its retention
    BUDGET_EXCEEDED = "budget_exceeded"  # what is left of a budget is not looked at when something is taken of it
    NO_POLICY_FENCE = "no_policy_fence"  # a decision is written, whichever version of the policy is in force


def plant(bug: Bug, patch: Patch = setattr) -> None:
    """Plant a bug in this process."""
    _PLANTERS[bug](patch)


def _no_fence(patch: Patch) -> None:
    act = gate_module._Gate.act

    async def act_anyway(gate: Any) -> None:
        gate.attempt.started_at = gate.engine.clock()
        await act(gate)

    patch(gate_module._Gate, "act", act_anyway)


def _no_dedupe(patch: Patch) -> None:
    claim_all = triggers.claim_all

    async def claim_anew(engine: Any, wanted: Any) -> Any:
        refs = [f"{one.trigger.ref}#{secrets.token_hex(4)}" for one in wanted]
        named = [replace(one, trigger=replace(one.trigger, ref=ref)) for one, ref in zip(wanted, refs, strict=True)]
        return await claim_all(engine, named)

    patch(triggers, "claim_all", claim_anew)


def _doubt_cleared_at_once(patch: Patch) -> None:
    patch(Attempt, "may_land", lambda _attempt, _now: False)


def _vote_counted_twice(patch: Patch) -> None:
    def tally_twice(requirement: Requirement, votes: Sequence[Any]) -> ApprovalStatus:
        return tally(requirement, [*votes, *(vote._replace(person=f"{vote.person}-again") for vote in votes)])

    def ask_twice(attempt: Attempt, now: Any) -> Question:
        question = make_question(attempt, now)
        again = [vote.model_copy(update={"person": f"{vote.person}-again"}) for vote in question.votes]
        return question.model_copy(update={"votes": [*question.votes, *again]})

    patch(votes_module, "tally", tally_twice)
    patch(gate_module, "make_question", ask_twice)


def _commit_left_out(patch: Patch) -> None:
    async def begin_nothing(*_: Any, **__: Any) -> None:
        """Say nothing of the attempt."""

    patch(effects, "begin_attempt", begin_nothing)


def _vote_lost(patch: Patch) -> None:
    async def count_nothing(*_: Any) -> ApplyResult:
        return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": "requested"})

    patch(votes_module, "_count", count_nothing)


def _bundle_unlocked(patch: Patch) -> None:
    patch(S3Archive, "_applicable", lambda *_: None)


def _no_policy_fence(patch: Patch) -> None:
    kind = records._DECIDED
    fence = " WHERE in_force IS NOT DISTINCT FROM (SELECT policy_in_force())"
    assert fence in kind.sql
    patch(records, "_DECIDED", replace(kind, sql=kind.sql.replace(fence, "")))


def _budget_exceeded(patch: Patch) -> None:
    sql = budgets._TAKE
    bounds = sql[sql.index("       AND (r.most IS NULL") : sql.index("    RETURNING")]
    patch(budgets, "_TAKE", sql.replace(bounds, ""))


_PLANTERS: dict[Bug, Callable[[Patch], None]] = {
    Bug.NO_FENCE: _no_fence,
    Bug.NO_DEDUPE: _no_dedupe,
    Bug.DOUBT_CLEARED_AT_ONCE: _doubt_cleared_at_once,
    Bug.VOTE_COUNTED_TWICE: _vote_counted_twice,
    Bug.COMMIT_LEFT_OUT: _commit_left_out,
    Bug.VOTE_LOST: _vote_lost,
    Bug.BUNDLE_UNLOCKED: _bundle_unlocked,
    Bug.BUDGET_EXCEEDED: _budget_exceeded,
    Bug.NO_POLICY_FENCE: _no_policy_fence,
}
