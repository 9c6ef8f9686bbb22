"""Approvals, as the bot asks for them: people, requests as they are, clicks and what became of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.approval import AskKind, ResultCode
from runtime.model.delegation import StandIn
from runtime.model.metrics import Mark
from runtime.model.notification import Addressed
from runtime.model.person import Person
from runtime.model.questions import paused_until
from runtime.model.requirement import Requirement
from runtime.model.routing import MOST_CALLED, Route
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.approval_rows import view_of, vote_view
from runtime.services.approval_view import ApprovalView
from runtime.services.ballots import BallotReader, look_with_way, overrides_left, refusal_to_decide, way_to_decide
from runtime.services.clicks import Click, ClickOutcome, click_payload, record_said
from runtime.services.compensation import CompensationService
from runtime.services.delivery_preferences import DeliveryPreferences
from runtime.services.editing import EditService, editable_verb
from runtime.services.links import LinkResolver
from runtime.services.metrics import MetricsQueries
from runtime.services.request_actions import RequestActions
from runtime.services.signing_links import SigningLinks
from runtime.services.slack_people import SlackAccounts, UserGroupSync
from runtime.services.step_repair import StepRepairService
from runtime.services.unknown_actors import UnknownActors
from runtime.store import approvals, directory
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_in
from runtime.store.edits import replacement_of
from runtime.store.electorate import request_after
from runtime.store.metrics import before_votes, put_mark
from runtime.store.questions import questions_of

_DONE = (ResultCode.PERFORMED, ResultCode.CONFIRMED)


@dataclass(frozen=True)
class Standing:
    """A request before one person: what a form shows of it, and why they may not decide it, None where they may.

    The view says for whom they would vote, and nothing that only cards and details show: who is called, questions,
    withdrawn votes, and what else may be done.
    """

    view: ApprovalView
    refusal: Refusal | None


def _name_of(way: StandIn | Refusal | None) -> str:
    return way.delegator.name if isinstance(way, StandIn) else ""


class ApprovalService(CompensationService):
    """The approvals of one tenant, over the engine."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        super().__init__(engine, tenant)
        self.answers = RequestActions(engine, tenant)
        self.editing = EditService(engine, tenant)
        self.step_repair = StepRepairService(engine, tenant)
        self.metrics = MetricsQueries(engine, tenant)
        self.links = LinkResolver(engine, tenant)
        self.unknown_actors = UnknownActors(engine, tenant)
        self.notices = DeliveryPreferences(engine, tenant, self.may_decide)
        self.groups = UserGroupSync(engine, tenant)
        self.accounts = SlackAccounts(engine, tenant)
        self.signing = SigningLinks(engine, tenant)

    async def people(self, user: str) -> Mapping[str, Sequence[Person]]:
        """Return every person the directory maps a Slack user to, by the team of the account; {} for an unknown one."""
        async with self.engine.pool.connection() as conn:
            return await directory.people_of(conn, self.tenant, user)

    async def approval(self, approval_id: str) -> ApprovalView | None:
        """Return the approval as it is now."""
        async with self.engine.pool.connection() as conn:
            return await self._view(conn, approval_id)

    async def _view(self, conn: Conn, approval_id: str) -> ApprovalView | None:
        row, votes, before, withdrawn, asked = await at_once(
            approvals.approval_view_row(conn, approval_id),
            approvals.votes_of(conn, approval_id),
            before_votes(conn, [approval_id]),
            approvals.withdrawn_votes(conn, approval_id),
            questions_of(conn, approval_id),
        )
        if row is None or row["tenant"] != self.tenant:
            return None
        view = view_of(row, votes, before, mocked=self.engine.mocked)
        called, pairs = await at_once(self._called(conn, row), self._pairs(conn, row))
        requirement, questions = Requirement.of(row["requirement"]), tuple(asked)
        taken_back = tuple(vote_view(requirement, vote) for vote in withdrawn)
        can_undo = await self._can_undo(conn, row, view)
        pause = paused_until(questions, requirement.pauses)
        view = replace(
            view, asked=called, can_undo=can_undo, withdrawn=taken_back, questions=questions, stand_ins=pairs
        )
        is_paused = pause is not None and pause > self.engine.clock()
        view = replace(view, link=self.links.to_request(approval_id), paused_until=pause if is_paused else None)
        if view.kind is AskKind.EFFECT:
            view = replace(view, can_edit=await editable_verb(self.engine, conn, row) is not None)
        return replace(view, replaced_by=await self._replacement(conn, view))

    async def _replacement(self, conn: Conn, view: ApprovalView) -> str:
        """Return the request in the place of one that was edited or outgrown, "" where there is none."""
        match view.result and view.result.code:
            case ResultCode.REPLACED if view.kind is AskKind.EFFECT:
                return await replacement_of(conn, view.approval_id)
            case ResultCode.OUTGROWN:
                return await request_after(conn, view.approval_id)
        return ""

    async def _called(self, conn: Conn, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the people whom the card calls: of each part of those asked its people, where they are few."""
        if (mentioned := Route.of(row["route"]).mention) is not None:
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
        async with self.engine.pool.connection() as conn:
            return await refusal_to_decide(conn, self.tenant, approval_id, person_id, self.engine.clock())

    async def may_break_glass(self, approval_id: str, person_id: str) -> Refusal | int:
        """Return how often the person may still do without the others, or why they may not now. Reads only."""
        async with self.engine.pool.connection() as conn:
            return await overrides_left(conn, self.tenant, approval_id, person_id, self.engine.clock())

    async def votes_for(self, approval_id: str, person_id: str) -> str:
        """Return the name of the person for whom this one would vote, "" for themselves or nobody. Reads only."""
        async with self.engine.pool.connection() as conn:
            return _name_of(await way_to_decide(conn, self.tenant, approval_id, person_id, self.engine.clock()))

    async def standing(self, approval_id: str, person_id: str) -> Standing | None:
        """Return how a request stands before a person who would decide it; None where it is not there. Reads only."""
        async with self.engine.pool.connection() as conn:
            found = await look_with_way(BallotReader(conn, self.tenant), approval_id, person_id, self.engine.clock())
        if found is None:
            return None
        seen, way = found
        view = view_of(seen.row, seen.votes, mocked=self.engine.mocked)
        return Standing(replace(view, votes_for=_name_of(way)), way if isinstance(way, Refusal) else None)

    async def looked(self, approval_id: str, person: Person) -> None:
        """Record that a person has opened a request's details or the form of a vote; the first time counts."""
        async with self.engine.pool.connection() as conn:
            await put_mark(conn, approval_id, Mark.LOOKED, person.id, self.engine.clock())

    async def record(self, click: Click) -> str:
        """Write the click into the inbox, durably; return the notification's id. Repeats return the first's."""
        actor_id = click.person_id or f"slack:{click.account.team}:{click.account.user}"
        return await record_said(
            self.engine,
            click_payload(click),
            by=actor_id,
            about=f"approval:{click.approval_id}",
            key=f"vote:{click.dedupe_key}",
            request_id=click.request_id,
        )

    async def apply(self, recorded: str | Addressed) -> ClickOutcome:
        """Apply a recorded click, at most once; a repeat returns the same outcome."""
        facts = await inbox.apply(self.engine, recorded)
        refusal = None if facts["counted"] else Refusal(RefusalCode(facts["code"]), tuple(facts.get("about", ())))
        status = ApprovalStatus(facts["approval"]) if facts["approval"] else None
        return ClickOutcome(facts["counted"], refusal, status)
