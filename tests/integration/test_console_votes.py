"""Officers answer requests in the console: as in Slack, by their account, for what the page showed, and once."""

import re
from collections.abc import AsyncIterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from evidence.local import LocalArchive
from evidence.report import report_on
from evidence.verify.trust import trust_of
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts import canonical
from runtime.model.console import ProviderAccount
from runtime.services.clicks import ClickOutcome
from runtime.services.console_requests import SignHere
from tests.bench import TEAM, Bench
from tests.browser import report_of, verify_page
from tests.databases import superuser
from tests.integration.console_stage import ISSUER, ConsoleStage, Shown, Visitor
from tests.integration.console_words import answer_in_console, officer, say_in_console
from tests.integration.evidence_stage import FILE
from tests.integration.policies_stage import asked, counter, open_vault, register
from tests.patience import MINUTE
from tests.sealing import sealer_of
from tests.unit.evidence_bends import members_of
from tests.unit.evidence_sample import Office

VOTES = "SELECT person, via, team, account, reason, console FROM votes ORDER BY at, person"


async def _asked(console: ConsoleStage) -> str:
    await console.bench.start("bench.file", FILE, "case 7")
    await console.bench.settle()
    return await console.bench.approval_id()


def _fields(shown: Shown) -> dict[str, str]:
    """Return what the forms of a page carry."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown.text)
    return {name: unescape(value) for name, value in found if name != "says"}


async def _send(visitor: Visitor, approval: str, says: str = "approve", reason: str = "read it", **more: str) -> Shown:
    """Open a request and send its form."""
    page = await visitor.get(f"/requests/{approval}")
    assert page.status == 200
    return await visitor.post(f"/requests/{approval}", **{**_fields(page), "says": says, "reason": reason, **more})


async def _signed_in(console: ConsoleStage, dsn: str, person: str) -> Visitor:
    """Return the browser of somebody who has signed in with an account, and has none at Slack."""
    with superuser(dsn) as conn:
        conn.execute("DELETE FROM slack_accounts WHERE actor_id = %s", (person,))
        account = {"accounts": [{"issuer": ISSUER, "subject": f"s-{person}"}]}
        conn.execute("UPDATE actors SET sign_in = %s WHERE actor_id = %s", (canonical.dumps(account).decode(), person))
    visitor = await console.visitor()
    secret = await console.sessions.sign_in(ProviderAccount(ISSUER, f"s-{person}"))
    visitor.http.cookie_jar.update_cookies({"countersign_console": secret})
    return visitor


async def test_officers_without_slack_decide_and_the_bundle_shows_by_which_account_and_what_they_saw(
    console: ConsoleStage, dsn: str, tmp_path: Path
) -> None:
    approval = await _asked(console)
    for person in ("ann", "ben"):
        shown = await _send(await _signed_in(console, dsn, person), approval)
        assert (shown.status, "Your approval counts." in shown.text) == (200, True)
    await console.bench.settle()
    votes = await console.bench.rows(VOTES)
    assert [(row["person"], row["via"], row["team"], row["account"]) for row in votes] == [
        ("ann", "console", "", "ann"),
        ("ben", "console", "", "ben"),
    ]
    office = Office.in_folder(tmp_path)
    members = await _sealed(console.bench, office)
    (name,) = (one for one in members if one.startswith("approvals/"))
    first = canonical.loads(members[name])["votes"][0]["console"]
    assert (first["issuer"], first["subject"]) == (ISSUER, "s-ann")
    assert "Requested by: Rita" in first["shown"]["text"]
    assert "**Ann** approved in the console" in members["summary.md"].decode()
    assert "in the console, on" in members["timeline.md"].decode()
    report = report_on(next((office.folder / "evidence").glob("*.zip")), trust_of(office.public)).page.decode()
    assert "s-ann of https://id.example, in the console" in report
    assert "The page in the console on which" in report


async def _sealed(bench: Bench, office: Office) -> Mapping[str, bytes]:
    """Seal the run, verify its bundle in both verifiers, and return its members."""
    archive = LocalArchive(office.folder / "evidence")
    sealer = sealer_of(bench.engine, archive, office.folder / "keys/signing.pem")
    await bench.later(hours=3)
    while await sealer():
        pass
    (path,) = (office.folder / "evidence").glob("*.zip")
    report = {held.rule: held.found for held in verify(path, office.public).rules}
    assert report["votes.console"] == "2 votes"
    async with verify_page() as page:
        told = await report_of(page, path.read_bytes(), office.public.read_text())
    assert told["failure"] is None
    return members_of(path)


async def test_a_form_that_is_sent_twice_is_one_word_and_says_the_same(console: ConsoleStage) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    fields = _fields(await ann.get(f"/requests/{approval}"))
    answers = [await ann.post(f"/requests/{approval}", **fields, says="approve", reason="read it") for _ in range(3)]
    assert [(one.status, "Your approval counts." in one.text) for one in answers] == [(200, True)] * 3
    assert len(await console.bench.rows(VOTES)) == 1
    again = await _send(ann, approval)
    assert (again.status, "You have already voted" in again.text) == (409, True)


async def test_another_word_by_the_same_form_is_judged_by_itself(console: ConsoleStage) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    fields = _fields(await ann.get(f"/requests/{approval}"))
    wanting = await ann.post(f"/requests/{approval}", **fields, says="reject", reason="")
    assert (wanting.status, "A reason is needed" in wanting.text) == (409, True)
    assert (await ann.post(f"/requests/{approval}", **fields, says="approve", reason="read it")).status == 200
    other = await ann.post(f"/requests/{approval}", **fields, says="reject", reason="not like this")
    assert (other.status, "You have already voted" in other.text) == (409, True)


async def test_what_slack_refuses_is_refused_and_on_record(console: ConsoleStage) -> None:
    approval = await _asked(console)
    olga, ann = await console.signed_in("olga"), await console.signed_in("ann")
    shown = await olga.get(f"/requests/{approval}")
    assert "This request is for members of" in shown.text
    assert "Send my answer" not in shown.text
    fields = _fields(await ann.get(f"/requests/{approval}"))
    refused = await olga.post(f"/requests/{approval}", **fields, says="approve", reason="let me")
    assert (refused.status, "This request is for members of" in refused.text) == (409, True)
    assert (await _send(ann, approval, "reject", "")).status == 409
    refusals = "SELECT leaf #>> '{data,code}' AS code FROM audit_leaves WHERE leaf ->> 'event' = 'vote.refused'"
    codes = [row["code"] for row in await console.bench.rows(f"{refusals} ORDER BY seq")]
    assert codes == ["vote.not_in_group", "vote.reason_missing"]
    assert await console.bench.rows(VOTES) == []


async def test_the_requester_cannot_approve_own_request_in_the_console(console: ConsoleStage, dsn: str) -> None:
    with superuser(dsn) as conn:
        conn.execute("""UPDATE actors SET groups = '["compliance"]' WHERE actor_id = 'rita'""")
    approval, rita = await _asked(console), await console.signed_in("rita")
    ann = await console.signed_in("ann")
    fields = _fields(await ann.get(f"/requests/{approval}"))
    refused = await rita.post(f"/requests/{approval}", **fields, says="approve", reason="mine")
    assert (refused.status, "You requested this yourself" in refused.text) == (409, True)


async def test_who_is_no_officer_answers_nothing(console: ConsoleStage) -> None:
    approval, ann, omar = await _asked(console), await console.signed_in("ann"), await console.signed_in("omar")
    assert "Send my answer" not in (await omar.get(f"/requests/{approval}")).text
    fields = _fields(await ann.get(f"/requests/{approval}"))
    for _ in range(2):
        refused = await omar.post(f"/requests/{approval}", **fields, says="approve", reason="let me")
        assert (refused.status, "This is for officers" in refused.text) == (403, True)
    route = "POST /requests/{approval_id}"
    (row,) = await console.bench.rows("SELECT session_id FROM console_sessions WHERE actor_id = 'omar'")
    session = row["session_id"]
    assert await console.refused() == [{"route": route, "person": "omar", "rule": "role", "session": session}]
    omar.origin = "https://evil.example"
    assert (await omar.post(f"/requests/{approval}", **fields, says="approve", reason="let me")).status == 403
    assert (await console.refused())[1:] == [{"route": route, "person": "omar", "rule": "origin", "session": session}]
    assert await console.bench.rows("SELECT * FROM notifications WHERE kind = 'vote'") == []


@pytest.mark.parametrize(
    "change",
    [
        {"says": "maybe"},
        {"stamp": "x"},
        {"shown": "x"},
        {"key": "short"},
        {"reason": "r" * 2001},
        {"more": "than is known"},
    ],
)
async def test_a_form_that_is_not_ours_does_nothing(console: ConsoleStage, change: dict[str, str]) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    shown = await _send(ann, approval, **change)
    assert (shown.status, "cannot be read" in shown.text) == (422, True)
    ann.origin = "https://evil.example"
    assert (await _send(ann, approval)).status == 403
    assert await console.bench.rows("SELECT * FROM notifications WHERE kind = 'vote'") == []


async def test_a_page_that_showed_something_else_counts_for_nothing(console: ConsoleStage) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    shown = await _send(ann, approval, shown="0" * 64)
    assert (shown.status, "would show something else" in shown.text) == (409, True)
    stale = await _send(ann, approval, stamp="0" * 16)
    assert (stale.status, "has changed" in stale.text) == (409, True)
    assert await console.bench.rows(VOTES) == []


async def test_a_vote_in_the_console_is_withdrawn_there(console: ConsoleStage) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    assert (await _send(ann, approval)).status == 200
    assert "Withdraw my vote" in (await ann.get(f"/requests/{approval}")).text
    assert "under More" not in (await ann.get(f"/requests/{approval}")).text  # it is here
    assert "is withdrawn" in (await _send(ann, approval, "withdraw", "not sure any more")).text
    assert (await _send(ann, approval, "changes", "name the owners")).status == 200


async def test_each_word_says_by_which_account_it_came(console: ConsoleStage) -> None:
    approval, ann = await _asked(console), await console.signed_in("ann")
    assert (await _send(ann, approval)).status == 200
    assert (await _send(ann, approval, "withdraw", "not sure any more")).status == 200
    assert (await _send(ann, approval, "reject", "")).status == 409
    leaves = "SELECT leaf -> 'data' AS data FROM audit_leaves WHERE leaf ->> 'event' IN"
    told = [row["data"] for row in await console.bench.rows(f"{leaves} ('vote.withdrawn', 'vote.refused')")]
    assert len(told) == 2
    assert all((one["via"], one["issuer"], one["subject"]) == ("console", "countersign:link", "ann") for one in told)


async def test_one_account_votes_once_whoever_it_belongs_to_by_then(console: ConsoleStage) -> None:
    bench, approval = console.bench, await _asked(console)
    assert (await answer_in_console(bench, "ann", approval)).counted
    second = await say_in_console(bench, officer("ben", "s-ann"), approval)
    assert isinstance(second, ClickOutcome)
    assert second.refusal
    assert second.refusal.code == "vote.repeated"


async def test_whose_slack_accounts_are_all_deactivated_has_left(console: ConsoleStage, dsn: str) -> None:
    approval = await _asked(console)
    with superuser(dsn) as conn:
        conn.execute("INSERT INTO slack_absentees VALUES ('acme', %s, 'UANN', now())", (TEAM,))
    refused = await answer_in_console(console.bench, "ann", approval)
    assert refused.refusal
    assert refused.refusal.code == "identity.deactivated"


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e{{7*7}}"


async def test_hostile_text_is_shown_as_text(console: ConsoleStage) -> None:
    await console.bench.start("bench.file", {"company": "ACME", "text": HOSTILE + "x" * 10_000}, "case 7")
    await console.bench.settle()
    approval, ann = await console.bench.approval_id(), await console.signed_in("ann")
    shown = await ann.get(f"/requests/{approval}")
    assert "<script>" not in shown.text
    assert "<img" not in shown.text
    assert "\u202e" not in shown.text
    assert f"{8000 + len(HOSTILE)} characters more" in shown.text
    assert (await _send(ann, approval)).status == 200


@pytest.fixture
async def vault(dsn: str, opa: OpaChild) -> AsyncIterator[Bench]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(dsn, policy) as bench:
        yield bench


async def test_an_officer_without_slack_signs_with_a_passkey_and_both_verifiers_accept_it(
    vault: Bench, dsn: str, tmp_path: Path
) -> None:
    with superuser(dsn) as conn:
        conn.execute("DELETE FROM slack_accounts WHERE actor_id IN ('sam', 'pam')")
    approval = await asked(vault)
    for person in ("sam", "pam"):
        using = await register(vault, person)
        here = await say_in_console(vault, officer(person), approval)
        assert isinstance(here, SignHere)
        token = here.link.rpartition("/")[2]
        page: Any = await counter(vault).open(token)
        outcome = await counter(vault).sign(token, using.sign(page.ceremony.challenge))
        assert isinstance(outcome, ClickOutcome)
        assert outcome.counted
    await vault.settle()
    members = await _sealed(vault, Office.in_folder(tmp_path))
    (name,) = (one for one in members if one.startswith("approvals/"))
    assert all({"passkey", "console"} <= vote.keys() for vote in canonical.loads(members[name])["votes"])
