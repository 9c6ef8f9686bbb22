"""Delegation: `/countersign delegate` says who votes for a person while they are away.

It is the same act as `countersign people delegate`. Each fault that can be seen is shown at its input, and the modal
stays open. The command is recorded before the modal closes; policy is asked then, and the person is told the outcome in
private.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.clicks import Listener, applied, came_of, recording, unknown_words
from bot.listeners.identity import Identity
from bot.payloads import Input, Submission, User
from bot.views import command_replies as words
from bot.views import references
from bot.views.blocks import utc
from bot.views.command_replies import Reply, text_reply
from bot.views.delegation import GROUPS, SINCE, UNTIL, WHOM, DelegationRef, delegation_modal
from bot.views.text import plain
from bot.views.vote_modals import reason_fault
from receipts.canonical import digest
from runtime.model.person import Person
from runtime.services.delegations import StandInWish

COMMAND = "delegate"

Faults = Mapping[str, str]


class DelegationListener(Listener):
    """The modal of a person who will be away, and what they submit."""

    def modal(self, person: Person, channel: str | None) -> Reply | dict[str, Any]:
        """Return the modal, or why there is none: who is in no group has nothing to hand on."""
        return (
            delegation_modal(person.groups, channel, self._clock()) if person.groups else text_reply(words.IN_NO_GROUP)
        )

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the wish before the modal closes; a fault is shown at its input, and it stays open."""
        ref = DelegationRef.model_validate_json(payload.view.private_metadata)
        taken = await self._take(payload, ref)
        if not isinstance(taken, tuple):
            await ack(response_action="errors", errors={name: plain(fault) for name, fault in taken.items()})
            return
        await ack()
        await self._settle(*taken, payload.user, ref)

    @recording("who votes for somebody", instead={WHOM: private_answers.REASON_NOT_RECORDED})
    async def _take(self, payload: Submission, ref: DelegationRef) -> tuple[str, str] | Faults:
        """Return the notification's id and the words for it once it is done, or by input what is wrong."""
        who, whom = await asyncio.gather(self._who(payload.user), self._whom(payload))
        if who.person is None:
            return {WHOM: unknown_words(who)}
        wish = self._wish(payload, ref, who.person, whom)
        if not isinstance(wish, StandInWish):
            return wish
        return await self._front.stand_in(who.person, wish), _done(wish, whom)

    async def _who(self, user: User) -> Identity:
        identity = await self._identity(user)
        if identity.refusal is not None:
            await self._front.refused(identity.account, COMMAND, identity.refusal.code)
        return identity

    async def _whom(self, payload: Submission) -> Identity:
        chosen = _input(payload, WHOM).selected_user or ""
        user = User(id=chosen, team_id=(await self._installation.known()).team)
        return await self._identity(user)

    def _wish(self, payload: Submission, ref: DelegationRef, person: Person, whom: Identity) -> StandInWish | Faults:
        """Return what is wished for, or by input what is wrong with it."""
        groups, now = _groups(payload, person), self._clock()
        since, until = (_moment(_input(payload, name)) for name in (SINCE, UNTIL))
        if ref.shown != digest(list(person.groups)):
            return {f"{GROUPS}0": words.GROUPS_CHANGED}
        if whom.person is None:
            return {WHOM: words.NOT_CONFIRMED if whom.claimed else words.NOT_THEM}
        if whom.person.id == person.id:
            return {WHOM: words.NOT_YOURSELF}
        if since is None or until is None or until <= max(since, now):
            return {UNTIL: words.OVER_BEFORE}
        if not groups:
            return {f"{GROUPS}0": words.WHICH_GROUPS}
        if fault := reason_fault(payload.reason):
            return {references.REASON: fault}
        said_ = [whom.person.id, since.isoformat(), until.isoformat(), groups, payload.reason]
        key = f"{payload.view.id}:{digest(said_)[:16]}"
        return StandInWish(key, whom.person.id, since, until, tuple(groups), payload.reason.strip())

    async def _settle(self, notification: str, done: str, user: User, ref: DelegationRef) -> None:
        """Apply what is recorded and say in private what came of it. Never raises."""
        why = await applied("who votes for somebody", self._front.settled(notification))
        await self._answers.tell(user.id, ref.channel, came_of(why, done), occasion=notification)


def _done(wish: StandInWish, whom: Identity) -> str:
    name = whom.person.name if whom.person else wish.delegate
    return words.STANDS_IN.format(name, utc(wish.starts_at), utc(wish.ends_at), ", ".join(wish.groups))


def _input(payload: Submission, name: str) -> Input:
    return payload.view.state.values.get(name, {}).get(name, Input())


def _moment(given: Input) -> datetime | None:
    return None if given.selected_date_time is None else datetime.fromtimestamp(given.selected_date_time, UTC)


def _groups(payload: Submission, person: Person) -> list[str]:
    """Return the groups that were chosen; a value is a group's place among those of the person."""
    blocks = [values for name, values in payload.view.state.values.items() if name.startswith(GROUPS)]
    chosen = {option.value for values in blocks for given in values.values() for option in given.selected_options or ()}
    return [name for at, name in enumerate(person.groups) if str(at) in chosen]
