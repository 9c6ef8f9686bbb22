"""Lanes: slots by purpose, so that what hangs in one lane holds up no other; and leases that chain in one process.

What a worker takes on with the commits of others in its process, nobody has to look for and lease.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from runtime.engine import Engine
from runtime.model.effect import ChainedLease, Effect, NewEffect, SlotOffer
from runtime.model.subscription import DELIVER
from runtime.store.leases import Room


class Lane(StrEnum):
    """A kind of work with slots of its own."""

    EFFECTS = "effects"  # of steps: only these wait for targets that people's systems are
    MESSAGES = "messages"  # cards, and what people are told
    HOOKS = "hooks"  # what subscribers are told: a receiver that hangs holds up no card
    READS = "reads"
    INBOX = "inbox"
    STARTS = "starts"


_INBOX = 64
"""Notifications that a worker claims at once: they are applied in sets, and take no connection each."""


@dataclass(frozen=True)
class Slots:
    """How many pieces of work a worker does at once, by lane, and how many of one connector, or one target of it.

    `receiver_cap` is the share of a receiver of webhooks.
    """

    by_lane: Mapping[Lane, int]
    connector_cap: int
    target_cap: int
    receiver_cap: int


def slots_of(concurrency: int, receivers: int) -> Slots:
    """Return the slots of a worker that does so many effects at once. One connector never has them all.

    Each receiver of webhooks has its own share: however many of them hang, none takes a slot of another.
    """
    few = max(concurrency // 2, 1)
    each = max(few // 2, 1)
    return Slots(
        by_lane={
            Lane.EFFECTS: concurrency,
            Lane.MESSAGES: few,
            Lane.HOOKS: each * receivers,
            Lane.READS: concurrency,
            Lane.INBOX: max(few, _INBOX),
            Lane.STARTS: 1,  # many at once
        },
        connector_cap=max(concurrency * 3 // 4, 1),
        target_cap=few,
        receiver_cap=each,
    )


def share_of_again(slots: Slots, lane: Lane, busy: int) -> int:
    """Return how many of a lane's slots what is tried again may have before what is fresh: a quarter, less the busy.

    Where there is one slot alone, what is fresh has it first.
    """
    return max((slots.by_lane[lane] + 2) // 4 - busy, 0)


def room_for(slots: Slots, lane: Lane, busy: Iterable[Effect | NewEffect], handlers: Iterable[str]) -> Room:
    """Return what may be leased in a lane of effects.

    Messages have the chat alone as connector, and no caps; a receiver of webhooks has its share of their lane.
    """
    under_way, in_lane = list(busy), slots.by_lane[lane]
    capped = lane is Lane.EFFECTS
    target_cap = slots.target_cap if capped else in_lane
    return Room(
        slots=max(in_lane - len(under_way), 0),
        again=share_of_again(slots, lane, sum(effect.is_again for effect in under_way)),
        handlers=[one for one in handlers if capped or (one == DELIVER) is (lane is Lane.HOOKS)],
        connector_cap=slots.connector_cap if capped else in_lane,
        target_cap=slots.receiver_cap if lane is Lane.HOOKS else target_cap,
        by_connector=Counter(effect.connector for effect in under_way),
        by_target=Counter((effect.connector, effect.target) for effect in under_way),
    )


class ChainedLeases:
    """Offers a slot to whoever applies a notification, and `take`s what was leased in it once that is committed."""

    def __init__(self, engine: Engine, fits: Callable[[NewEffect], bool], take: Callable[[ChainedLease], None]) -> None:
        self._engine = engine
        self._fits = fits
        self._take = take
        self._open: dict[SlotOffer, asyncio.Future[None]] = {}

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Have it so while the block runs."""
        wakeup, before = self._engine.wakeup, self._engine.wakeup.slot_offer
        wakeup.slot_offer = self._offer
        try:
            yield
        finally:
            wakeup.slot_offer = before

    @property
    def chained(self) -> list[Effect]:
        """Return what will be taken, if it is committed."""
        return [offer.chained.effect for offer in self._open if offer.chained is not None]

    @property
    def ends(self) -> set[asyncio.Future[None]]:
        """Return what ends when nothing can be taken any more by who has an offer now."""
        return set(self._open.values())

    @contextmanager
    def _offer(self) -> Iterator[SlotOffer]:
        offer = SlotOffer(self._engine.worker, self._fits)
        self._open[offer] = end = asyncio.get_running_loop().create_future()
        try:
            yield offer
            if offer.chained is not None:
                self._take(offer.chained)
        finally:
            del self._open[offer]
            end.set_result(None)
