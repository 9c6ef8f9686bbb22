"""OAuth in the sandbox refuses and grants as Slack does."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from sandbox.harness import EXAMPLE, HandClock, served
from sandbox.server import SANDBOX, create_app
from sandbox.state import Code
from sandbox.workspace import load_workspace
from tests.integration.test_sandbox_web_api import refusal, slack

BACK = "https://app.example/back"
CLIENT = {"client_id": "1.1", "client_secret": "secret"}
APP = load_workspace(EXAMPLE).app.model_copy(
    update={"client_secret": "secret", "redirect_uris": [BACK], "token_rotation": True}
)
WORKSPACE = load_workspace(EXAMPLE).model_copy(update={"app": APP})


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def url(clock: HandClock) -> AsyncIterator[str]:
    app = create_app(WORKSPACE, clock=clock, sleep=clock.sleep)
    app[SANDBOX].store.data.codes["code"] = Code(user="U0ANNA", redirect_uri=BACK, issued=clock().timestamp())
    async with served(app) as address:
        yield address


async def access(url: str, **given: str) -> dict[str, Any]:
    answer = await slack(url, "").api_call("oauth.v2.access", data={**CLIENT, **given})
    assert isinstance(answer.data, dict)
    return answer.data


async def test_a_code_gives_tokens_once_and_to_the_app_alone(url: str) -> None:
    for wrong, code in (
        ({"client_id": "9.9"}, "invalid_client_id"),
        ({"client_secret": "x"}, "bad_client_secret"),
        ({"grant_type": "password"}, "invalid_grant_type"),
        ({"code": "other"}, "invalid_code"),
    ):
        body = await refusal(access(url, **{"code": "code", "redirect_uri": BACK, **wrong}))
        assert body["error"] == code
    granted = await access(url, code="code", redirect_uri=BACK)
    assert (granted["token_type"], granted["expires_in"], granted["team"]["id"]) == ("bot", 43_200, "T0HOST")
    assert (await refusal(access(url, code="code", redirect_uri=BACK)))["error"] == "invalid_code"


async def test_a_code_is_good_for_ten_minutes_and_where_it_was_asked_for(url: str, clock: HandClock) -> None:
    assert (await refusal(access(url, code="code", redirect_uri="https://evil.example")))["error"] == "bad_redirect_uri"
    clock.advance(600)
    assert (await refusal(access(url, code="code", redirect_uri=BACK)))["error"] == "invalid_code"


async def test_tokens_expire_and_are_replaced_by_a_refresh_token_that_then_is_good_no_more(
    url: str, clock: HandClock
) -> None:
    first = await access(url, code="code", redirect_uri=BACK)
    assert (await slack(url, first["access_token"]).auth_test())["ok"]
    clock.advance(43_200)
    assert (await refusal(slack(url, first["access_token"]).auth_test()))["error"] == "token_expired"
    again = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    await access(url, **again)  # an answer that was lost
    second = await access(url, **again)
    assert (await slack(url, second["access_token"]).auth_test())["ok"]
    assert (await refusal(access(url, **again)))["error"] == "invalid_refresh_token"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"client_id": "9.9"}, "invalid_client_id"),
        ({"redirect_uri": "https://evil.example/"}, "bad_redirect_uri"),
        ({"scope": "chat:write,admin"}, "invalid_scope: admin"),
    ],
)
async def test_the_page_asks_only_for_an_app_that_is_known_and_its_own_address(
    url: str, change: dict[str, str], says: str
) -> None:
    asked = {"client_id": "1.1", "redirect_uri": BACK, "scope": "chat:write", "state": "s", **change}
    async with aiohttp.ClientSession() as browser, browser.get(f"{url}/oauth/v2/authorize", params=asked) as page:
        assert page.status == 400
        assert says in await page.text()
    async with aiohttp.ClientSession() as browser, browser.post(f"{url}/oauth/v2/authorize", data=asked) as page:
        assert page.status == 400
