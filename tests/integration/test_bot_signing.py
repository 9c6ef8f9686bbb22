"""Approve, where a click is not enough: a modal leads to the page where one signs; nothing is recorded before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings

from bot.views.references import APPROVE, REJECT, SHOW_ALL
from runtime.handlers import Handler
from sandbox.harness import SandboxUser
from tests.bench import PUBLIC_URL, ROUTING, HandClock
from tests.integration.bot_stage import clicks, refused, require, the_card, votes
from tests.integration.chat_stage import Chat, Slack, chatting, choose
from tests.integration.policies_stage import PASSKEYS_PACK, asked, glass_policy
from tests.integration.seen import whispers


@dataclass(frozen=True)
class Systems:
    """The handlers of the pack for a stand-in that is served at `url`."""

    url: str

    def handlers(self) -> dict[str, Handler]:
        """Return them by operation."""
        return dict(handlers(settings(self.url)))


@asynccontextmanager
async def vault(dsn: str, folder: Path, transport: str = "http", **how: Any) -> AsyncIterator[Chat]:
    """Run everything, with access to a vault that people sign for with passkeys."""
    async with TestServer(build(HandClock())) as server, glass_policy(folder, "access_vault") as policy:
        sides = Systems(str(server.make_url("")).rstrip("/"))
        async with chatting(dsn, policy, sides, PASSKEYS_PACK, slack=Slack(transport=transport), **how) as running:
            yield running


@pytest.fixture
async def chat(dsn: str, tmp_path: Path) -> AsyncIterator[Chat]:
    async with vault(dsn, tmp_path) as running:
        yield running


@pytest.fixture(params=["http", "socket"])
async def either(request: pytest.FixtureRequest, dsn: str, tmp_path: Path) -> AsyncIterator[Chat]:
    async with vault(dsn, tmp_path, request.param) as running:
        yield running


async def links(chat: Chat) -> list[dict[str, Any]]:
    return await chat.bench.rows("SELECT approval_id, person, account, stamp, reason, ticket FROM passkey_links")


async def at_the_card(chat: Chat, name: str, action: str) -> SandboxUser:
    """Have somebody press a button of the card; return them before the modal."""
    person = await chat.person(name)
    await person.click(await the_card(person), action)
    await person.find_modal()
    return person


async def test_approve_leads_to_a_page_and_records_nothing(either: Chat) -> None:
    approval = await asked(either.bench)
    sam = await at_the_card(either, "sam", APPROVE)
    modal = await sam.find_modal()
    assert modal["title"]["text"] == "Sign to approve"
    assert f"<{PUBLIC_URL}/passkeys/" in str(modal["blocks"])
    assert "|Open the page to sign>" in str(modal["blocks"])
    view = await either.bench.desk.approval(approval)
    assert view
    who = {"approval_id": approval, "person": "sam", "account": "USAM", "stamp": view.stamp}
    assert await links(either) == [{**who, "reason": "", "ticket": ""}]
    assert await clicks(either) == []


async def test_a_reason_that_is_wanted_comes_first_and_goes_with_the_link(chat: Chat) -> None:
    await require(chat, await asked(chat.bench), reason_required=True)
    sam = await at_the_card(chat, "sam", APPROVE)
    assert (await sam.submit({"reason": "Checked the register"}))["ok"]
    assert (await sam.find_modal())["title"]["text"] == "Sign to approve"
    assert [one["reason"] for one in await links(chat)] == ["Checked the register"]
    assert await clicks(chat) == []


async def test_a_rejection_needs_no_passkey(chat: Chat) -> None:
    await asked(chat.bench)
    pam = await at_the_card(chat, "pam", REJECT)
    await pam.submit({"reason": "Wrong owner"})
    assert [one["verdict"] for one in await votes(chat, 1)] == ["reject"]
    assert await links(chat) == []


async def test_who_may_not_decide_gets_no_link_and_is_on_record(chat: Chat) -> None:
    await asked(chat.bench)
    rita = await chat.person("rita")
    await rita.click(await the_card(rita), APPROVE)
    assert [one["refusal"] for one in await refused(chat)] == ["vote.requester"]
    assert await links(chat) == []
    assert "requested this yourself" in str(await rita.wait_for(whispers))


async def test_one_signs_from_the_details_as_well(chat: Chat) -> None:
    await asked(chat.bench)
    sam = await at_the_card(chat, "sam", SHOW_ALL)
    assert (await sam.click_view("modal", APPROVE))["ok"]
    state = await sam.wait_for(lambda state: state if "Sign to approve" in str(state) else None)
    assert "Open the page to sign" in str(state)


async def test_without_an_address_the_person_is_told_whom_to_ask(dsn: str, tmp_path: Path) -> None:
    async with vault(dsn, tmp_path, routing=replace(ROUTING, public_url="")) as chat:
        await asked(chat.bench)
        sam = await at_the_card(chat, "sam", APPROVE)
        assert "COUNTERSIGN_PUBLIC_URL" in str((await sam.find_modal())["blocks"])
        assert await clicks(chat) == await links(chat) == []


async def test_breaking_the_glass_leads_to_a_page_with_its_ticket_and_records_nothing(chat: Chat) -> None:
    await asked(chat.bench)
    ivy = await chat.person("ivy")
    await choose(ivy, await the_card(ivy), "Break-glass")
    await ivy.find_modal()
    assert (await ivy.submit({"reason": "the bank is down", "ticket": "INC-7"}))["ok"]
    modal = await ivy.find_modal()
    assert modal["title"]["text"] == "Sign to use break-glass"
    assert "Nothing is done until you have signed there" in str(modal["blocks"])
    assert [(one["reason"], one["ticket"]) for one in await links(chat)] == [("the bank is down", "INC-7")]
    assert await clicks(chat) == []
