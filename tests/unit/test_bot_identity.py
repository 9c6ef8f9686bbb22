"""Identity in Slack: the signature, the account, the workspace and the user groups.

Exactly one person of our own workspace or organization, or a refusal that says what is so.

Only requests that Slack signed a moment ago pass, and nothing makes the check fail otherwise than by saying no.

Who is meant by the members of a user group: by a listed account, else by a confirmed address, else nobody.

The pages that the bot serves to whoever installs the app.

What the log of our talk with Slack may hold.
"""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.client import Tally, slack_logger
from bot.listeners.identity import is_elsewhere, only_person, profile_refusal, team_refusal
from bot.listeners.installation import Installation
from bot.listeners.oauth import installed, refused
from bot.payloads import Actions, User
from bot.signature import MAX_BODY, SignatureMiddleware, is_authentic, sign
from runtime.model.person import Member, Person, match_members
from runtime.model.votes import Refusal

HOST = Installation("T0HOST", None)
GRID = Installation("T0HOST", "E0GRID")
ANNA = User(id="U0ANNA", team_id="T0HOST")
PROFILE = {
    "id": "U0ANNA",
    "team_id": "T0HOST",
    "deleted": False,
    "is_bot": False,
    "is_restricted": False,
    "is_ultra_restricted": False,
}
COLLEAGUE = {
    **PROFILE,
    "team_id": "T0SISTER",
    "enterprise_user": {"id": "U0ANNA", "enterprise_id": "E0GRID", "teams": ["T0SISTER", "T0THIRD"]},
}
PERSON = Person("p-anna", "Anna Berg", ("compliance",))


def code(refusal: object) -> str:
    assert isinstance(refusal, Refusal)
    return refusal.code


def test_a_full_member_is_not_refused() -> None:
    for installation in (HOST, GRID):
        assert not is_elsewhere(ANNA, installation)
        assert team_refusal(ANNA, installation, PROFILE) is None
    assert profile_refusal(PROFILE) is None
    assert only_person([PERSON]) is PERSON


@pytest.mark.parametrize("team", ["T0OTHER", "E0GRID", None])
def test_another_team_or_none_is_elsewhere(team: str | None) -> None:
    assert is_elsewhere(User(id="U0EVE", team_id=team), HOST)


@pytest.mark.parametrize("change", [{"team_id": "T0OTHER"}, {"team_id": None}, {"is_stranger": True}])
def test_slacks_record_of_another_team_is_refused(change: dict[str, Any]) -> None:
    for installation in (HOST, GRID):
        assert code(team_refusal(ANNA, installation, {**PROFILE, **change})) == "identity.other_team"


@pytest.mark.parametrize("team", ["T0SISTER", "T0THIRD", "T0HOST", "E0GRID"])
def test_a_member_of_the_same_organization_is_no_stranger(team: str) -> None:
    user = User(id="U0ANNA", team_id=team)
    assert not is_elsewhere(user, GRID)
    assert team_refusal(user, GRID, COLLEAGUE) is None
    assert code(team_refusal(user, HOST, COLLEAGUE)) == "identity.other_team"


@pytest.mark.parametrize(
    ("team", "profile"),
    [
        ("T0OTHER", COLLEAGUE),
        (None, COLLEAGUE),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": {"enterprise_id": "E0RIVAL", "teams": ["T0SISTER"]}}),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": None}),
        ("T0SISTER", {**COLLEAGUE, "enterprise_user": {"teams": "T0SISTER"}}),
        ("E0GRID", {**PROFILE, "team_id": "T0OTHER"}),
    ],
)
def test_another_organization_or_a_payload_that_disagrees_is_refused(team: str | None, profile: dict[str, Any]) -> None:
    assert code(team_refusal(User(id="U0ANNA", team_id=team), GRID, profile)) == "identity.other_team"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"deleted": True}, "identity.deactivated"),
        ({"is_bot": True}, "identity.bot"),
        ({"is_workflow_bot": True}, "identity.bot"),
        ({"is_restricted": True}, "identity.guest"),
        ({"is_ultra_restricted": True}, "identity.guest"),
        ({"id": "USLACKBOT"}, "identity.bot"),
        ({"is_restricted": None}, "identity.unclear"),
        ({"is_ultra_restricted": "no"}, "identity.unclear"),
        ({"deleted": None}, "identity.unclear"),
        ({"is_bot": None}, "identity.unclear"),
    ],
)
def test_slacks_record_can_only_refuse_and_nobody_is_called_what_they_are_not(
    change: dict[str, Any], expected: str
) -> None:
    assert code(profile_refusal({**PROFILE, **change})) == expected


def test_no_person_and_two_persons_are_refused() -> None:
    assert code(only_person([])) == "identity.unknown"
    assert code(only_person([PERSON, Person("p-2", "Anna B.", ())])) == "identity.ambiguous"


def test_the_team_is_the_users_own_not_the_hosts() -> None:
    payload = Actions.model_validate(
        {
            "type": "block_actions",
            "team": {"id": "T0HOST"},
            "user": {"id": "U0EVE", "username": "eve", "team_id": "T0OTHER"},
            "actions": [{"action_id": "countersign_approve", "action_ts": "1.2", "value": "{}"}],
            "trigger_id": "1.2.3",
        }
    )
    assert is_elsewhere(payload.user, HOST)


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


KNOWN = [("T1", "UANN", "ann"), ("T1", "UTWIN", "one"), ("T1", "UTWIN", "two")]
EMAILS = {"ben@acme.example": "ben", "ann2@acme.example": "ann"}


def test_a_member_is_who_has_the_account() -> None:
    found = match_members([Member("T1", "UANN")], KNOWN, {})
    assert (set(found.people), set(found.linked)) == ({"ann"}, set())


def test_an_account_of_two_people_is_nobody() -> None:
    assert match_members([Member("T1", "UTWIN", "ben@acme.example")], KNOWN, EMAILS).people == frozenset()


def test_a_member_without_an_account_is_told_by_their_address_however_it_is_written() -> None:
    found = match_members([Member("T1", "UBEN", "Ben@Acme.example")], KNOWN, EMAILS)
    assert (set(found.people), set(found.linked)) == ({"ben"}, {("T1", "UBEN", "ben")})


def test_an_address_does_not_give_a_listed_account_to_somebody_else() -> None:
    found = match_members([Member("T1", "UANN", "ben@acme.example")], KNOWN, EMAILS)
    assert (set(found.people), set(found.linked)) == ({"ann"}, set())


def test_who_is_not_known_is_nobody() -> None:
    members = [Member("T1", "UEVE"), Member("T1", "UEVE2", "eve@acme.example"), Member("T1", "UBEN", "")]
    assert match_members(members, KNOWN, EMAILS).people == frozenset()


def test_a_person_with_two_accounts_is_one_person() -> None:
    assert match_members([Member("T1", "UANN"), Member("T1", "UANN2", "ann2@acme.example")], KNOWN, EMAILS).people == {
        "ann"
    }


def test_all_that_an_installation_page_says_stands_in_its_main_landmark_as_text() -> None:
    workspace, why = "<b>Meridian</b> & Sons", "Open the <link> again."
    for page, said in ((installed(workspace), workspace), (refused(403, why), why)):
        before, _, rest = page.body.partition("<main>")
        inside, _, after = rest.partition("</main>")
        assert escape(said) in inside
        assert "<h1>" in inside
        assert (before.count("</style>"), after) == (1, "</html>")


ADDRESS = "wss://wss-primary.slack.com/link/?ticket=0b1c-CANARY&app_id=A0COUNTERSIGN"


def test_a_ticket_that_opens_a_connection_never_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = slack_logger()
    try:
        raise ConnectionError(ADDRESS)
    except ConnectionError as error:
        log.exception(f"Failed to connect (error: {error}); Retrying...")  # noqa: G004, TRY401 - as Slack's client does
        log.warning("connecting to %s", ADDRESS)
    assert "CANARY" not in caplog.text
    assert [record.getMessage().count("ticket=…&app_id=") for record in caplog.records] == [1, 1]


def test_what_comes_again_and_again_is_counted_and_gets_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    refused = Tally("payloads refused")
    for _ in range(1000):
        refused.add()
    assert [record.getMessage() for record in caplog.records][:3] == [
        f"payloads refused: {n} so far" for n in (1, 2, 4)
    ]
    assert len(caplog.records) == 10
