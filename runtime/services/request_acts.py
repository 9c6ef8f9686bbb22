"""What one person may do with a request now, so that they are offered that alone."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from policy.model import ActorInput, PolicyUnavailableError
from runtime.approvals.answering import refuse_ask, refuse_withdrawal
from runtime.approvals.rules import refuse_claim, refuse_glass, refuse_release, refuse_vote
from runtime.approvals.standing_in import way_to_vote
from runtime.engine import Engine
from runtime.inbox.answerers import answerers_of
from runtime.inbox.enough_approvers import refuse_stranding_withdrawal
from runtime.inbox.ruling import cancel_question
from runtime.model.approval import AskKind
from runtime.model.questions import Answerers, Question
from runtime.model.votes import Refusal, VoteVerdict
from runtime.services.answers_looking import Seen, look_by
from runtime.services.answers_reading import Reader
from runtime.services.approval_view import Act
from runtime.services.editing_counter import editable_verb
from runtime.store.glass import count_broken

_SOME_REASON = "a reason that will be asked for"


async def acts_of_all(engine: Engine, tenant: str, approval_ids: Sequence[str], person_id: str) -> list[frozenset[Act]]:
    """Return what the person may do with each request now; nothing where it is closed or not there."""
    now = engine.clock()  # one moment for all of them: what they have in common is read once
    async with engine.pool.connection() as conn:
        reader = Reader(conn, tenant)
        found = await asyncio.gather(*(_acts_here(engine, reader, one, person_id, now) for one in approval_ids))
    may_cancel = await asyncio.gather(*(_may_cancel(engine, seen) for seen, _ in found))
    return [acts | {Act.CANCEL} if may else acts for (_, acts), may in zip(found, may_cancel, strict=True)]


async def _acts_here(
    engine: Engine, reader: Reader, approval_id: str, person_id: str, now: datetime
) -> tuple[Seen | None, frozenset[Act]]:
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


async def _deciding(engine: Engine, reader: Reader, seen: Seen, now: datetime) -> set[Act]:
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


async def _asking(engine: Engine, reader: Reader, seen: Seen) -> tuple[Sequence[Question], Answerers]:
    """Return what was asked about a request, and who can answer."""
    row, person = seen.row, seen.person.id
    group = (await engine.definitions.get(reader.conn, row["definition_name"], row["definition_version"])).questions_to
    answerers = await reader.once(
        ("answerers", row["requested_by"], row["submitted_by"], group, person),
        lambda: answerers_of(reader.conn, reader.tenant, row, group, person),
    )
    return await reader.questions(seen.approval.approval_id), answerers


def _claiming(seen: Seen, now: datetime) -> set[Act]:
    """Return whether the person may take a review on, or over, or give it back."""
    if seen.approval.kind is not AskKind.TASK:
        return set()
    acts = set()
    if refuse_claim(seen.ballot, seen.person, seen.accounts, now) is None:
        acts.add(Act.CLAIM)
    if refuse_release(seen.ballot, seen.person) is None:
        acts.add(Act.RELEASE)
    return acts


async def _may_withdraw(reader: Reader, seen: Seen, now: datetime) -> bool:
    person = seen.person
    if refuse_withdrawal(seen.ballot, person, frozenset(vote.person for vote in seen.votes), None, now):
        return False
    return (
        await refuse_stranding_withdrawal(reader.conn, reader.tenant, seen.ballot, seen.votes, person.id, now) is None
    )


async def _may_break_glass(reader: Reader, seen: Seen, now: datetime) -> bool:
    glass = seen.approval.requirement.break_glass
    if glass is None or seen.approval.kind is not AskKind.EFFECT:
        return False
    since, person = now - glass.lasts, seen.person.id
    used = await reader.once(("broken", person, since), lambda: count_broken(reader.conn, reader.tenant, person, since))
    return refuse_glass(seen.ballot, seen.person, seen.accounts, _SOME_REASON, used, now) is None


async def _may_cancel(engine: Engine, seen: Seen | None) -> bool:
    """Ask policy whether the person may cancel the run of an open request; without an answer it is not offered."""
    if seen is None:
        return False
    person = seen.person
    said = {"id": person.id, "kind": "person", "groups": list(person.groups), "submitted_by": person.id}
    question = cancel_question(engine, seen.row, ActorInput.model_validate(said))
    try:
        ruling = await engine.policy.judge(question)
    except PolicyUnavailableError:
        return False
    return ruling.answer.outcome == "allow"
