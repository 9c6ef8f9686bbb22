"""What must not be put on record is taken out of texts from outside, in every form in which others repeat it."""

import base64
import re
import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from receipts.privacy import Privacy
from receipts.redaction import MARKER, hidden_values
from tests.forms import FORMS

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
