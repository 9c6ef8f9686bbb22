"""Who signed a request: exactly one known caller, within five minutes, over exactly these bytes; else nobody."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.signing import CALLER, SIGNATURE, TIMESTAMP, WINDOW, claimed, headers, is_signed, sign

SECRETS = {"portal": "p" * 32, "hook": "h" * 32}
NOW = 1_800_000_000
PATH, BODY = "/v1/triggers/kyc.onboarding", b'{"ref": "1", "payload": {}}'

Headers = list[tuple[bytes, bytes]]


def signed(by: str = "portal", at: int = NOW, **changes: bytes) -> Headers:
    made = headers(by, SECRETS.get(by, "x" * 32), at, "POST", PATH, BODY)
    return [
        (name.lower().encode(), changes.get(name.split("-")[1].lower(), value.encode())) for name, value in made.items()
    ]


def verify(
    given_headers: Headers, now: float = NOW, method: str = "POST", path: str = PATH, body: bytes = BODY
) -> str | None:
    claim = claimed(given_headers, SECRETS, now)
    if claim is None or not is_signed(claim, SECRETS[claim.caller], method, path.encode(), body):
        return None
    return claim.caller


def test_signature_is_the_hmac_of_five_lines() -> None:
    message = f"v1\n{NOW}\nPOST\n{PATH}\n".encode() + BODY
    expected = hmac.new(SECRETS["portal"].encode(), message, hashlib.sha256).hexdigest()
    assert dict(signed())[b"countersign-signature"] == f"v1={expected}".encode()


def test_who_signed_is_known() -> None:
    assert verify(signed()) == "portal"
    assert verify(signed("hook")) == "hook"


@pytest.mark.parametrize("age", [-WINDOW, 0, WINDOW])
def test_five_minutes_either_way_are_accepted(age: int) -> None:
    assert verify(signed(at=NOW - age)) == "portal"


@pytest.mark.parametrize("age", [-WINDOW - 1, WINDOW + 1, NOW])
def test_older_and_newer_ones_are_not(age: int) -> None:
    assert verify(signed(at=NOW - age)) is None


@pytest.mark.parametrize(
    "other", [{"method": "PUT"}, {"path": "/v1/notifications"}, {"body": BODY + b" "}, {"body": b""}]
)
def test_it_holds_for_these_bytes_alone(other: dict[str, str]) -> None:
    assert verify(signed(), **other) is None  # type: ignore[arg-type]  # one of the three


def test_what_stands_in_the_path_cannot_move_into_the_body() -> None:
    stamp = str(NOW).encode()
    moved = sign(SECRETS["portal"], stamp, "POST", f"{PATH}/more".encode(), BODY)
    assert verify(signed(signature=moved.encode()), body=b"/more" + BODY) is None


def test_one_caller_cannot_sign_as_another() -> None:
    assert verify(signed(caller=b"hook")) is None


@pytest.mark.parametrize("caller", ["nobody", "", "PORTAL", "portal "])
def test_an_unknown_caller_is_nobody(caller: str) -> None:
    assert verify(signed(caller)) is None


@pytest.mark.parametrize(
    "stamp", [b"", b"-1", b"+1", b"1.0", b"1e9", b"0x1", b" 1", b"1_0", "١٢".encode(), b"9" * 13, b"9" * 5000]
)
def test_a_timestamp_is_a_plain_number(stamp: bytes) -> None:
    assert verify(signed(timestamp=stamp)) is None


@pytest.mark.parametrize("name", [CALLER, TIMESTAMP, SIGNATURE])
def test_each_header_stands_exactly_once(name: str) -> None:
    wanted = name.lower().encode()
    every = signed()
    assert verify([pair for pair in every if pair[0] != wanted]) is None
    assert verify([*every, *(pair for pair in every if pair[0] == wanted)]) is None
    assert verify([(wanted.title() if pair[0] == wanted else pair[0], pair[1]) for pair in every]) == "portal"


@pytest.mark.parametrize(
    "signature", [b"", b"v1=", b"v1=0", b"v0=" + b"0" * 64, b"v1=" + b"A" * 64, b"v1=" + b"0" * 65]
)
def test_what_has_not_the_form_of_a_signature_needs_no_body_to_be_refused(signature: bytes) -> None:
    assert claimed(signed(signature=signature), SECRETS, NOW) is None
    assert claimed(signed(), SECRETS, NOW) is not None


@given(caller=st.binary(max_size=40), stamp=st.binary(max_size=40), signature=st.binary(max_size=80))
def test_no_made_up_headers_pass_and_none_fail_otherwise(caller: bytes, stamp: bytes, signature: bytes) -> None:
    assert verify(signed(caller=caller, timestamp=stamp, signature=signature)) is None


@given(caller=st.sampled_from([b"portal", b"hook", "portål".encode("latin-1")]), signature=st.binary(max_size=80))
def test_no_made_up_signature_passes(caller: bytes, signature: bytes) -> None:
    assert verify(signed(caller=caller, signature=signature)) is None
