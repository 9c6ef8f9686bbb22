"""The pages of the edge where people register a passkey and sign, in a real browser with an authenticator."""

import asyncio
import base64
import hashlib
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
from playwright.async_api import Page

from countersign.embedded.opa import OpaChild
from edge.app import build_edge
from edge.server import Limits, Server
from policy.client import OpaEngine
from runtime.services.passkey_ceremonies import PasskeyCeremonies
from tests.bench import Bench
from tests.browser import chromium
from tests.integration.policies_stage import asked, invite, open_vault, register, token_to_sign
from tests.patience import MINUTE

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@dataclass
class Front:
    """The edge, as browsers reach it."""

    bench: Bench
    origin: str

    def url(self, token: str) -> str:
        return f"{self.origin}/passkeys/{token}"


async def _ready() -> list[str]:
    return []


@pytest.fixture
async def front(dsn: str, opa: OpaChild) -> AsyncIterator[Front]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(dsn, policy) as bench:
        listener = socket.create_server(("127.0.0.1", 0))
        origin = f"http://localhost:{listener.getsockname()[1]}"
        app = build_edge(_ready, api=None, slack=None, passkeys=PasskeyCeremonies(bench.desk, origin))
        server = Server(app, Limits(connections=50, seconds=MINUTE), headers=[])
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield Front(bench, origin)
        finally:
            server.should_exit = True
            await task
            listener.close()


async def _press(page: Page, url: str) -> str:
    """Open a page, press its button, and return what it says."""
    await page.goto(url)
    await page.click("button")
    await page.wait_for_selector("#said:not(:empty)")
    return await page.inner_text("#said")


async def test_a_person_registers_in_a_browser_and_signs(front: Front) -> None:
    await invite(front.bench, "sam", "to register")
    approval = await asked(front.bench)
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": 390, "height": 844})
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        cdp = await page.context.new_cdp_session(page)
        await cdp.send("WebAuthn.enable")
        await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        assert (await _press(page, front.url("to register"))).startswith("Your passkey is registered.")
        token = await token_to_sign(front.bench, "sam", approval)
        assert (await _press(page, front.url(token))).startswith("Signed.")
        shown = await page.inner_text("main")
        (row,) = await front.bench.rows("SELECT digest FROM approvals")
        assert row["digest"] in shown
        assert "system:vault" in shown
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        await page.goto(front.url(token))
        assert "was used before" in await page.inner_text("h1")
        # the browser reports the status of the page that was used before, and nothing else
        assert [fault for fault in faults if "410" not in fault] == []
    (vote,) = await front.bench.rows("SELECT person, passkey ->> 'credential_id' AS passkey FROM votes")
    (known,) = await front.bench.rows("SELECT credential_id FROM passkeys")
    assert vote == {"person": "sam", "passkey": known["credential_id"]}


async def test_who_has_no_passkey_is_told_and_can_press_nothing(front: Front) -> None:
    token = await token_to_sign(front.bench, "sam", await asked(front.bench))
    async with aiohttp.ClientSession() as http, http.get(front.url(token)) as response:
        text = await response.text()
    assert "You have no passkey here yet" in text
    assert "<button" not in text
    assert "<script" not in text


async def test_a_page_runs_and_loads_what_its_policy_names_alone(front: Front) -> None:
    await register(front.bench, "sam")
    token = await token_to_sign(front.bench, "sam", await asked(front.bench), "<script>alert(1)</script>\u202e")
    async with aiohttp.ClientSession() as http, http.get(front.url(token)) as response:
        text, policy = await response.text(), response.headers["Content-Security-Policy"]
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Referrer-Policy"] == "no-referrer"
    assert "<script>alert" not in text
    assert "\u202e" not in text
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"(src|href)=", text)


async def test_a_link_that_leads_nowhere_says_so_and_looking_uses_none_up(front: Front) -> None:
    token = await token_to_sign(front.bench, "sam", await asked(front.bench))
    async with aiohttp.ClientSession() as http:
        found = []
        for url in (front.url("nobody's"), front.url(token), front.url(token)):
            async with http.get(url) as response:
                found.append((response.status, re.findall("<h1>(.*?)</h1>", await response.text())))
    assert found == [
        (404, ["There is no such page"]),
        (200, ["Sign with your passkey"]),
        (200, ["Sign with your passkey"]),
    ]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"credential_id": "A", "client_data": "="}', b"[1]"])
async def test_what_is_no_signature_is_refused_and_changes_nothing(front: Front, body: bytes) -> None:
    token = await token_to_sign(front.bench, "sam", await asked(front.bench))
    async with aiohttp.ClientSession() as http:
        for path in ("signature", "passkey"):
            async with http.post(f"{front.url(token)}/{path}", data=body) as response:
                assert response.status in (400, 422)
    assert not await front.bench.rows("SELECT 1 FROM notifications WHERE kind = 'vote'")


async def test_what_does_not_count_is_said_in_a_sentence(front: Front) -> None:
    mine = await register(front.bench, "sam")
    token = await token_to_sign(front.bench, "sam", await asked(front.bench))
    body = mine.sign("AAAA").model_dump(exclude={"nonce"})
    async with aiohttp.ClientSession() as http, http.post(f"{front.url(token)}/signature", json=body) as response:
        answer = await response.json()
    assert response.status == 422
    assert answer == {
        "done": False,
        "detail": "The signature is not over this request as it is. Start again from the card.",
    }
