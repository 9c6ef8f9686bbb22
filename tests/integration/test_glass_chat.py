"""Glass that is broken in Slack: the menu, the modal with reason and ticket, the card and its thread after it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.harness import messages
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.glass_stage import AT_MOST, glass_policy
from tests.integration.more_stage import choose, newest, opened, recorded
from tests.integration.seen import whispered


@pytest.fixture
async def chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def test_glass_is_broken_with_a_reason_and_a_ticket_and_the_card_and_its_thread_say_so(
    chat: Chat, targets: Targets
) -> None:
    await chat.file()
    ivy = await opened(chat, "ivy", "Break-glass")
    assert f"You have {AT_MOST} emergency overrides left, including this one." in str((await ivy.see())["modal"])
    refused = await ivy.submit({"reason": "no", "ticket": "INC-7"})
    assert list(refused["errors"]) == ["reason"]
    refused = await ivy.submit({"reason": "the bank is down", "ticket": " "})
    assert list(refused["errors"]) == ["ticket"]
    assert (await ivy.submit({"reason": "the bank is down", "ticket": "INC-7"}))["ok"]
    await recorded(chat, "approval.approved")
    card = await newest(chat, ivy)
    assert card["text"].startswith("Break-glass: approved by one person alone")
    assert len(targets.file.calls) == 1
    told = [one["text"] for one in messages(await ivy.see()) if "used break-glass" in one["text"]]
    assert all("INC-7" in text for text in told)
    assert told


async def test_what_could_not_be_recorded_leaves_the_modal_open(chat: Chat) -> None:
    await chat.file()
    ivy = await opened(chat, "ivy", "Break-glass")
    await chat.bench.engine.pool.close()
    refused = await ivy.submit({"reason": "the bank is down", "ticket": "INC-7"})
    assert "may not have been recorded" in str(refused["errors"])
    assert (await ivy.see())["modal"]


async def test_a_stranger_who_reaches_for_the_glass_is_told_so_and_on_record(chat: Chat) -> None:
    await chat.file()
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy'")
    ivy = await chat.person("ivy")
    await choose(ivy, await newest(chat, ivy), "Break-glass")
    await whispered(ivy, "directory has no person")
    assert (await ivy.see())["modal"] is None
    rows = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'notification.refused'")
    assert [row["leaf"]["data"]["act"] for row in rows] == ["break_glass"]
