"""Where the cards of a request go: decided once, by values that are on record, when people are asked."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from receipts.chain import FELL_BACK
from runtime.approvals.electorate import able, users_of
from runtime.approvals.rules import shortfall
from runtime.engine import Engine
from runtime.model.approval import NewApproval
from runtime.model.delegation import AskedPerson
from runtime.model.requirement import Requirement
from runtime.model.routing import MOST_CALLED, Destination, Route, first_fit
from runtime.outbox import messages
from runtime.outbox.attempts import subject_of
from runtime.planning.effect_tx import EffectTx
from runtime.store.electorate import Electorate, electorate_of
from runtime.store.run_tx import RunTx

MOST_DIRECT_CARDS = 25
"""People up to whom each gets a card of their own; a larger group has one in its channel. Each is an effect."""


@dataclass(frozen=True)
class Reach:
    """Whom the directory has in the groups that are asked, next in line, or to fall back on; and who may not decide."""

    people: list[AskedPerson]
    barred: frozenset[str]

    def users(self, *groups: str) -> list[str]:
        """Return the Slack accounts that a card for these groups goes to."""
        return users_of(self.people, set(groups), self.barred)

    def why_not(self, requirement: Requirement) -> str:
        """Return why there are not enough eligible approvers, as things stand; "" where there are."""
        groups = {*requirement.groups, *requirement.leads}
        return shortfall(requirement, able(self.people, groups, self.barred), self.barred)


async def routed(passage: EffectTx, new: NewApproval, first: str | None = None) -> NewApproval:
    """Return the request with its route, why too few people may approve it, and who may decide from the beginning.

    `first` is where a card goes in any case: a review's step is its posting. What falls back goes where it would have
    gone, and to those whom the tenant names for it. Of these, policy alone says who may sign: those next in line.
    """
    reach, fallback = await _reach(passage, new.requirement), passage.engine.routing.fallback
    why = reach.why_not(replace(new.requirement, escalate_to=())) if fallback else ""
    sends = [(groups, await _send(passage, new, groups)) for groups in new.requirement.told_apart]
    each = [await _places(passage, new, reach.users(*groups), groups, send, first) for groups, send in sends]
    places = [*chain.from_iterable(each)]
    if why and fallback:
        places += [*fallback.channels, *await _in_time(passage, new, reach.users(*fallback.groups))]
        joined = tuple(group for group in fallback.groups if group in new.requirement.leads)
        new = replace(new, joined=joined)
    route = Route(
        places=tuple(dict.fromkeys(places)),
        mention=_mention(sends, reach),
        why=why,
        fallback=fallback.groups if why and fallback else (),
    )
    return replace(new, route=route, shortfall=reach.why_not(new.requirement))


def tell_fallback(passage: EffectTx, new: NewApproval) -> None:
    """Put on record that a request went to others as well, and from then on to whom: of these who may decide."""
    if new.route.why:
        facts = {"approval_id": new.approval_id, "why": new.route.why, "to": list(new.route.fallback)}
        passage.tx.leaf_about(new, FELL_BACK, facts)


async def _reach(passage: EffectTx, requirement: Requirement) -> Reach:
    tx = passage.tx
    barred = {tx.row["requested_by"], tx.row["submitted_by"], *requirement.exclude}
    people = await tx.once(partial(people_in, tx), _electorate(passage.engine, requirement))
    return Reach(people, frozenset(barred))


def _electorate(engine: Engine, requirement: Requirement) -> Electorate:
    fallback = engine.routing.fallback
    return Electorate((*requirement.groups, *requirement.leads, *(fallback.groups if fallback else ())))


async def people_in(tx: RunTx, wanted: Electorate) -> list[AskedPerson]:
    """Return the people of groups, as the directory has them now."""
    return await electorate_of(tx.conn, tx.tenant, wanted.groups, tx.now)


async def look_at_reach(engine: Engine, tx: RunTx, requirement: Requirement) -> None:
    """Read ahead whom a request by this requirement reaches."""
    wanted = _electorate(engine, requirement)
    await tx.look(wanted, people_in(tx, wanted))


async def _send(passage: EffectTx, new: NewApproval, groups: tuple[str, ...]) -> Destination | None:
    """Return where the tenant's rules have a request to these groups go, or None where no rule is for it."""
    rules = passage.engine.routing.rules
    if not rules:
        return None
    definition, verb = await passage.tx.definition(), await passage.verb()
    params = passage.attempt.action.fields
    rule = first_fit(rules, subject_of(passage.tx.row, definition, verb, groups, new.tier, params))
    return rule.send if rule else None


def _mention(sends: Sequence[tuple[tuple[str, ...], Destination | None]], reach: Reach) -> tuple[str, ...] | None:
    """Return whom the card calls: for each part of those asked, whom its rule names, or else its people if few."""
    named = [(groups, send.mention if send else None) for groups, send in sends]
    if all(mention is None for _, mention in named):
        return None
    return tuple(dict.fromkeys(chain.from_iterable(_called(groups, mention, reach) for groups, mention in named)))


def _called(groups: tuple[str, ...], mention: tuple[str, ...] | None, reach: Reach) -> Iterator[str]:
    users = reach.users(*groups)
    yield from mention if mention is not None else users if len(users) <= MOST_CALLED else ()


async def _places(
    passage: EffectTx,
    new: NewApproval,
    users: Sequence[str],
    groups: tuple[str, ...],
    send: Destination | None,
    first: str | None,
) -> list[str]:
    """Return where cards for these groups go, before any fallback; `users` are their people.

    What would reach nobody it was meant for goes to its channel.
    """
    usual = [first or passage.engine.routing.channel(groups)]
    if send is None:
        return usual
    direct = await _in_time(passage, new, users) if send.direct and len(users) <= MOST_DIRECT_CARDS else []
    found = [*([first] if first else ()), *send.channels, *direct]
    return found if found or not send.direct else usual


async def _in_time(passage: EffectTx, new: NewApproval, users: Sequence[str]) -> list[str]:
    """Return whom a card of their own can reach while the request is open: of others the quiet hours last longer."""
    tx, until = passage.tx, passage.tx.now + new.requirement.lasts
    moments = await asyncio.gather(*(messages.card_told(tx, user, new) for user in users))
    return [user for user, first in zip(users, moments, strict=True) if first is None or first < until]
