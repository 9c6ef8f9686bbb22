"""Receivers of webhooks are systems of their own: what one does, or does not do, is nothing to the others."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

from edge.webhooks import Receiver
from runtime.model.circuit_breaker import FAILURES, FIRST_PAUSE
from runtime.model.effect import Effect, Purpose
from runtime.model.subscription import CONNECTOR, DELIVER, Subscription
from runtime.store import circuit_breakers, leases
from runtime.store.leases import Lessee
from runtime.worker.lanes import Lane, room_for, slots_of
from tests.bench import TENANT, Bench
from tests.integration.hooks_stage import open_ears, subscribed, subscription
from tests.patience import MINUTE

SLOTS = slots_of(8, receivers=2)
CAP = SLOTS.receiver_cap
"""How many deliveries one receiver may have under way."""
THIS, OTHER = (
    subscription(f"https://{name}.hooks.example/in", "run.completed", name=name) for name in ("this", "other")
)


async def _noted(bench: Bench, refs: Sequence[int]) -> None:
    """Have as many runs written to their end, with all that is told of them."""
    for ref in refs:
        await bench.start("bench.note", {"incident": f"I{ref}", "text": "seen", "api_token": "t"}, ref=f"n{ref}")
    await bench.settle()


async def _waiting(bench: Bench, *told: tuple[Subscription, Receiver], runs: int) -> Bench:
    """Return the bench with subscriptions, and with a delivery of each run to each, which nobody takes."""
    bench = subscribed(bench, *told, delivers=False)
    await _noted(bench, range(runs))
    return bench


async def _lease(bench: Bench, busy: Sequence[Effect] = (), slots: int | None = None) -> list[Effect]:
    """Lease deliveries as a worker would that has others under way."""
    now, room = bench.clock(), room_for(SLOTS, Lane.HOOKS, busy, [DELIVER])
    some = room if slots is None else replace(room, slots=slots)
    lessee = Lessee(TENANT, "another", now, now + timedelta(minutes=1))
    async with bench.engine.pool.connection() as conn:
        return await leases.lease_effects(conn, lessee, Purpose.MESSAGE, some)


async def test_a_receiver_that_fails_is_left_alone_and_no_other(bench: Bench) -> None:
    async with open_ears() as deaf, open_ears() as good:
        deaf.default = 500
        failing = subscription(deaf.url, "run.completed", name="deaf")
        await _noted(subscribed(bench, failing), range(FAILURES))
        (left_alone,) = await bench.rows(
            "SELECT connector, target, open_until > %s AS open FROM breakers", bench.clock()
        )
        assert left_alone == {"connector": CONNECTOR, "target": f"http://localhost:{deaf.port}", "open": True}
        tries = len(deaf.ids)
        await _noted(subscribed(bench, failing, subscription(good.url, "run.completed", name="good")), [FAILURES])
        assert (len(good.ids), len(deaf.ids)) == (1, tries), "told at once, and the other is not tried meanwhile"


async def test_one_call_tries_a_receiver_again_while_another_is_busy_and_holds_it_up_no_longer(bench: Bench) -> None:
    told = await _waiting(bench, THIS, OTHER, runs=3)
    async with told.engine.pool.connection() as conn:
        for _ in range(FAILURES):
            await circuit_breakers.record_failure(conn, TENANT, (CONNECTOR, THIS[0].target), told.clock())
    busy = await _lease(told, slots=1)
    assert [one.target for one in busy] == [OTHER[0].target], "this one's breaker is open"
    told.clock.move(seconds=FIRST_PAUSE.total_seconds())
    for _ in range(2):  # as a worker looks again at once, where it has found something
        busy += await _lease(told, busy)
    assert Counter(one.target for one in busy) == {THIS[0].target: 1, OTHER[0].target: CAP}


async def test_a_receiver_has_its_share_of_the_slots_at_most_however_its_deliveries_come(bench: Bench) -> None:
    bench = await _waiting(bench, THIS, runs=2 * CAP)
    busy = await _lease(bench, slots=1)
    assert len(await _lease(bench, busy)) == CAP - 1


async def test_receivers_that_hang_hold_up_no_other_however_many_they_are(bench: Bench) -> None:
    runs = 3 * CAP
    async with AsyncExitStack() as stack:
        hanging = [await stack.enter_async_context(open_ears()) for _ in range(6)]
        good = await stack.enter_async_context(open_ears())
        for one in hanging:
            one.default = None  # it never answers
        told = [subscription(one.url, "run.completed", name=f"ears{at}") for at, one in enumerate([*hanging, good])]
        await _waiting(bench, *told, runs=runs)
        delivering = subscribed(bench, *told, patience=10 * MINUTE)
        async with asyncio.timeout(MINUTE):
            while len(good.ids) < runs or any(len(one.ids) < CAP for one in hanging):
                await delivering.worker.claim()
                await asyncio.sleep(0.02)
        assert [len(one.ids) for one in hanging] == [CAP] * len(hanging), "each hangs with its own share"
        for one in hanging:
            one.default = 200
            one.closing.set()
        await delivering.settle()
