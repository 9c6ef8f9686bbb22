"""Directory changes and open requests: whose votes still count, and whether enough people can decide.

What changes is on record, shown on the card, and told once to those whom it concerns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import VOTE_RESTORED
from runtime.approvals.electorate import able, without
from runtime.approvals.rules import cast_of, counting, shortfall, tally
from runtime.engine import Engine
from runtime.inbox.approval_endings import end_approval
from runtime.model.approval import Approval, StandingChange
from runtime.model.chat_message import Unfulfillable
from runtime.model.messages import Said, StandingChanged
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.database.pool import Conn
from runtime.store.electorate import directory_state, electorate_of, open_request, open_requests, set_shortfall
from runtime.store.run_tx import RunTx

REQUESTS_PAGE = 256
"""Requests that are looked at together."""


@dataclass(frozen=True)
class Standing:
    """How an open request stands: why too few can decide it, "" where enough can, and whose approvals do not count."""

    why: str
    lapsed: frozenset[str]

    @classmethod
    def said_in(cls, row: Mapping[str, Any]) -> "Standing":
        """Return what was said of it last."""
        return cls(row["shortfall"], frozenset(row["lapsed"]))


async def recheck_open_requests(engine: Engine) -> int:
    """Look at all open requests once the directory is another than at the last look; return how many have changed."""
    async with engine.pool.connection() as conn:
        state = await directory_state(conn, engine.tenant, engine.clock())
    if engine.directory_seen.get(engine.tenant) == state:
        return 0
    changed, after = 0, ""
    while page := await _page(engine, after):
        for row, standing in page:
            if standing != Standing.said_in(row):
                changed += await _correct(engine, row)
        after = page[-1][0]["approval_id"]
    engine.directory_seen[engine.tenant] = state
    if changed:
        engine.wakeup.poke()
    return changed


async def _page(engine: Engine, after: str) -> list[tuple[dict[str, Any], Standing]]:
    """Return the next open requests, each with how it stands."""
    async with engine.pool.connection() as conn:
        rows = await open_requests(conn, engine.tenant, after, REQUESTS_PAGE)
        votes = await approvals.counted_votes(conn, [row["approval_id"] for row in rows])
        return [(row, await _standing(engine, conn, row, cast)) for row, cast in zip(rows, votes, strict=True)]


async def _standing(engine: Engine, conn: Conn, row: Mapping[str, Any], votes: Sequence[Vote]) -> Standing:
    requirement = Requirement.of(row["requirement"])
    groups = (*requirement.groups, *requirement.leads)
    barred = frozenset({row["requested_by"], row["submitted_by"], *requirement.exclude})
    said_no = {person for vote in votes if vote.verdict.is_no for person in vote.people}
    asked = without(await electorate_of(conn, engine.tenant, groups, engine.clock()), said_no)
    counted = counting(requirement, [cast_of(vote) for vote in votes])
    lapsed = (vote.person for vote in votes if not vote.verdict.is_no and vote.person not in counted)
    return Standing(shortfall(requirement, able(asked, set(groups), barred), barred), frozenset(lapsed))


async def _correct(engine: Engine, seen: Mapping[str, Any]) -> int:
    """Put on record how a request stands now, show and tell it; return 1, or 0 where somebody else did."""
    async with engine.run_tx(seen["run_id"]) as tx:
        row = await open_request(tx.conn, engine.tenant, seen["approval_id"])
        approval = await tx.loads.approval(seen["approval_id"])
        if row is None or approval is None:
            return 0
        votes = await tx.loads.votes(approval.approval_id)
        if not await _restate(engine, tx, row, approval, votes):
            return 0
        status = tally(approval.requirement, [cast_of(vote) for vote in votes])
        if status is ApprovalStatus.REQUESTED:
            await approvals.touch(tx.conn, approval.approval_id)
            await messages.card_changed(engine, tx, approval.approval_id)
        else:
            await end_approval(engine, tx, approval, status, votes)
    return 1


async def look_again(engine: Engine, tx: RunTx, approval: Approval, votes: Sequence[Vote]) -> None:
    """Put on record whether enough people can still decide a request, once a vote that ends nothing is given or gone.

    The caller shows its card as it is then.
    """
    if row := await open_request(tx.conn, engine.tenant, approval.approval_id):
        await _restate(engine, tx, row, approval, votes)


async def _restate(
    engine: Engine, tx: RunTx, row: Mapping[str, Any], approval: Approval, votes: Sequence[Vote]
) -> bool:
    """Put on record and tell how a request stands now; return whether that is another way than was said."""
    before, now = Standing.said_in(row), await _standing(engine, tx.conn, row, votes)
    if now == before:
        return False
    await _tell_votes(engine, tx, approval, votes, before, now)
    await set_shortfall(tx.conn, approval.approval_id, now.why)
    if bool(before.why) != bool(now.why):
        await _tell_shortfall(engine, tx, approval, now.why)
    return True


def _leaf(tx: RunTx, approval: Approval, event: str, **facts: str) -> int:
    return tx.leaf_about(approval, event, {"approval_id": approval.approval_id, **facts})


async def _tell_votes(
    engine: Engine, tx: RunTx, approval: Approval, votes: Sequence[Vote], before: Standing, now: Standing
) -> None:
    """Say in the thread, and to each voter whom it concerns, that their approval does not count, or counts again."""
    count = len(counting(approval.requirement, [cast_of(vote) for vote in votes]))
    for vote in votes:
        is_lapsed = vote.person in now.lapsed
        if is_lapsed == (vote.person in before.lapsed):
            continue
        seq = _leaf(tx, approval, "vote.lapsed" if is_lapsed else VOTE_RESTORED, person=vote.person)
        said = StandingChanged(
            change=StandingChange.VOTE_LAPSED if is_lapsed else StandingChange.VOTE_BACK,
            run=await messages.run_name(tx),
            step=approval.step,
            person=vote.given_by,
            groups=list(approval.requirement.electorate(approval.joined)),
            quorum=approval.requirement.quorum,
            count=count,
        )
        name = f"standing:{approval.approval_id}:{seq}"
        await messages.tell_thread(engine, tx, approval.approval_id, name, said)
        await messages.tell_person(engine, tx, vote.person, name, said, approval.approval_id)


async def _tell_shortfall(engine: Engine, tx: RunTx, approval: Approval, why: str) -> None:
    """Say that too few can decide it, or that enough can again: to its thread, its requester and the operators."""
    run = await messages.run_name(tx)
    said: Said
    if why:
        seq = _leaf(tx, approval, "approval.unfulfillable", why=why)
        said = Unfulfillable(run=run, step=approval.step, why=why)
    else:
        seq = _leaf(tx, approval, "approval.fulfillable")
        said = StandingChanged(change=StandingChange.ENOUGH_AGAIN, run=run, step=approval.step)
    name = f"standing:{approval.approval_id}:{seq}"
    await messages.tell_thread(engine, tx, approval.approval_id, name, said)
    await messages.tell_requester(engine, tx, name, said, approval.approval_id)
    await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, approval.approval_id)
