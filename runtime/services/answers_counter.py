"""The counter at which people in the chat have their requests canceled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.approvals.answering import Asker, Candidate, refuse_ask, refuse_hand, refuse_reply, refuse_withdrawal
from runtime.approvals.rules import refuse_vote
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.inbox.answerers import answerers_of
from runtime.inbox.enough_approvers import refuse_stranding_hand, refuse_stranding_withdrawal
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL
from runtime.model.approval import AskKind
from runtime.model.json_limits import error_text
from runtime.model.questions import Answerers
from runtime.model.run_payloads import CancelPayload
from runtime.model.votes import CardAct, Refusal, VoteVerdict
from runtime.services.answers_looking import look, refusal_to_decide
from runtime.services.answers_model import CancelView, CancelWish
from runtime.services.approval_view import Act
from runtime.services.recording import record_said
from runtime.services.request_acts import acts_of_all
from runtime.store import approvals
from runtime.store.database.pool import Conn
from runtime.store.listings import find_run
from runtime.store.questions import questions_of


@dataclass(frozen=True)
class AnswersCounter:
    """The counter of one tenant, over the engine."""

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
            return await refuse_stranding_withdrawal(conn, self.tenant, seen.ballot, seen.votes, person_id, now)

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
        """Return, in their order, what the person may do with each of these requests now."""
        return await acts_of_all(self.engine, self.tenant, approval_ids, person_id)

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
            return await refuse_stranding_hand(conn, self.tenant, seen.ballot, to_id, now)

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
            self.tenant,
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
