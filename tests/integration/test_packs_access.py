"""The handlers of the access-request pack against its stand-in, over HTTP."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings
from countersign_connector.standin import ask

from runtime.clock import utc_now
from runtime.definitions.schemas import violations
from runtime.handlers import (
    BlockedError,
    Call,
    Done,
    Handler,
    Json,
    JsonObject,
    OutcomeUnknownError,
    RefusedError,
    Untouched,
)
from tests.handled import result_of
from tests.integration.pack_verbs import sync_verbs

ASKED = {"system": "payments", "account": "rita", "role": "operator", "minutes": 60, "justification": "an outage"}


@dataclass
class Desk:
    """The pack's operations and the stand-in behind them."""

    url: str
    pack: Mapping[str, Handler]

    async def do(self, operation: str, params: JsonObject, key: str = "") -> JsonObject:
        result = await result_of(self.pack[operation], _call(operation, params, key))
        assert violations(sync_verbs("access-request")[operation]["output_schema"], result) == []
        return result

    async def grant(self, key: str = "k1", **changes: Json) -> JsonObject:
        return await self.do("access::grant", {**ASKED, **changes}, key)

    async def held(self) -> list[JsonObject]:
        found: list[JsonObject] = (await self.do("access::read", {"system": "payments", "account": "rita"}))["grants"]
        return found

    async def fail_next(self, kind: str) -> None:
        await self.control("faults", {"next": kind})

    async def control(self, path: str, body: JsonObject) -> None:
        async with ClientSession() as session, session.post(f"{self.url}/__standin/{path}", json=body) as response:
            assert response.status == 204

    async def actions(self) -> list[str]:
        return [action["operation"] for action in (await ask(f"{self.url}/__standin/actions"))["actions"]]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with TestServer(build(utc_now)) as server:
        url = str(server.make_url("")).rstrip("/")
        yield Desk(url, handlers({**settings(url), "timeout": "2"}))


def _call(operation: str, params: JsonObject, key: str = "k1") -> Call:
    return Call("acme", "run-1", "step", operation, params, "system:payments", key)


def _ending(grant: JsonObject, **changes: Json) -> JsonObject:
    return {"grant_id": grant["grant_id"], "system": "payments", "account": "rita", "role": "operator", **changes}


async def test_a_grant_lasts_for_its_time_and_is_then_over_by_itself(desk: Desk) -> None:
    made = await desk.grant()
    assert [one["grant_id"] for one in await desk.held()] == [made["grant_id"]]
    await desk.control("clock", {"minutes": 60})
    assert await desk.held() == []


async def test_a_grant_is_made_once_under_its_key(desk: Desk) -> None:
    assert (await desk.grant())["grant_id"] == (await desk.grant())["grant_id"]
    assert await desk.actions() == ["access::grant"]


async def test_a_key_that_was_used_for_another_grant_is_refused(desk: Desk) -> None:
    await desk.grant()
    with pytest.raises(RefusedError, match="the idempotency key was used for another grant"):
        await desk.grant(minutes=61)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"system": "moon"}, "there is no system moon"),
        ({"role": "emperor"}, "payments has no role emperor"),
        ({"account": "nobody"}, "there is no account nobody"),
    ],
)
async def test_what_the_system_does_not_know_is_refused_in_its_words(
    desk: Desk, changes: JsonObject, said: str
) -> None:
    with pytest.raises(RefusedError, match=f"access system answered 404: {said}"):
        await desk.grant(**changes)


@pytest.mark.parametrize("minutes", [0, 43_201, "60"])
async def test_a_time_that_no_grant_may_have_reaches_nobody(desk: Desk, minutes: Json) -> None:
    with pytest.raises(RefusedError, match="access::grant: params do not fit: minutes"):
        await desk.grant(minutes=minutes)
    assert await desk.actions() == []


async def test_the_present_grants_are_told_before_another_is_made(desk: Desk) -> None:
    made = await desk.grant()
    before = desk.pack["access::grant"].before
    assert before is not None
    assert (await before(_call("access::grant", ASKED)))["grants"][0]["grant_id"] == made["grant_id"]


async def test_a_grant_whose_answer_was_lost_is_read_back_by_its_key(desk: Desk) -> None:
    find = desk.pack["access::grant"].reconcile
    assert find is not None
    assert await find(_call("access::grant", ASKED)) == Untouched()
    await desk.fail_next("drop_reply_after_commit")
    with pytest.raises(OutcomeUnknownError):
        await desk.grant()
    found = await find(_call("access::grant", ASKED))
    assert isinstance(found, Done)
    assert found.result == (await desk.held())[0]


async def test_a_grant_is_ended_once(desk: Desk) -> None:
    made = await desk.grant()
    ended = await desk.do("access::revoke", _ending(made), "k2")
    again = await desk.do("access::revoke", _ending(made), "k3")
    assert ended["state"] == "revoked"
    assert again == ended
    assert await desk.held() == []
    assert await desk.actions() == ["access::grant", "access::revoke"]


async def test_a_grant_that_is_over_is_not_ended_again(desk: Desk) -> None:
    made = await desk.grant()
    await desk.control("clock", {"minutes": 61})
    assert (await desk.do("access::revoke", _ending(made), "k2"))["state"] == "expired"
    assert await desk.actions() == ["access::grant"]


async def test_an_end_whose_answer_was_lost_is_read_back(desk: Desk) -> None:
    made = await desk.grant()
    find = desk.pack["access::revoke"].reconcile
    assert find is not None
    assert await find(_call("access::revoke", _ending(made))) == Untouched()
    await desk.fail_next("hang_after_commit")
    with pytest.raises(OutcomeUnknownError):
        await desk.do("access::revoke", _ending(made), "k2")
    found = await find(_call("access::revoke", _ending(made)))
    assert isinstance(found, Done)
    assert found.result["state"] == "revoked"


async def test_the_state_of_a_grant_is_told_before_it_is_ended(desk: Desk) -> None:
    made = await desk.grant()
    before = desk.pack["access::revoke"].before
    assert before is not None
    assert await before(_call("access::revoke", _ending(made))) == {"state": "active"}


@pytest.mark.parametrize("other", [{"account": "ivan"}, {"role": "reader"}, {"system": "ledger"}])
async def test_another_ones_grant_is_never_ended(desk: Desk, other: JsonObject) -> None:
    made = await desk.grant()
    with pytest.raises(RefusedError, match="is not "):
        await desk.do("access::revoke", _ending(made, **other), "k2")
    assert await desk.actions() == ["access::grant"]


async def test_a_grant_that_is_not_there_is_refused(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="there is no such grant"):
        await desk.do("access::revoke", _ending({"grant_id": "G-0"}), "k2")


async def test_a_wrong_token_is_held_and_gives_nothing(desk: Desk) -> None:
    wrong = handlers({"access_url": settings(desk.url)["access_url"], "access_token": "another"})
    for operation, params in (("access::grant", ASKED), ("access::read", {"system": "payments", "account": "rita"})):
        with pytest.raises(BlockedError, match="the bearer token is missing or wrong"):
            await wrong[operation].run(_call(operation, params))
    assert await desk.actions() == []


async def test_a_pack_without_an_address_refuses() -> None:
    with pytest.raises(RefusedError, match="its URL is missing in the settings"):
        await handlers({})["access::grant"].run(_call("access::grant", ASKED))
