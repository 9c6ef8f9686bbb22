"""Bulk votes: several requests are chosen, reviewed once more, and voted on one by one.

Each vote is a notification, recorded before the modal changes, and applied like any other. What the person saw of a
request binds the vote on it; what has changed since is refused as stale, and the person is told.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.client import FAILURES, error_code
from bot.listeners import private_answers
from bot.listeners.clicks import DEADLINE, ModalListener, applied, click, recording
from bot.listeners.identity import Identity
from bot.payloads import Actions, Submission
from bot.views import bulk_votes, references
from bot.views.home_state import state_of
from bot.views.vote_modals import REASON_MAX, reason_fault
from runtime.model.votes import JointDecision, VoteVerdict
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.refusal_words import refusal_words

AT_ONCE = 8
"""Votes of one act that are applied side by side."""

SOON = 0.5
"""Seconds within which what came of the votes answers the submission itself. If it takes longer, the window says that
they are being counted, and stays so as long: Slack may put what answers a submission over an update right after it."""

_NOTHING_CHOSEN = "Please choose at least one."
_OTHER_MODAL = "This list is out of date. Please close it and start again."


class BulkVotes(ModalListener):
    """The listener for the button on the Home, and for the two modals."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Open the list to choose from: what the Home shows, from the beginning, as far as one act goes."""
        await ack()
        identity = await self._identity(payload.user)
        if identity.person is None:
            await self._tell(payload, refusal_words(identity.refusal) if identity.refusal else "")
            return
        state = state_of(payload.view.private_metadata if payload.view else "").turned()
        waiting = await self._front.home.waiting(identity.person.id, state.look(bulk_votes.MOST))
        if not waiting.page.entries:
            await self._tell(payload, "Nothing here is waiting for you now.")
            return
        await self._open(payload, bulk_votes.choose_modal(waiting.page.entries, waiting.total, state))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Show the list before the vote, or take the votes."""
        step = self._choose if payload.view.callback_id == bulk_votes.CHOOSE_MODAL else self._decide
        await step(payload, ack)

    async def _choose(self, payload: Submission, ack: AsyncAck) -> None:
        said = payload.view.state.values.get(bulk_votes.VERDICT, {}).get(bulk_votes.VERDICT)
        verdict = VoteVerdict(said.selected_option.value) if said and said.selected_option else VoteVerdict.APPROVE
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if identity.person is None:
                why = refusal_words(identity.refusal) if identity.refusal else _OTHER_MODAL
                await ack(response_action="errors", errors={bulk_votes.EVERY: why})
                return
            chosen = await self._chosen(payload, identity.person.id)
            standings = await self._front.home.standings_of(identity.person.id, chosen) if chosen else []
        if not standings:
            await ack(response_action="errors", errors={bulk_votes.EVERY: _NOTHING_CHOSEN})
            return
        view = bulk_votes.decide_modal(bulk_votes.sort(standings, verdict), verdict, self._clock())
        await ack(response_action="update", view=view)

    async def _chosen(self, payload: Submission, person_id: str) -> list[str]:
        """Return what is ticked, or where that is all of the list, the list as it is now."""
        if bulk_votes.EVERY not in payload.ticked:
            return payload.ticked[: bulk_votes.MOST]
        state = bulk_votes.ChooseRef.model_validate_json(payload.view.private_metadata).state
        waiting = await self._front.home.waiting(person_id, state.look(bulk_votes.MOST))
        return [entry.view.approval_id for entry in waiting.page.entries]

    async def _decide(self, payload: Submission, ack: AsyncAck) -> None:
        ref = bulk_votes.DecideRef.model_validate_json(payload.view.private_metadata)
        try:
            chosen = [bulk_votes.bound_to(value) for value in payload.ticked[: bulk_votes.MOST]]
        except ValueError:
            chosen = []
        fault = _fault(payload.reason, chosen, needs_reason=ref.needs_reason)
        notifications = [] if fault else await self._record(payload, ref, chosen)
        if not notifications:
            await ack(
                response_action="errors", errors={references.REASON: fault or private_answers.REASON_NOT_RECORDED}
            )
            return
        counted = asyncio.ensure_future(self._counted([one.id for one in chosen], notifications))
        if (await asyncio.wait({counted}, timeout=SOON))[0]:
            await ack(response_action="update", view=counted.result()[1])
            return
        await ack(response_action="update", view=bulk_votes.counting_modal(len(notifications)))
        (words, view), _ = await asyncio.gather(counted, asyncio.sleep(SOON))
        await self._update(payload, words, view)

    @recording("votes on several requests", instead=[])
    async def _record(
        self, payload: Submission, ref: bulk_votes.DecideRef, chosen: Sequence[references.CardRef]
    ) -> list[str]:
        """Record every vote, or none is acknowledged; a vote that was recorded is not recorded again by a repeat."""
        identity = await self._identity(payload.user)
        together = JointDecision(payload.view.id, len(chosen)) if len(chosen) > 1 else None
        clicks = (self._click(one, identity, ref.verdict, payload, together) for one in chosen)
        return list(await asyncio.gather(*(self._desk.record(one) for one in clicks)))

    @staticmethod
    def _click(
        ref: references.CardRef,
        identity: Identity,
        verdict: VoteVerdict,
        payload: Submission,
        together: JointDecision | None,
    ) -> Click:
        return click(
            ref,
            identity,
            verdict,
            occasion=payload.view.id,
            reason=payload.reason,
            refusal=identity.refusal,
            together=together,
        )

    async def _counted(self, ids: Sequence[str], notifications: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """Apply what is recorded; return what came of it in short, and vote by vote. Never raises."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(notification: str) -> ClickOutcome | None:
            async with slots:
                return await self._apply(notification)

        outcomes = await asyncio.gather(*map(one, notifications))
        try:
            entries = {entry.view.approval_id: entry for entry in await self._front.home.requests(ids)}
        except Exception as error:  # noqa: BLE001 - the outcomes are known, and are said without what they are about
            self._log.error("what several votes were about was not read: %s", type(error).__name__)
            entries = {}
        words = bulk_votes.done_words(outcomes)
        return words, bulk_votes.done_modal([entries.get(one) for one in ids], ids, outcomes)

    async def _update(self, payload: Submission, words: str, view: dict[str, Any]) -> None:
        """Say in the window what came of the votes, or in private to whom closed or lost it."""
        try:
            await self._client.views_update(view_id=payload.view.id, view=view)
        except FAILURES as error:
            self._log.info("what came of several votes is told in private: %s", error_code(error))
            await self._answers.tell(payload.user.id, None, words, occasion=payload.view.id)

    async def _apply(self, notification: str) -> ClickOutcome | None:
        """Return what came of a vote, None where that is not known yet: the runtime applies it later."""
        return await applied("one of several votes", self._desk.apply(notification))


def _fault(reason: str, chosen: Sequence[references.CardRef], *, needs_reason: bool) -> str | None:
    if not chosen:
        return _NOTHING_CHOSEN
    if needs_reason or reason.strip():
        return reason_fault(reason)
    return f"Please use at most {REASON_MAX:,} characters." if len(reason) > REASON_MAX else None
