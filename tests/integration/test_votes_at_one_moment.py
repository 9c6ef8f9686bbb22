"""Votes that are applied in one transaction: one does not find what another has read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.inbox import inbox
from runtime.model.states import NotificationStatus
from runtime.model.votes import Via
from runtime.store.run_tx import RunTx
from tests.bench import Bench
from tests.integration.policies_stage import asked, hand_in, open_vault, opened, register, sign
from tests.patience import MINUTE


@pytest.fixture
async def vault(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(dsn, policy) as bench:
        yield bench


@asynccontextmanager
async def held_up(vault: Bench) -> AsyncIterator[None]:
    """Occupy both transactions in which things are done to runs: what is asked meanwhile is done in one."""
    go_on, busy, works = asyncio.Event(), asyncio.Semaphore(0), []

    async def wait(_: RunTx) -> None:
        busy.release()
        await go_on.wait()

    for approval in [await asked(vault, ref) for ref in ("8", "9")]:
        (row,) = await vault.rows("SELECT run_id FROM approvals WHERE approval_id = %s", approval)
        works.append(asyncio.create_task(vault.engine.on_run(row["run_id"], wait)))
        await busy.acquire()
    yield
    go_on.set()
    await asyncio.gather(*works)


async def test_of_two_signatures_with_one_count_only_one_counts_also_in_one_transaction(vault: Bench) -> None:
    mine = await register(vault, "sam")
    before = mine.count
    links = [await opened(vault, "sam", await asked(vault, ref)) for ref in ("1", "2")]
    signed = []
    for token, page in links:
        signed.append((token, mine.sign(page.ceremony.challenge)))
        mine.count = before  # as a copy of the authenticator would
    async with held_up(vault):
        votes = [asyncio.create_task(hand_in(vault, token, assertion)) for token, assertion in signed]
        while len(await vault.rows("SELECT 1 FROM notifications WHERE kind = 'vote'")) < len(votes):
            await asyncio.sleep(0)
    refusals = [(await vote).refusal for vote in votes]
    assert sorted(str(refusal.code) if refusal else "counted" for refusal in refusals) == ["counted", "passkey.wrong"]
    assert len(await vault.rows("SELECT 1 FROM votes")) == 1


async def test_a_vote_that_was_applied_meanwhile_leaves_nothing_that_was_read_for_what_follows(vault: Bench) -> None:
    approval = await asked(vault)
    assert (await sign(vault, "sam", approval, await register(vault, "sam"))).counted
    (row,) = await vault.rows("SELECT notification_id FROM notifications WHERE kind = 'vote'")
    applied = await vault.engine.addressed(row["notification_id"])
    payload = applied.notification.payload.model_copy(update={"via": Via.EDGE})
    before = replace(applied.notification, status=NotificationStatus.RECEIVED, payload=payload)

    async def again(tx: RunTx) -> dict[Any, Any]:
        await inbox._settle(vault.engine, replace(applied, notification=before), tx.conn, tx.loads, {tx.run_id: tx})
        return dict(tx.ahead)

    assert await vault.engine.on_run(str(applied.run_id), again) == {}
