"""Only requests that Slack signed a moment ago pass, and nothing makes the check fail otherwise than by saying no."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.signature import MAX_BODY, SignatureMiddleware, is_authentic, sign

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
STAMP = str(int(NOW.timestamp())).encode()
BODY = b"payload=%7B%7D"
OLD, NEW = "old-secret", "new-secret"
Headers = list[tuple[bytes, bytes]]


def signed(secret: str = NEW, stamp: bytes = STAMP, body: bytes = BODY) -> Headers:
    return [(b"X-Slack-Request-Timestamp", stamp), (b"X-Slack-Signature", sign(secret, stamp, body))]


def clock() -> datetime:
    return NOW


async def call(headers: Headers, parts: Iterable[bytes] = (BODY,)) -> tuple[int | None, dict[str, Any] | None]:
    """Return the status, and what the application behind received."""
    seen: dict[str, Any] = {}
    chunks = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages: Iterator[dict[str, Any]] = iter([*chunks, {"type": "http.request"}])
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope, body=(await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    scope = {"type": "http", "method": "POST", "path": "/slack/events", "headers": headers, "query_string": b"a=b"}
    await SignatureMiddleware(behind, (NEW, OLD), clock)(scope, receive, send)
    return (sent[0]["status"] if sent else None), seen or None


async def test_a_signed_request_passes_with_its_body_as_it_was_signed() -> None:
    status, seen = await call([*signed(), (b"Content-Type", b"application/json")], (b"payload=", b"%7B%7D"))
    assert status == 200
    assert seen
    assert seen["body"] == BODY


def test_the_signature_is_slacks() -> None:
    expected = hmac.new(b"k", b"v0:1:x", hashlib.sha256).hexdigest()
    assert sign("k", b"1", b"x") == f"v0={expected}".encode()


async def test_headers_that_are_not_signed_do_not_reach_bolt() -> None:
    status, seen = await call(
        [*signed(), (b"X-Slack-Bolt-Lazy-Only", b"1"), (b"x-\xff", b"\xff"), (b"content-type", b"\xff")]
    )
    assert status == 200
    assert seen
    assert seen["headers"] == []
    assert seen["query_string"] == b""


STAMPED = b"x-slack-request-timestamp"
SIGNED = b"x-slack-signature"
GOOD = sign(NEW, STAMP, BODY)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(STAMPED, STAMP)],
        [(SIGNED, GOOD)],
        signed("wrong"),
        signed(body=b"other"),
        [(STAMPED, STAMP), (SIGNED, b"")],
        [(STAMPED, STAMP), (SIGNED, GOOD.upper())],
        [(STAMPED, STAMP), (SIGNED, GOOD[:-1])],
        [(STAMPED, STAMP), (SIGNED, "v0=é".encode())],
        [(STAMPED, STAMP), (SIGNED, b"\xff\xfe")],
        [*signed(), (SIGNED, GOOD)],
        [*signed(), (STAMPED, STAMP)],
        *(
            signed(stamp=stamp)
            for stamp in (b"", b"now", b"-1", b"1e9", STAMP + b".0", b" " + STAMP, "१".encode(), b"9" * 40)
        ),
        signed(stamp=str(int(STAMP) - 301).encode()),
        signed(stamp=str(int(STAMP) + 301).encode()),
        signed(stamp=b"0"),
    ],
    ids=range(23),
)
async def test_a_signature_that_is_wrong_missing_old_or_malformed_is_401(headers: Headers) -> None:
    assert await call(headers) == (401, None)


@pytest.mark.parametrize("age", [-300, 300])
async def test_five_minutes_are_within_the_window(age: int) -> None:
    status, _ = await call(signed(stamp=str(int(STAMP) - age).encode()))
    assert status == 200


async def test_both_live_secrets_are_accepted_and_a_retired_one_is_not() -> None:
    assert (await call(signed(NEW)))[0] == (await call(signed(OLD)))[0] == 200
    assert not is_authentic((NEW,), signed(OLD), BODY, NOW)


async def test_a_body_of_the_limit_passes_and_one_byte_more_is_413() -> None:
    body = b"x" * MAX_BODY
    assert (await call(signed(body=body), (body,)))[0] == 200
    assert await call(signed(body=body + b"x"), (body, b"x")) == (413, None)


def test_without_a_secret_nothing_is_authentic() -> None:
    assert not is_authentic((), signed(""), BODY, NOW)


@pytest.mark.parametrize("secrets", [("",), (NEW, "")])
def test_an_empty_secret_is_refused(secrets: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="signing secret"):
        SignatureMiddleware(lambda *_: None, secrets, clock)  # type: ignore[arg-type] # never called


HEADERS = st.lists(
    st.tuples(
        st.sampled_from([STAMPED, SIGNED, b"X-SLACK-SIGNATURE", b"content-type"]) | st.binary(max_size=20),
        st.sampled_from([STAMP, b"v0=" + b"0" * 64, b"\xff"]) | st.binary(max_size=80),
    ),
    max_size=6,
)


@given(HEADERS, st.binary(max_size=200))
async def test_no_request_passes_by_chance_and_none_is_an_error(headers: Headers, body: bytes) -> None:
    assert await call(headers, (body,)) == (401, None)


async def test_a_websocket_is_not_served() -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError

    await SignatureMiddleware(never, (NEW,), clock)({"type": "websocket"}, never, never)
