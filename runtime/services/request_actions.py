"""What people do with a request beside deciding it: which acts they are offered, and having it canceled."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policy.contract import ActorInput, PolicyUnavailableError
from runtime.approvals.request_rules import Asker, Candidate, refuse_ask, refuse_hand, refuse_reply, refuse_withdrawal
from runtime.approvals.requests import asked_groups
from runtime.approvals.rules import Ballot, refuse_break_glass, refuse_claim, refuse_release, refuse_vote, way_to_vote
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.inbox.approver_questions import answerers_of
from runtime.inbox.operator_acts import operated_run, question_of
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL, refuse_stranding_handover, refuse_stranding_withdrawal
from runtime.model.approval import AskKind
from runtime.model.commands import CancelPayload
from runtime.model.delegation import AskedPerson
from runtime.model.limits import error_text
from runtime.model.questions import Answerers, Question
from runtime.model.votes import CardAct, Refusal, VoteVerdict
from runtime.services.approval_view import Act
from runtime.services.ballots import BallotReader, BallotView, look, look_by, refusal_to_decide
from runtime.services.clicks import record_said
from runtime.services.editing import editable_verb
from runtime.store import approvals
from runtime.store.break_glass import count_break_glass
from runtime.store.database.pool import Conn
from runtime.store.electorate import electorate_of
from runtime.store.operator_lists import find_run
from runtime.store.questions import questions_of


@dataclass(frozen=True)
class CancelView:
    """A run that goes on, as people know it."""

    run_id: str
    title: str
    reference: str


@dataclass(frozen=True)
class CancelWish:
    """A person's wish that a run stops, verified. `dedupe_key` is equal for deliveries of the same one."""

    dedupe_key: str
    run_id: str
    reason: str
    person_id: str
    request_id: str


_SOME_REASON = "a reason that will be asked for"


async def _acts_here(
    engine: Engine, reader: BallotReader, approval_id: str, person_id: str, now: datetime
) -> tuple[BallotView | None, frozenset[Act]]:
    """Return an open request and what the person may do with it, as far as it is not policy's to say."""
    seen = await look_by(reader, approval_id, person_id)
    if seen is None or not seen.ballot.is_open(now):
        return None, frozenset()
    acts = await _deciding(engine, reader, seen, now) | _claiming(seen, now)
    if await _may_withdraw(reader, seen, now):
        acts.add(Act.WITHDRAW)
    if await _may_break_glass(reader, seen, now):
        acts.add(Act.BREAK_GLASS)
    return seen, frozenset(acts)


async def _deciding(engine: Engine, reader: BallotReader, seen: BallotView, now: datetime) -> set[Act]:
    """Return what the person may do who may decide the request, in their own name or for somebody else."""
    approval = seen.approval
    stand_ins = await reader.stand_ins(seen.person.id, now)
    way = way_to_vote(seen.ballot, seen.person, seen.accounts, stand_ins, VoteVerdict.APPROVE, None, now)
    if isinstance(way, Refusal):
        return set()
    acts = {Act.DECIDE}
    if approval.kind.outlives_run:
        return acts
    acts.add(Act.CHANGES)
    if refuse_ask(None, seen.person.id, *await _asking(engine, reader, seen), None) is None:
        acts.add(Act.ASK)
    if refuse_vote(seen.ballot, seen.person, seen.accounts, VoteVerdict.APPROVE, None, now) is None:
        acts.add(Act.HAND)
        if await editable_verb(engine, reader.conn, seen.row):
            acts.add(Act.EDIT)
    return acts


async def _asking(engine: Engine, reader: BallotReader, seen: BallotView) -> tuple[Sequence[Question], Answerers]:
    """Return what was asked about a request, and who can answer."""
    row, person = seen.row, seen.person.id
    group = (await engine.definitions.get(reader.conn, row["definition_name"], row["definition_version"])).questions_to
    answerers = await reader.once(
        ("answerers", row["requested_by"], row["submitted_by"], group, person),
        lambda: answerers_of(reader.conn, reader.tenant, row, group, person),
    )
    return await reader.questions(seen.approval.approval_id), answerers


def _claiming(seen: BallotView, now: datetime) -> set[Act]:
    """Return whether the person may take a review on, or over, or give it back."""
    if seen.approval.kind is not AskKind.TASK:
        return set()
    acts = set()
    if refuse_claim(seen.ballot, seen.person, seen.accounts, now) is None:
        acts.add(Act.CLAIM)
    if refuse_release(seen.ballot, seen.person) is None:
        acts.add(Act.RELEASE)
    return acts


async def _may_withdraw(reader: BallotReader, seen: BallotView, now: datetime) -> bool:
    person = seen.person
    if refuse_withdrawal(seen.ballot, person, frozenset(vote.person for vote in seen.votes), None, now):
        return False
    people = await _asked_people(reader.conn, reader.tenant, seen.ballot, now)
    return refuse_stranding_withdrawal(people, seen.ballot, seen.votes, person.id) is None


async def _asked_people(conn: Conn, tenant: str, ballot: Ballot, now: datetime) -> list[AskedPerson]:
    return await electorate_of(conn, tenant, asked_groups(ballot.requirement), now)


async def _may_break_glass(reader: BallotReader, seen: BallotView, now: datetime) -> bool:
    break_glass = seen.approval.requirement.break_glass
    if break_glass is None or seen.approval.kind is not AskKind.EFFECT:
        return False
    since, person = now - break_glass.lasts, seen.person.id
    used = await reader.once(
        ("broken", person, since), lambda: count_break_glass(reader.conn, reader.tenant, person, since)
    )
    return refuse_break_glass(seen.ballot, seen.person, seen.accounts, _SOME_REASON, used, now) is None


async def _may_cancel(engine: Engine, seen: BallotView | None) -> bool:
    """Ask policy whether the person may cancel the run of an open request; without an answer it is not offered."""
    if seen is None:
        return False
    person = seen.person
    said = {"id": person.id, "kind": "person", "groups": list(person.groups), "submitted_by": person.id}
    question = question_of(engine, ActorInput.model_validate(said), "cancel", run=operated_run(seen.row))
    try:
        ruling = await engine.policy.judge(question)
    except PolicyUnavailableError:
        return False
    return ruling.answer.outcome == "allow"


@dataclass(frozen=True)
class RequestActions:
    """What people of one tenant do with a request beside deciding it."""

    engine: Engine
    tenant: str

    async def may(self, act: CardAct, approval_id: str, person_id: str) -> Refusal | None:
        """Return why what the person would do with a request cannot count now, or None. Reads only."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            seen = await look(conn, self.tenant, approval_id, person_id)
        if seen is None:
            return UNKNOWN_APPROVAL
        if act is CardAct.ASK:
            return await self._may_ask(approval_id, person_id)
        if act is CardAct.HAND:
            return refuse_vote(seen.ballot, seen.person, seen.accounts, VoteVerdict.APPROVE, None, now)
        voters = frozenset(vote.person for vote in seen.votes)
        if refusal := refuse_withdrawal(seen.ballot, seen.person, voters, None, now):
            return refusal
        async with self.engine.pool.connection() as conn:
            people = await _asked_people(conn, self.tenant, seen.ballot, now)
        return refuse_stranding_withdrawal(people, seen.ballot, seen.votes, person_id)

    async def _may_ask(self, approval_id: str, person_id: str) -> Refusal | None:
        async with self.engine.pool.connection() as conn:
            refusal = await refusal_to_decide(conn, self.tenant, approval_id, person_id, self.engine.clock())
            row = await approvals.approval_view_row(conn, approval_id)
            answerers = await self._answerers(conn, row, person_id)
            return refuse_ask(refusal, person_id, await questions_of(conn, approval_id), answerers, None)

    async def acts(self, approval_id: str, person_id: str) -> frozenset[Act]:
        """Return what the person may do with a request now. Reads only, and asks policy who may cancel."""
        (acts,) = await self.acts_of_all([approval_id], person_id)
        return acts

    async def acts_of_all(self, approval_ids: Sequence[str], person_id: str) -> list[frozenset[Act]]:
        """Return, in their order, what the person may do with each now; nothing where it is closed or not there."""
        engine, now = self.engine, self.engine.clock()  # one moment for all: what they have in common is read once
        async with engine.pool.connection() as conn:
            reader = BallotReader(conn, self.tenant)
            found = await asyncio.gather(*(_acts_here(engine, reader, one, person_id, now) for one in approval_ids))
        may_cancel = await asyncio.gather(*(_may_cancel(engine, seen) for seen, _ in found))
        return [acts | {Act.CANCEL} if may else acts for (_, acts), may in zip(found, may_cancel, strict=True)]

    async def answerers(self, approval_id: str, person_id: str) -> Answerers:
        """Return who can answer what a person asks about a request. Reads only."""
        async with self.engine.pool.connection() as conn:
            row = await approvals.approval_view_row(conn, approval_id)
            return await self._answerers(conn, row, person_id)

    async def _answerers(self, conn: Conn, row: Mapping[str, Any] | None, person_id: str) -> Answerers:
        if row is None or row["tenant"] != self.tenant:
            return Answerers()
        return await answerers_of(conn, self.tenant, row, await self._group(conn, row), person_id)

    async def _group(self, conn: Conn, row: Mapping[str, Any]) -> str:
        """Return the group that the request's runbook names for questions."""
        name, version = row["definition_name"], row["definition_version"]
        return (await self.engine.definitions.get(conn, name, version)).questions_to

    async def may_reply(self, approval_id: str, question_id: str, person_id: str) -> Refusal | None:
        """Return why the person cannot answer a question now, or None. Reads only."""
        async with self.engine.pool.connection() as conn:
            seen = await look(conn, self.tenant, approval_id, person_id)
            asked = await questions_of(conn, approval_id)
            group = await self._group(conn, seen.row) if seen else ""
        if seen is None:
            return UNKNOWN_APPROVAL
        question = next((one for one in asked if one.question_id == question_id), None)
        asker = Asker(person_id, frozenset(seen.accounts), group if group in seen.person.groups else "")
        return refuse_reply(seen.ballot, asker, question, None, self.engine.clock())

    async def may_hand(self, approval_id: str, person_id: str, to_id: str) -> Refusal | None:
        """Return why the person cannot hand a request to that other one now, or None. Reads only."""
        async with self.engine.pool.connection() as conn:
            seen = await look(conn, self.tenant, approval_id, person_id)
            other = await look(conn, self.tenant, approval_id, to_id)
        if seen is None or other is None:
            return UNKNOWN_APPROVAL
        who, to = Candidate(seen.person, seen.accounts), Candidate(other.person, other.accounts)
        now = self.engine.clock()
        if (refusal := refuse_hand(seen.ballot, who, to, None, now)) or seen.approval.kind is not AskKind.TASK:
            return refusal
        async with self.engine.pool.connection() as conn:
            people = await _asked_people(conn, self.tenant, seen.ballot, now)
        return refuse_stranding_handover(people, seen.ballot, to_id)

    async def cancel_view(self, run_id: str) -> CancelView | None:
        """Return a run that can be canceled, None where there is none by that id, or it has ended."""
        async with self.engine.pool.connection() as conn:
            run = await find_run(conn, self.tenant, run_id)
            if run is None or run["finished_at"] is not None:
                return None
            definition = await self.engine.definitions.get(conn, run["definition_name"], run["definition_version"])
        return CancelView(run_id, definition.title, run["reference"] or run["trigger_ref"])

    async def ask_cancel(self, wish: CancelWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        return await record_said(
            self.engine,
            CancelPayload(run_id=wish.run_id, reason=error_text(wish.reason)),
            by=wish.person_id,
            about=wish.run_id,
            key=f"cancel:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply_cancel(self, notification_id: str) -> str:
        """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
        facts = await inbox.apply(self.engine, notification_id)
        return "" if facts["status"] == "applied" else str(facts["reason"])
