"""What one person may do with a request now, so that they are offered that alone."""

from policy.model import ActorInput, PolicyUnavailableError
from runtime.approvals.answering import refuse_ask, refuse_withdrawal
from runtime.approvals.rules import refuse_glass, refuse_vote
from runtime.approvals.standing_in import way_to_vote
from runtime.desk.answers.looking import Seen, look
from runtime.desk.answers.model import Act
from runtime.desk.editing.counter import editable_verb
from runtime.engine import Engine
from runtime.inbox.answers.answerers import answerers_of
from runtime.inbox.answers.stranding import refuse_stranding_withdrawal
from runtime.inbox.operators.ruling import cancel_question
from runtime.model.approvals.approval import AskKind
from runtime.model.approvals.votes import Refusal, VoteVerdict
from runtime.store.database.pool import Conn
from runtime.store.people.delegations import stand_ins_of
from runtime.store.people.glass import count_broken
from runtime.store.people.questions import questions_of

_SOME_REASON = "a reason that will be asked for"


async def acts_of(engine: Engine, tenant: str, approval_id: str, person_id: str) -> frozenset[Act]:
    """Return what the person may do with a request now; nothing where it is closed or not there."""
    now = engine.clock()
    async with engine.pool.connection() as conn:
        seen = await look(conn, tenant, approval_id, person_id)
        if seen is None or not seen.ballot.is_open(now):
            return frozenset()
        acts = await _deciding(engine, conn, tenant, seen)
        if await _may_withdraw(engine, conn, tenant, seen):
            acts.add(Act.WITHDRAW)
        if await _may_break_glass(engine, conn, tenant, seen):
            acts.add(Act.BREAK_GLASS)
    if await _may_cancel(engine, seen):
        acts.add(Act.CANCEL)
    return frozenset(acts)


async def _deciding(engine: Engine, conn: Conn, tenant: str, seen: Seen) -> set[Act]:
    """Return what the person may do who may decide the request, in their own name or for somebody else."""
    now, approval = engine.clock(), seen.approval
    stand_ins = await stand_ins_of(conn, tenant, seen.person.id, now)
    way = way_to_vote(seen.ballot, seen.person, seen.accounts, stand_ins, VoteVerdict.APPROVE, None, now)
    if isinstance(way, Refusal):
        return set()
    acts = {Act.DECIDE}
    if approval.kind.outlives_run:
        return acts
    acts.add(Act.CHANGES)
    asked, answerers = await questions_of(conn, approval.approval_id), await answerers_of(conn, tenant, seen.row)
    if refuse_ask(None, seen.person.id, asked, answerers, None) is None:
        acts.add(Act.ASK)
    if refuse_vote(seen.ballot, seen.person, seen.accounts, VoteVerdict.APPROVE, None, now) is None:
        acts.add(Act.HAND)
        if await editable_verb(engine, conn, approval, seen.row):
            acts.add(Act.EDIT)
    return acts


async def _may_withdraw(engine: Engine, conn: Conn, tenant: str, seen: Seen) -> bool:
    now, person = engine.clock(), seen.person
    if refuse_withdrawal(seen.ballot, person, frozenset(vote.person for vote in seen.votes), None, now):
        return False
    return await refuse_stranding_withdrawal(conn, tenant, seen.ballot, seen.votes, person.id, now) is None


async def _may_break_glass(engine: Engine, conn: Conn, tenant: str, seen: Seen) -> bool:
    glass, now = seen.approval.requirement.break_glass, engine.clock()
    if glass is None or seen.approval.kind is not AskKind.EFFECT:
        return False
    used = await count_broken(conn, tenant, seen.person.id, now - glass.lasts)
    return refuse_glass(seen.ballot, seen.person, seen.accounts, _SOME_REASON, used, now) is None


async def _may_cancel(engine: Engine, seen: Seen) -> bool:
    """Ask policy whether the person may cancel the run; without an answer it is not offered."""
    person = seen.person
    said = {"id": person.id, "kind": "person", "groups": list(person.groups), "submitted_by": person.id}
    question = cancel_question(engine, seen.row, ActorInput.model_validate(said))
    try:
        ruling = await engine.policy.judge(question)
    except PolicyUnavailableError:
        return False
    return ruling.answer.outcome == "allow"
