"""Whatever is wrong with the policy server, the question is unavailable, in time, and nothing is allowed."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast

import pytest

from policy.address import socket_url
from policy.bundle import policy_text
from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Verdict
from tests.opa_server import question
from tests.patience import MINUTE, POLICY

ANSWER: dict[str, Any] = {
    "outcome": "allow",
    "tier": "low",
    "requirement": None,
    "reasons": [],
    "obligations": [],
}
ASK: dict[str, Any] = {
    **ANSWER,
    "outcome": "needs_approval",
    "requirement": {
        "quorum": 2,
        "groups": ["compliance"],
        "all_groups": False,
        "exclude": [],
        "expires_in": "PT8H",
        "reason_required": True,
        "escalate_to": [],
    },
}
MODULES = {"countersign/decision.rego": "package countersign.effect\n"}
CONFIG = {"acme": {"writes_per_run": 1}}
TEXT = policy_text(MODULES, CONFIG)
PROVENANCE: dict[str, Any] = {"version": "1.22.0", "bundles": {"b": {"revision": TEXT.digest}}}
FLAWS = "/v1/data/countersign/effect/config/flaws"

Respond = Callable[[asyncio.StreamWriter, str], Awaitable[None]]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Listening = Callable[[Connected], AbstractAsyncContextManager[str]]


def reply(answer: Any, **envelope: Any) -> dict[str, Any]:
    """Return what OPA says about one question; to several, it says the same of each."""
    return {"decision_id": "d1", "provenance": PROVENANCE, "result": {"0": answer}, **envelope}


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join((*lines, "", "")).encode() + body


def listing(path: str) -> dict[str, Any] | None:
    """Return what OPA says about its own policies and data."""
    if path == "/v1/policies":
        return {"result": [{"id": f"b/{name}", "raw": raw, "ast": {}} for name, raw in MODULES.items()]}
    if path == "/v1/data/countersign_config":
        return {"result": CONFIG}
    if path == FLAWS:
        return {"decision_id": "d2", "provenance": PROVENANCE, "result": []}
    return None


def answering(body: Any, status: str = "200 OK") -> Respond:
    """Answer the question with this body, and everything else as OPA does."""

    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        document = listing(path)
        raw = body if isinstance(body, bytes) and document is None else json.dumps(document or body).encode()
        writer.write(http(raw, "200 OK" if document else status))

    return respond


@asynccontextmanager
async def at_a_port(connected: Connected) -> AsyncIterator[str]:
    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"


@asynccontextmanager
async def at_a_socket(connected: Connected) -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="a folder% of ") as folder:  # what an address has to encode
        path = Path(folder) / "opa.sock"
        async with await asyncio.start_unix_server(connected, path):
            yield socket_url(path)


WAYS = (at_a_port, at_a_socket)


@asynccontextmanager
async def serving(respond: Respond, listening: Listening = at_a_port) -> AsyncIterator[str]:
    """Serve one request per connection; yield the address."""
    open_now: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(cast("asyncio.Task[None]", asyncio.current_task()))
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            await respond(writer, head.split()[1].partition("?")[0])
            await writer.drain()
        except ConnectionError:
            pass  # the client gave up, as it should
        finally:
            writer.close()

    async with listening(connected) as url:
        yield url
    for task in open_now:
        task.cancel()
    await asyncio.gather(*open_now, return_exceptions=True)


class Fails(Protocol):
    """Asks in vain."""

    def __call__(self, respond: Respond, said: str, patience: float = MINUTE) -> Awaitable[None]: ...


@pytest.fixture(params=WAYS)
def fails(request: pytest.FixtureRequest) -> Fails:
    """Ask a server that responds like this, at a port or at a socket, and find no verdict but these words."""

    async def asked(respond: Respond, said: str, patience: float = MINUTE) -> None:
        async with serving(respond, request.param) as url, OpaEngine(url, timeout=patience) as engine:
            with pytest.raises(PolicyUnavailableError, match=said) as caught:
                await engine.ask(question())
            assert url in str(caught.value)

    return asked


@pytest.mark.parametrize("listening", WAYS)
async def test_sound_server_is_understood(listening: Listening) -> None:
    async with serving(answering(reply(ANSWER)), listening) as url, OpaEngine(url, timeout=MINUTE) as engine:
        verdict = await engine.ask(question())
        assert verdict.answer.outcome is Outcome.ALLOW
        assert engine.text(verdict.policy_digest) == TEXT


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "decision_id: Field required"),
        ({"result": None}, "decision_id: Field required"),
        ({"result": True}, "decision_id: Field required"),
        ({"result": ANSWER}, "decision_id: Field required"),
        (reply(None), "result.0: undefined"),
        (reply(1), "result.0.reply: "),
        (reply(ANSWER, result=None), "result: not answers by their places but NoneType"),
        (reply(ANSWER, result=[ANSWER]), "result: not answers by their places but list"),
        (reply(ANSWER, result={}), "result.0: undefined"),
        (reply(ANSWER, result={"0": ANSWER, "1": ANSWER}), "result.1: this was not asked"),
        (reply({"outcome": "allow"}), "result.0.tier: Field required"),
        (reply({**ANSWER, "outcome": "perhaps"}), "result.0.outcome: "),
        (reply({**ANSWER, "extra": 1}), "result.0.extra: "),
        (reply({**ASK, "requirement": {**ASK["requirement"], "quorum": 0}}), "result.0.requirement.quorum: "),
        (reply({**ASK, "requirement": {**ASK["requirement"], "quorum": -1}}), "result.0.requirement.quorum: "),
        (reply({**ASK, "requirement": {**ASK["requirement"], "expires_in": "soon"}}), "'soon' is no duration"),
        (reply(ANSWER, decision_id=None), "decision_id: "),
        (reply(ANSWER, provenance={}), "provenance.version: Field required"),
        ([], "reply: "),
        (b"", "Expecting value"),
        (b"allow", "Expecting value"),
        (b'{"result": NaN}', "NaN is no JSON number"),
        (b'{"result": 1, "result": 2}', "member 'result' stands twice"),
        (b'{"result": "\xff"}', "codec can't decode"),
        (b"[" * 100_000, "recursion|nested"),
        (b'"' + b"x" * 300_000 + b'"', "longer than 262144 bytes"),
    ],
)
async def test_malformed_reply_is_unavailable_and_says_where(fails: Fails, body: Any, said: str) -> None:
    await fails(answering(body), said)


@pytest.mark.parametrize("status", ["500 Internal Server Error", "404 Not Found", "201 Created", "302 Found"])
async def test_any_status_but_200_is_unavailable(fails: Fails, status: str) -> None:
    await fails(answering(reply(ANSWER), status), f"HTTP status {status[:3]}")


async def test_redirect_is_not_followed(fails: Fails) -> None:
    async with serving(answering(reply(ANSWER))) as elsewhere:

        async def respond(writer: asyncio.StreamWriter, path: str) -> None:
            writer.write(http(b"", "307 Temporary Redirect", f"Location: {elsewhere}{path}"))

        await fails(respond, "HTTP status 307")


async def test_truncated_reply_is_unavailable(fails: Fails) -> None:
    async def respond(writer: asyncio.StreamWriter, _path: str) -> None:
        writer.write(http(json.dumps(reply(ANSWER)).encode())[:-5])

    await fails(respond, "ended before the answer did")


async def test_closed_connection_is_unavailable(fails: Fails) -> None:
    async def respond(writer: asyncio.StreamWriter, _path: str) -> None:
        writer.transport.abort()

    await fails(respond, "Server disconnected|reset")


@pytest.mark.parametrize("listening", WAYS)
async def test_refused_connection_is_unavailable(listening: Listening) -> None:
    async with serving(answering(reply(ANSWER)), listening) as url:
        pass
    async with OpaEngine(url, timeout=POLICY) as engine:
        with pytest.raises(PolicyUnavailableError, match="Cannot connect"):
            await engine.ask(question())


SOUND = http(json.dumps(reply(ANSWER)).encode())
PAUSE = 0.01


async def hang(_writer: asyncio.StreamWriter, _path: str) -> None:
    await asyncio.Event().wait()


async def drip(writer: asyncio.StreamWriter, _path: str) -> None:
    for byte in SOUND:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(PAUSE)  # the fault itself: some byte always comes soon


async def hang_on_the_text(writer: asyncio.StreamWriter, path: str) -> None:
    if listing(path):
        await asyncio.Event().wait()
    writer.write(SOUND)


@pytest.mark.parametrize("respond", [hang, drip, hang_on_the_text])
async def test_slow_server_is_unavailable_after_half_a_second(fails: Fails, respond: Respond) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await fails(respond, "no answer within 500 ms", POLICY)
    assert 0.4 < loop.time() - started < PAUSE * len(SOUND)


@pytest.mark.parametrize(
    ("revision", "said"),
    [("abc", "revision abc is not the digest of its text"), ("", "provenance.bundles.b.revision: ")],
)
async def test_revision_that_is_not_the_digest_of_the_text_is_unavailable(
    fails: Fails, revision: str, said: str
) -> None:
    provenance = {"version": "1.22.0", "bundles": {"b": {"revision": revision}}}
    await fails(answering(reply(ANSWER, provenance=provenance)), said)


@pytest.mark.parametrize("listed", [{"result": [{"id": "b/x"}]}, {"result": None}, {}, []])
async def test_malformed_listing_of_the_policies_is_unavailable(fails: Fails, listed: Any) -> None:
    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(http(json.dumps(listed if path == "/v1/policies" else reply(ANSWER)).encode()))

    await fails(respond, r"result|should be an object")


async def test_server_that_recovers_answers_again() -> None:
    broken = True

    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        await answering({} if broken else reply(ANSWER))(writer, path)

    async with serving(respond) as url, OpaEngine(url, timeout=MINUTE) as engine:
        with pytest.raises(PolicyUnavailableError):
            await engine.ask(question())
        broken = False
        assert (await engine.ask(question())).answer.outcome is Outcome.ALLOW


Answered = Callable[[int], Any]
"""What a server says of the question at a place."""


def answering_set(answer: Answered) -> Respond:
    """Answer a set of sixteen by what the function says of each."""
    return answering(reply(None, result={str(place): answer(place) for place in range(16)}))


async def ask_sixteen(respond: Respond, patience: float = MINUTE) -> list[Verdict | PolicyUnavailableError]:
    async with serving(respond) as url, OpaEngine(url, timeout=patience) as engine:
        return await engine.ask_all([question()] * 16)


WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "members missing": {"outcome": "allow"},
    "unknown outcome": {**ANSWER, "outcome": "perhaps"},
    "quorum zero": {**ASK, "requirement": {**ASK["requirement"], "quorum": 0}},
    "a requirement that is none": {**ASK, "requirement": None},
    "extra member": {**ANSWER, "by_the_way": 1},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_one_wrong_answer_among_sixteen_makes_that_one_unavailable(wrong: Any) -> None:
    found = await ask_sixteen(answering_set(lambda place: wrong if place == 5 else ANSWER))
    assert [place for place, one in enumerate(found) if not isinstance(one, Verdict)] == [5]
    assert "result.5" in str(found[5])
    ids = [one.decision_id for one in found if isinstance(one, Verdict)]
    assert ids == [f"d1/{place}" for place in range(16) if place != 5]


@pytest.mark.parametrize(
    "strange", [None, [ANSWER] * 16, {str(place): ANSWER for place in range(17)}, {"first": ANSWER}]
)
async def test_a_set_that_is_not_answered_as_a_set_is_asked_one_by_one(strange: Any) -> None:
    sets = [strange]

    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        document = listing(path) or reply(ANSWER, **({"result": sets.pop()} if sets else {}))
        writer.write(http(json.dumps(document).encode()))

    found = await ask_sixteen(respond)
    assert [one.decision_id for one in found if isinstance(one, Verdict)] == ["d1/0"] * 16


async def test_a_set_without_any_answer_is_unavailable_each_for_itself() -> None:
    async with OpaEngine("http://127.0.0.1:9", timeout=POLICY) as engine:
        found = await engine.ask_all([question()] * 40)
        assert await engine.ask_all([]) == []
    assert len(found) == 40
    assert all(isinstance(one, PolicyUnavailableError) for one in found)


@pytest.mark.parametrize("respond", [hang, drip])
async def test_a_server_that_is_late_is_not_asked_more_often_for_a_set(respond: Respond) -> None:
    asked = []

    async def counting(writer: asyncio.StreamWriter, path: str) -> None:
        asked.append(path)
        await respond(writer, path)

    found = await ask_sixteen(counting, POLICY)
    assert all("no answer within" in str(one) for one in found)
    assert len(asked) == 1


FLAWED: list[tuple[Any, str]] = [
    (["requirements.high.quorum: too low"], "acme: requirements.high.quorum: too low"),
    ([1], "result: not a list of flaws"),
    (None, "result: not a list of flaws"),
]


@pytest.mark.parametrize(("flaws", "said"), FLAWED)
async def test_configuration_with_flaws_is_unavailable_whatever_the_rules_answer(
    fails: Fails, flaws: Any, said: str
) -> None:
    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        document = listing(path) or reply(ANSWER)
        writer.write(http(json.dumps({**document, "result": flaws} if path == FLAWS else document).encode()))

    await fails(respond, said)


async def test_flaws_of_another_policy_say_nothing_of_this_one(fails: Fails) -> None:
    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        document = listing(path) or reply(ANSWER)
        if path == FLAWS:
            document["provenance"] = {**PROVENANCE, "bundles": {"b": {"revision": "1" * 64}}}
        writer.write(http(json.dumps(document).encode()))

    await fails(respond, "replaced while it was looked at")


@pytest.mark.parametrize(
    "url", ["", "opa:8181", "ftp://opa:8181", "http://opa:8181/v1", "http://", "http://opa:x", "unix://opa"]
)
def test_address_that_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|[Pp]ort"):
        OpaEngine(url, timeout=POLICY)
