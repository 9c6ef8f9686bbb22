"""Access to the vault, which people sign with passkeys: made on invitation, used by links, as the edge does it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings

from policy.client import OpaEngine
from runtime.inbox import inbox
from runtime.model.passkey import Assertion
from runtime.model.person import SlackAccount
from runtime.services.clicks import ClickOutcome
from runtime.services.operator import OperatorDesk
from runtime.services.passkey_ceremonies import Closed, PasskeyCeremonies, RegistrationPage, SigningPage
from runtime.services.signing_links import SigningWish, id_of
from tests.authenticator import Authenticator
from tests.bench import PUBLIC_URL, TEAM, TENANT, Bench, HandClock, open_bench

PACK = Path(__file__).parents[2] / "packs/access-request"
ASKED = {"system": "vault", "account": "rita", "role": "reader", "minutes": 60, "justification": "a rotation"}
RP_ID = "countersign.example"


SIGNERS = {"sam": Authenticator(PUBLIC_URL, RP_ID), "pam": Authenticator(PUBLIC_URL, RP_ID, algorithm=-257)}
ALONE = Authenticator(PUBLIC_URL, RP_ID)
PASSKEYS = (*SIGNERS.values(), ALONE)
"""The passkeys of those who sign in evidence that is bent, and of who uses break-glass there."""


@asynccontextmanager
async def open_vault(dsn: str, policy: OpaEngine) -> AsyncIterator[Bench]:
    """Give a bench with the pack of access requests, and its stand-in beside it."""
    async with TestServer(build(HandClock())) as server:
        url = str(server.make_url("")).rstrip("/")
        async with open_bench(dsn, policy, [PACK], handlers(settings(url))) as bench:
            yield bench


def counter(bench: Bench) -> PasskeyCeremonies:
    """Return the counter at which the edge stands."""
    return PasskeyCeremonies(bench.desk, PUBLIC_URL)


def authenticator(**differing: Any) -> Authenticator:
    """Return an authenticator with a passkey for the edge's origin."""
    return Authenticator(**{"origin": PUBLIC_URL, "rp_id": RP_ID, **differing})


async def invite(bench: Bench, person: str, token: str, by: str = "omar") -> dict[str, Any]:
    """Invite a person to register a passkey; return what became of it."""
    desk = OperatorDesk(bench.engine.pool, bench.clock, TENANT)
    return dict(await inbox.apply(bench.engine, await desk.invite_passkey(by, person, id_of(token), "for the vault")))


async def revoke(bench: Bench, credential_id: str, by: str = "omar") -> dict[str, Any]:
    """Revoke a passkey; return what became of it."""
    desk = OperatorDesk(bench.engine.pool, bench.clock, TENANT)
    return dict(await inbox.apply(bench.engine, await desk.revoke_passkey(by, credential_id, "lost")))


async def register(bench: Bench, person: str, using: Authenticator | None = None) -> Authenticator:
    """Have a person register a passkey, on an operator's invitation."""
    made, token = using or authenticator(), f"invitation of {person} {using.id if using else ''}"
    assert (await invite(bench, person, token))["status"] == "applied"
    page = await counter(bench).open(token)
    assert isinstance(page, RegistrationPage)
    assert await counter(bench).register(token, made.make(page.ceremony.challenge)) == ""
    return made


async def play_vault(bench: Bench) -> str:
    """Have access to the vault signed by two people, and come to its end; return the run."""
    approval = await asked(bench)
    for person, using in SIGNERS.items():
        assert (await sign(bench, person, approval, await register(bench, person, using))).counted
    await bench.settle()
    await bench.later(hours=2)
    (row,) = await bench.rows("SELECT run_id FROM runs")
    return str(row["run_id"])


async def play_vault_alone(bench: Bench) -> str:
    """Have access to the vault given by one person, who uses break-glass; return the run."""
    approval = await asked(bench)
    assert (await sign(bench, "ivy", approval, await register(bench, "ivy", ALONE), "INC-7")).counted
    await bench.settle()
    assert (await bench.click("sue", await bench.approval_id("afterwards"))).counted
    await bench.later(hours=2)
    (row,) = await bench.rows("SELECT run_id FROM runs")
    return str(row["run_id"])


async def asked(bench: Bench, ref: str = "1") -> str:
    """Ask for access to the vault; return the approval."""
    run_id = (await bench.start("access.request", ASKED, ref)).run_id
    await bench.settle()
    found = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return str(found[0]["approval_id"])


async def token_to_sign(
    bench: Bench, person: str, approval: str, reason: str = "seen and checked", ticket: str = ""
) -> str:
    """Return the token of a link to sign an approval as it is; with a ticket, to break its glass."""
    view = await bench.desk.approval(approval)
    assert view
    wish = SigningWish(approval, view.stamp, reason, person, SlackAccount(TEAM, f"U{person.upper()}"), ticket)
    url = await bench.desk.signing.link(wish)
    assert url
    assert url.startswith(f"{PUBLIC_URL}/passkeys/")
    return url.rpartition("/")[2]


async def opened(bench: Bench, person: str, approval: str, ticket: str = "") -> tuple[str, SigningPage]:
    """Return the token of a link to sign, and the page behind it."""
    token = await token_to_sign(bench, person, approval, ticket=ticket)
    page = await counter(bench).open(token)
    assert isinstance(page, SigningPage)
    return token, page


async def hand_in(bench: Bench, token: str, assertion: Assertion) -> ClickOutcome:
    """Hand in what was signed."""
    outcome = await counter(bench).sign(token, assertion)
    assert not isinstance(outcome, Closed)
    return outcome


async def sign(
    bench: Bench, person: str, approval: str, using: Authenticator, ticket: str = "", **changes: Any
) -> ClickOutcome:
    """Open a link to sign, and sign."""
    token, page = await opened(bench, person, approval, ticket)
    return await hand_in(bench, token, using.sign(page.ceremony.challenge, **changes))
