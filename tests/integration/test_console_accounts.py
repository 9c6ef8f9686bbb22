"""Who signs in to the console by an account of an identity provider, and who is not let in, on record."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from console.provider import Claims
from countersign.console import check_provider
from countersign.settings import Settings
from runtime.model.console import SignInRefusal
from runtime.services.console_sessions import ProviderAccount, SignInRefusedError
from tests.bench import TEAM, Bench
from tests.browser import chromium
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage, open_console
from tests.integration.oidc_stage import HostileProvider, RealProvider, hostile_provider, real_provider, shared_secret

DOMAINS = ("acme.example",)
ACTS = "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' IN ('sign_in.refused', 'account.linked') ORDER BY seq"
LOGIN = "SELECT count(*) AS n FROM console_sessions"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def provider() -> AsyncIterator[RealProvider]:
    """Run one provider for all tests of this file."""
    async with real_provider() as running:
        yield running


@pytest.fixture
async def stage(bench: Bench, tmp_path: Path, provider: RealProvider) -> AsyncIterator[ConsoleStage]:
    """Give a console whose people sign in at the provider."""
    async with open_console(bench, tmp_path / "evidence", issuer=provider.issuer, domains=DOMAINS) as console:
        yield console


@pytest.fixture
async def hostile() -> AsyncIterator[HostileProvider]:
    """Give a provider that lies."""
    async with hostile_provider() as running:
        yield running


@pytest.fixture
async def besieged(bench: Bench, tmp_path: Path, hostile: HostileProvider, dsn: str) -> AsyncIterator[ConsoleStage]:
    """Give a console whose provider is hostile, and lists Ann's account."""
    lists(dsn, "ann", accounts=[{"issuer": hostile.issuer, "subject": "s-ann"}])
    async with open_console(bench, tmp_path / "evidence", issuer=hostile.issuer, domains=DOMAINS) as console:
        yield console


def lists(dsn: str, person: str, **sign_in: object) -> None:
    """Say in the directory how somebody signs in."""
    with superuser(dsn) as conn:
        conn.execute("UPDATE actors SET sign_in = %s WHERE actor_id = %s", (json.dumps(sign_in), person))


async def acts(stage: ConsoleStage) -> list[tuple[str, str]]:
    """Return what is on the tenant's record of accounts: the event, and the code or the person."""
    rows = [row["leaf"] for row in await stage.bench.rows(ACTS)]
    return [(leaf["event"], leaf["data"].get("code") or leaf["data"]["person"]) for leaf in rows]


async def test_a_listed_account_signs_in_as_its_person(stage: ConsoleStage, provider: RealProvider, dsn: str) -> None:
    lists(dsn, "ann", accounts=[{"issuer": provider.issuer, "subject": "s-ann"}])
    visitor = await stage.visitor()
    shown = await provider.leads(visitor, "s-ann")
    assert (shown.status, "You are signed in" in shown.text) == (200, True)
    assert "Ann" in (await visitor.get("/")).text
    cookie = shown.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


async def test_somebody_signs_in_at_another_site_in_a_browser(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    lists(dsn, "ann", accounts=[{"issuer": provider.issuer, "subject": "s-ann"}])
    async with chromium() as browser:
        page = await browser.new_page()
        await page.goto(f"{stage.url}/console/")
        await page.get_by_role("link", name="Sign in").click()
        await page.locator("input[name=sub]").fill("s-ann")
        await page.get_by_role("button", name="Authorize", exact=True).click()
        await page.get_by_role("heading", name="Needs attention").wait_for()
        assert page.url == f"{stage.url}/console/"
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="You have signed out").wait_for()


async def test_a_verified_address_of_a_trusted_domain_signs_in_once_as_one_account(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    lists(dsn, "ann", email="ann@acme.example")
    await provider.knows("m-1", email="Ann@Acme.example", email_verified=True)
    await provider.knows("m-2", email="ann@acme.example", email_verified=True)
    for _ in range(2):
        assert (await provider.leads(await stage.visitor(), "m-1")).status == 200
    refused = await provider.leads(await stage.visitor(), "m-2")
    assert (refused.status, "Another account has signed in" in refused.text) == (403, True)
    assert await acts(stage) == [("account.linked", "ann"), ("sign_in.refused", SignInRefusal.CHANGED)]


async def test_an_account_that_was_somebody_is_nobody_else_by_an_address(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    lists(dsn, "ann", email="ann@acme.example")
    await provider.knows("m-3", email="ann@acme.example", email_verified=True)
    assert (await provider.leads(await stage.visitor(), "m-3")).status == 200
    lists(dsn, "ann")
    lists(dsn, "ben", email="ann@acme.example")
    assert (await provider.leads(await stage.visitor(), "m-3")).status == 403
    assert (await acts(stage))[-1] == ("sign_in.refused", SignInRefusal.CHANGED)


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({}, SignInRefusal.UNKNOWN),
        ({"email": "ann@acme.example"}, SignInRefusal.UNVERIFIED),
        ({"email": "ann@acme.example", "email_verified": "true"}, SignInRefusal.UNVERIFIED),
        ({"email": "ann@evil.example", "email_verified": True}, SignInRefusal.UNTRUSTED),
        ({"email": "ann@sub.acme.example", "email_verified": True}, SignInRefusal.UNTRUSTED),
        ({"email": "zoe@acme.example", "email_verified": True}, SignInRefusal.UNKNOWN),
        ({"email": "\u017fam@acme.example", "email_verified": True}, SignInRefusal.UNKNOWN),
        ({"email": "ann@acme.example\0", "email_verified": True}, SignInRefusal.UNKNOWN),
        ({"email": "rita@acme.example", "email_verified": True}, SignInRefusal.NO_ROLE),
    ],
)
async def test_who_is_not_let_in_is_on_record_once(
    stage: ConsoleStage, provider: RealProvider, dsn: str, claims: dict[str, object], code: SignInRefusal
) -> None:
    lists(dsn, "ann", email="ann@acme.example")
    lists(dsn, "rita", email="rita@acme.example")
    lists(dsn, "sam", email="sam@acme.example")
    await provider.knows("stranger", **claims)
    for _ in range(2):
        visitor = await stage.visitor()
        assert (await provider.leads(visitor, "stranger")).status == 403
        assert (await visitor.get("/")).status == 401
    assert await acts(stage) == [("sign_in.refused", code)]
    assert await stage.bench.rows(LOGIN) == [{"n": 0}]


async def test_an_account_that_two_people_share_is_nobodys(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    for person in ("ann", "ben"):
        lists(dsn, person, accounts=[{"issuer": provider.issuer, "subject": "s-both"}])
    assert (await provider.leads(await stage.visitor(), "s-both")).status == 403
    assert await acts(stage) == [("sign_in.refused", SignInRefusal.AMBIGUOUS)]


async def test_a_session_ends_when_the_directory_gives_its_account_to_nobody(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    lists(dsn, "ann", accounts=[{"issuer": provider.issuer, "subject": "s-ann"}])
    lists(dsn, "ben", email="ben@acme.example")
    await provider.knows("m-ben", email="ben@acme.example", email_verified=True)
    ann, ben = await stage.visitor(), await stage.visitor()
    await provider.leads(ann, "s-ann")
    await provider.leads(ben, "m-ben")
    assert [(await one.get("/")).status for one in (ann, ben)] == [200, 200]
    lists(dsn, "ann", accounts=[{"issuer": provider.issuer, "subject": "another"}])
    lists(dsn, "ben", email="ben@other.example")
    assert [(await one.get("/")).status for one in (ann, ben)] == [401, 401]


async def test_the_slack_accounts_of_the_directory_sign_in_by_slack(bench: Bench, dsn: str) -> None:
    sessions = ConsoleStage.sessions_of(bench, DOMAINS, "https://slack.com")
    account = ProviderAccount("https://slack.com", f"{TEAM}/UANN")
    viewer = await sessions.find(await sessions.sign_in(account))
    assert viewer is not None
    assert viewer.person == "ann"
    with superuser(dsn) as conn:
        conn.execute("INSERT INTO slack_absentees SELECT tenant, team, account, now() FROM slack_accounts")
    with pytest.raises(SignInRefusedError, match=SignInRefusal.UNKNOWN):
        await sessions.sign_in(account)
    for issuer, subject in (
        ("https://slack.example", f"{TEAM}/UBEN"),
        ("https://slack.com", "T0OTHER/UBEN"),
        ("https://slack.com", "UBEN"),
    ):
        with pytest.raises(SignInRefusedError, match=SignInRefusal.UNKNOWN):
            await sessions.sign_in(ProviderAccount(issuer, subject))


FORGED = {
    "of another issuer": {"claims": {"iss": "https://evil.example"}},
    "for another client": {"claims": {"aud": "another"}},
    "for another client, in our name": {"claims": {"aud": "another", "azp": "console"}},
    "for no client": {"claims": {"aud": None}},
    "of another sign-in": {"claims": {"nonce": "another"}},
    "without a nonce": {"claims": {"nonce": None}},
    "of yesterday": {"claims": {"exp": 1_700_000_000, "iat": 1_699_999_000}},
    "without an end": {"claims": {"exp": None}},
    "without a subject": {"claims": {"sub": None}},
    "of a subject with control characters": {"claims": {"sub": "s-ann\n"}},
    "of a subject that is too long": {"claims": {"sub": "s" * 256}},
    "of a key that it does not have": {"header": {"alg": "RS256", "kid": "k2"}},
    "that is missing": {"tokens": {"access_token": "a", "token_type": "Bearer"}},
    "of an error": {"tokens": {"error": "invalid_grant"}},
    "of nothing": {"tokens": {}},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_a_forged_id_token_opens_nothing(
    besieged: ConsoleStage, hostile: HostileProvider, forged: dict[str, dict[str, object]]
) -> None:
    for name, value in forged.items():
        setattr(hostile, name, value)
    visitor = await besieged.visitor()
    shown = await hostile.leads(visitor)
    assert (shown.status, "Signing in did not work" in shown.text) == (502, True)
    assert await besieged.bench.rows(LOGIN) == [{"n": 0}]


async def test_an_id_token_that_is_in_order_opens_a_session(besieged: ConsoleStage, hostile: HostileProvider) -> None:
    visitor = await besieged.visitor()
    assert (await hostile.leads(visitor)).status == 200
    assert (await visitor.get("/")).status == 200


async def test_an_id_token_that_a_secret_signs_opens_nothing(besieged: ConsoleStage, hostile: HostileProvider) -> None:
    hostile.header, hostile.signs_with = {"alg": "HS256", "kid": "k1"}, shared_secret("a-secret-of-the-console")
    assert (await hostile.leads(await besieged.visitor())).status == 502
    assert await besieged.bench.rows(LOGIN) == [{"n": 0}]


async def test_a_provider_that_says_it_is_another_issuer_is_asked_for_nothing(
    besieged: ConsoleStage, hostile: HostileProvider
) -> None:
    hostile.metadata = {"issuer": "https://evil.example"}
    shown = await (await besieged.visitor()).get("/sign-in")
    assert (shown.status, "Location" in shown.headers) == (502, False)
    hostile.metadata = {}
    assert (await (await besieged.visitor()).get("/sign-in")).status == 302


async def test_an_answer_counts_in_the_browser_that_began_alone_and_once(
    besieged: ConsoleStage, hostile: HostileProvider
) -> None:
    visitor, other = await besieged.visitor(), await besieged.visitor()
    assert (await hostile.leads(visitor, state="another")).status == 400
    assert (await hostile.leads(visitor, "&iss=https://evil.example")).status == 400
    begun = await visitor.get("/sign-in")
    state = begun.headers["Location"].partition("state=")[2].partition("&")[0]
    assert (await other.get(f"/callback?code=c&state={state}")).status == 400
    assert (await visitor.get(f"/callback?error=access_denied&state={state}")).status == 403
    assert (await visitor.get(f"/callback?code=c&state={state}")).status == 400
    assert (await visitor.get("/callback?code=c&state=")).status == 400
    assert await besieged.bench.rows(LOGIN) == [{"n": 0}]


@pytest.mark.parametrize("begun", ["", "x..v", "x.n.", ".n.v", "x.n"])
async def test_a_cookie_that_was_made_up_begins_nothing(
    besieged: ConsoleStage, hostile: HostileProvider, begun: str
) -> None:
    hostile.nonces.append("of the victim")
    visitor = await besieged.visitor()
    visitor.http.cookie_jar.update_cookies({"countersign_console_begun": begun})
    assert (await visitor.get("/callback?code=stolen&state=x")).status == 400
    assert (await visitor.get("/callback?code=stolen&state=")).status == 400
    assert await besieged.bench.rows(LOGIN) == [{"n": 0}]


@pytest.mark.parametrize("metadata", [{"authorization_endpoint": "http://["}, {"authorization_endpoint": 7}])
async def test_a_provider_that_describes_itself_wrongly_is_told(
    besieged: ConsoleStage, hostile: HostileProvider, metadata: dict[str, object]
) -> None:
    hostile.metadata = metadata
    assert (await (await besieged.visitor()).get("/sign-in")).status == 502


async def test_a_session_ends_when_the_settings_no_longer_let_its_account_in(
    stage: ConsoleStage, provider: RealProvider, dsn: str
) -> None:
    lists(dsn, "ann", email="ann@acme.example")
    await provider.knows("m-ann", email="ann@acme.example", email_verified=True)
    account = ProviderAccount(provider.issuer, "m-ann", "ann@acme.example", is_verified=True)
    secret = await stage.sessions.sign_in(account)
    linked = await stage.sessions.open("a link", "ben")
    assert await stage.sessions.find(secret)
    assert await stage.sessions.find(linked)
    for less in ({"domains": ()}, {"issuer": "https://other.example"}, {"issuer": None}):
        assert await replace(stage.sessions, **less).find(secret) is None
    assert await replace(stage.sessions, has_link=False).find(linked) is None


async def test_an_account_of_slack_is_named_by_its_workspace(hostile: HostileProvider) -> None:
    claims = {"iss": "https://slack.com", "sub": "UANN"}
    with pytest.raises(ValueError, match="names no workspace"):
        Claims.model_validate(claims).account()
    told = Claims.model_validate({**claims, "https://slack.com/team_id": TEAM})
    assert told.account().subject == f"{TEAM}/UANN"


async def test_a_provider_that_does_not_answer_is_told(bench: Bench, tmp_path: Path) -> None:
    async with open_console(bench, tmp_path, issuer="http://127.0.0.1:9", domains=DOMAINS) as stage:
        shown = await (await stage.visitor()).get("/sign-in")
        assert (shown.status, "does not answer as it should" in shown.text) == (502, True)
        assert "Sign in" in (await (await stage.visitor()).get("/")).text


async def test_doctor_asks_the_provider(hostile: HostileProvider) -> None:
    given: Any = {"console_client_id": "console", "console_client_secret": "a-secret-of-the-console"}
    settings = Settings(console_issuer=hostile.issuer, public_url="http://localhost:8080", **given)
    assert [fact.ok for fact in await check_provider(settings)] == [True]
    hostile.metadata = {"issuer": "https://evil.example"}
    (fact,) = await check_provider(settings)
    assert (fact.ok, fact.detail) == (False, f"{hostile.issuer}: it describes itself as another issuer")
    assert await check_provider(Settings()) == []
