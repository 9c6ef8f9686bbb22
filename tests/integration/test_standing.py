"""What a card says is what counts now: people leave and come back, policy asks for more, somebody uses break-glass."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from receipts.signing import public_path
from sandbox.harness import messages
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.glass_stage import break_glass, glass_policy
from tests.integration.sealing_stage import open_office
from tests.integration.standing_stage import load_directory
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
