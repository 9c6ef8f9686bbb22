"""The edge's callers: signatures, refusals, rate limits, links and the passkey page.

Who signed a request: exactly one known caller, within five minutes, over exactly these bytes; else nobody.

Refused requests are counted by caller, route and rule, and are due at most once a minute.

A caller may ask for its burst at once and its rate on end, never for more; and is told truly when to come back.

The page where one signs shows what is signed as a person would lay it out.

Our own links: what is one, and what is not.
"""

import hashlib
import hmac
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.callers import EVERY, RETRY, Tallies
from edge.passkeys import page_of
from edge.signing import CALLER, SIGNATURE, TIMESTAMP, WINDOW, claimed, headers, is_signed, sign
from receipts.acts import MOST_TRIED, RequestRefused, Tried
from runtime.model.limits import Rate, TokenBuckets
from runtime.services.approval_view import FieldView
from runtime.services.links import Linked, LinkTo, read_link, request_link, run_link
from runtime.services.passkey_ceremonies import Ceremony, SigningPage
from tests.unit.bot_samples import KYC, NOW

SECRETS = {"portal": "p" * 32, "hook": "h" * 32}
SIGNED_AT = 1_800_000_000
PATH, BODY = "/v1/triggers/kyc.onboarding", b'{"ref": "1", "payload": {}}'

Headers = list[tuple[bytes, bytes]]


def signed(by: str = "portal", at: int = SIGNED_AT, **changes: bytes) -> Headers:
    made = headers(by, SECRETS.get(by, "x" * 32), at, "POST", PATH, BODY)
    return [
        (name.lower().encode(), changes.get(name.split("-")[1].lower(), value.encode())) for name, value in made.items()
    ]


def verify(
    given_headers: Headers, now: float = SIGNED_AT, method: str = "POST", path: str = PATH, body: bytes = BODY
) -> str | None:
    claim = claimed(given_headers, SECRETS, now)
    if claim is None or not is_signed(claim, SECRETS[claim.caller], method, path.encode(), body):
        return None
    return claim.caller


def test_signature_is_the_hmac_of_five_lines() -> None:
    message = f"v1\n{SIGNED_AT}\nPOST\n{PATH}\n".encode() + BODY
    expected = hmac.new(SECRETS["portal"].encode(), message, hashlib.sha256).hexdigest()
    assert dict(signed())[b"countersign-signature"] == f"v1={expected}".encode()


def test_who_signed_is_known() -> None:
    assert verify(signed()) == "portal"
    assert verify(signed("hook")) == "hook"


@pytest.mark.parametrize("age", [-WINDOW, 0, WINDOW])
def test_five_minutes_either_way_are_accepted(age: int) -> None:
    assert verify(signed(at=SIGNED_AT - age)) == "portal"


@pytest.mark.parametrize("age", [-WINDOW - 1, WINDOW + 1, SIGNED_AT])
def test_older_and_newer_ones_are_not(age: int) -> None:
    assert verify(signed(at=SIGNED_AT - age)) is None


@pytest.mark.parametrize(
    "other", [{"method": "PUT"}, {"path": "/v1/notifications"}, {"body": BODY + b" "}, {"body": b""}]
)
def test_it_holds_for_these_bytes_alone(other: dict[str, str]) -> None:
    assert verify(signed(), **other) is None  # type: ignore[arg-type]  # one of the three


def test_what_stands_in_the_path_cannot_move_into_the_body() -> None:
    stamp = str(SIGNED_AT).encode()
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
    assert claimed(signed(signature=signature), SECRETS, SIGNED_AT) is None
    assert claimed(signed(), SECRETS, SIGNED_AT) is not None


@given(caller=st.binary(max_size=40), stamp=st.binary(max_size=40), signature=st.binary(max_size=80))
def test_no_made_up_headers_pass_and_none_fail_otherwise(caller: bytes, stamp: bytes, signature: bytes) -> None:
    assert verify(signed(caller=caller, timestamp=stamp, signature=signature)) is None


@given(caller=st.sampled_from([b"portal", b"hook", "portål".encode("latin-1")]), signature=st.binary(max_size=80))
def test_no_made_up_signature_passes(caller: bytes, signature: bytes) -> None:
    assert verify(signed(caller=caller, signature=signature)) is None


def request(number: int = 0, rule: str = "caller.triggers") -> RequestRefused:
    at = f"2026-01-05T09:00:{number:02}.000000Z"
    tried = [Tried(subject="kyc", path=f"/v1/{number}")]
    return RequestRefused(route="GET /v1", rule=rule, count=1, first_at=at, last_at=at, tried=tried)


def test_the_first_is_due_at_once_and_those_that_follow_together_after_a_minute() -> None:
    tallies = Tallies()
    assert tallies.next_due() is None
    tallies.add("portal", request(0))
    assert tallies.take(100.0) == [("portal", request(0))]
    for number in range(1, 4):
        tallies.add("portal", request(number))
    assert tallies.take(100.0 + EVERY - 1) == []
    assert (tallies.next_due(), tallies.count) == (100.0 + EVERY, 3)
    ((caller, refused),) = tallies.take(100.0 + EVERY)
    assert (caller, refused.count, tallies.count) == ("portal", 3, 0)
    assert (refused.first_at, refused.last_at) == (request(1).first_at, request(3).last_at)
    assert [one.path for one in refused.tried] == ["/v1/1", "/v1/2", "/v1/3"]


def test_callers_and_rules_do_not_wait_for_each_other() -> None:
    tallies = Tallies()
    tallies.add("portal", request())
    assert len(tallies.take(100.0)) == 1
    for caller, rule in (("portal", "caller.unknown"), ("servicenow", "caller.triggers")):
        tallies.add(caller, request(rule=rule))
    assert [caller for caller, _ in tallies.take(100.0)] == ["portal", "servicenow"]


def test_what_could_not_be_written_is_counted_with_what_came_meanwhile_and_due_in_a_moment() -> None:
    tallies = Tallies()
    tallies.add("portal", request(0))
    batch = tallies.take(100.0)
    tallies.add("portal", request(1))
    tallies.put_back(batch, 101.0)
    assert (tallies.count, tallies.take(101.0), tallies.next_due()) == (2, [], 101.0 + RETRY)
    ((_, refused),) = tallies.take(101.0 + RETRY)
    assert (refused.count, refused.first_at, refused.last_at) == (2, request(0).first_at, request(1).last_at)


def test_at_the_end_everything_is_due() -> None:
    tallies = Tallies()
    tallies.add("portal", request(0))
    tallies.take(100.0)
    tallies.add("portal", request(1))
    assert len(tallies.take(math.inf)) == 1


def test_a_record_names_the_first_different_requests_and_counts_the_others() -> None:
    whole = request(0)
    for number in (0, 0, *range(1, 30)):
        whole = whole.with_later(request(number))
    assert whole.count == 32
    assert [one.path for one in whole.tried] == [f"/v1/{number}" for number in range(MOST_TRIED)]


RATE = Rate(per_second=2.0, burst=5)


def test_a_burst_passes_and_then_one_at_a_time() -> None:
    buckets = TokenBuckets(RATE)
    assert [buckets.take("a", 0.0) for _ in range(6)] == [0.0] * 5 + [0.5]
    assert buckets.take("a", 0.25) == 0.25
    assert buckets.take("a", 0.5) == 0.0
    assert buckets.take("a", 0.5) == 0.5


def test_each_caller_has_a_bucket_of_its_own() -> None:
    buckets = TokenBuckets(Rate(per_second=1.0, burst=1))
    assert (buckets.take("a", 0.0), buckets.take("a", 0.0), buckets.take("b", 0.0)) == (0.0, 1.0, 0.0)


def test_a_pause_fills_the_bucket_and_no_more() -> None:
    buckets = TokenBuckets(RATE)
    assert buckets.take("a", 0.0) == 0.0
    assert [buckets.take("a", 1e6) for _ in range(6)] == [0.0] * 5 + [0.5]


@given(st.lists(st.integers(0, 100), max_size=200))
def test_in_no_stretch_of_time_does_more_pass_than_the_burst_and_the_rate(pauses: list[int]) -> None:
    buckets, now, passed = TokenBuckets(RATE), 0.0, []
    for pause in pauses:
        now += pause / 64
        wait = buckets.take("a", now)
        if not wait:
            passed.append(now)
        assert 0 <= wait <= 1 / RATE.per_second
    for first, since in enumerate(passed):
        for last, until in enumerate(passed[first:], start=first):
            assert last - first + 1 <= RATE.burst + (until - since) * RATE.per_second + 1e-6


def test_callers_that_may_ask_for_their_burst_again_are_forgotten() -> None:
    buckets = TokenBuckets(Rate(per_second=1.0, burst=2))
    for number in range(25_000):
        assert buckets.take(f"caller-{number}", float(number)) == 0.0
    assert buckets.known < 10_000
    assert [buckets.take("caller-24999", 24_999.0) for _ in range(2)] == [0.0, 1.0]


def _shown(before: Any, after: Any) -> str:
    view = replace(KYC, fields=(FieldView("watching_people", before, after),))
    page = SigningPage(view, "Anna Berg", "Looked up.", "", NOW, Ceremony("Y2g", "countersign.example", ("a2V5",)))
    return bytes(page_of(page).body).decode().partition("<script>")[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (["Ann", "Bo"], ['<li><bdi class="words">Ann<', '<li><bdi class="words">Bo<']),
        (
            {"full_name": "Ann"},
            ['<dt><bdi class="words">Full name</bdi></dt>', '<dd><bdi class="words">Ann</bdi></dd>'],
        ),
        ([{"name": "Ann", "sites": ["Oslo"]}], ["Sites", "Oslo", "Name", "Ann"]),
    ],
)
def test_lists_and_objects_are_no_json(value: Any, shown: list[str]) -> None:
    for text in (_shown(None, value), _shown(value, "nobody")):
        assert "Watching people" in text
        assert all(part in text for part in shown)
        assert "[&#34;" not in text
        assert "{&#34;" not in text


def test_what_a_list_has_no_room_for_is_counted() -> None:
    assert "and 5 more, under Show all on the card" in _shown(None, [f"person {at}" for at in range(205)])


def test_a_value_stays_text_within_its_item() -> None:
    assert "<li><b>" not in _shown(None, ["</li><li><b>Ann</b>"])


URL = "https://countersign.example"


def test_a_link_is_read_as_it_was_given_out() -> None:
    assert read_link(URL, request_link(URL, "apr_1f")) == Linked(LinkTo.REQUEST, "apr_1f")
    assert read_link(URL, run_link(URL, "run_1f")) == Linked(LinkTo.RUN, "run_1f")


def test_without_an_address_there_is_no_link() -> None:
    assert request_link("", "apr_1") == run_link("", "run_1") == ""
    assert read_link("", "/requests/apr_1") is None


@pytest.mark.parametrize(
    "address",
    [
        *(f"{URL}/requests/", f"{URL}/requests/apr_1/", f"{URL}/requests/apr_1?x=1", f"{URL}/requests/apr_1#top"),
        *(f"{URL}/requests/apr 1", f"{URL}/requests/apr_1\n", f"{URL}/requests/..%2Fx", f"{URL}/passkeys/token"),
        *(f"{URL}:443/requests/apr_1", f"{URL}.evil.example/requests/apr_1", f"{URL}@evil.example/requests/apr_1"),
        *("http://countersign.example/requests/apr_1", "https://evil.example/requests/apr_1", "requests/apr_1", ""),
        f"{URL}/requests/{'a' * 129}",
    ],
)
def test_what_is_not_to_the_letter_a_link_of_ours_is_none(address: str) -> None:
    assert read_link(URL, address) is None


def test_more_than_a_bucket_holds_passes_once_it_is_full_and_has_to_fill_again() -> None:
    buckets = TokenBuckets(RATE)
    assert buckets.take("a", 0.0, 11) == 0.0
    assert buckets.take("a", 0.0) == 3.5  # six are missing, and one is wanted
    assert buckets.take("a", 3.5) == 0.0
    assert buckets.take("a", 3.5, 11) == 2.5
    assert buckets.take("a", 3.5, 2) == 1.0


def test_a_bucket_that_has_to_fill_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.model.limits._MOST_BUCKETS", 1)
    buckets = TokenBuckets(RATE)
    buckets.take("a", 0.0, 105)
    buckets.take("b", 40.0)
    assert buckets.take("a", 40.0) == 10.5
