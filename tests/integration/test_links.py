"""Our links: shown in the chat, and the page behind them.

Our own links in the chat: shown where all who read along may see what they lead to, and nowhere else.

The page behind our links: anybody may open it, and it tells nobody anything.
"""

import asyncio
import base64
import hashlib
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from countersign.embedded.opa import OpaChild
from edge.app import build_edge
from edge.links import LinkPage
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from sandbox.harness import SandboxUser, messages
from tests.bench import PUBLIC_URL
from tests.integration.bot_stage import staged
from tests.integration.chat_stage import CHANNEL, FILING, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.running import heard
from tests.integration.test_chat_commands import asked, refusals, run_of
from tests.patience import MINUTE

ELSEWHERE = "C0APPROVALS"
NOT_HERE = "Others read this conversation"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


def to_request(approval_id: str) -> str:
    return f"{PUBLIC_URL}/requests/{approval_id}"


def to_run(run_id: str) -> str:
    return f"{PUBLIC_URL}/runs/{run_id}"


async def shared(person: SandboxUser, *links: str, channel: str = CHANNEL) -> dict[str, Any]:
    """Share links; return the message as its author sees it once Slack shows what they lead to."""
    text = f"please look: {' '.join(links)}"
    await person.say(channel, text)
    return await person.find_card(lambda one: one["text"] == text and bool(one["attachments"]))


def shown_of(message: dict[str, Any]) -> dict[str, str]:
    """Return by link what is shown of it, as JSON."""
    return {one["from_url"]: json.dumps(one["blocks"], ensure_ascii=False) for one in message["attachments"]}


def whispers(state: dict[str, Any]) -> list[str]:
    return [one["text"] for one in messages(state) if one.get("is_ephemeral")]


async def whispered(person: SandboxUser, times: int) -> None:
    """Wait until somebody was told something alone that often."""
    await person.wait_for(lambda state: len(whispers(state)) == times)


async def test_a_link_is_shown_where_its_card_stands_without_params_or_buttons(chat: Chat) -> None:
    approval_id = await chat.file()
    message = await shared(await chat.person("ann"), to_request(approval_id))
    (seen,) = shown_of(message).values()
    assert "Approval needed: " in seen
    assert "2 people from compliance" in seen
    assert f"/archives/{CHANNEL}/p" in seen
    assert FILING["text"] not in seen
    assert {block["type"] for block in message["attachments"][0]["blocks"]} == {"section", "context"}
    assert not message["mentions"]


async def test_what_is_over_is_shown_as_it_ended(chat: Chat) -> None:
    approval_id = await chat.file()
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval_id)
    assert await chat.decided(approval_id) is ApprovalStatus.APPROVED
    message = await shared(await chat.person("cat"), to_request(approval_id), to_run(await run_of(chat, approval_id)))
    request, run = shown_of(message).values()
    assert "Approved: " in request
    assert "decided" in request
    assert "1: succeeded" in run


async def test_where_others_read_along_nothing_is_shown_and_its_author_alone_is_told(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, ben = await chat.person("ann"), await chat.person("ben")
    for number, link in enumerate((to_request(approval_id), to_run(await run_of(chat, approval_id))), 1):
        await ann.say(ELSEWHERE, link)
        await whispered(ann, number)
    assert all(NOT_HERE in one for one in whispers(await ann.see()))
    assert not whispers(await ben.see())
    assert not chat.faults.calls["chat.unfurl"]


async def test_a_link_that_its_author_may_not_see_is_as_one_that_leads_nowhere(chat: Chat) -> None:
    filed = await chat.file()
    run_id = (await chat.bench.start("bench.file", FILING, "ivys", by="ivy")).run_id
    await chat.bench.settle()
    hidden = (to_request(filed), to_run(await run_of(chat, filed)), to_request("apr_none"), to_run("run_none"))
    ivy = await chat.person("ivy")
    for channel in (CHANNEL, ELSEWHERE):
        for link in hidden:
            await ivy.say(channel, link)
    message = await shared(ivy, *hidden, to_run(run_id))
    assert list(shown_of(message)) == [to_run(run_id)]
    assert chat.faults.calls["chat.unfurl"] == 1
    assert not whispers(await ivy.see())
    assert await refusals(chat) == []


async def test_in_the_direct_conversation_with_the_app_a_link_is_shown(chat: Chat) -> None:
    approval_id = await chat.file()
    ann = await chat.person("ann")
    direct = (await chat.raw.conversations_open(users="UANN"))["channel"]["id"]
    (seen,) = shown_of(await shared(ann, to_request(approval_id), channel=direct)).values()
    assert "Approval needed: " in seen


async def test_in_a_direct_conversation_of_others_nothing_is_shown(chat: Chat) -> None:
    approval_id = await chat.file()
    links = [{"domain": "countersign.example", "url": to_request(approval_id)}]
    place = {"channel": "D0OTHERS", "is_bot_user_member": True, "message_ts": "1.0", "source": "conversations_history"}
    await chat.happen({"type": "link_shared", "user": "UANN", "links": links, **place})
    ann = await chat.person("ann")
    await ann.find_card(lambda one: NOT_HERE in one["text"] and one["channel"].startswith("D"))
    assert not chat.faults.calls["chat.unfurl"]


async def test_what_is_being_written_is_not_shown_for_it_has_no_place(chat: Chat) -> None:
    approval_id = await chat.file()
    ann = await chat.person("ann")
    looked = chat.faults.calls["users.info"]
    await ann.write(f"look at {to_request(approval_id)}")
    await shared(ann, to_request(approval_id))
    assert chat.faults.calls["chat.unfurl"] == 1
    assert chat.faults.calls["users.info"] == looked + 1, "nobody looks at what is being written"


async def test_links_that_are_none_of_ours_ask_nobody_anything(chat: Chat) -> None:
    approval_id = await chat.file()
    ann = await chat.person("ann")
    asked_of = chat.faults.calls["users.info"]
    await ann.say(CHANNEL, f"{PUBLIC_URL}/passkeys/token {to_request(approval_id)}?x=1 https://evil.example/requests/a")
    await shared(ann, to_request(approval_id))
    assert chat.faults.calls["users.info"] == asked_of + 1


async def test_of_many_links_the_first_five_are_shown(chat: Chat) -> None:
    filed = [to_request(await chat.file(str(number))) for number in range(6)]
    assert list(shown_of(await shared(await chat.person("ann"), *filed))) == filed[:5]


async def test_a_link_is_acknowledged_while_slacks_api_takes_ten_seconds(chat: Chat) -> None:
    approval_id = await chat.file()
    ann = await chat.person("ann")
    slow = ("users.info", "chat.unfurl", "chat.postEphemeral", "conversations.open")
    for method in slow:
        chat.faults.hold(method)
    async with asyncio.timeout(3):
        for channel in (CHANNEL, ELSEWHERE):
            assert (await ann.say(channel, to_request(approval_id)))["ok"]
    chat.faults.lift(*slow)
    assert not (await ann.see())["warnings"]


async def test_a_stranger_is_told_the_same_of_every_link_and_is_on_record(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann'")
    ann = await chat.person("ann")
    for number, some_id in enumerate((approval_id, "apr_none"), 1):
        await ann.say(CHANNEL, to_request(some_id))
        await whispered(ann, number)
    first, second = whispers(await ann.see())
    assert first == second
    assert "directory" in first
    assert [(one["command"], one["code"]) for one in await refusals(chat)] == [("link", "identity.unknown")]
    assert not chat.faults.calls["chat.unfurl"]


async def test_who_has_left_a_group_sees_its_links_no_more(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.meddle("UPDATE actors SET groups = '[]' WHERE actor_id = 'ann'")
    ann, ben = await chat.person("ann"), await chat.person("ben")
    await ann.say(CHANNEL, to_request(approval_id))
    await shared(ben, to_request(approval_id))
    assert chat.faults.calls["chat.unfurl"] == 1
    assert not whispers(await ann.see())


async def test_nothing_is_looked_up_for_an_account_that_is_nobodys(dsn: str, opa: OpaChild) -> None:
    why = {
        "guest": "identity.guest",
        "ext": "identity.other_team",
        "gone": "identity.deactivated",
        "robot": "identity.bot",
        "new": "identity.unknown",
        "twin": "identity.ambiguous",
    }
    async with staged(dsn, opa) as chat:
        link = to_request(await chat.file())
        for who, code in why.items():
            person = await chat.person(who)
            await person.say(ELSEWHERE, link)
            await whispered(person, 1)
            said = ["link"]
            if who in ("guest", "new", "twin"):
                assert (await person.command(CHANNEL, "/countersign mine"))["ok"]
                await whispered(person, 2)
                said.append("mine")
            found = [(one["command"], one["code"]) for one in await refusals(chat) if one["user"] == person.user_id]
            assert found == [(command, code) for command in said]
        assert not chat.faults.calls["chat.unfurl"]


async def test_people_meet_our_links_where_they_meet_references(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, rita = await chat.person("ann"), await chat.person("rita")
    run_id = await run_of(chat, approval_id)
    assert to_request(approval_id) in await asked(ann, f"show {approval_id}")
    assert to_run(run_id) in await asked(rita, f"show {run_id}")
    assert to_request(approval_id) in await asked(ann, f"show {to_request(approval_id)}")
    assert to_run(run_id) in await asked(rita, f"show {to_run(run_id)}")
    assert "you may see" in await asked(ann, f"show {to_request('apr_none')}")
    assert to_request(approval_id) in json.dumps(await chat.home(ann))
    told = [one for one in messages(await rita.see()) if one["channel"].startswith("D")]
    assert any(to_request(approval_id) in one["links"] for one in told)
    assert not any(one["unfurls"] for one in told)


Answer = tuple[int, dict[str, str], str]


class Browser:
    """Opens pages of an edge, and follows nothing."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def open(self, path: str) -> Answer:
        """Return status, headers but the date, and text."""
        async with self._session.get(path, allow_redirects=False) as answer:
            headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() != "date"}
            return answer.status, headers, await answer.text()


async def _ready() -> list[str]:
    return []


@asynccontextmanager
async def browsing(page: LinkPage | None) -> AsyncIterator[Browser]:
    """Serve an edge with that page until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        edge = build_edge(_ready, api=None, slack=None, links=page)
        async with heard(edge, listener), aiohttp.ClientSession(url) as session:
            yield Browser(session)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with browsing(LinkPage("A0COUNTERSIGN")) as opened:
        yield opened


async def test_every_id_is_answered_alike_to_the_letter(browser: Browser) -> None:
    ids = ("apr_1", "apr_2", "run_1", "nothing", "%00", "a" * 200)
    first, *others = [await browser.open(f"/{kind}/{one}") for kind in ("requests", "runs") for one in ids]
    assert all(one == first for one in others)
    assert first[0] == 200
    assert "apr_1" not in first[2]


async def test_the_page_leads_to_the_app_in_slack_or_to_slack(browser: Browser) -> None:
    assert 'href="https://slack.com/app_redirect?app=A0COUNTERSIGN"' in (await browser.open("/requests/apr_1"))[2]
    async with browsing(LinkPage(None)) as other:
        assert 'href="slack://open"' in (await other.open("/requests/apr_1"))[2]


async def test_the_page_runs_nothing_loads_nothing_and_is_framed_by_nobody(browser: Browser) -> None:
    _, headers, text = await browser.open("/runs/run_1")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert headers["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
    assert "<script" not in text


async def test_there_is_no_page_where_browsers_do_not_reach_the_edge() -> None:
    async with browsing(None) as other:
        assert (await other.open("/requests/apr_1"))[0] == 404
