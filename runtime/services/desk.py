"""The runtime's counter, at which the bot stands: people, approvals as they are, and clicks."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from receipts.canonical import digest, dumps
from receipts.chain import CARD_SHOWN, MAX_CARD
from runtime.approvals.rules import cast_of, counting, still_missing
from runtime.approvals.windows import next_opening
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.inbox import inbox
from runtime.model.actor import Person, SlackAccount
from runtime.model.answering import Answering, AskPayload, HandPayload, ReplyPayload, WithdrawPayload
from runtime.model.approval import AskKind, Result, ResultCode, stamp
from runtime.model.delegation import StandIn
from runtime.model.execute import ExecuteWhen
from runtime.model.json_limits import error_text
from runtime.model.notification_people import ClaimPayload, TogetherPayload, VotePayload, VoteRefusal
from runtime.model.question_pause import paused_until
from runtime.model.requirement import Requirement
from runtime.model.route import MOST_CALLED, NOWHERE, Route
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct, ClaimAct, Refusal, RefusalCode, Vote, VoteVerdict
from runtime.model.wait import Progress
from runtime.outbox import messages
from runtime.services.answers_counter import AnswersCounter
from runtime.services.answers_looking import overrides_left, way_to_decide
from runtime.services.approval_view import ApprovalView, Click, ClickOutcome, ExecuteView, ProgressView, VoteView
from runtime.services.declared_model import NOTHING, Declared
from runtime.services.edited_showing import seen_edits
from runtime.services.editing_counter import EditingCounter
from runtime.services.fields import shown_fields
from runtime.services.figures_counter import FigureCounter
from runtime.services.held_counter import HeldCounter
from runtime.services.links_counter import LinkCounter
from runtime.services.notices_counter import NoticeCounter
from runtime.services.recording import record_said
from runtime.services.signing_counter import SigningCounter
from runtime.services.slack_accounts import AccountCounter
from runtime.services.strangers_counter import StrangerCounter
from runtime.services.undo_counter import UndoCounter
from runtime.services.usergroups import GroupCounter
from runtime.store import approvals, directory
from runtime.store.cards_before import UNKNOWN, Before, before_votes
from runtime.store.database.pool import Conn
from runtime.store.database.round_trips import at_once
from runtime.store.delegations import stand_ins_in
from runtime.store.edits import edits_of
from runtime.store.people_standing import request_after
from runtime.store.posted import Location, approval_at, location_of, remember_card, title_of
from runtime.store.questions import questions_of
from runtime.store.run_tx import RunTx

_DONE = (ResultCode.PERFORMED, ResultCode.CONFIRMED)
NOTHING_BEFORE: Mapping[tuple[str, str], Before] = {}


class EngineDesk(UndoCounter):
    """The desk of one tenant, over the engine."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        super().__init__(engine, tenant)
        self.answers = AnswersCounter(engine, tenant)
        self.editing = EditingCounter(engine, tenant)
        self.held = HeldCounter(engine, tenant)
        self.figures = FigureCounter(engine, tenant)
        self.links = LinkCounter(engine, tenant)
        self.strangers = StrangerCounter(engine, tenant)
        self.notices = NoticeCounter(engine, tenant, self.may_decide)
        self.groups = GroupCounter(engine, tenant)
        self.accounts = AccountCounter(engine, tenant)
        self.signing = SigningCounter(engine, tenant)

    async def people(self, account: SlackAccount) -> list[Person]:
        """Return every person the directory maps the account to: exactly one may act."""
        async with self.engine.pool.connection() as conn:
            return await directory.people_of(conn, self.tenant, account.team, account.user)

    async def approval(self, approval_id: str) -> ApprovalView | None:
        """Return the approval as it is now."""
        async with self.engine.pool.connection() as conn:
            return await self._view(conn, approval_id)

    async def _view(self, conn: Conn, approval_id: str) -> ApprovalView | None:
        row, votes, before, withdrawn, asked, edits = await at_once(
            approvals.approval_view_row(conn, approval_id),
            approvals.votes_of(conn, approval_id),
            before_votes(conn, [approval_id]),
            approvals.withdrawn_votes(conn, approval_id),
            questions_of(conn, approval_id),
            edits_of(conn, approval_id),
        )
        if row is None or row["tenant"] != self.tenant:
            return None
        view = view_of(row, votes, before, mocked=self.engine.mocked)
        called, pairs = await at_once(self._called(conn, row), self._pairs(conn, row))
        questions, taken_back = tuple(asked), tuple(map(_vote_view, withdrawn))
        can_undo = await self._can_undo(conn, row, view)
        pause = paused_until(questions, Requirement.of(row["requirement"]).pauses)
        view = replace(
            view, asked=called, can_undo=can_undo, withdrawn=taken_back, questions=questions, stand_ins=pairs
        )
        is_paused = pause is not None and pause > self.engine.clock()
        view = replace(view, link=self.links.to_request(approval_id), paused_until=pause if is_paused else None)
        view = await seen_edits(self.engine, conn, row, view, edits)
        if view.result is not None and view.result.code is ResultCode.OUTGROWN:
            view = replace(view, replaced_by=await request_after(conn, approval_id))
        return view

    async def _called(self, conn: Conn, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the people whom the card calls: of each part of those asked its people, where they are few."""
        if (mentioned := _route(row).mention) is not None:
            return mentioned
        now, own = self.engine.clock(), {user for _, user in row["requester_accounts"]}
        requirement = Requirement.of(row["requirement"])
        parts = [*requirement.told_apart]
        parts[-1] = (*parts[-1], *row["joined"])
        called = list[str]()
        exclude = requirement.exclude
        for users in await at_once(
            *(directory.accounts_in_groups(conn, self.tenant, groups, now, without=exclude) for groups in parts)
        ):
            asked = [user for user in users if user not in own]
            called += asked if len(asked) <= MOST_CALLED else ()
        return tuple(dict.fromkeys(called))

    async def _pairs(self, conn: Conn, row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        """Return by their names who may stand in for whom of those who are asked, as long as anybody is."""
        if row["status"] != ApprovalStatus.REQUESTED:
            return ()
        groups = [*row["requirement"]["groups"], *row["joined"]]
        return tuple(await stand_ins_in(conn, self.tenant, groups, self.engine.clock()))

    async def _can_undo(self, conn: Conn, row: dict[str, Any], view: ApprovalView) -> bool:
        if view.kind is AskKind.TASK or view.result is None or view.result.code not in _DONE:
            return False
        definition = await self.engine.definitions.get(conn, row["definition_name"], row["definition_version"])
        return definition.verb_of(view.step).compensate is not None

    async def may_decide(self, approval_id: str, person_id: str) -> Refusal | None:
        """Return why the person may not decide this now, or None. Reads only."""
        way = await self.way(approval_id, person_id)
        return way if isinstance(way, Refusal) else None

    async def may_break_glass(self, approval_id: str, person_id: str) -> Refusal | int:
        """Return how often the person may still do without the others, or why they may not now. Reads only."""
        async with self.engine.pool.connection() as conn:
            return await overrides_left(conn, self.tenant, approval_id, person_id, self.engine.clock())

    async def votes_for(self, approval_id: str, person_id: str) -> str:
        """Return the name of the person for whom this one would vote, "" for themselves or nobody. Reads only."""
        way = await self.way(approval_id, person_id)
        return way if isinstance(way, str) else ""

    async def way(self, approval_id: str, person_id: str) -> Refusal | str:
        """Return what `votes_for` does, or why the person may not decide this now. Reads only."""
        async with self.engine.pool.connection() as conn:
            way = await way_to_decide(conn, self.tenant, approval_id, person_id, self.engine.clock())
        if isinstance(way, Refusal):
            return way
        return way.delegator.name if isinstance(way, StandIn) else ""

    async def record(self, click: Click) -> str:
        """Write the click into the inbox, durably; return the notification's id. Repeats return the first's."""
        actor_id = click.person_id or f"slack:{click.account.team}:{click.account.user}"
        return await record_said(
            self.engine,
            self.tenant,
            _payload_of(click),
            by=actor_id,
            about=f"approval:{click.approval_id}",
            key=f"vote:{click.dedupe_key}",
            request_id=click.request_id,
        )

    async def apply(self, notification_id: str) -> ClickOutcome:
        """Apply a recorded click, at most once; a repeat returns the same outcome."""
        facts = await inbox.apply(self.engine, notification_id)
        refusal = None if facts["counted"] else Refusal(RefusalCode(facts["code"]), tuple(facts.get("about", ())))
        status = ApprovalStatus(facts["approval"]) if facts["approval"] else None
        return ClickOutcome(facts["counted"], refusal, status)


def _payload_of(click: Click) -> VotePayload | ClaimPayload | Answering:
    who = {
        "approval_id": click.approval_id,
        "team": click.account.team,
        "user": click.account.user,
        "person_id": click.person_id,
        "refusal": _refusal_of(click),
    }
    if isinstance(click.verdict, ClaimAct):
        return ClaimPayload(**who, act=click.verdict)
    if isinstance(click.verdict, CardAct):
        return _act_payload(click, who)
    return VotePayload(
        **who,
        stamp=click.stamp,
        verdict=click.verdict,
        reason=error_text(click.reason),
        ticket=error_text(click.ticket),
        together=TogetherPayload(**vars(click.together)) if click.together else None,
    )


def _act_payload(click: Click, who: dict[str, Any]) -> Answering:
    said = {**who, "stamp": click.stamp, "reason": error_text(click.reason)}
    match click.verdict:
        case CardAct.HAND:
            return HandPayload(**said, to=click.about)
        case CardAct.ASK:
            return AskPayload(**said)
        case CardAct.REPLY:
            return ReplyPayload(**who, question_id=click.about, text=error_text(click.reason))
        case _:
            return WithdrawPayload(**said)


def _refusal_of(click: Click) -> VoteRefusal | None:
    if click.refusal is not None:
        return VoteRefusal(code=click.refusal.code, about=click.refusal.about)
    if click.person_id is None:
        return VoteRefusal(code=RefusalCode.NOT_IN_DIRECTORY, about=())
    return None


def view_of(
    row: dict[str, Any], votes: list[Vote], before: Mapping[tuple[str, str], Before] = NOTHING_BEFORE, *, mocked: bool
) -> ApprovalView:
    """Return what a card shows, never secrets; `before` is what came before votes, by request and person."""
    requirement = row["requirement"]
    kind = AskKind(row["kind"])
    route = _route(row)
    signed = counting(Requirement.of(requirement), [cast_of(vote) for vote in votes])
    is_open = row["status"] == ApprovalStatus.REQUESTED
    counted = {vote.person for vote in votes if not is_open or vote.person in signed}
    what = _review(row) if kind is AskKind.TASK else {name: row[name] for name in ("connector", "operation", "target")}
    return ApprovalView(
        approval_id=row["approval_id"],
        kind=kind,
        status=ApprovalStatus(row["status"]),
        revision=row["revision"],
        stamp=stamp(row["digest"], Requirement.of(requirement), ApprovalStatus(row["status"])),
        tenant=row["tenant"],
        run_id=row["run_id"],
        run_title=f"{row['title']} ({row['definition_name']} v{row['definition_version']})",
        step=row["step"],
        **what,
        fields=shown_fields(row, kind),
        tier=row["tier"],
        reversible_by=row["reversible_by"],
        digest=row["digest"],
        requester=row["requester_name"] or row["requested_by"],
        submitted_by=row["submitted_by"],
        purpose=row["purpose"],
        reasons=tuple((reason["code"], reason["msg"]) for reason in row["reasons"]),
        quorum=requirement["quorum"],
        groups=tuple(requirement["groups"]),
        all_groups=requirement["all_groups"],
        reason_required=requirement["reason_required"],
        sign_with=requirement.get("sign_with", ""),
        asked=(),
        votes=_vote_views(votes, before, row["approval_id"], counted),
        missing=still_missing(Requirement.of(requirement), signed) if is_open else (),
        requested_at=row["requested_at"],
        expires_at=row["open_until"],
        escalated=not set(row["joined"]) <= set(route.fallback),
        result=Result.of(row["result"]) if row["result"] else None,
        shortfall=row["shortfall"],
        links=(("Trigger", f"{row['trigger_type']} {row['trigger_ref']}"),),
        mocked=mocked,
        assignee=row["assignee"],
        joined=tuple(row["joined"]),
        assignee_name=row["assignee_name"] or row["assignee"] or "",
        break_glass=tuple(requirement.get("break_glass", {}).get("groups", ())),
        leads=Requirement.of(requirement).leads if kind is AskKind.TASK else (),
        progress=_progress(row["progress"]),
        reference=row["reference"] or row["trigger_ref"],
        decided_at=row["decided_at"],
        declared=Declared.of(row["shown"]) if row["shown"] else NOTHING,
        execute=_execute(Requirement.of(requirement).execute, row["requested_at"]),
        fell_back=route.why,
        fallback=route.fallback,
    )


def _execute(when: ExecuteWhen | None, asked_at: datetime) -> ExecuteView | None:
    if when is None:
        return None
    return ExecuteView(
        windows=tuple(when.said.get("between", ())),
        time_zone=str(when.said.get("time_zone", "")),
        not_before=when.not_before,
        within=str(when.said["within"]),
        earliest=next_opening(when, asked_at) or asked_at,
    )


def _route(row: dict[str, Any]) -> Route:
    return Route.of(row["route"]) if row["route"] else NOWHERE


def _vote_views(
    votes: list[Vote], before: Mapping[tuple[str, str], Before], approval_id: str, counted: set[str]
) -> tuple[VoteView, ...]:
    return tuple(
        _vote_view(vote, before.get((approval_id, vote.person)), counts=vote.person in counted) for vote in votes
    )


def _vote_view(vote: Vote, before: Before | None = None, *, counts: bool = True) -> VoteView:
    ticket = str(vote.break_glass["ticket"]) if vote.break_glass else ""
    return VoteView(
        vote.given_by, VoteVerdict(vote.verdict), vote.reason, vote.at, ticket, counts, *(before or UNKNOWN)
    )


def _progress(document: dict[str, Any] | None) -> ProgressView | None:
    if document is None:
        return None
    word = Progress.of(document)
    return ProgressView(word.message, word.data, word.at, word.count)


def _review(row: dict[str, Any]) -> dict[str, str]:
    """Return what a review's card is about: its title, not the posting of the card."""
    return {"connector": "", "operation": str(row["fields"].get("title") or row["step"]), "target": ""}


class StoredCards:
    """Where cards are remembered: rows, so that they can be edited after a restart and shown in evidence."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def location(self, approval_id: str, copy_at: str | None = None) -> Location | None:
        """Return (channel, ts) of the approval's card, or of a copy; None where there is none."""
        async with self.engine.pool.connection() as conn:
            return await location_of(conn, approval_id, copy_at)

    async def title(self, approval_id: str) -> str:
        """Return what the author of a request calls it, as its card was made; "" where it has no title."""
        async with self.engine.pool.connection() as conn:
            return await title_of(conn, approval_id)

    async def remember(self, approval_id: str, channel: str, ts: str, card: Any, copy_at: str | None = None) -> None:
        """Keep where the card stands and the exact JSON that was shown, whose digest is on the run's chain."""
        if (size := len(dumps(card))) > MAX_CARD:
            raise ValueError(f"a card has {size} bytes, and may have {MAX_CARD}")
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is None:
            raise LookupError(f"no approval {approval_id}")

        async def work(tx: RunTx) -> None:
            if await remember_card(tx.conn, approval_id, (channel, ts), copy_at, card):
                tx.leaf(
                    CARD_SHOWN,
                    {"approval_id": approval_id, "digest": digest(card)},
                    step=approval.step,
                    approval_id=approval_id,
                    effect_id=approval.effect_id,
                )
            if copy_at is None and approval.card_ts is None:
                await messages.tell_opened(self.engine, tx, approval)
            at(Point.CARD_REMEMBERING)

        await self.engine.on_run(approval.run_id, work)

    async def lost(self, approval_id: str, channel: str, ts: str) -> None:
        """Ask for another card in the place of one that is not there any more; once for each that was lost."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is None or approval.status is not ApprovalStatus.REQUESTED:
            return
        async with self.engine.run_tx(approval.run_id) as tx:
            await messages.card_outdated(self.engine, tx, approval, f"lost:{channel}:{ts}")
        self.engine.wakeup.poke()

    async def standing_at(self, channel: str, ts: str) -> str | None:
        """Return the approval whose card, or a copy of it, is that message."""
        async with self.engine.pool.connection() as conn:
            return await approval_at(conn, self.engine.tenant, (channel, ts))

    async def tampered(self, approval_id: str, account: str, edit: str) -> None:
        """Have a card put back that somebody else edited, and tell operators and those who are asked; once per edit."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is not None:
            async with self.engine.run_tx(approval.run_id) as tx:
                await messages.card_tampered(self.engine, tx, approval, account, edit)
            self.engine.wakeup.poke()
