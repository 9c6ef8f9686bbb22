"""Handlers of the access pack and of Bloomberg, against their stand-ins.

The handlers of the access-request pack against its stand-in, over HTTP.

Bloomberg's subsidiaries against a stand-in of its API: signed in, asked for once, looked for until there.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings
from countersign_connector.http import Service
from countersign_connector.standin import application, ask
from countersign_kyc import bloomberg
from countersign_kyc import seed_data as seed
from countersign_kyc.handlers import handlers as bloomberg_handlers
from countersign_kyc.standin_bloomberg import RATE, Bloomberg
from countersign_kyc.standin_bloomberg import settings as bloomberg_settings

from runtime.clock import utc_now
from runtime.definitions.schemas import violations
from runtime.handlers import (
    Answer,
    BlockedError,
    Call,
    Done,
    Handler,
    HandlerError,
    Json,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Untouched,
    Usage,
)
from tests.bench import HandClock
from tests.functions import result_of
from tests.integration.packs_stage import sync_verbs

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


OPERATION = "bloomberg::query_subsidiaries"


@dataclass
class BloombergDesk:
    """The operation, and Bloomberg's stand-in behind it."""

    url: str
    clock: HandClock
    bloomberg: Bloomberg

    def operation(self, **changes: str) -> Handler:
        told = {**bloomberg_settings(self.url), **changes}
        credentials = (told["bloomberg_client_id"], told["bloomberg_client_secret"])
        sign_in = bloomberg.SignIn(told["bloomberg_token_url"], *credentials, 2.0, self.clock)
        return bloomberg.handlers(bloomberg.service(told["bloomberg_url"], 2.0), sign_in)[OPERATION]

    async def requests(self) -> int:
        return len((await ask(f"{self.url}/__standin/actions"))["actions"])

    async def fail_next(self, kind: str, on: str) -> None:
        fault = {"next": kind, "on": on}
        async with ClientSession() as session, session.post(f"{self.url}/__standin/faults", json=fault) as response:
            assert response.status == 204


@pytest.fixture
async def bloomberg_desk() -> AsyncIterator[BloombergDesk]:
    clock = HandClock()
    bloomberg = Bloomberg(clock)
    async with TestServer(application(bloomberg.routes())) as server:
        yield BloombergDesk(str(server.make_url("")).rstrip("/"), clock, bloomberg)


def call(entity: str = seed.CLIENT, step: str = "step", **changes: Json) -> Call:
    declared = sync_verbs("kyc")[OPERATION]["execution"]["params"]
    params = {**declared, "include_voting_shares": True, "entity_identifier": entity, **changes}
    return Call("acme", "run-1", step, "query_subsidiaries", params)


async def until_there(operation: Handler, asked: Call) -> Answer:
    """Try as the runtime tries a read: again after what says that there is no response yet."""
    with pytest.raises(TransientError, match=r"Bloomberg has no response to the request r[0-9a-f]+ yet") as early:
        await operation.run(asked)
    assert early.value.retry_after == bloomberg.LATER
    return Answer.of(await operation.run(asked))


async def test_subsidiaries_come_with_who_votes_with_how_much(bloomberg_desk: BloombergDesk) -> None:
    answer = await until_there(bloomberg_desk.operation(), call())
    assert violations(sync_verbs("kyc")[OPERATION]["output_schema"], answer.result) == []
    assert [(one["lei"], one["voting_percent"]) for one in answer.result["subsidiaries"]] == [
        (seed.TERMINAL, "100"),
        (seed.AGENCY, "74.9"),
        (seed.CREWING, "50.1"),
        (seed.BROKER, "12.5"),
    ]
    assert answer.result["subsidiaries"][0]["name"] == seed.COMPANIES[seed.TERMINAL].name


async def test_without_voting_shares_nobody_is_asked_for_them(bloomberg_desk: BloombergDesk) -> None:
    asked = call(include_voting_shares=False, voting_shares_field="NO_SUCH_FIELD")
    answer = await until_there(bloomberg_desk.operation(), asked)
    assert {one["voting_percent"] for one in answer.result["subsidiaries"]} == {""}


async def test_an_entity_without_subsidiaries_has_none(bloomberg_desk: BloombergDesk) -> None:
    assert (await until_there(bloomberg_desk.operation(), call(seed.INCOMPLETE))).result["subsidiaries"] == []


async def test_data_is_asked_for_once_however_often_the_step_is_tried(bloomberg_desk: BloombergDesk) -> None:
    await until_there(bloomberg_desk.operation(), call())
    await bloomberg_desk.operation().run(call())
    assert await bloomberg_desk.requests() == 1
    await until_there(bloomberg_desk.operation(), call(step="another"))
    assert await bloomberg_desk.requests() == 2


async def test_a_request_whose_answer_was_lost_is_found_by_its_name(bloomberg_desk: BloombergDesk) -> None:
    operation = bloomberg_desk.operation()
    await until_there(operation, call(step="before"))  # which has signed in
    await bloomberg_desk.fail_next("drop_reply_after_commit", "write")
    with pytest.raises(TransientError, match="gave no answer to POST"):
        await operation.run(call())
    await until_there(operation, call())
    assert await bloomberg_desk.requests() == 2


async def test_what_was_asked_of_bloomberg_is_told_as_usage_by_whichever_attempt_did_it(
    bloomberg_desk: BloombergDesk,
) -> None:
    operation = bloomberg_desk.operation()
    with pytest.raises(HandlerError) as first:
        await operation.run(call())
    assert first.value.usage == (Usage("bloomberg", units={"requests": 4, "data_requests": 1}),)
    second = Answer.of(await operation.run(call()))
    assert second.usage == (Usage("bloomberg", units={"requests": 4}),)


async def test_an_entity_that_bloomberg_does_not_know_is_refused_with_its_return_code(
    bloomberg_desk: BloombergDesk,
) -> None:
    with pytest.raises(RefusedError, match="Bloomberg has no data on 98450000000000000000: return code 10"):
        await until_there(bloomberg_desk.operation(), call("98450000000000000000"))


async def test_fields_that_are_not_those_of_the_licence_are_refused(bloomberg_desk: BloombergDesk) -> None:
    with pytest.raises(RefusedError, match="Bloomberg's field STANDIN_SUBSIDIARIES is not a list of rows"):
        await until_there(bloomberg_desk.operation(), call("STANDIN ODD"))
    with pytest.raises(RefusedError, match="params do not fit: columns"):
        await bloomberg_desk.operation().run(call(columns={"name": "X"}))


async def test_a_token_is_used_until_shortly_before_it_expires(bloomberg_desk: BloombergDesk) -> None:
    operation = bloomberg_desk.operation()
    await until_there(operation, call())
    for seconds, tokens in ((1769, 1), (2, 2)):
        bloomberg_desk.clock.move(seconds=seconds)
        await operation.run(call())
        assert len(bloomberg_desk.bloomberg.tokens) == tokens


async def test_a_token_that_is_not_let_in_any_more_is_followed_by_a_new_one(bloomberg_desk: BloombergDesk) -> None:
    operation = bloomberg_desk.operation()
    await until_there(operation, call())
    await bloomberg_desk.fail_next("401", "read")
    with pytest.raises(BlockedError):
        await operation.run(call())
    await operation.run(call())
    assert len(bloomberg_desk.bloomberg.tokens) == 2


async def test_wrong_credentials_are_held_and_ask_for_nothing(bloomberg_desk: BloombergDesk) -> None:
    with pytest.raises(BlockedError, match="Bloomberg's sign-in answered 401: Client authentication failed"):
        await bloomberg_desk.operation(bloomberg_client_secret="another").run(call())
    assert await bloomberg_desk.requests() == 0


async def test_a_pack_without_credentials_refuses() -> None:
    with pytest.raises(RefusedError, match="bloomberg_client_id and bloomberg_client_secret are missing"):
        await bloomberg_handlers({})[OPERATION].run(call())


async def test_whoever_asks_too_often_is_told_to_wait(bloomberg_desk: BloombergDesk) -> None:
    operation = bloomberg_desk.operation()
    async with ClientSession() as session:
        for _ in range(RATE):
            async with session.get(f"{bloomberg_desk.url}/bloomberg/eap/catalogs/") as response:
                assert response.status == 401
    with pytest.raises(NotTakenError) as caught:
        await operation.run(call())
    assert caught.value.retry_after == 60
    bloomberg_desk.clock.move(minutes=1)
    await until_there(operation, call())


async def test_another_version_of_the_api_is_refused_in_its_words(bloomberg_desk: BloombergDesk) -> None:
    headers = {"api-version": "1"}
    other = Service(
        "Bloomberg", bloomberg_settings(bloomberg_desk.url)["bloomberg_url"], headers, 2.0, bloomberg._explain
    )
    sign_in = bloomberg.SignIn(
        bloomberg_settings(bloomberg_desk.url)["bloomberg_token_url"],
        bloomberg_settings(bloomberg_desk.url)["bloomberg_client_id"],
        bloomberg_settings(bloomberg_desk.url)["bloomberg_client_secret"],
        2.0,
        bloomberg_desk.clock,
    )
    with pytest.raises(RefusedError, match="Bloomberg answered 400: The header api-version must be 2"):
        await bloomberg.handlers(other, sign_in)[OPERATION].run(call())


def test_a_steps_request_has_a_name_of_letters_and_digits_of_its_own() -> None:
    asked: JsonObject = {}
    names = {bloomberg.name_of(Call("acme", run, step, "x", asked)) for run in ("r1", "r2") for step in ("a", "b")}
    assert len(names) == 4
    assert all(name.isalnum() and name[0].isalpha() and len(name) <= 64 for name in names)
