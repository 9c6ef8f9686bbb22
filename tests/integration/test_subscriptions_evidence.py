"""Subscriptions: evidence of what was told, and receivers apart from each other.

The evidence of runs of which subscribers were told, or could not be, and what operators see of it.

Receivers of webhooks are systems of their own: what one does, or does not do, is nothing to the others.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page

from countersign.embedded.opa import OpaChild
from edge.webhooks import Receiver
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.lanes import Lane, room_for, slots_of
from runtime.model.circuit_breaker import FAILURES, FIRST_PAUSE
from runtime.model.effect import Effect, Purpose
from runtime.model.subscription import CONNECTOR, DELIVER, Subscription
from runtime.store import circuit_breakers, leases
from runtime.store.leases import Lessee
from tests.bench import TENANT, Bench
from tests.browser import failure_of, verify_page
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import noted, open_office
from tests.integration.hooks_stage import dead_letters, open_ears, subscribed, subscription
from tests.integration.policies_stage import break_glass, filing, glass_bench
from tests.integration.program_stage import command, composed, environment, settings_of
from tests.patience import MINUTE

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.mark.parametrize("status", [200, 410])
async def test_both_verifiers_hold_a_run_of_which_subscribers_were_told(
    bench: Bench, dsn: str, tmp_path: Path, page: Page, status: int
) -> None:
    office = open_office(bench, tmp_path, dsn)
    async with open_ears() as ears:
        ears.default = status
        run_id = await noted(subscribed(bench, subscription(ears.url, "effect.settled", "run.completed")))
    while await office.sealer():
        pass
    bundle, public = office.folder / f"{run_id}.zip", public_path(office.settings.key_path)
    assert verify(bundle, public).run_id == run_id
    assert await failure_of(page, bundle.read_bytes(), public.read_text()) is None
    assert any(leaf.data.get("action") == "webhook::deliver" for leaf in await bench.chain(run_id))


async def test_broken_glass_is_told(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with glass_bench(dsn, targets, tmp_path) as bench, open_ears() as ears:
        told = subscribed(bench, subscription(ears.url, "break_glass.used"))
        _, approval = await filing(told)
        assert (await break_glass(told, "ivy", approval, "the register is on fire", "INC-7")).counted
        await told.settle()
    (one,) = ears.heard
    assert (one["data"]["verb"], one["data"]["approval"], one["data"]["status"]) == ("file", approval, "approve")
    assert "fire" not in json.dumps(one)


async def test_operators_see_who_is_told_and_who_is_gone(bench: Bench, dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text(
        "subscriptions: [{name: ears, on: run.completed, to: 'https://ears.hooks.example/in', secret: ears}]",
        encoding="utf-8",
    )
    env = environment(settings_of(dsn, opa.url, tmp_path)) | {
        "COUNTERSIGN_SUBSCRIPTIONS": str(file),
        "COUNTERSIGN_WEBHOOK_SECRETS": json.dumps({"ears": SECRET}),
    }
    checked = await command("subscriptions", "check", str(file), env=env)
    assert (checked.code, checked.out.split(": ")[1].strip()) == (0, "1 subscription, no faults")
    listed = json.loads((await command("subscriptions", "list", "--json", env=env)).out)["subscriptions"]
    wanted = {"name": "ears", "on": ["run.completed"], "target": "https://ears.hooks.example", "sends": True}
    assert listed == [{**wanted, "waiting": 0, "dead_letters": 0}]
    async with open_ears() as ears:
        ears.default = 410
        one, receiver = subscription(ears.url, "run.completed")
        await noted(subscribed(bench, (one, receiver)))
    (letter,) = await dead_letters(bench)
    (run,) = await bench.rows("SELECT run_id FROM runs")
    assert "it is gone" in (await command("runs", "show", run["run_id"], env=env)).out
    shown = await command("dead-letters", "show", letter["notification_id"], env=env)
    assert "it is gone" in shown.out
    (now,) = json.loads((await command("subscriptions", "list", "--json", env=env)).out)["subscriptions"]
    assert (now["sends"], now["dead_letters"]) == (True, 1), "the one that is gone was another"


async def test_a_fault_in_the_file_keeps_the_program_from_starting(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text("subscriptions: [{name: ears, on: run.ended}]", encoding="utf-8")
    env = environment(settings_of(dsn, opa.url, tmp_path)) | {"COUNTERSIGN_SUBSCRIPTIONS": str(file)}
    for words in (("subscriptions", "check", str(file)), ("serve", "--role", "worker")):
        finished = await command(*words, env=env)
        assert finished.code != 0
        assert "subscriptions.yaml:1: subscriptions[0].on" in finished.err


async def test_a_program_tells_subscribers_where_there_are_any_and_else_does_not_even_look(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text(
        "subscriptions: [{name: ears, on: run.completed, to: 'https://ears.hooks.example/in', secret: ears}]",
        encoding="utf-8",
    )
    named = {"subscriptions": file, "webhook_secrets": {"ears": SECRET}}
    for given, names in (({}, []), (named, ["ears"])):
        async with composed(settings_of(dsn, opa.url, tmp_path, **given)) as system:
            engine = system.engine
            assert [one.name for one in engine.subscriptions] == names
            assert (engine.listener is not None, DELIVER in engine.handlers) == (bool(names), bool(names))
            assert SECRET not in engine.privacy.text(f"it said {SECRET}") or not names


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
            "SELECT connector, target, open_until > %s AS open FROM circuit_breakers", bench.clock()
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
