"""Redaction, and receipts, into which no secret comes.

What must not be put on record is taken out of texts from outside, in every form in which others repeat it.
"""

import base64
import re
import string
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from receipts import canonical
from receipts.canonical import CanonicalError
from receipts.fields import timestamp
from receipts.privacy import Privacy
from receipts.receipt import Receipt, make_receipt
from receipts.redaction import MARKER, PointerError, Redacted, hidden_values, is_secret_name, redact
from tests.forms import FORMS

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


TOKEN = "xoxb-2718281828-AbCdEfGhIjKlMnOpQrSt"

LONG_ENOUGH = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=4, max_size=60)
PLAIN = (
    *("Bloomberg", "has", "no", "response", "secretary", "password", "token", "Halvorsen", "Lindqvist's", "Ltd.", "25"),
    *("https://bsso.blpprofessional.com/ext/api", "https://", "http://127.0.0.1:28813/api/", "office@example.com"),
    *(
        "listening",
        "127.0.0.1",
        "postgresql://program@db.example:5432/countersign",
        "xoxb-",
        "Basic",
        "whsec_",
        "sixteen",
    ),
)
"""What stands in ordinary texts."""
LIKE_WORDS = (
    *("https://u-1234@bsso.blpprofessional.com/ext/api/as/token.oauth2", "Bloomberg-9f8e7d6c", "password-1234"),
    *("tokens and secrets", "responses", "xoxb-2718281828-AbCdEfGhIj", "http://127.0.0.1:28813/api/login?as=me"),
    *("Halvorsens", "office@example.community", "programmatically", "postgresql://program@db.example:5432/other"),
)
"""Secrets that begin, end or go on like some of it."""
ORDINARY = re.compile(r"[\w\s.,'\u2019-]*")
AROUND = st.sampled_from(["", " ", '"', "'", "the value ", "=", "(", "x", "7", "\n", "…"])


@pytest.mark.parametrize("form", FORMS)
@given(value=LONG_ENOUGH, before=AROUND, after=AROUND)
def test_value_is_taken_out_in_each_form(form: str, value: str, before: str, after: str) -> None:
    written = FORMS[form](value)
    assume((len(written) >= 5 and not ORDINARY.fullmatch(written)) or not (before + after).strip("\"' \n=…("))
    assume(written not in MARKER and written not in before and written not in after)
    cleaned = Privacy().hiding(value).text(f"{before}{written}{after}")
    assert cleaned == f"{before}{MARKER}{after}" or written not in cleaned


@given(value=st.binary(min_size=6, max_size=40), before=st.binary(max_size=9), after=st.binary(max_size=9))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_of_a_longer_text_does_not_show_the_value(
    encode: Callable[[bytes], bytes], value: bytes, before: bytes, after: bytes
) -> None:
    text = value.hex()  # some text
    written = encode(before + text.encode() + after).decode()
    cleaned = Privacy().hiding(text).text(written)
    kept = len(cleaned) - len(MARKER)
    assert MARKER in cleaned
    assert kept <= len(encode(before)) + len(encode(after)) + 4, "what is left is what stood around it"


@given(
    secret=st.text(string.ascii_letters + string.digits + "-_/+=@:. ", min_size=8, max_size=60),
    words=st.lists(st.sampled_from(PLAIN), min_size=1, max_size=9),
    place=st.integers(0, 9),
    form=st.sampled_from(sorted(FORMS)),
)
def test_words_names_and_addresses_stay_as_they_are_beside_a_secret_that_is_gone(
    secret: str, words: list[str], place: int, form: str
) -> None:
    assume(not any(secret in text for text in PLAIN) and secret == secret.strip())
    written = FORMS[form](secret)
    before, after = " ".join(words[:place]), " ".join(words[place:])
    cleaned = Privacy.of([secret]).text(f"{before} {written} {after}.")
    assert cleaned == f"{before} {MARKER} {after}."


@given(words=st.lists(st.sampled_from(PLAIN), max_size=20), secrets=st.lists(st.sampled_from(LIKE_WORDS), min_size=1))
def test_what_shares_characters_with_secrets_stays_as_it_is(words: list[str], secrets: list[str]) -> None:
    text = " ".join(words)
    assert Privacy.of(secrets).text(text) == text
    assert Privacy().hiding(*secrets).value({text: [text]}) == {text: [text]}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"Bearer {TOKEN}{TOKEN} twice", "Bearer [redacted] twice"),
        (f"token={TOKEN}&page=2", "token=[redacted]&page=2"),
        ("invalid token AbCdEfGh", "invalid token AbCdEfGh"),
        ("refused: xoxb-2718281828-…", "refused: [redacted]…"),
        ("xoxb- is how they begin", "xoxb- is how they begin"),
        ("of team 2718281828", "of team 2718281828"),
    ],
)
def test_token_is_taken_out_whole_or_up_to_a_cut(text: str, cleaned: str) -> None:
    assert Privacy.of([TOKEN]).text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("the passphrase correcthorse is wrong", "the passphrase [redacted] is wrong"),
        (r'{"line": "one\ncorrecthorse"}', r'{"line": "one\n[redacted]"}'),
        ("p%3Dcorrecthorse%26x", "p%3D[redacted]%26x"),
        ("correcthorses and incorrecthorse", "correcthorses and incorrecthorse"),
        ("the right one is correctho", "the right one is correctho"),
    ],
)
def test_secret_that_could_be_a_word_is_taken_out_where_it_stands_alone(text: str, cleaned: str) -> None:
    assert Privacy.of(["correcthorse"]).text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("could not mail office@example.com today", "could not mail [redacted] today"),
        ("could not mail office@exam", "could not mail [redacted]"),
        ("could not mail 'office@exam…", "could not mail '[redacted]…"),
        ('{"mail": "office@exam"}', '{"mail": "office@exam"}'),
        ("the office is closed", "the office is closed"),
    ],
)
def test_value_that_a_text_was_cut_off_in_is_taken_out_up_to_the_cut(text: str, cleaned: str) -> None:
    assert Privacy().hiding("office@example.com").text(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("share 25 is too much", "share [redacted] is too much"),
        ("2500 shares at 1.25 each", "2500 shares at 1.[redacted] each"),
        ("DE and DEU", "[redacted] and DEU"),
        ("order_DE_1", "order_[redacted]_1"),
    ],
)
def test_short_value_is_taken_out_where_it_is_a_word(text: str, cleaned: str) -> None:
    assert Privacy().hiding({"share": 25, "place": ["DE", "", None, True]}).text(text) == cleaned


def test_scheme_of_a_hidden_header_is_no_part_of_the_secret() -> None:
    privacy = Privacy().hiding("Bearer abcdef123456")
    assert privacy.text("the token abcdef123456 has expired; Bearer expected") == (
        "the token [redacted] has expired; Bearer expected"
    )


def test_documents_are_cleaned_in_names_texts_and_long_numbers() -> None:
    document: Any = {
        "echo": {"s3cret-value": ["a s3cret-value", 4111111111111111, 25, None, True]},
        "s3cret-value": 1,
        "other-value!": 2,
        "n": 4111111111111112,
    }
    privacy = Privacy().hiding("s3cret-value", 4111111111111111, 25, "other-value!")
    assert privacy.value(document) == {
        "echo": {MARKER: [f"a {MARKER}", MARKER, 25, None, True]},
        MARKER: 1,
        f"{MARKER}'": 2,
        "n": 4111111111111112,
    }


def test_what_redaction_hides_in_a_document_is_taken_out_of_texts() -> None:
    sent = {"owner": {"name": "Halvorsen", "share": "seventeen"}, "api_key": "k-0123456789", "open": "visible words"}
    privacy = Privacy.of([TOKEN]).hiding(*hidden_values(sent, ["/owner"]))
    said = f"Halvorsen has seventeen, k-0123456789 and {TOKEN} in visible words"
    assert privacy.text(said) == f"{MARKER} has {MARKER}, {MARKER} and {MARKER} in visible words"


@given(text=st.text(string.ascii_lowercase + " .,:", max_size=300))
def test_text_without_secrets_stays_as_it_is(text: str) -> None:
    privacy = Privacy.of([TOKEN]).hiding("0123-4567-89", {"a": ["QRSTUVWXYZ"]})
    assert privacy.text(text) == text


def test_nothing_to_hide_hides_nothing() -> None:
    assert Privacy().hiding({}, [], None, "").text("anything") == "anything"
    assert Privacy.of([]).value({"a": [1, "b"]}) == {"a": [1, "b"]}


@pytest.mark.parametrize("value", ["a" * 100_000, "ab " * 40_000, "0123456789" * 10_000])
def test_value_that_is_long_and_repeats_itself_is_taken_out_all_the_same(value: str) -> None:
    cleaned = Privacy().hiding(value).text(f"before {value} after")
    assert len(cleaned) < 100
    assert cleaned.startswith("before")
