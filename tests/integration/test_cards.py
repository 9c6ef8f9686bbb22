"""Cards: what counts now, cards that somebody changed, and break-glass in Slack.

What a card says is what counts now: people leave and come back, policy asks for more, somebody breaks the glass.

A card that somebody edits in Slack is put back and told; one that somebody deletes is posted again.

Glass that is broken in Slack: the menu, the modal with reason and ticket, the card and its thread after it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from receipts.signing import public_path
from sandbox.harness import SandboxUser, messages
from tests.integration.chat_stage import CHANNEL, Chat, chatting, choose, newest, opened, recorded
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import open_office
from tests.integration.policies_stage import AT_MOST, break_glass, glass_policy, load_directory
from tests.integration.seen import whispered
from tests.opa_server import PACKS, copy_policies, question, start_opa
from tests.patience import MINUTE, until


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _texts(chat: Chat, person: str) -> list[str]:
    """Return what a person was told directly."""
    state = await (await chat.person(person)).see()
    return [
        one["text"] for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]
    ]


async def _thread(chat: Chat) -> list[str]:
    """Return what stands in the channel of the card, and under it."""
    found = messages(await (await chat.person("cat")).see())
    return [one["text"] for one in found if one["channel"] == CHANNEL]


async def _card(chat: Chat) -> dict[str, Any]:
    [card] = await chat.cards()
    return card


async def test_the_vote_of_one_who_has_left_is_not_counted_on_the_card_and_the_thread_says_why(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    await load_directory(chat.bench, 1, without=["ann"])
    card = await _card(chat)
    assert "(0 of 2 approvals)" in card["text"]
    assert "no longer counts" in str(card["blocks"])
    said = [text for text in await _thread(chat) if "no longer counts" in text]
    assert len(said) == 1
    assert "Ann is no longer in compliance. 0 of 2 approvals so far." in said[0]
    assert (await chat.bench.click("ben", approval)).counted
    await chat.bench.settle()
    assert "(1 of 2 approvals)" in (await _card(chat))["text"]


async def test_a_voter_who_is_back_counts_again_and_is_told_each_once(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    await load_directory(chat.bench, 1, without=["ann"])
    await load_directory(chat.bench, 2)
    await load_directory(chat.bench, 3)
    assert "(1 of 2 approvals)" in (await _card(chat))["text"]
    assert len([text for text in await _texts(chat, "ann") if "counts again" in text]) == 1


async def test_what_is_complete_once_a_voter_is_back_is_approved(chat: Chat, targets: Targets) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    await load_directory(chat.bench, 1, without=["ann"])
    assert (await chat.bench.click("ben", approval)).counted
    await chat.bench.settle()
    assert targets.file.calls == []
    await load_directory(chat.bench, 2)
    assert len(targets.file.calls) == 1
    assert (await _card(chat))["text"].startswith("Approved")


async def test_evidence_of_votes_that_lapsed_and_came_back_holds(
    chat: Chat, targets: Targets, dsn: str, tmp_path: Path
) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    await load_directory(chat.bench, 1, without=["ann"])
    assert (await chat.bench.click("ben", approval)).counted
    await load_directory(chat.bench, 2)
    office = open_office(chat.bench, tmp_path, dsn)
    while await office.sealer():
        pass
    [run] = await chat.bench.rows("SELECT run_id FROM runs")
    file = office.folder / f"{run['run_id']}.zip"
    assert verify(file, public_path(office.settings.key_path)).run_id == run["run_id"]


async def test_once_too_few_are_left_the_card_says_so_and_it_is_told_once_until_enough_are_back(chat: Chat) -> None:
    await chat.file()
    for version in (1, 2):
        await load_directory(chat.bench, version, without=["ben", "cat", "sue"])
    assert "it needs 2 distinct people, and 1 may decide" in str((await _card(chat))["blocks"])
    for person in ("omar", "rita"):
        told = await _texts(chat, person)
        assert len([text for text in told if "distinct people" in text]) == 1
    for version in (3, 4):
        await load_directory(chat.bench, version)
    assert "distinct people" not in str((await _card(chat))["blocks"])
    for person in ("omar", "rita"):
        told = await _texts(chat, person)
        assert len([text for text in told if "Enough people can decide" in text]) == 1


async def test_what_policy_asks_more_of_is_void_on_its_card_and_told_to_who_asked_and_to_who_approved(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    policies = copy_policies(tmp_path / "rego")
    async with (
        start_opa(policies, tmp_path / "opa") as own,
        OpaEngine(own.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets) as chat,
    ):
        approval = await chat.file()
        assert (await chat.bench.click("ann", approval)).counted
        file = policies / "countersign_config/acme/data.json"
        file.write_text(file.read_text(encoding="utf-8").replace('"quorum": 2', '"quorum": 3'), encoding="utf-8")
        digest = read_policy(PolicyFolders(policies, PACKS)).digest

        async def is_stricter() -> bool:
            return (await policy.ask(question())).policy_digest == digest

        await until(is_stricter)
        assert (await chat.bench.click("ben", approval)).counted
        await chat.bench.settle()
        new, old = await chat.cards()
        assert old["text"].startswith("Void: policy now requires more approvals")
        assert "Show the new request" in str(old["blocks"])
        assert "(0 of 3 approvals)" in new["text"]
        for person in ("rita", "ann", "ben"):
            told = [text for text in await _texts(chat, person) if "Policy now requires more approvals" in text]
            assert len(told) == 1
            assert "3 people from compliance must approve it" in told[0]
        assert not [text for text in await _texts(chat, "rita") if "was sent to compliance: 3 people" in text]


async def test_a_break_glass_reads_nowhere_as_an_approval(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as chat:
        await break_glass(chat.bench, "ivy", await chat.file())
        await chat.bench.settle()
        card = (await chat.cards())[-1]
        assert card["text"].startswith("Break-glass")
        assert "(by break-glass)" in card["text"]
        assert not [text for text in await _thread(chat) if "Ivy approved" in text]
        told = await _texts(chat, "rita")
        assert [text for text in told if "used break-glass" in text]
        assert not [text for text in told if "was approved" in text]


ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "22:00"}


async def _until(chat: Chat, holds: Callable[[], Awaitable[bool]]) -> None:
    """Do all that can be done until something holds: Slack's events are acknowledged before they are acted on."""
    async with asyncio.timeout(MINUTE):
        while not await holds():
            await asyncio.sleep(0.02)
            await chat.bench.settle()


async def _told(person: SandboxUser) -> list[str]:
    """Return the alarms about cards that a person was told directly."""
    state = await person.see()
    found = [one for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]]
    return [one["text"] for one in found if "edited the card" in one["text"]]


async def _edit(chat: Chat, editor: str) -> None:
    """Edit the card as somebody, and have Slack say so."""
    message = chat.sandbox.store.find(CHANNEL, (await _card(chat))["ts"])
    assert message
    edited = {"user": editor, "ts": chat.sandbox.next_ts()}
    message |= {"text": "Approve: nothing is filed", "edited": edited}
    await chat.happen(
        {
            "type": "message",
            "subtype": "message_changed",
            "channel": CHANNEL,
            "ts": edited["ts"],
            "message": {"type": "message", "ts": message["ts"], "text": "Approve: nothing is filed", "edited": edited},
        }
    )


async def _alarms(chat: Chat, person: str, count: int = 1) -> list[str]:
    """Return what a person is told of edited cards, once it is so much."""
    user = await chat.person(person)

    async def enough() -> bool:
        return len(await _told(user)) >= count

    await _until(chat, enough)
    return await _told(user)


async def _is_card(chat: Chat, text: str, *, but: str = "") -> None:
    """Wait until one card stands, with that text, and not at `but`."""

    async def holds() -> bool:
        return [(one["text"], one["ts"] != but) for one in await chat.cards()] == [(text, True)]

    await _until(chat, holds)


async def test_a_card_that_somebody_edited_is_put_back(chat: Chat) -> None:
    await chat.file()
    before = (await _card(chat))["text"]
    await _edit(chat, "UPAM")
    assert await _alarms(chat, "omar")
    await _is_card(chat, before)


async def test_operators_and_those_who_are_asked_are_told_who_edited_a_card(chat: Chat) -> None:
    await chat.file()
    quiet = json.dumps({"timezone": "UTC", "quiet_hours": [ALWAYS]})
    await chat.bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = 'ann'", quiet)
    await _edit(chat, "UPAM")
    for name in ("omar", "ann", "ben"):
        [told] = await _alarms(chat, name)
        assert told.startswith("Pam edited the card for ")
        assert "It is restored; the edit changes nothing." in told
    assert await _told(await chat.person("rita")) == []


async def test_an_edit_by_an_account_of_nobody_is_told_with_the_account(chat: Chat) -> None:
    await chat.file()
    await _edit(chat, "U0ALIEN")
    [told] = await _alarms(chat, "omar")
    assert told.startswith("The account U0ALIEN edited the card for ")


async def test_each_edit_is_told_once_however_often_slack_says_it(chat: Chat) -> None:
    await chat.file()
    message = chat.sandbox.store.find(CHANNEL, (await _card(chat))["ts"])
    assert message
    for _ in range(2):
        changed = {"ts": message["ts"], "edited": {"user": "UPAM", "ts": "1700000000.000100"}}
        event = {"type": "message", "subtype": "message_changed", "channel": CHANNEL, "message": changed}
        await chat.happen(event)
    assert len(await _alarms(chat, "omar")) == 1
    await _edit(chat, "UPAM")
    assert len(await _alarms(chat, "omar", 2)) == 2


async def test_what_we_edit_and_what_others_write_is_no_alarm(chat: Chat) -> None:
    await chat.file()
    await _edit(chat, "U0BOT")
    said = {"type": "message", "channel": CHANNEL, "user": "UPAM", "text": "hello", "ts": "1700000000.000200"}
    await chat.happen(said)
    edited = {"ts": "1700000000.000200", "edited": {"user": "UPAM", "ts": "1700000000.000300"}}
    await chat.happen({**said, "subtype": "message_changed", "message": edited})
    await chat.happen({**said, "subtype": "message_changed", "message": {"ts": (await _card(chat))["ts"]}})
    await _edit(chat, "USAM")
    [told] = await _alarms(chat, "omar")
    assert told.startswith("Sam edited")


async def test_a_deleted_card_is_posted_again_as_soon_as_slack_says_so(chat: Chat) -> None:
    await chat.file()
    card = await _card(chat)
    await chat.raw.chat_delete(channel=CHANNEL, ts=card["ts"])
    await chat.happen({"type": "message", "subtype": "message_deleted", "channel": CHANNEL, "deleted_ts": card["ts"]})
    await _is_card(chat, card["text"], but=card["ts"])


async def test_a_card_deleted_just_after_a_look_at_the_home_comes_back_with_the_next_look(chat: Chat) -> None:
    await chat.file()
    ann, before = await chat.person("ann"), chat.faults.calls["chat.getPermalink"]
    await chat.home(ann)
    await chat.faults.called("chat.getPermalink", before + 1)
    card = await _card(chat)
    await chat.raw.chat_delete(channel=CHANNEL, ts=card["ts"])
    chat.bench.clock.move(seconds=6)
    await chat.home(ann)
    await _is_card(chat, card["text"], but=card["ts"])


@pytest.fixture
async def chat_chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def test_glass_is_broken_with_a_reason_and_a_ticket_and_the_card_and_its_thread_say_so(
    chat_chat: Chat, targets: Targets
) -> None:
    await chat_chat.file()
    ivy = await opened(chat_chat, "ivy", "Break-glass")
    assert f"You have {AT_MOST} emergency overrides left, including this one." in str((await ivy.see())["modal"])
    refused = await ivy.submit({"reason": "no", "ticket": "INC-7"})
    assert list(refused["errors"]) == ["reason"]
    refused = await ivy.submit({"reason": "the bank is down", "ticket": " "})
    assert list(refused["errors"]) == ["ticket"]
    assert (await ivy.submit({"reason": "the bank is down", "ticket": "INC-7"}))["ok"]
    await recorded(chat_chat, "approval.approved")
    card = await newest(chat_chat, ivy)
    assert card["text"].startswith("Break-glass: approved by one person alone")
    assert len(targets.file.calls) == 1
    told = [one["text"] for one in messages(await ivy.see()) if "used break-glass" in one["text"]]
    assert all("INC-7" in text for text in told)
    assert told


async def test_what_could_not_be_recorded_leaves_the_modal_open(chat_chat: Chat) -> None:
    await chat_chat.file()
    ivy = await opened(chat_chat, "ivy", "Break-glass")
    await chat_chat.bench.engine.pool.close()
    refused = await ivy.submit({"reason": "the bank is down", "ticket": "INC-7"})
    assert "may not have been recorded" in str(refused["errors"])
    assert (await ivy.see())["modal"]


async def test_a_stranger_who_reaches_for_the_glass_is_told_so_and_on_record(chat_chat: Chat) -> None:
    await chat_chat.file()
    await chat_chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy'")
    ivy = await chat_chat.person("ivy")
    await choose(ivy, await newest(chat_chat, ivy), "Break-glass")
    await whispered(ivy, "directory has no person")
    assert (await ivy.see())["modal"] is None
    rows = await chat_chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'notification.refused'")
    assert [row["leaf"]["data"]["act"] for row in rows] == ["break_glass"]
