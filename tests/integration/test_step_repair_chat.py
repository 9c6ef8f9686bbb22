"""A held step in the chat: operators are asked with buttons, say how it goes on, and are told what came of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.views.home import ATTENTION_SHOWN
from bot.views.step_repair import ACTIONS
from countersign.doctor.needs_attention import stopped_work
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import Actor
from runtime.handlers import RefusedError
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.model.run import RepairAction
from runtime.services.step_repair import RepairCommand
from sandbox.harness import SandboxUser, messages
from tests.bench import TENANT
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import settings_of
from tests.integration.seen import whispers
from tests.patience import MINUTE

NODES = Path(__file__).parents[1] / "packs/nodes"
CHANNEL = "C0APPROVALS"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets, PACK, NODES) as running:
        yield running


async def _held(chat: Chat, targets: Targets) -> tuple[str, dict[str, Any]]:
    """Let the first step of a run be held; return the run, and the message that asks about it."""
    targets.look.answers = [RefusedError("the register is closed")]
    run_id = (await chat.bench.start("bench.mended", {})).run_id
    await chat.bench.settle()
    (message,) = await chat.cards(CHANNEL)
    return run_id, {**message, "channel": CHANNEL}


async def _click(chat: Chat, name: str, message: dict[str, Any], act: str) -> SandboxUser:
    person = await chat.person(name)
    await person.click(message, f"countersign_repair_{act}")
    return person


async def _status(chat: Chat, run_id: str) -> str:
    await chat.bench.settle()
    return str((await chat.bench.run(run_id))["steps"]["look"]["status"])


async def test_the_message_says_what_failed_and_has_a_button_for_each_act(chat: Chat, targets: Targets) -> None:
    _, message = await _held(chat, targets)
    assert "look of What goes wrong waits for a person (1) failed and needs attention" in str(message["blocks"])
    (actions,) = [block for block in message["blocks"] if block["type"] == "actions"]
    assert [one["action_id"] for one in actions["elements"]] == list(ACTIONS)


async def test_an_operator_supplies_a_result_with_a_reason(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "supply")
    assert "the register is closed" in str(await omar.find_modal(timeout=MINUTE))
    no_json = await omar.submit({"result": "four", "reason": "asked by telephone"})
    assert "This is not valid JSON for a result" in str(no_json["errors"])
    for typed, why in (
        ('{"value": "\\u0000"}', "it holds a NUL character"),
        ('{"value": 1, "value": 2}', "member 'value' stands twice"),
        ("[4]", "not an object but list"),
    ):
        assert why in str((await omar.submit({"result": typed, "reason": "asked by telephone"}))["errors"])
    no_reason = await omar.submit({"result": '{"value": 4}', "reason": "\u200b\u200b\u200b"})
    assert "visible" in str(no_reason["errors"])
    assert await _status(chat, run_id) == "needs_attention"
    assert (await omar.submit({"result": '{"value": 4}', "reason": "asked by telephone"}))["ok"]
    assert "Done: look has your result, and the run continues." in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "succeeded"
    (leaf,) = await chat.bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'repair.decided'", run_id
    )
    assert leaf["leaf"]["actor"] == {"id": "omar", "kind": "person"}
    assert leaf["leaf"]["data"]["reason"] == "asked by telephone"


async def test_who_is_no_operator_is_told_why_nothing_was_done(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    ann = await _click(chat, "ann", message, "skip")
    await ann.find_modal(timeout=MINUTE)
    await ann.submit({"reason": "not needed"})
    assert "Only the tenant's operators may do this" in str(await ann.wait_for(whispers))
    assert await _status(chat, run_id) == "needs_attention"


@pytest.mark.parametrize("clicks", [("skip",), ("skip", "skip", "end")])
async def test_a_stranger_who_clicks_beside_a_held_step_is_on_record_once(
    chat: Chat, targets: Targets, clicks: tuple[str, ...]
) -> None:
    run_id, message = await _held(chat, targets)
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann' RETURNING 1")
    for act in clicks:
        ann = await _click(chat, "ann", message, act)
        await ann.wait_for(whispers)
    (row,) = await chat.bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'notification.refused'", run_id
    )
    assert row["leaf"]["actor"]["id"].endswith(":UANN")
    assert (row["leaf"]["data"]["code"], row["leaf"]["data"]["act"]) == ("identity.unknown", "skip")
    assert await _status(chat, run_id) == "needs_attention"


async def test_a_person_whom_policy_refuses_is_on_record_once(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    for _ in range(2):
        ann = await _click(chat, "ann", message, "skip")
        await ann.find_modal(timeout=MINUTE)
        await ann.submit({"reason": "not needed"})
        await ann.wait_for(whispers)
    (row,) = await chat.bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'notification.refused'", run_id
    )
    assert (row["leaf"]["actor"]["id"], row["leaf"]["data"]["code"]) == ("ann", "act.denied")


async def test_a_click_on_what_is_held_no_more_does_nothing(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    chat.faults.refuse("chat.update", "invalid_blocks")  # so the message keeps its buttons
    omar = await _click(chat, "omar", message, "retry")
    await omar.find_modal(timeout=MINUTE)
    await omar.submit({"reason": "it is open again"})
    await omar.wait_for(whispers)
    assert await _status(chat, run_id) == "succeeded"
    ivy = await _click(chat, "ivy", message, "end")
    assert "This step no longer needs attention" in str(await ivy.wait_for(whispers))


async def test_of_two_who_saw_the_same_the_second_does_nothing(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "skip")
    await omar.find_modal(timeout=MINUTE)
    targets.look.answers = [RefusedError("closed still")]
    first = RepairCommand("elsewhere", "omar", run_id, "look", RepairAction.RETRY, 0, "it is open again", None, "req")
    counter = chat.bench.desk.step_repair
    assert await counter.apply(await counter.record(first)) == ""
    assert await _status(chat, run_id) == "needs_attention"
    await omar.submit({"reason": "not needed"})
    assert "look has moved on: it was at version 0, and is at 1" in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "needs_attention"


async def test_what_else_the_run_does_takes_no_act_from_anybody(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "skip")
    await omar.find_modal(timeout=MINUTE)
    await chat.bench.meddle("UPDATE runs SET version = version + 1 WHERE run_id = %s RETURNING 1", run_id)
    await omar.submit({"reason": "not needed"})
    assert "Done: look is skipped, and the run continues." in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "skipped"


async def test_a_message_about_a_step_that_is_held_no_more_says_what_came_of_it_and_has_no_buttons(
    chat: Chat, targets: Targets
) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "retry")
    await omar.find_modal(timeout=MINUTE)
    targets.look.answers = [RefusedError("closed still")]
    await omar.submit({"reason": "it is open again"})
    await omar.wait_for(whispers)
    assert await _status(chat, run_id) == "needs_attention"
    (asks,) = await chat.cards(CHANNEL)
    assert "closed still" in str(asks["blocks"]), "what failed again is asked about, and nothing else"
    said = await _said_by(chat, message["ts"])
    assert "failed and needed attention: the register is closed (refused)" in said
    assert 'retried it: "it is open again"' in said
    own = [_buttons(shown) for shown in messages(await omar.see()) if "the register is closed" in shown["text"]]
    assert own
    assert not any(own), "nor has what was said to each of them"


def _buttons(message: dict[str, Any]) -> list[str]:
    actions = [block for block in message["blocks"] if block["type"] == "actions"]
    return [one["action_id"] for block in actions for one in block["elements"]]


async def _said_by(chat: Chat, ts: str) -> str:
    found = (await chat.raw.conversations_history(channel=CHANNEL, limit=200))["messages"]
    return next(str(message["text"]) for message in found if message["ts"] == ts)


async def _ended(chat: Chat, run_id: str) -> None:
    word = CancelPayload(run_id=run_id, reason="wrong client")
    cancel = Notification("ntf_1", TENANT, "c1", run_id, word, Actor(id="omar", kind="person"), "req")
    await inbox.apply(chat.bench.engine, await inbox.record(chat.bench.engine, cancel))
    await chat.bench.settle()


async def test_a_message_about_a_step_of_a_run_that_has_ended_asks_no_more(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    await _ended(chat, run_id)
    assert await chat.cards(CHANNEL) == []
    assert "The run has ended." in await _said_by(chat, message["ts"])


async def test_a_message_that_comes_late_asks_no_more_once_the_run_has_ended(chat: Chat, targets: Targets) -> None:
    chat.faults.break_down("chat.postMessage")
    targets.look.answers = [RefusedError("the register is closed")]
    run_id = (await chat.bench.start("bench.mended", {})).run_id
    await chat.bench.settle()
    await _ended(chat, run_id)
    chat.faults.lift("chat.postMessage")
    for _ in range(3):
        await chat.bench.later(minutes=5)
    assert await chat.cards(CHANNEL) == []
    assert "The run has ended." in str(messages(await (await chat.person("omar")).see()))


async def test_a_message_that_is_gone_keeps_nothing_from_going_on(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "skip")
    await omar.find_modal(timeout=MINUTE)
    await chat.raw.chat_delete(channel=CHANNEL, ts=message["ts"])
    await omar.submit({"reason": "not needed"})
    assert "Done: look is skipped, and the run continues." in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "skipped"
    edits = await chat.bench.rows(
        "SELECT status FROM effects WHERE run_id = %s AND operation = 'update_message'", run_id
    )
    assert edits
    assert {row["status"] for row in edits} == {"dispatched"}


async def test_an_operator_finds_held_steps_in_the_home_and_acts_there(chat: Chat, targets: Targets) -> None:
    run_id, _ = await _held(chat, targets)
    omar = await chat.person("omar")
    home = str(await chat.home(omar))
    assert "1 step needs attention" in home
    assert "look of What goes wrong waits for a person (1) failed and needs attention: the register is closed" in home
    await omar.click_view("home", "countersign_repair_end")
    await omar.find_modal(timeout=MINUTE)
    await omar.submit({"reason": "no longer wanted"})
    done = await omar.wait_for(lambda state: [one for one in messages(state) if "Done:" in one["text"]])
    assert "Done: the run of look has ended." in done[0]["text"]
    assert await _status(chat, run_id) == "failed_terminal"
    assert "Nothing is waiting for you" in str(await chat.home(omar))


async def test_who_is_told_of_no_held_step_finds_none_in_the_home(chat: Chat, targets: Targets) -> None:
    await _held(chat, targets)
    assert "attention" not in str(await chat.home(await chat.person("ann")))


async def test_the_home_counts_what_is_held_beyond_what_it_shows(chat: Chat, targets: Targets) -> None:
    targets.look.answers = [RefusedError("closed") for _ in range(ATTENTION_SHOWN + 2)]
    for number in range(ATTENTION_SHOWN + 2):
        await chat.bench.start("bench.mended", {}, str(number))
    await chat.bench.settle()
    home = await chat.home(await chat.person("omar"))
    assert f"{ATTENTION_SHOWN + 2} steps need attention" in str(home)
    assert "… 2 more appear as these are settled" in str(home)
    assert len(home["blocks"]) <= 100


async def test_the_doctor_counts_what_waits_for_a_person(chat: Chat, targets: Targets, dsn: str) -> None:
    run_id, _ = await _held(chat, targets)
    _, found = await stopped_work(settings_of(dsn, "http://127.0.0.1:1", Path("nowhere"), tenant=TENANT))
    assert (found.name, found.ok) == ("steps", False)
    assert found.detail == f"look of {run_id}: the register is closed"
