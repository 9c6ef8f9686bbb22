"""The page behind our links: anybody may open it, and it tells nobody anything."""

import base64
import hashlib
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from edge.app import build_edge
from edge.routes.links import LinkPage
from tests.integration.running import heard

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
