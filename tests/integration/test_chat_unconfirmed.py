"""A decision of somebody whom Slack has not confirmed is kept in the inbox, and counts once Slack has."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.listeners.identity import UnconfirmedClicks
from bot.listeners.installation import InstallationWatch
from bot.listeners.private_answers import PrivateAnswers
from bot.views.references import APPROVE
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.patience import MINUTE, until


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _click(chat: Chat, name: str) -> None:
    person = await chat.person(name)
    [card] = await chat.cards()
    assert (await person.click({**card, "channel": "C0COMPLIANCE"}, APPROVE))["ok"]
    await person.find_modal()
    assert (await person.submit({"reason": "seen and checked"}))["ok"]
    await person.find_card(lambda one: "It counts as soon as Slack confirms who you are" in one["text"])


async def _statuses(chat: Chat) -> list[str]:
    rows = await chat.bench.rows("SELECT status FROM notifications WHERE kind = 'vote' ORDER BY received_at")
    return [str(row["status"]) for row in rows]


async def test_workers_leave_an_unconfirmed_vote_alone_and_it_counts_once_slack_confirms_it(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.settle()
    chat.faults.break_down("users.info")
    await _click(chat, "ann")
    for _ in range(5):
        await chat.bench.later(minutes=2)
    assert await _statuses(chat) == ["received"]
    chat.faults.lift("users.info")
    async with asyncio.timeout(MINUTE):
        while await _statuses(chat) != ["applied", "applied"]:
            await asyncio.sleep(0.05)
    [vote] = await chat.bench.rows("SELECT person, account FROM votes WHERE approval_id = %s", approval_id)
    assert (vote["person"], vote["account"]) == ("ann", "UANN")


async def test_a_vote_of_who_turns_out_to_be_deactivated_is_refused_on_record(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.settle()
    chat.faults.break_down("users.info")
    await _click(chat, "ann")
    admin = await chat.person("ben")
    await admin.change_member("UANN", "deactivate")
    chat.faults.lift("users.info")
    async with asyncio.timeout(MINUTE):
        while await _statuses(chat) != ["applied", "refused"]:
            await asyncio.sleep(0.05)
    leaves = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'vote.refused'")
    assert [leaf["leaf"]["data"]["code"] for leaf in leaves] == ["identity.deactivated"]
    assert await chat.decided(approval_id) is ApprovalStatus.REQUESTED


async def test_a_click_that_a_process_left_behind_is_counted_by_another_and_by_one_alone(chat: Chat) -> None:
    await chat.file()
    await chat.bench.settle()
    chat.faults.break_down("users.info")
    await _click(chat, "ann")
    others = []
    for _ in range(2):
        installation = InstallationWatch(chat.raw)
        others.append(
            UnconfirmedClicks(chat.bench.desk, installation, PrivateAnswers(chat.raw, chat.bench.desk.notices))
        )
        watching = asyncio.create_task(installation.run())
        await installation.known()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    chat.faults.lift("users.info")
    await asyncio.gather(*(one.confirm_all() for one in others))
    assert await _statuses(chat) == ["applied", "applied"]
    assert len(await chat.bench.rows("SELECT 1 FROM votes")) == 1


async def test_the_watch_ends_although_it_is_canceled_just_as_somebody_is_missed(chat: Chat) -> None:
    before, missed = asyncio.all_tasks(), chat.bot._installation.profiles.missed
    watching = asyncio.create_task(chat.bot.watch())
    await until(lambda: len(missed._waiters) == 2)  # of the stage, too
    missed.set()
    watching.cancel()
    await asyncio.wait({watching}, timeout=MINUTE)
    assert asyncio.all_tasks() - before == set()
