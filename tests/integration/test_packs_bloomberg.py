"""Bloomberg's subsidiaries against a stand-in of its API: signed in, asked for once, looked for until there."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_connector.http import Service
from countersign_connector.standin import application, ask
from countersign_kyc import bloomberg
from countersign_kyc import seed_data as seed
from countersign_kyc.handlers import handlers
from countersign_kyc.standin_bloomberg import RATE, Bloomberg, settings

from runtime.definitions.schemas import violations
from runtime.handlers import (
    Answer,
    BlockedError,
    Call,
    Handler,
    HandlerError,
    Json,
    JsonObject,
    NotTakenError,
    RefusedError,
    TransientError,
    Usage,
)
from tests.bench import HandClock
from tests.integration.pack_verbs import sync_verbs

OPERATION = "bloomberg::query_subsidiaries"


@dataclass
class Desk:
    """The operation, and Bloomberg's stand-in behind it."""

    url: str
    clock: HandClock
    bloomberg: Bloomberg

    def operation(self, **changes: str) -> Handler:
        told = {**settings(self.url), **changes}
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
async def desk() -> AsyncIterator[Desk]:
    clock = HandClock()
    bloomberg = Bloomberg(clock)
    async with TestServer(application(bloomberg.routes())) as server:
        yield Desk(str(server.make_url("")).rstrip("/"), clock, bloomberg)


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


async def test_subsidiaries_come_with_who_votes_with_how_much(desk: Desk) -> None:
    answer = await until_there(desk.operation(), call())
    assert violations(sync_verbs("kyc")[OPERATION]["output_schema"], answer.result) == []
    assert [(one["lei"], one["voting_percent"]) for one in answer.result["subsidiaries"]] == [
        (seed.TERMINAL, "100"),
        (seed.AGENCY, "74.9"),
        (seed.CREWING, "50.1"),
        (seed.BROKER, "12.5"),
    ]
    assert answer.result["subsidiaries"][0]["name"] == seed.COMPANIES[seed.TERMINAL].name


async def test_without_voting_shares_nobody_is_asked_for_them(desk: Desk) -> None:
    asked = call(include_voting_shares=False, voting_shares_field="NO_SUCH_FIELD")
    answer = await until_there(desk.operation(), asked)
    assert {one["voting_percent"] for one in answer.result["subsidiaries"]} == {""}


async def test_an_entity_without_subsidiaries_has_none(desk: Desk) -> None:
    assert (await until_there(desk.operation(), call(seed.INCOMPLETE))).result["subsidiaries"] == []


async def test_data_is_asked_for_once_however_often_the_step_is_tried(desk: Desk) -> None:
    await until_there(desk.operation(), call())
    await desk.operation().run(call())
    assert await desk.requests() == 1
    await until_there(desk.operation(), call(step="another"))
    assert await desk.requests() == 2


async def test_a_request_whose_answer_was_lost_is_found_by_its_name(desk: Desk) -> None:
    operation = desk.operation()
    await until_there(operation, call(step="before"))  # which has signed in
    await desk.fail_next("drop_reply_after_commit", "write")
    with pytest.raises(TransientError, match="gave no answer to POST"):
        await operation.run(call())
    await until_there(operation, call())
    assert await desk.requests() == 2


async def test_what_was_asked_of_bloomberg_is_told_as_usage_by_whichever_attempt_did_it(desk: Desk) -> None:
    operation = desk.operation()
    with pytest.raises(HandlerError) as first:
        await operation.run(call())
    assert first.value.usage == (Usage("bloomberg", units={"requests": 4, "data_requests": 1}),)
    second = Answer.of(await operation.run(call()))
    assert second.usage == (Usage("bloomberg", units={"requests": 4}),)


async def test_an_entity_that_bloomberg_does_not_know_is_refused_with_its_return_code(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="Bloomberg has no data on 98450000000000000000: return code 10"):
        await until_there(desk.operation(), call("98450000000000000000"))


async def test_fields_that_are_not_those_of_the_licence_are_refused(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="Bloomberg's field STANDIN_SUBSIDIARIES is not a list of rows"):
        await until_there(desk.operation(), call("STANDIN ODD"))
    with pytest.raises(RefusedError, match="params do not fit: columns"):
        await desk.operation().run(call(columns={"name": "X"}))


async def test_a_token_is_used_until_shortly_before_it_expires(desk: Desk) -> None:
    operation = desk.operation()
    await until_there(operation, call())
    for seconds, tokens in ((1769, 1), (2, 2)):
        desk.clock.move(seconds=seconds)
        await operation.run(call())
        assert len(desk.bloomberg.tokens) == tokens


async def test_a_token_that_is_not_let_in_any_more_is_followed_by_a_new_one(desk: Desk) -> None:
    operation = desk.operation()
    await until_there(operation, call())
    await desk.fail_next("401", "read")
    with pytest.raises(BlockedError):
        await operation.run(call())
    await operation.run(call())
    assert len(desk.bloomberg.tokens) == 2


async def test_wrong_credentials_are_held_and_ask_for_nothing(desk: Desk) -> None:
    with pytest.raises(BlockedError, match="Bloomberg's sign-in answered 401: Client authentication failed"):
        await desk.operation(bloomberg_client_secret="another").run(call())
    assert await desk.requests() == 0


async def test_a_pack_without_credentials_refuses() -> None:
    with pytest.raises(RefusedError, match="bloomberg_client_id and bloomberg_client_secret are missing"):
        await handlers({})[OPERATION].run(call())


async def test_whoever_asks_too_often_is_told_to_wait(desk: Desk) -> None:
    operation = desk.operation()
    async with ClientSession() as session:
        for _ in range(RATE):
            async with session.get(f"{desk.url}/bloomberg/eap/catalogs/") as response:
                assert response.status == 401
    with pytest.raises(NotTakenError) as caught:
        await operation.run(call())
    assert caught.value.retry_after == 60
    desk.clock.move(minutes=1)
    await until_there(operation, call())


async def test_another_version_of_the_api_is_refused_in_its_words(desk: Desk) -> None:
    headers = {"api-version": "1"}
    other = Service("Bloomberg", settings(desk.url)["bloomberg_url"], headers, 2.0, bloomberg._explain)
    sign_in = bloomberg.SignIn(
        settings(desk.url)["bloomberg_token_url"],
        settings(desk.url)["bloomberg_client_id"],
        settings(desk.url)["bloomberg_client_secret"],
        2.0,
        desk.clock,
    )
    with pytest.raises(RefusedError, match="Bloomberg answered 400: The header api-version must be 2"):
        await bloomberg.handlers(other, sign_in)[OPERATION].run(call())


def test_a_steps_request_has_a_name_of_letters_and_digits_of_its_own() -> None:
    asked: JsonObject = {}
    names = {bloomberg.name_of(Call("acme", run, step, "x", asked)) for run in ("r1", "r2") for step in ("a", "b")}
    assert len(names) == 4
    assert all(name.isalnum() and name[0].isalpha() and len(name) <= 64 for name in names)
