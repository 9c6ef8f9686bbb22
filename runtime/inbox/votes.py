"""Votes on requests: counted or refused, signed with a passkey where policy wants that, taken back while open.

A counted vote leads to the approval's end, the effect's next status and the task's result. What a vote is judged by is
read in one round trip: under the run's lock it is all of one moment. A withdrawn vote stays on record, counts no more,
and may be given again.
"""

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from receipts.canonical import digest
from receipts.chain import VOTE_WITHDRAWN, Actor
from receipts.fields import timestamp
from receipts.passkey_records import SignedWords
from runtime.approvals.request_rules import refuse_withdrawal
from runtime.approvals.requests import look_at_passage
from runtime.approvals.rules import cast_of, counting, leaves_open, missing_classes, still_missing, tally, way_to_vote
from runtime.approvals.webauthn import PasskeyError, check_assertion, document_of
from runtime.engine import Engine
from runtime.inbox.approval_endings import end_approval
from runtime.inbox.break_glass import check_break_glass, look_at_break_glass, request_review
from runtime.inbox.delegations import act_of, look_at_delegation, stand_ins_now, tell_of_delegate_vote
from runtime.inbox.directory_changes import look_again
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.vote_refusals import (
    RequestAct,
    account_of,
    accounts_of,
    asked_people,
    ballot_of,
    claimant_of,
    end_lapsed_claim,
    load_act,
    person_of,
    present_person,
    record_refusal,
    refuse_stale,
    refuse_stranding_withdrawal,
    refuse_way,
    unknown_request,
    way_of,
)
from runtime.model.approval import Approval, AskKind, NamedApproval, StandingChange
from runtime.model.delegation import StandIn
from runtime.model.messages import StandingChanged, VoteCounted, VoteWithdrawn
from runtime.model.notification import AddressedRequest, ApplyResult
from runtime.model.passkey import Key, Passkey, Signature
from runtime.model.payloads import ConsoleWord, VotePayload, WithdrawPayload
from runtime.model.person import Person
from runtime.model.states import ApprovalStatus, NotificationStatus, StepStatus
from runtime.model.votes import CardAct, Refusal, RefusalCode, Via, Vote, VoteContext, VoteVerdict
from runtime.outbox import messages
from runtime.planning.advance import look_at_run_end, looks_ahead
from runtime.planning.transition import StepMoved
from runtime.store import approvals, passkeys
from runtime.store.database.buffered_connection import at_once
from runtime.store.run_tx import RunTx
from runtime.store.tenants import acts_named


async def key_of(tx: RunTx, payload: VotePayload) -> Key:
    """Return the passkey with which a vote is signed, locked, and the acts about it; None and nothing of a click."""
    if payload.assertion is None:
        return None, []
    passkey, acts = await at_once(
        passkeys.lock_passkey(tx.conn, tx.tenant, payload.assertion.credential_id),
        passkeys.acts_about(tx.conn, tx.tenant, payload.assertion.credential_id),
    )
    return passkey, acts


async def signature_on(
    tx: RunTx, approval: Approval, person: Person, payload: VotePayload, key: Key
) -> Signature | Refusal | None:
    """Return what a vote is signed with, by its `key_of`, None where a click will do; or why it does not count.

    1. Where policy asks for a passkey, a vote to approve has an assertion.
    2. Its passkey is the person's own, and nobody has revoked it.
    3. It is over this approval as it is, this verdict, reason, name and link; of a break-glass, over the ticket, too.
    4. The authenticator's counter has gone on, where it has one.
    """
    assertion = payload.assertion
    if assertion is None:
        is_wanted = approval.requirement.sign_with and payload.verdict is VoteVerdict.APPROVE
        return Refusal(RefusalCode.PASSKEY_NEEDED) if is_wanted else None  # 1
    passkey, acts = key
    refusal = _refuse(passkey, person)  # 2
    if passkey is None or refusal is not None:
        return refusal
    try:
        said = await statement_of(tx, person.name, payload.reason, payload.ticket)
        document = document_of(approval, payload.verdict, assertion.nonce, said)
        # a row lock keeps other transactions out, and not the other runs of this one
        newest = max(passkey.sign_count, tx.loads.sign_counts.get(assertion.credential_id, 0))
        count = check_assertion(replace(passkey, sign_count=newest), assertion, document)  # 3, 4
    except PasskeyError:
        return Refusal(RefusalCode.PASSKEY_WRONG)
    tx.loads.sign_counts[assertion.credential_id] = count
    passkeys.count_signature(tx.conn, tx.tenant, assertion.credential_id, count)
    return Signature(assertion, acts)


async def statement_of(tx: RunTx, person_name: str, reason: str, ticket: str) -> SignedWords:
    """Return what a person says, as it is put on record and signed."""
    privacy = await tx.privacy()
    return SignedWords(person_name, privacy.text(reason.strip()), privacy.text(ticket.strip()))


def _refuse(passkey: Passkey | None, person: Person) -> Refusal | None:
    if passkey is None or passkey.person != person.id:
        return Refusal(RefusalCode.PASSKEY_UNKNOWN)
    return Refusal(RefusalCode.PASSKEY_REVOKED) if passkey.revoked_at else None


class Voter(NamedTuple):
    """Who votes, and by which delegation for whom, None for themselves; `break_glass` is what is on record of using it.

    `signature` is with what they signed; None for a click.
    """

    person: Person
    stand_in: StandIn | None
    break_glass: dict[str, Any] | None = None
    signature: Signature | None = None


async def apply_vote(matter: NotificationContext, payload: VotePayload) -> ApplyResult:
    """Count a click, or refuse it; either way the run's chain says so."""
    tx, context = matter.run(), matter.vote_context
    if tx is None or context is None:
        return unknown_request()
    approval, person = context.approval, context.person
    voter = person if isinstance(person, Refusal) else await _voter(tx, context, person, payload)
    if isinstance(voter, Voter):
        return await _count(matter, tx, context, voter, payload)
    applied = await record_refusal(tx, approval, payload, payload.verdict, voter)
    if payload.stamp not in ("", approval.stamp):
        await messages.card_outdated(matter.engine, tx, approval, f"seen:{payload.team}:{payload.user}")
    return applied


async def _voter(tx: RunTx, context: VoteContext, person: Person, payload: VotePayload) -> Voter | Refusal:
    approval = context.approval
    stand_in = None if payload.ticket else await _way(tx, context, person, payload)
    if isinstance(stand_in, Refusal):
        return stand_in
    break_glass = await check_break_glass(tx, context, person, payload) if payload.ticket else None
    if isinstance(break_glass, Refusal):
        return break_glass
    signature = await signature_on(tx, approval, person, payload, context.key)
    return signature if isinstance(signature, Refusal) else Voter(person, stand_in, break_glass, signature)


async def _way(tx: RunTx, context: VoteContext, person: Person, payload: VotePayload) -> StandIn | Refusal | None:
    """Return why the vote does not count, or for whom it does: None for the person themselves."""
    approval = context.approval
    if payload.verdict is VoteVerdict.CHANGES and approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    ballot = ballot_of(approval, context.votes, tx.row, await claimant_of(tx, approval))
    asks_for_others = set(person.groups).isdisjoint(approval.requirement.electorate(approval.joined))
    stand_ins = await stand_ins_now(tx, person.id) if asks_for_others else []
    way = way_to_vote(ballot, person, context.accounts, stand_ins, payload.verdict, payload.reason, tx.now)
    if isinstance(way, Refusal):
        return way
    return refuse_stale(approval, payload) or refuse_way(tx, approval, payload) or way


async def _count(
    matter: NotificationContext, tx: RunTx, context: VoteContext, voter: Voter, payload: VotePayload
) -> ApplyResult:
    engine, notification = matter.engine, matter.notification
    person, stand_in, break_glass, signature = voter
    team, account = account_of(context.accounts, person)
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=stand_in.delegator.groups if stand_in else person.groups,
        verdict=payload.verdict,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=team,
        account=account,
        at=tx.now,
        via=payload.via,
        brought_by=payload.brought_by,
        delegation=await _delegation(tx, stand_in) if stand_in else None,
        break_glass=break_glass,
        passkey=signature.document() if signature else None,
        together=payload.together.model_dump() if payload.together else None,
        console=await _console(tx, payload.console) if payload.console else None,
    )
    approval = await end_lapsed_claim(tx, context.approval, *vote.people)
    await approvals.insert_vote(tx.conn, approval.approval_id, vote, notification.notification_id)
    tx.leaf_about(
        approval,
        "vote.counted",
        {
            "approval_id": approval.approval_id,
            "person": person.id,
            "verdict": str(vote.verdict),
            "digest": digest(vote.document()),
            **({"card": context.card} if context.card else {}),
            **({"delegator": vote.delegator} if vote.delegator else {}),
            **({"break_glass": break_glass} if break_glass else {}),
            **({"opened_at": timestamp(context.opened_at)} if context.opened_at else {}),
        },
        actor=Actor(id=person.id, kind="person"),
    )
    votes = sorted([*context.votes, vote], key=lambda one: (one.at, one.person))
    requirement = approval.requirement
    status = tally(requirement, [cast_of(one) for one in votes])
    name = f"vote:{notification.notification_id}"
    if break_glass:
        await request_review(engine, tx, approval, vote)
    else:
        await _tell_vote(engine, tx, approval, name, vote, votes)
    if stand_in:
        await tell_of_delegate_vote(engine, tx, approval, name, vote, stand_in)
    if leaves_open(requirement, vote) and status is ApprovalStatus.REQUESTED:
        await look_again(engine, tx, approval, votes)
        await _tell_requester_of_no(engine, tx, approval, name, vote)
    if status is ApprovalStatus.REQUESTED:
        await _move_card_on(engine, tx, approval)
    else:
        await end_approval(engine, tx, approval, status, votes)
    return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": str(status)})


async def _delegation(tx: RunTx, stand_in: StandIn) -> dict[str, Any]:
    """Return the delegation of a vote as evidence has it, with the act that recorded it in the tenant's chain."""
    return {**stand_in.document(), "acts": await tx.once(partial(acts_named, tx.conn, tx.tenant), act_of(stand_in))}


async def _console(tx: RunTx, word: ConsoleWord) -> dict[str, Any]:
    """Return what evidence keeps of a vote in the console; the page's text as other words are kept."""
    privacy = await tx.privacy()
    text = [privacy.text(str(line)) for line in word.shown["text"]]
    return {"issuer": word.issuer, "subject": word.subject, "shown": {**word.shown, "text": text}}


async def _tell_vote(engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote, votes: list[Vote]) -> None:
    signed = counting(approval.requirement, [cast_of(one) for one in votes])
    said = VoteCounted(
        ask=approval.kind,
        person=vote.given_by,
        verdict=vote.verdict,
        reason=vote.reason,
        count=len(signed),
        quorum=approval.requirement.quorum,
        missing=list(still_missing(approval.requirement, signed)),
        classes=list(missing_classes(approval.requirement, signed)),
        leaves_open=leaves_open(approval.requirement, vote),
    )
    await messages.tell_thread_once(engine, tx, approval, name, said)


async def _tell_requester_of_no(engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote) -> None:
    """Tell the requester that somebody said no, and that the request is open as before."""
    said = StandingChanged(
        change=StandingChange.VOTED_NO,
        run=await messages.run_name(tx),
        step=approval.step,
        person=vote.given_by,
        reason=vote.reason,
        groups=list(approval.requirement.veto),
        until=timestamp(approval.expires_at),
    )
    await messages.tell_requester(engine, tx, name, said, approval.approval_id, is_new=True)


async def apply_withdrawal(matter: NotificationContext, payload: WithdrawPayload) -> ApplyResult:
    """Take a vote back, or refuse that; either way the run's chain says so."""
    answer = await load_act(matter, payload, CardAct.WITHDRAW, payload.stamp)
    if isinstance(answer, ApplyResult):
        return answer
    voters = frozenset(vote.person for vote in answer.votes)
    refusal = refuse_withdrawal(answer.ballot, answer.person, voters, payload.reason, answer.tx.now)
    tx = answer.tx
    if refusal is None:
        people = await asked_people(tx, answer.ballot)
        refusal = refuse_stranding_withdrawal(people, answer.ballot, answer.votes, answer.person.id)
    if refusal:
        return await record_refusal(answer.tx, answer.approval, payload, CardAct.WITHDRAW, refusal)
    return await _withdraw(matter, answer, payload)


async def _withdraw(matter: NotificationContext, answer: RequestAct, payload: WithdrawPayload) -> ApplyResult:
    tx, approval, person = answer.tx, answer.approval, answer.person
    reason = (await tx.privacy()).text(payload.reason.strip())
    key = approvals.VoteKey(approval.approval_id, person.id)
    vote = await tx.once(partial(approvals.given_vote, tx.conn), key)
    if vote is None:
        raise LookupError(f"no vote of {person.id} on {approval.approval_id}")
    approvals.withdraw_vote(tx.conn, key, tx.now)
    about = {"approval_id": approval.approval_id, "person": person.id, "digest": digest(vote.document())}
    facts = {**about, **way_of(payload)}
    tx.leaf_about(approval, VOTE_WITHDRAWN, {**facts, "reason": reason}, actor=Actor(id=person.id, kind="person"))
    votes_left = [one for one in answer.votes if one.person != person.id]
    left = counting(approval.requirement, [cast_of(one) for one in votes_left])
    said = VoteWithdrawn(
        person=vote.given_by,
        reason=reason,
        count=len(left),
        quorum=approval.requirement.quorum,
        missing=list(still_missing(approval.requirement, left)),
        classes=list(missing_classes(approval.requirement, left)),
    )
    name = f"withdrawn:{matter.notification.notification_id}"
    await messages.tell_thread_once(matter.engine, tx, approval, name, said)
    if vote.verdict.is_no:
        await look_again(matter.engine, tx, approval, votes_left)
    await _move_card_on(matter.engine, tx, approval)
    return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": str(approval.status)})


async def _move_card_on(engine: Engine, tx: RunTx, approval: Approval) -> None:
    """Show on the card what was said, which nothing else has changed in this transaction."""
    await approvals.touch(tx.conn, approval.approval_id)
    await messages.card_moved_on(engine, tx, replace(approval, revision=approval.revision + 1))


async def vote_context(
    engine: Engine, tx: RunTx, payload: VotePayload, request: AddressedRequest | None
) -> VoteContext | None:
    """Return what the vote is judged by, None without the request; the run's privacy is known afterwards, too."""
    approval_id, person_id = payload.approval_id, payload.person_id
    looks = await _looks_at_end(tx, request, payload) if request else []
    if request and request.by_delegate:
        looks += look_at_delegation(tx, person_id)
    if payload.ticket:
        looks += look_at_break_glass(engine, tx, payload)
    approval, votes, person, accounts, seen, key, *_ = await at_once(
        tx.locked_approval(approval_id),
        tx.loads.votes(approval_id),
        present_person(tx, payload) if payload.via is Via.CONSOLE else person_of(tx, payload),
        accounts_of(tx, person_id, payload),
        tx.loads.seen((approval_id, person_id or "")),
        key_of(tx, payload),
        tx.privacy(),
        *looks,
    )
    if approval:
        tx.ahead[NamedApproval(approval_id)] = approval  # its tier says whether quiet hours hold for word of its end
    return None if approval is None else VoteContext(approval, votes, person, accounts, seen.card, seen.opened_at, key)


async def _looks_at_end(tx: RunTx, request: AddressedRequest, payload: VotePayload) -> list[Awaitable[None]]:
    """Return reads of what follows if the vote decides: what the plan looks at, whom it tells, and what ends."""
    moves_to = _moves_to(request, payload)
    if moves_to is None:
        return []
    event = StepMoved(request.step, moves_to)
    looks = looks_ahead(tx, await tx.definition(), event, request.approval_id)
    looks.append(messages.look_at_person(tx, tx.row["requested_by"]))
    if moves_to is not StepStatus.READY:
        looks.append(look_at_run_end(tx, request.approval_id, request.effect_id))
    if moves_to is StepStatus.FAILED_TERMINAL:
        looks.append(look_at_passage(tx, request.effect_id))
    return looks


def _moves_to(request: AddressedRequest, payload: VotePayload) -> StepStatus | None:
    """Return the step's status after such a vote if that decides; None where it will not, or more has to be known."""
    is_no = payload.verdict.is_no
    if not (request.is_last or is_no or payload.ticket):
        return None
    match request.kind:
        case AskKind.EFFECT:
            return StepStatus.FAILED_TERMINAL if is_no else StepStatus.READY
        case AskKind.TASK:
            return StepStatus.SUCCEEDED
    return None
