"""Undo: what a run did is taken back by a run of its own, and the card's *Undo*.

What a run did is taken back by a run of its own: once, the last first, by people's rules for each of it.

*Undo* on the card of what was done: a list first, a reason, and a run of its own by whoever asked.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from bot.views.references import APPROVE, UNDO
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.canonical import digest
from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.inbox import inbox
from runtime.services.callers import NoRunbookError, TriggerApi, Wish
from runtime.services.definition_views import Sought, list_versions
from runtime.services.operator import OperatorService
from sandbox.harness import SandboxUser
from tests.bench import TEAM, TENANT, Bench
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.runbooks_stage import UNDO_PACK, Shelves, bench, ran, shelves
from tests.integration.seen import whispers
from tests.patience import MINUTE

__all__ = ["bench", "shelves"]


@pytest.fixture
def desk(bench: Bench) -> OperatorService:
    return OperatorService(bench.engine.pool, bench.clock, TENANT)


async def _undo(bench: Bench, desk: OperatorService, run_id: str, step: str | None = None) -> Mapping[str, Any]:
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, step, "a mistake", None))
    await bench.settle()
    return facts


def _standing(items: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {item["step"]: (item["standing"], item["why"]) for item in items}


async def test_what_was_done_is_undone_the_last_first_and_the_rest_is_named(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    facts = await _undo(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["third", "first"]
    assert _standing(facts["left"]) == {"second": ("irreversible", "irreversible")}
    assert [call.params for call in shelves.take.calls] == [
        {"place": "third", "entry": "e-third", "was": "nothing at third"},
        {"place": "first", "entry": "e-first", "was": "nothing at first"},
    ]
    undo = await bench.run(facts["undone_in"])
    assert (undo["status"], undo["requested_by"], undo["trigger_type"]) == ("succeeded", "omar", "countersign.undo")
    assert {path: step["status"] for path, step in undo["steps"].items()} == {
        "undo_third": "succeeded",
        "undo_first": "succeeded",
        "rest": "succeeded",
    }


async def test_each_undo_acts_under_the_key_of_its_receipt(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    await _undo(bench, desk, run_id)
    receipts = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq DESC", run_id
    )
    third, _, first = (row["receipt_id"] for row in receipts)
    assert [call.key for call in shelves.take.calls] == [f"undo:{third}", f"undo:{first}"]


async def test_what_is_undone_is_not_undone_again(bench: Bench, desk: OperatorService, shelves: Shelves) -> None:
    run_id = await ran(bench, "three")
    first = await _undo(bench, desk, run_id, "third")
    second = await _undo(bench, desk, run_id)
    assert [item["step"] for item in second["undone"]] == ["first"]
    assert _standing(second["left"])["third"] == ("undone", f"undone by {first['undone_in']}")
    again = await _undo(bench, desk, run_id)
    assert again["status"] == "stale"
    assert again["reason"].startswith("nothing of it can be undone; third: undone by ")
    assert len(shelves.take.calls) == 2


async def test_what_is_being_undone_is_not_asked_for_again(bench: Bench, desk: OperatorService) -> None:
    run_id = await ran(bench, "three")
    acts = [await desk.undo("omar", run_id, None, "x", None) for _ in range(2)]
    first, second = [await inbox.apply(bench.engine, act) for act in acts]
    assert (first["status"], second["status"]) == ("applied", "stale")
    assert f"third: {first['undone_in']} is at it" in second["reason"]


async def test_a_run_that_goes_on_is_not_undone_but_one_step_of_it_may_be(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    whole = await _undo(bench, desk, run_id)
    assert (whole["status"], whole["reason"]) == ("stale", "the run goes on: cancel it first (waiting)")
    assert (await _undo(bench, desk, run_id, "kept"))["status"] == "applied"
    assert [call.params["place"] for call in shelves.take.calls] == ["kept"]
    assert (await bench.run(run_id))["status"] == "waiting"


async def test_a_step_that_is_not_there_has_nothing_to_undo(bench: Bench, desk: OperatorService) -> None:
    facts = await _undo(bench, desk, await ran(bench, "three"), "fourth")
    assert (facts["status"], facts["reason"]) == ("stale", "nothing of it can be undone")


async def test_policy_is_told_what_each_effect_of_an_undo_takes_back(bench: Bench, desk: OperatorService) -> None:
    run_id = await ran(bench, "three")
    facts = await _undo(bench, desk, run_id, "first")
    (receipt,) = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' = 'first'", run_id
    )
    query = "SELECT document->'input'->'effect' AS asked FROM policy_decisions WHERE run_id = %s ORDER BY seq"
    (undone,) = [
        row["asked"] for row in await bench.rows(query, facts["undone_in"]) if row["asked"]["connector"] != "slack"
    ]
    assert undone["undoes"] == {"run": run_id, "receipt": receipt["receipt_id"]}
    assert all("undoes" not in row["asked"] for row in await bench.rows(query, run_id))


async def test_what_undoes_is_no_version_that_anybody_lists_or_starts(bench: Bench, desk: OperatorService) -> None:
    undo = await bench.run((await _undo(bench, desk, await ran(bench, "three")))["undone_in"])
    async with bench.engine.pool.connection() as conn:
        listed = await list_versions(conn, TENANT, Sought(limit=100))
    assert listed
    assert undo["definition_name"] not in {row["name"] for row in listed}
    counter = TriggerApi(bench.engine, TENANT, Catalog({}, (), (), frozenset(), {}))
    wish = Wish("countersign.undo", None, "mine", {})
    with pytest.raises(NoRunbookError):
        await counter.trigger(wish, Actor(id="omar", kind="person"), "portal-bot")


async def test_an_undo_is_undone_only_where_its_own_verb_says_how(bench: Bench, desk: OperatorService) -> None:
    run_id = await ran(bench, "three")
    facts = await _undo(bench, desk, run_id, "first")
    back = await _undo(bench, desk, facts["undone_in"])
    assert back["reason"] == "nothing of it can be undone; undo_first: only by hand: Put it there again."


async def test_the_run_that_undoes_names_the_receipts_by_their_digests_and_who_asked(
    bench: Bench, desk: OperatorService
) -> None:
    run_id = await ran(bench, "three")
    facts = await _undo(bench, desk, run_id)
    first = (await bench.chain(facts["undone_in"]))[0]
    assert (first.event, first.actor.id, first.data["trigger_ref"]) == ("run.queued", "omar", f"undo:{run_id}:1")
    definition = bench.engine.definitions
    async with bench.engine.pool.connection() as conn:
        undoing = await definition.get(conn, f"countersign-undo-{run_id}", 1)
    assert first.data["definition_digest"] == undoing.digest
    named = undoing.trigger_schema["properties"]["receipts"]["const"]
    kept = await bench.rows(
        "SELECT document FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq", run_id
    )
    expected = [
        {"receipt_id": r["receipt_id"], "digest": digest(r), "step": r["step"]}
        for r in (row["document"] for row in kept)
    ]
    assert named == [expected[2], expected[0]]


async def _cancel(bench: Bench, desk: OperatorService, run_id: str) -> Mapping[str, Any]:
    facts = await inbox.apply(bench.engine, await desk.cancel("omar", run_id, "not wanted", None))
    await bench.settle()
    return facts


async def test_a_canceled_run_withdraws_what_it_waits_for_and_undoes_nothing_else(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    facts = await _cancel(bench, desk, run_id)
    assert [call.params for call in shelves.take.calls] == [{"entry": "e-asked", "run": run_id}]
    assert (await bench.run(facts["withdrawn_in"]))["status"] == "succeeded"
    assert (await bench.run(run_id))["status"] == "canceled"


async def test_what_was_withdrawn_is_undone_and_the_rest_can_be(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    canceled = await _cancel(bench, desk, run_id)
    facts = await _undo(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["kept"]
    assert _standing(facts["left"]) == {"asked": ("undone", f"undone by {canceled['withdrawn_in']}")}
    assert len(shelves.take.calls) == 2


async def test_what_was_answered_is_not_withdrawn_but_undone(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    (wait,) = await bench.rows("SELECT correlation_key FROM waits WHERE run_id = %s", run_id)
    await bench.complete(wait["correlation_key"], {}, verbs=["ask"])
    await bench.settle()
    facts = await _undo(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["after", "asked", "kept"]
    assert [call.params["was"] for call in shelves.take.calls] == ["nothing at after", "asked", "nothing at kept"]


async def test_a_run_that_asked_nobody_is_canceled_without_a_run_beside_it(bench: Bench, desk: OperatorService) -> None:
    run_id = await ran(bench, "twelve")
    facts = await _cancel(bench, desk, run_id)
    assert facts["withdrawn_in"] is None
    assert [row["run_id"] for row in await bench.rows("SELECT run_id FROM runs")] == [run_id]


async def _twelve_undone(bench: Bench, desk: OperatorService) -> tuple[str, str]:
    """Cancel a run of twelve effects after its ninth and have it undone; return both runs."""
    run_id = await ran(bench, "twelve")
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    await _cancel(bench, desk, run_id)
    facts = await _undo(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == [f"p{number}" for number in range(9, 0, -1)]
    assert _standing(facts["left"]) == {"p10": ("not_performed", "not performed: rejected")}
    return run_id, facts["undone_in"]


async def test_of_twelve_effects_nine_are_undone_in_reverse_and_one_that_is_refused_is_put_to_people(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id, undo = await _twelve_undone(bench, desk)
    assert [call.params["place"] for call in shelves.take.calls] == ["p9", "p8", "p7", "p6"]
    refused = await bench.click("ann", await bench.approval_id(), "reject", "it has been read by then")
    assert refused.counted
    await bench.settle()
    assert [call.params["place"] for call in shelves.take.calls] == ["p9", "p8", "p7", "p6", "p4", "p3", "p2", "p1"]
    assert shelves.register.calls == []
    steps = (await bench.run(undo))["steps"]
    assert (steps["undo_p5"]["status"], steps["rest.by_hand"]["status"]) == ("failed_handled", "parked")
    view = await bench.desk.approval(await bench.approval_id("task"))
    assert view is not None
    assert view.groups == ("operators",)
    (not_undone,) = [field.after for field in view.fields if field.name == "not_undone"]
    assert "it has been read by then" in not_undone["undo_p5"]["why"]
    receipts = await bench.rows(
        "SELECT outcome FROM receipts WHERE run_id = %s AND document->>'step' LIKE 'undo%%'", undo
    )
    assert sorted(row["outcome"] for row in receipts) == ["refusal", *["success"] * 8]
    assert run_id in str(view.fields)


async def test_what_people_did_by_hand_counts_as_undone(bench: Bench, desk: OperatorService) -> None:
    run_id, undo = await _twelve_undone(bench, desk)
    await bench.click("ann", await bench.approval_id(), "reject", "not wanted")
    await bench.settle()
    own = await bench.click("omar", await bench.approval_id("task"), "approve", "sent a correction by post")
    assert own.refusal is not None, "whoever asked for the undo does not say that it is done"
    await bench.meddle("UPDATE actors SET groups = '[\"operators\"]' WHERE actor_id = 'cat'")
    assert (await bench.click("cat", await bench.approval_id("task"), "approve", "sent a correction by post")).counted
    await bench.settle()
    assert (await bench.run(undo))["status"] == "succeeded"
    again = await _undo(bench, desk, run_id)
    assert f"p5: undone by hand, as {undo} tells" in again["reason"]


async def test_what_people_leave_as_it_is_can_be_undone_later(
    bench: Bench, desk: OperatorService, shelves: Shelves
) -> None:
    run_id, undo = await _twelve_undone(bench, desk)
    await bench.click("ann", await bench.approval_id(), "reject", "not wanted")
    await bench.settle()
    await bench.meddle("UPDATE actors SET groups = '[\"operators\"]' WHERE actor_id = 'cat'")
    await bench.click("cat", await bench.approval_id("task"), "reject", "leave it")
    await bench.settle()
    assert (await bench.run(undo))["status"] == "succeeded"
    again = await _undo(bench, desk, run_id)
    assert [item["step"] for item in again["undone"]] == ["p5"]
    for name in ("ann", "ben"):
        await bench.click(name, await bench.approval_id())
    await bench.settle()
    assert [call.params["company"] for call in shelves.register.calls] == ["p5"]


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, shelves: Shelves) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, shelves, UNDO_PACK) as running:
        yield running


def _buttons(card: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]


async def _opened(chat: Chat) -> dict[str, Any]:
    """Have a place opened under two signatures; return its card as it stands then."""
    await chat.bench.start("undo.opening", {})
    await chat.bench.settle()
    approval_id = await chat.bench.approval_id()
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval_id)
    await chat.bench.settle()
    (card,) = await chat.cards()
    return {**card, "channel": CHANNEL}


async def _asked(chat: Chat, name: str, card: dict[str, Any]) -> tuple[SandboxUser, str]:
    """Click *Undo*; return the person, and all that their modal shows."""
    person = await chat.person(name)
    await person.click(card, UNDO)
    modal = await person.find_modal(timeout=MINUTE)
    return person, str(modal)


async def test_undo_stands_on_the_card_of_what_was_done_and_not_before(chat: Chat) -> None:
    await chat.bench.start("undo.opening", {})
    await chat.bench.settle()
    (card,) = await chat.cards()
    assert APPROVE in _buttons(card)
    assert UNDO not in _buttons(card)
    for name in ("ann", "ben"):
        await chat.bench.click(name, await chat.bench.approval_id())
    await chat.bench.settle()
    (card,) = await chat.cards()
    assert UNDO in _buttons(card)
    assert APPROVE not in _buttons(card)


async def test_whoever_clicks_undo_sees_what_it_means_and_asks_for_it(chat: Chat, shelves: Shelves) -> None:
    card = await _opened(chat)
    chat.bench.clock.move(seconds=1)
    ivy, modal = await _asked(chat, "ivy", card)
    assert "file report (register) on register:door, by take" in modal
    assert shelves.take.calls == []
    assert (await ivy.submit({"reason": "the wrong door"}))["ok"]
    told = str(await ivy.wait_for(whispers))
    await chat.bench.settle()
    (undo,) = await chat.bench.rows("SELECT run_id, status, requested_by FROM runs ORDER BY created_at DESC LIMIT 1")
    assert (undo["status"], undo["requested_by"]) == ("succeeded", "ivy")
    assert f"Run {undo['run_id']} is undoing it." in told
    assert [call.params for call in shelves.take.calls] == [{"place": "door", "entry": "opened", "was": "closed"}]
    _, after = await _asked(chat, "rita", card)
    assert "Nothing here can be undone." in after
    assert f"undone by {undo['run_id']}" in after


async def test_a_stranger_who_wants_something_undone_is_told_so_and_is_on_record_once(
    chat: Chat, shelves: Shelves
) -> None:
    card = await _opened(chat)
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy' RETURNING 1")
    ivy = await chat.person("ivy")
    for _ in range(2):
        await ivy.click(card, UNDO)
        await ivy.wait_for(whispers)
    rows = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'notification.refused'")
    (leaf,) = [row["leaf"] for row in rows]
    assert leaf["actor"] == {"id": f"slack:{TEAM}:UIVY", "kind": "person"}
    assert leaf["correlation"]["step"] == "door"
    assert (leaf["data"]["code"], leaf["data"]["act"]) == ("identity.unknown", "undo")
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []
    assert shelves.take.calls == []


async def test_who_left_the_directory_before_saying_why_has_nothing_undone_and_is_on_record(
    chat: Chat, shelves: Shelves
) -> None:
    ivy, _ = await _asked(chat, "ivy", await _opened(chat))
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy' RETURNING 1")
    assert (await ivy.submit({"reason": "the wrong door"}))["errors"]
    refused = "SELECT 1 FROM audit_leaves WHERE leaf->>'event' = 'notification.refused'"
    assert len(await chat.bench.rows(refused)) == 1
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []


async def test_an_undo_needs_a_reason(chat: Chat) -> None:
    ivy, _ = await _asked(chat, "ivy", await _opened(chat))
    refused = await ivy.submit({"reason": "\u200b\u200b\u200b"})
    assert "visible" in str(refused["errors"])
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []


async def test_what_two_people_want_undone_is_undone_once(chat: Chat, shelves: Shelves) -> None:
    card = await _opened(chat)
    ivy, _ = await _asked(chat, "ivy", card)
    ben, _ = await _asked(chat, "ben", card)
    await ivy.submit({"reason": "the wrong door"})
    await ivy.wait_for(whispers)
    await ben.submit({"reason": "the wrong door, too"})
    assert "Not undone: nothing of it can be undone; door: run_" in str(await ben.wait_for(whispers))
    await chat.bench.settle()
    assert len(shelves.take.calls) == 1
