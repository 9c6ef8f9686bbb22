"""Subscribers are told of what came about, and what becomes of that never changes a run."""

import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge.webhooks import Receiver
from runtime.inbox import inbox
from runtime.lanes import Lane
from runtime.model.action import Tier
from runtime.model.subscription import Where
from runtime.outbox.webhooks import MOST_LETTERS
from runtime.services.operator import OperatorService
from runtime.worker import Worker
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.hooks_stage import Ears, dead_letters, deliveries, open_ears, subscribed, subscription
from tests.patience import MINUTE

NOTE = {"incident": "I1", "text": "nobody-else-reads-this", "api_token": "hunter2-hunter2"}
FILE = {"company": "ACME", "text": "report"}


@pytest.fixture
async def ears() -> AsyncIterator[Ears]:
    async with open_ears() as found:
        yield found


async def _noted(bench: Bench, ref: str = "1") -> dict[str, Any]:
    """Have a run written to its end; return it as it stands."""
    run_id = (await bench.start("bench.note", {**NOTE, "incident": f"I{ref}"}, ref=ref)).run_id
    await bench.settle()
    return await bench.run(run_id)


async def _ends_as_without(bench: Bench, told: Bench) -> None:
    """Look whether a run ends as one of which nobody is told, step by step."""
    alone = await _noted(bench, "alone")
    run = await _noted(told, "2")
    assert run["status"] == alone["status"] == "succeeded"
    steps = {path: step["status"] for path, step in run["steps"].items()}
    assert steps == {path: step["status"] for path, step in alone["steps"].items()}


async def test_a_subscriber_is_told_by_ids_and_states_alone(bench: Bench, ears: Ears) -> None:
    told = subscribed(bench, subscription(ears.url, "run.started", "run.completed", "effect.settled"))
    run = await _noted(told)
    said = {one["type"]: one["data"] for one in ears.heard}  # one may overtake another
    assert (len(ears.heard), set(said)) == (3, {"run.started", "effect.settled", "run.completed"})
    settled = said["effect.settled"]
    assert settled["run"] == run["run_id"]
    assert (settled["verb"], settled["step"], settled["tier"], settled["status"]) == ("note", "note", "low", "success")
    assert set(settled) == {"tenant", "run", "runbook", "version", "status", "step", "verb", "tier", "effect"}
    assert not [one for one in NOTE.values() if one in json.dumps(ears.heard)]


async def test_who_decides_what_and_how_is_told(bench: Bench, ears: Ears) -> None:
    told = subscribed(bench, subscription(ears.url, "approval.requested", "approval.decided", "effect.settled"))
    await told.start("bench.file", FILE)
    await told.settle()
    approval = await told.approval_id()
    for person in ("ann", "ben"):
        assert (await told.click(person, approval)).counted
    await told.settle()
    assert sorted((one["type"], one["data"]["status"]) for one in ears.heard) == [
        ("approval.decided", "approved"),
        ("approval.requested", "requested"),
        ("effect.settled", "success"),
    ]
    assert {one["data"]["tier"] for one in ears.heard} == {"high"}
    assert {one["data"].get("approval") for one in ears.heard} == {approval}


@pytest.mark.parametrize(
    ("where", "heard"),
    [
        (Where(), 1),
        (Where(runbooks=("bench-*",)), 1),
        (Where(runbooks=("kyc-*",)), 0),
        (Where(verbs=("no*",), tiers=(Tier.LOW,)), 1),
        (Where(verbs=("file",)), 0),
        (Where(tiers=(Tier.HIGH,)), 0),
    ],
)
async def test_only_what_fits_is_told(bench: Bench, ears: Ears, where: Where, heard: int) -> None:
    await _noted(subscribed(bench, subscription(ears.url, "effect.settled", where=where)))
    assert len(ears.heard) == heard


async def test_a_delivery_passes_the_gate_and_has_its_receipt(bench: Bench, ears: Ears) -> None:
    run = await _noted(subscribed(bench, subscription(ears.url, "run.completed")))
    (receipt,) = await bench.rows(
        "SELECT document FROM receipts WHERE run_id = %s AND document ->> 'connector' = 'webhook'", run["run_id"]
    )
    document = receipt["document"]
    assert (document["outcome"], document["decision_id"] is not None) == ("success", True)
    assert document["target"] == f"http://localhost:{ears.port}", "the path may be a secret"
    assert "T0KEN" not in json.dumps(document)


async def test_what_policy_refuses_is_not_sent_and_the_run_goes_on(bench: Bench, ears: Ears) -> None:
    elsewhere = ears.url.replace("localhost", "127.0.0.1")
    await _ends_as_without(bench, subscribed(bench, subscription(elsewhere, "run.completed")))
    assert ears.heard == []
    assert [one["status"] for one in await deliveries(bench)] == ["rejected"]
    (letter,) = await dead_letters(bench)
    assert "The tenant may not use this operation on this target" in letter["reason"]


@pytest.mark.parametrize("status", [500, 503, 404, 401, 302])
async def test_what_a_receiver_does_not_take_is_sent_again_under_the_same_id(
    bench: Bench, ears: Ears, status: int
) -> None:
    ears.answers = [status, status]
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _ends_as_without(bench, told)
    await told.later(seconds=5)
    await told.later(seconds=60)
    assert len(ears.ids) == 3
    assert len(set(ears.ids)) == 1
    assert (await deliveries(bench))[-1]["status"] == "dispatched"


async def test_a_receiver_that_asks_for_hours_is_tried_again_in_a_quarter_of_one(bench: Bench, ears: Ears) -> None:
    ears.answers, ears.retry_after = [429], "36000"
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _ends_as_without(bench, told)
    assert len(ears.ids) == 1
    await told.later(seconds=900)
    assert len(ears.ids) == 2


async def test_a_receiver_that_fails_on_and_on_is_a_letter_in_the_end(bench: Bench, ears: Ears) -> None:
    ears.default = 500
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _ends_as_without(bench, told)
    for pause in (5, 60, 300, 1800, 7200, 18000, 36000, 36000):
        assert await dead_letters(bench) == []
        await told.later(seconds=pause)
    assert len(ears.ids) == 9
    (letter,) = await dead_letters(bench)
    assert letter["status"] == "dead_letter"
    assert "its receiver answered 500" in letter["reason"]


async def test_a_receiver_that_hangs_holds_up_nothing(bench: Bench, ears: Ears) -> None:
    ears.default = None
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _ends_as_without(bench, told)
    (delivery,) = await deliveries(bench)
    assert (delivery["status"], "gave no answer" in delivery["error"]) == ("in_doubt", True)
    ears.default = 200
    await told.later(seconds=5)
    assert len(set(ears.ids)) == 1
    assert (await deliveries(bench))[0]["status"] == "dispatched"


async def test_a_host_that_nobody_knows_is_waited_for(bench: Bench) -> None:
    told = subscribed(bench, subscription("https://away.hooks.example/in", "run.completed"))
    await _ends_as_without(bench, told)
    (delivery,) = await deliveries(bench)
    assert (delivery["status"], delivery["tries"]) == ("pending", 0)
    assert "cannot be reached" in delivery["error"]
    for _ in range(8):
        await told.later(hours=10)
    assert [one["status"] for one in await deliveries(bench)] == ["failed"]
    assert "cannot be reached" in (await dead_letters(bench))[0]["reason"]


async def test_a_certificate_that_nobody_vouches_for_gets_nothing(bench: Bench, tmp_path: Path) -> None:
    async with open_ears(tmp_path) as ears:
        told = subscribed(bench, subscription(ears.url, "run.completed"))
        await _ends_as_without(bench, told)
        (delivery,) = await deliveries(bench)
        assert "not who it should be" in delivery["error"]
        assert ears.heard == []
        one, receiver = subscription(ears.url, "run.completed")
        trusting = replace(receiver, tls=ssl.create_default_context(cafile=str(tmp_path / "certificate.pem")))
        await subscribed(bench, (one, trusting)).later(seconds=5)
        assert len(ears.heard) == 1


async def test_a_receiver_in_our_own_network_gets_nothing_unless_that_is_said(bench: Bench, ears: Ears) -> None:
    one, receiver = subscription(ears.url, "run.completed")
    await _ends_as_without(bench, subscribed(bench, (one, replace(receiver, inside=False))))
    assert ears.heard == []
    assert "that webhooks may not reach" in (await dead_letters(bench))[0]["reason"]


@pytest.mark.parametrize("wrong", ["policy", "address"])
async def test_a_subscription_that_is_refused_makes_one_letter_and_no_more(
    bench: Bench, ears: Ears, wrong: str
) -> None:
    one, receiver = subscription(
        ears.url.replace("localhost", "127.0.0.1" if wrong == "policy" else "localhost"), "run.completed"
    )
    told = subscribed(bench, (one, replace(receiver, inside=wrong == "policy")))
    for number in range(3):
        await _noted(told, f"{number}")
    (letter,) = await dead_letters(bench)
    assert ears.heard == []
    right = subscribed(bench, subscription(ears.url, "run.completed"))
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(right.engine, await desk.requeue("omar", letter["notification_id"], "the file is mended"))
    await right.settle()
    assert len(ears.heard) == 1, "what was refused is sent once that is mended"
    await _noted(right, "mended")
    assert len(ears.heard) == 2


async def test_a_receiver_that_is_gone_is_told_nothing_more_until_somebody_says_so(bench: Bench, ears: Ears) -> None:
    ears.answers = [410]
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _ends_as_without(bench, told)
    (letter,) = await dead_letters(bench)
    assert "it is gone" in letter["reason"]
    await _noted(told, "3")
    assert len(ears.ids) == 1
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(told.engine, await desk.requeue("omar", letter["notification_id"], "it is back"))
    await told.settle()
    assert len(ears.ids) == 2
    assert len(set(ears.ids)) == 1
    await _noted(told, "4")
    assert len(ears.ids) == 3


@pytest.mark.parametrize("wrong", ["gone", "policy"])
async def test_what_was_under_way_when_a_subscription_ended_has_one_letter_and_is_sent_with_it(
    bench: Bench, ears: Ears, wrong: str
) -> None:
    ears.default = 410
    elsewhere = ears.url.replace("localhost", "127.0.0.1") if wrong == "policy" else ears.url
    ends = subscription(elsewhere, "run.completed")
    for number in range(5):
        await _noted(subscribed(bench, ends, delivers=False), f"{number}")
    told = subscribed(bench, ends)
    await told.later(minutes=1)
    assert {one["status"] for one in await deliveries(bench)} == {"rejected" if wrong == "policy" else "failed"}
    (letter,) = await dead_letters(bench)
    ears.default, before = 200, set(ears.ids)
    right = subscribed(bench, subscription(ears.url, "run.completed"))
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(right.engine, await desk.requeue("omar", letter["notification_id"], "it is back"))
    await right.later(seconds=3)
    sent = ears.ids[len(before) :]
    assert (len(sent), len(set(sent)), before <= set(sent)) == (5, 5, True)
    assert {one["status"] for one in await dead_letters(bench)} == {"applied"}


async def _fail(told: Bench, ears: Ears, *names: str) -> None:
    """Have deliveries of these runs fail until they are dead letters."""
    ears.default = 500
    put = len(await dead_letters(told))
    for name in names:
        await _noted(told, name)
    while len(await dead_letters(told)) < put + len(names):
        await told.later(hours=4)


async def test_letters_that_nobody_looks_at_end_a_subscription_until_somebody_does(bench: Bench, ears: Ears) -> None:
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _fail(told, ears, *map(str, range(MOST_LETTERS - 1)))
    await _fail(told, ears, "one too many")
    put = await dead_letters(bench)
    assert len(put) == MOST_LETTERS
    (last,) = [one for one in put if "nothing more is sent" in one["reason"]]
    await _noted(told, "unheard")
    assert len(await deliveries(bench)) == MOST_LETTERS
    ears.default = 200
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(told.engine, await desk.requeue("omar", last["notification_id"], "it answers"))
    await told.settle()
    await _noted(told, "heard")
    assert len(await deliveries(bench)) == MOST_LETTERS + 2


async def test_letters_of_the_week_before_do_not_count(bench: Bench, ears: Ears) -> None:
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    await _fail(told, ears, *map(str, range(MOST_LETTERS - 1)))
    bench.clock.move(days=8)
    await _fail(told, ears, "a week later")
    put = await dead_letters(bench)
    assert len(put) == MOST_LETTERS
    assert not [one for one in put if "nothing more is sent" in one["reason"]]


async def test_a_subscription_that_was_changed_is_sent_to_although_the_old_one_is_gone(
    bench: Bench, ears: Ears
) -> None:
    ears.answers = [410]
    one, receiver = subscription(ears.url, "run.completed")
    await _noted(subscribed(bench, (one, receiver)))
    await _noted(subscribed(bench, (replace(one, digest="00" * 32), receiver)), "2")
    assert len(ears.ids) == 2


async def test_a_requeued_delivery_of_a_subscription_that_there_is_no_more_stays_a_letter(
    bench: Bench, ears: Ears
) -> None:
    ears.answers = [410]
    await _noted(subscribed(bench, subscription(ears.url, "run.completed")))
    (letter,) = await dead_letters(bench)
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(bench.engine, await desk.requeue("omar", letter["notification_id"], "it is back"))
    await bench.settle()
    (letter,) = await dead_letters(bench)
    assert (letter["status"], letter["reason"]) == ("dead_letter", "there is no subscription ears any more")


async def test_a_subscription_that_goes_elsewhere_by_now_gets_nothing_that_policy_saw_for_another(
    bench: Bench, ears: Ears
) -> None:
    one, receiver = subscription(ears.url, "run.completed")
    moved = Receiver("https://other.hooks.example/in", receiver.secrets, inside=True)
    await _noted(subscribed(bench, (one, moved)))
    assert "goes to https://other.hooks.example by now" in (await dead_letters(bench))[0]["reason"]


async def test_hanging_receivers_leave_the_chat_its_slots(bench: Bench, ears: Ears) -> None:
    ears.default = None
    told = subscribed(bench, *(subscription(ears.url, "run.started", name=f"ears-{at}") for at in range(12)))
    await told.start("bench.file", FILE)
    await told.settle()
    assert told.chat.said("post_card")
    assert (await bench.rows("SELECT count(*) AS n FROM effects WHERE connector = 'webhook'"))[0]["n"] == 12


async def test_what_waits_for_receivers_that_hang_takes_no_effect_its_turn(bench: Bench, ears: Ears) -> None:
    ears.default = None
    told = subscribed(bench, subscription(ears.url, "run.started"), patience=MINUTE)
    worker = told.worker
    worker.slots = replace(worker.slots, by_lane={**worker.slots.by_lane, Lane.HOOKS: 1})
    await told.start("bench.note", NOTE)
    while not worker._busy(Lane.HOOKS):
        await worker.claim()
    while await worker.claim() or any(work.lane is not Lane.HOOKS for work in worker._tasks.values()):
        pass
    assert worker._free(Lane.HOOKS) == 0
    assert worker._may_chain()
    ears.closing.set()
    await told.settle()


async def test_who_is_told_of_runs_on_mocks_is_told_that(bench: Bench, ears: Ears) -> None:
    told = subscribed(bench, subscription(ears.url, "run.completed"))
    engine = replace(told.engine, mocked=True)
    await _noted(replace(told, engine=engine, worker=Worker(engine)))
    assert [one["data"].get("mocked") for one in ears.heard] == [True]


async def test_nobody_subscribed_nothing_is_proposed(bench: Bench, targets: Targets) -> None:
    await _noted(bench)
    assert await deliveries(bench) == []
    assert bench.engine.listener is None
    assert len(targets.note.calls) == 1
