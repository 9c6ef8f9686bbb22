"""A held step in the chat: operators are asked with buttons, say how it goes on, and are told what came of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.cards.held import ACTIONS
from countersign.checks.held import held
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import RefusedError
from sandbox.client import SandboxUser
from tests.bench import TENANT
from tests.integration.bot_stage import whispers
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import settings_of
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
    await person.click(message, f"countersign_held_{act}")
    return person


async def _status(chat: Chat, run_id: str) -> str:
    await chat.bench.settle()
    return str((await chat.bench.run(run_id))["steps"]["look"]["status"])


async def test_the_message_says_what_failed_and_has_a_button_for_each_act(chat: Chat, targets: Targets) -> None:
    _, message = await _held(chat, targets)
    assert "look of What goes wrong waits for a person (1) failed and is held" in str(message["blocks"])
    (actions,) = [block for block in message["blocks"] if block["type"] == "actions"]
    assert [one["action_id"] for one in actions["elements"]] == list(ACTIONS)


async def test_an_operator_supplies_a_result_with_a_reason(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "supply")
    assert "the register is closed" in str(await omar.find_modal(timeout=MINUTE))
    no_json = await omar.submit({"result": "four", "reason": "asked by telephone"})
    assert "This is no JSON" in str(no_json["errors"])
    no_reason = await omar.submit({"result": '{"value": 4}', "reason": "\u200b\u200b\u200b"})
    assert "visible" in str(no_reason["errors"])
    assert await _status(chat, run_id) == "held"
    assert (await omar.submit({"result": '{"value": 4}', "reason": "asked by telephone"}))["ok"]
    assert "Done: look goes on as you said." in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "succeeded"
    (leaf,) = await chat.bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'held.settled'", run_id
    )
    assert leaf["leaf"]["actor"] == {"id": "omar", "kind": "person"}
    assert leaf["leaf"]["data"]["reason"] == "asked by telephone"


async def test_who_is_no_operator_is_told_why_nothing_was_done(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    ann = await _click(chat, "ann", message, "skip")
    await ann.find_modal(timeout=MINUTE)
    await ann.submit({"reason": "not needed"})
    assert "Only people of the tenant's operators may do this" in str(await ann.wait_for(whispers))
    assert await _status(chat, run_id) == "held"


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
    assert await _status(chat, run_id) == "held"


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
    omar = await _click(chat, "omar", message, "retry")
    await omar.find_modal(timeout=MINUTE)
    await omar.submit({"reason": "it is open again"})
    await omar.wait_for(whispers)
    assert await _status(chat, run_id) == "succeeded"
    ivy = await _click(chat, "ivy", message, "end")
    assert "This step is not held any more" in str(await ivy.wait_for(whispers))


async def test_of_two_who_saw_the_same_the_second_does_nothing(chat: Chat, targets: Targets) -> None:
    run_id, message = await _held(chat, targets)
    omar = await _click(chat, "omar", message, "skip")
    await omar.find_modal(timeout=MINUTE)
    await chat.bench.meddle("UPDATE runs SET version = version + 1 WHERE run_id = %s RETURNING 1", run_id)
    await omar.submit({"reason": "not needed"})
    assert "the run has moved on" in str(await omar.wait_for(whispers))
    assert await _status(chat, run_id) == "held"


async def test_the_doctor_counts_what_waits_for_a_person(chat: Chat, targets: Targets, dsn: str) -> None:
    run_id, _ = await _held(chat, targets)
    _, found = await held(settings_of(dsn, "http://127.0.0.1:1", Path("nowhere"), tenant=TENANT))
    assert (found.name, found.ok) == ("held steps", False)
    assert found.detail == f"look of {run_id}: the register is closed"
