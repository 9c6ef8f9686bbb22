"""Benches with another policy or directory: break-glass, windows, pauses, passkeys, and doubt.

A bench whose policy lets incident managers do without the others, and what they say then.

A bench whose policy lets filings and notes be carried out on Tuesdays alone, by the clock of Oslo.

A bench whose policy lets the clock stand still while a question is open.

Access to the vault, which people sign with passkeys: made on invitation, used by links, as the edge does it.

A directory in which people come and go while requests are open.

A filing of which people say that it did not happen, and that was tried again and then again.
"""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings

from policy.client import OpaEngine
from runtime.handlers import OutcomeUnknownError, TransientError
from runtime.inbox import inbox
from runtime.model.passkey import Assertion
from runtime.model.person import SlackAccount
from runtime.model.votes import CardAct, VoteVerdict
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.operator import OperatorService
from runtime.services.passkey_ceremonies import Closed, PasskeyCeremonies, RegistrationPage, SigningPage
from runtime.services.signing_links import SigningWish, id_of
from runtime.store import directory
from tests.authenticator import Authenticator
from tests.bench import PEOPLE, PUBLIC_URL, TEAM, TENANT, Bench, HandClock, open_bench
from tests.integration.acts_stage import say
from tests.integration.conftest import PACK, Targets
from tests.logins import loading
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

FILE = {"company": "ACME", "text": "report"}
AT_MOST = 2
GLASS = {
    "groups": ["incident-managers", "onboarding"],
    "at_most": AT_MOST,
    "within": "P1D",
    "tell": ["security"],
    "review_by": ["senior-compliance", "incident-managers"],
    "review_within": "P3D",
}


@asynccontextmanager
async def glass_policy(folder: Path, requirement: str = "high") -> AsyncIterator[OpaEngine]:
    """Serve a policy by which a requirement, that of high-tier writes, has a glass that can be broken."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"][requirement]["break_glass"] = GLASS
    file.write_text(json.dumps(config), encoding="utf-8")
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def glass_bench(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[Bench]:
    """Open a bench on which high-tier writes have a glass that can be broken."""
    async with glass_policy(folder) as policy, open_bench(dsn, policy, [PACK], targets.handlers()) as found:
        yield found


async def filing(bench: Bench, ref: str = "1") -> tuple[str, str]:
    """Ask for a filing; return its run and its request."""
    run_id = (await bench.start("bench.file", FILE, ref)).run_id
    await bench.settle()
    (asked,) = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return run_id, str(asked["approval_id"])


async def record_break(bench: Bench, person: str, approval: str, reason: str, ticket: str, stamp: str) -> str:
    """Record what somebody says who does without the others; return the notification."""
    click = Click(
        dedupe_key=f"{approval}:{person}:glass:{reason}:{ticket}",
        approval_id=approval,
        stamp=stamp,
        verdict=VoteVerdict.APPROVE,
        reason=reason,
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-glass",
        ticket=ticket,
    )
    return await bench.desk.record(click)


async def break_glass(
    bench: Bench, person: str, approval: str, reason: str = "the bank is down", ticket: str = "INC-7", stamp: str = ""
) -> ClickOutcome:
    """Do without the others."""
    return await bench.desk.apply(await record_break(bench, person, approval, reason, ticket, stamp))


NOTE = {"incident": "I1", "text": "seen", "api_token": "hunter2-hunter2"}
TUESDAYS = {
    "between": [{"days": ["tue"], "from": "09:00", "until": "17:00"}],
    "time_zone": "Europe/Oslo",
    "within": "P3D",
}
OPENS = "2026-01-06T08:00:00.000000Z"
"""The first Tuesday after the bench's clock begins, on a Monday at 09:00 UTC."""
_TIMED = (("register", "file_report"), ("servicenow", "add_work_note"))


def say_when(folder: Path, execute: dict[str, Any]) -> Path:
    """Return a copy of the policies by which filings and notes are carried out at these times."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    for connector, operation in _TIMED:
        config["connectors"][connector]["operations"][operation]["execute"] = execute
    config["requirements"]["high"]["break_glass"] = GLASS
    file.write_text(json.dumps(config), encoding="utf-8")
    return policies


@asynccontextmanager
async def windows_policy(folder: Path, execute: dict[str, Any]) -> AsyncIterator[OpaEngine]:
    """Serve that policy."""
    policies = say_when(folder, execute)
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def windows_bench(
    dsn: str, targets: Targets, folder: Path, execute: dict[str, Any] = TUESDAYS
) -> AsyncIterator[Bench]:
    """Open a bench on which filings and notes have their times."""
    async with windows_policy(folder, execute) as policy, open_bench(dsn, policy, [PACK], targets.handlers()) as found:
        yield found


async def approve_filing(bench: Bench) -> str:
    """Have a filing asked for and approved; return its run."""
    run_id = (await bench.start("bench.file", FILE, "1")).run_id
    await bench.settle()
    for person in ("ann", "ben"):
        assert (await bench.click(person, await bench.approval_id())).counted
    await bench.settle()
    return run_id


LONGEST = 2
"""Hours for which the clock stands still at most; a request has eight, and those next in line come after six."""


@asynccontextmanager
async def pausing_bench(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[Bench]:
    """Open a bench on which the clock of high-tier writes stands still for two hours in all."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"]["pause_on_question"] = f"PT{LONGEST}H"
    file.write_text(json.dumps(config), encoding="utf-8")
    async with (
        OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as found,
    ):
        yield found


async def ask(bench: Bench, person: str, approval: str) -> str:
    """Ask whoever asked; return the question's id."""
    assert (await say(bench, person, approval, CardAct.ASK, "who owns it?", nonce=str(bench.clock()))).counted
    (row,) = await bench.rows("SELECT question_id FROM questions ORDER BY asked_at DESC LIMIT 1")
    return str(row["question_id"])


async def reply(bench: Bench, approval: str, question: str) -> None:
    """Answer a question, as whoever asked for it."""
    assert (await say(bench, "rita", approval, CardAct.REPLY, "the founders", about=question, nonce=question)).counted


async def play_paused(bench: Bench) -> dict[str, str]:
    """Play filings whose clock stood still: one approved in the time that was won, one expired after all of it."""
    late_id, late = await filing(bench, "late")
    bench.clock.move(hours=3)
    await ask(bench, "ben", late)
    run_id, approval = await filing(bench, "paused")
    bench.clock.move(hours=1)
    question = await ask(bench, "ann", approval)
    bench.clock.move(minutes=90)
    await reply(bench, approval, question)
    for hours in (
        3,
        2.25,
        1,
    ):  # one escalates; it expires, and the other escalates; that is late but for its pause
        await bench.later(hours=hours)
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    return {"paused": run_id, "paused_late": late_id}


PASSKEYS_PACK = Path(__file__).parents[2] / "packs/access-request"
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
        async with open_bench(dsn, policy, [PASSKEYS_PACK], handlers(settings(url))) as bench:
            yield bench


def counter(bench: Bench) -> PasskeyCeremonies:
    """Return the counter at which the edge stands."""
    return PasskeyCeremonies(bench.desk, PUBLIC_URL)


def authenticator(**differing: Any) -> Authenticator:
    """Return an authenticator with a passkey for the edge's origin."""
    return Authenticator(**{"origin": PUBLIC_URL, "rp_id": RP_ID, **differing})


async def invite(bench: Bench, person: str, token: str, by: str = "omar") -> dict[str, Any]:
    """Invite a person to register a passkey; return what became of it."""
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    return dict(await inbox.apply(bench.engine, await desk.invite_passkey(by, person, id_of(token), "for the vault")))


async def revoke(bench: Bench, credential_id: str, by: str = "omar") -> dict[str, Any]:
    """Revoke a passkey; return what became of it."""
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
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


async def asked(bench: Bench, ref: str = "1", role: str = "reader") -> str:
    """Ask for access to the vault; return the approval. None is asked for where the account has the role already."""
    run_id = (await bench.start("access.request", {**ASKED, "role": role}, ref)).run_id
    await bench.settle()
    (found,) = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return str(found["approval_id"])


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


async def load_directory(bench: Bench, version: int, without: Collection[str] = ()) -> None:
    """Load a directory of the bench's people without some of them, and do what follows."""
    known = {name: groups for name, groups in PEOPLE.items() if name not in without}
    people = [{"id": i, "kind": "person", "name": i.title(), "groups": g, "grants": {}} for i, g in known.items()]
    agent = {"id": "portal-bot", "kind": "agent", "name": "Portal", "groups": [], "grants": {}}
    accounts = [(TEAM, f"U{i.upper()}", i) for i in known]
    edition = directory.Edition(version, f"{version:064x}")
    async with loading(bench.superuser) as conn:
        await directory.replace_directory(conn, TENANT, edition, [*people, agent], accounts, bench.clock())
    await bench.later(seconds=5)


async def deny(bench: Bench, targets: Targets) -> str:
    """Play a filing that was in doubt, did not happen, failed once it was approved again, and then succeeded."""
    targets.file.answers = [OutcomeUnknownError("reset"), TransientError("busy")]
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"}, ref="denied")).run_id
    await bench.settle()
    await _approve(bench)
    await bench.later(minutes=6)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"), "reject")).counted
    await bench.settle()
    await _approve(bench)
    await bench.later(minutes=1)
    return run_id


async def _approve(bench: Bench) -> None:
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
