"""Redaction, and receipts, into which no secret comes."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from receipts import canonical
from receipts.canonical import CanonicalError
from receipts.fields import timestamp
from receipts.receipt import Receipt, make_receipt
from receipts.redaction import MARKER, PointerError, Redacted, is_secret_name, redact

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
CANARY = "canary-7f3a"


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PASSWORD", "dbPassword", "db_passwords", "passwd", "Passphrase", "token", "accessToken"),
        *("access_token", "accesstoken", "HTTPToken", "X-Auth-Token", "secret", "client_secret", "Secrets", "SECRET_1"),
        *("Authorization", "Proxy-Authorization", "api_key", "apiKey", "APIKey", "X-API-Key", "apikey", "api key"),
        *("cookie", "Set-Cookie", "credentials", "private_key", "sessionId", "jwt", "\uff50assword"),
        *("secret_token_url", "password_reset_url", "token_url_token"),
    ],
)
def test_name_of_a_secret_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "secretary",
        "bloomberg_token_url",
        "tokenUrl",
        "authorization_endpoint",
        "max_tokens",
        "tokens",
        "key",
        "idempotency_key",
        "author",
        "tokenizer",
        "monkey",
        "",
        "0",
    ],
)
def test_name_of_no_secret_is_left(name: str) -> None:
    assert not is_secret_name(name)


def test_declared_pointer_hides_its_value_and_is_listed() -> None:
    value = {"a": {"b/c": [1, 2], "~": 3}, "d": 4}
    hidden = redact(value, ["/a/b~1c/1", "/a/~0", "/nowhere/0"])
    assert hidden.value == {"a": {"b/c": [1, MARKER], "~": MARKER}, "d": 4}
    assert hidden.paths == ("/a/b~1c/1", "/a/~0")
    assert value == {"a": {"b/c": [1, 2], "~": 3}, "d": 4}


def test_star_stands_for_every_item_of_a_list_but_not_for_members() -> None:
    value = {"people": [{"name": "A", "born": 1}, {"name": "B"}, {"born": 2}], "other": {"x": {"born": 3}}}
    hidden = redact(value, ["/people/*/born", "/other/*/born"])
    assert hidden.paths == ("/people/0/born", "/people/2/born")
    assert hidden.value["other"] == {"x": {"born": 3}}


def test_address_where_tokens_are_asked_for_is_hidden_only_with_credentials_or_a_query() -> None:
    bare = {"token_url": "https://sign-in.example/oauth2", "authorizationEndpoint": "https://sign-in.example"}
    assert redact(bare) == Redacted(bare, ())
    bearing = {"token_url": "https://me:s3cret@sign-in.example", "token_uri": "https://h/?k=1", "tokenUrl": {"at": 1}}
    assert redact(bearing).value == dict.fromkeys(bearing, MARKER)


def test_whole_value_can_be_hidden() -> None:
    assert redact({"a": 1}, [""]).value == MARKER


def test_what_lies_inside_a_hidden_value_is_hidden_with_it_and_listed_once() -> None:
    hidden = redact({"credentials": {"password": CANARY, "user": CANARY}}, ["/credentials/user"])
    assert hidden.value == {"credentials": MARKER}
    assert hidden.paths == ("/credentials",)


@pytest.mark.parametrize("pointer", ["a", "a/b", "/a~", "/~2", "#/a"])
def test_malformed_pointer_is_refused(pointer: str) -> None:
    with pytest.raises(PointerError):
        redact({}, [pointer])


def test_value_without_canonical_form_is_refused_before_anything_else() -> None:
    with pytest.raises(CanonicalError, match="/a/0"):
        redact({"a": [object()]})


shapes = st.recursive(
    st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


def bury(shape: Any, path: list[str]) -> tuple[Any, str]:
    """Put the canary under a secret's name next to whatever stands at the end of `path`."""
    if isinstance(shape, dict) and path and path[0] in shape:
        inner, where = bury(shape[path[0]], path[1:])
        return shape | {path[0]: inner}, f"/{path[0]}{where}"
    return {"kept": shape, "api_token": CANARY}, "/api_token"


@given(shapes, st.lists(st.sampled_from("abc"), max_size=3))
@settings(deadline=None)
def test_secret_is_found_wherever_it_lies(shape: Any, path: list[str]) -> None:
    value, where = bury(shape, path)
    hidden = redact(value)
    assert hidden.paths == (where,)
    assert CANARY.encode() not in canonical.dumps(hidden.value)
    assert redact(hidden.value) == hidden


FACTS: dict[str, Any] = {
    "receipt_id": "r-1",
    "tenant": "acme",
    "run_id": "run-1",
    "step": "docs[2].request",
    "effect_id": "e-1",
    "attempt": 1,
    "connector": "register",
    "operation": "file",
    "target": "DE/123",
    "idempotency_key": "k",
    "fingerprint": "0" * 64,
    "outcome": "success",
    "reversible_by": None,
    "decision_id": "d-1",
    "approval_id": None,
    "error": None,
}


def receipt(**more: Any) -> Receipt:
    given_: dict[str, Any] = {"request": {}, "response": None, "pointers": [], "started_at": NOON, "finished_at": NOON}
    return make_receipt(**(given_ | FACTS | more))


def test_receipt_hides_secrets_of_request_and_response_and_lists_them() -> None:
    made = receipt(
        request={"iban": CANARY, "headers": {"Authorization": CANARY}, "share": 25},
        response={"session": {"cookie": CANARY}, "iban": "kept"},
        pointers=["/iban"],
    )
    assert made.redacted == ["/request/headers/Authorization", "/request/iban", "/response/session/cookie"]
    assert CANARY.encode() not in canonical.dumps(made.model_dump())
    assert made.document() == canonical.dumps(made.model_dump())


def test_secret_does_not_change_the_digest() -> None:
    assert receipt(request={"password": "one"}).document() == receipt(request={"password": "other"}).document()


def test_pointer_that_is_none_is_refused_by_a_receipt_too() -> None:
    with pytest.raises(PointerError):
        receipt(pointers=["iban"])


def test_clock_that_was_set_back_costs_no_receipt() -> None:
    made = receipt(started_at=NOON, finished_at=NOON - timedelta(seconds=3))
    assert made.started_at == made.finished_at == "2026-01-31T12:00:00.000000Z"


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "done"},
        {"fingerprint": "A" * 64},
        {"fingerprint": "0" * 63},
        {"receipt_id": "../x"},
        {"receipt_id": ""},
        {"attempt": -1},
        {"attempt": "1"},
        {"attempt": True},
        {"started_at": "2026-01-31T12:00:00Z"},
        {"started_at": "2026-01-31T13:00:00.000000+01:00"},
        {"started_at": "2026-02-30T12:00:00.000000Z"},
        {"finished_at": "soon"},
        {"extra": 1},
        {"tenant": ""},
    ],
)
def test_receipt_out_of_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Receipt.model_validate(receipt().model_dump() | change)


def test_receipt_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        receipt().outcome = "failure"  # type: ignore[misc]  # that it is refused is what is tested


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=2)))), st.datetimes(timezones=st.just(UTC)))
@settings(deadline=None)
def test_order_of_timestamps_is_order_of_moments(one: datetime, other: datetime) -> None:
    assert len(timestamp(other)) == 27
    if one.year > 1:
        assert (timestamp(one) < timestamp(other)) == (one < other)


def test_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        timestamp(NOON.replace(tzinfo=None))
