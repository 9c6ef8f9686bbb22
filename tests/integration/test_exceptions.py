"""Exceptions and votes of a period, as auditors list them.

`countersign evidence exceptions` over files: bundles and exports, verified where a key is given.

`countersign evidence exceptions` of a period lists what was refused outside runs, from the tenant's chain.

Who approved what, as a table: each vote of a period, with what it meant and what it changed.
"""

import csv
import io
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.cli.approval_queries import vote_rows
from countersign.settings import Settings
from evidence.export.approvals_table import VOTE_COLUMNS
from evidence.export.index import period
from evidence.reading.words import MEANINGS
from receipts.acts import Act, Allowed, CommandRefused, DelegationRefused, RequestRefused, SignInRefused, Tried
from receipts.chain import Actor
from receipts.fields import timestamp
from receipts.tenant_acts import chain_of
from runtime.model.approval import AskKind
from runtime.model.search import RunFilter
from runtime.model.votes import VoteVerdict
from runtime.services.operator import OperatorService
from runtime.services.review_answers import ReviewAnswer
from runtime.services.tasks import TaskService
from runtime.store.tenants import put_act
from tests.bench import TENANT, Bench
from tests.integration.program_stage import command, environment
from tests.once import Once
from tests.unit.evidence_sample import START, Office, story
from tests.unit.export_sample import Sample


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def hasty(office: Office) -> Path:
    """Return a bundle in which Ben votes 8 s after opening, and Cat's opening was not recorded."""
    told = story()
    leaf = next(data for event, data in told.events if event == "vote.counted")
    leaf["opened_at"] = timestamp(START + timedelta(minutes=leaf["minute"], seconds=-8))
    return office.seal(told.dossier())


async def test_exceptions_of_a_bundle_name_people_first_and_ids_last(office: Office) -> None:
    found = await command("evidence", "exceptions", str(hasty(office)), "--key", str(office.public), env={})
    assert (found.code, found.err) == (0, "")
    assert found.out.splitlines() == [
        "2026-01-31 09:06:00 UTC  Ben: quick vote",
        "  approved “File a report” 8 s after opening it",
        "  on:      case-1, kyc v3",
        "  id:      run-1, leaf 14",
        "2026-01-31 09:09:00 UTC  opening not recorded",
        "  Opening was not recorded for 1 of 2 votes, so quick voting is not checked there.",
        "  on:      case-1, kyc v3",
        "  id:      run-1",
        "1 exception in 1 bundle, verified",
    ]


async def test_how_soon_is_quick_is_an_option(office: Office) -> None:
    bundle = str(hasty(office))
    found = await command("evidence", "exceptions", bundle, "--quick-vote", "PT7S", "--json", env={})
    assert [row["kind"] for row in json.loads(found.out)["exceptions"]] == ["opening_not_recorded"]
    wrong = await command("evidence", "exceptions", bundle, "--quick-vote", "soon", env={})
    assert (wrong.code, "--quick-vote" in wrong.err) == (2, True)
    to = office.folder / "report.html"
    assert (await command("evidence", "report", bundle, "-o", str(to), "--quick-vote", "PT7S", env={})).code == 0
    assert "votes within 7 s of opening" in to.read_text()


async def test_exceptions_are_json_or_csv_too(office: Office) -> None:
    bundle = str(hasty(office))
    first, _ = json.loads((await command("evidence", "exceptions", bundle, "--json", env={})).out)["exceptions"]
    assert (first["kind"], first["person"], first["seconds"], first["leaf"]) == ("quick_vote", "ben", 8, 14)
    table = (await command("evidence", "exceptions", bundle, "--csv", env={})).out
    line, _ = csv.DictReader(io.StringIO(table, newline=""), strict=True)
    assert (line["name"], line["reference"], line["run_id"]) == ("Ben", "case-1", "run-1")


async def test_exceptions_of_an_export_are_those_of_its_bundles(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    Sample().write(folder)
    found = await command("evidence", "exceptions", str(folder), "--csv", env={})
    assert found.out.encode() == (folder / "exceptions.csv").read_bytes()
    told = await command("evidence", "exceptions", str(folder), env={})
    assert told.out.splitlines()[-1] == "0 exceptions in 1 bundle, not verified: no key was given (--key)"


async def test_a_bundle_that_does_not_hold_has_no_exceptions(
    office: Office, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, bundle = Office.in_folder(tmp_path_factory.mktemp("other"), 2), str(hasty(office))
    unsigned = await command("evidence", "exceptions", bundle, "--key", str(other.public), env={})
    assert (unsigned.code, unsigned.out) == (4, "0 exceptions in 0 bundles, verified\n")
    assert unsigned.err.startswith(f"countersign: {bundle}: ")
    missing = await command("evidence", "exceptions", "none.zip", env={})
    assert (missing.code, missing.err) == (3, "countersign: none.zip: none.zip is not a file\n")
    empty = await command("evidence", "exceptions", env={})
    assert (empty.code, "--since" in empty.err) == (2, True)


def _request(at: str, count: int, *subjects: str) -> RequestRefused:
    tried = [Tried(subject=one, path="/v1/tasks/apr_1/answer") for one in subjects]
    route = "POST /v1/tasks/{task_id}/answer"
    return RequestRefused(
        route=route,
        rule="caller.answers_for",
        count=count,
        first_at=at,
        last_at=at,
        tried=tried or [Tried(subject="sena", path="/")],
    )


def _delegation(at: str) -> DelegationRefused:
    return DelegationRefused(
        act="delegate",
        delegator="ann",
        delegate="ben",
        groups=[],
        starts_at=at,
        ends_at=at,
        reason="away",
        why="not themselves",
        policy=Allowed(decision_id="d1", digest="ab" * 32),
    )


async def _refuse(bench: Bench, actor: Actor, *acts: Act) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        for act in acts:
            await put_act(conn, TENANT, act, actor, bench.clock())


async def test_what_was_refused_outside_runs_is_listed_for_its_period_alone(
    bench: Bench, dsn: str, tmp_path: Path
) -> None:
    at = timestamp(bench.clock())
    await _refuse(
        bench, Actor(id="portal", kind="agent"), _request(at, 1, "sena"), _request(at, 1200, "sena", "x\x1b[2J")
    )
    person = Actor(id="slack:T1:U1", kind="person")
    await _refuse(bench, person, CommandRefused(team="T1", user="U1", command="show", code="identity.guest"))
    await _refuse(bench, Actor(id="ann", kind="person"), _delegation(at))
    account = SignInRefused(issuer="https://id.example", subject="s-1", code="address.untrusted")
    await _refuse(bench, Actor(id="https://id.example s-1", kind="person"), account)
    bench.clock.move(days=2)
    await _refuse(bench, Actor(id="portal", kind="agent"), _request(timestamp(bench.clock()), 1))
    env = environment(Settings(database_url=dsn, home=tmp_path, tenant=TENANT))
    days = ("--since", at[:10], "--until", at[:10])
    found = await command("evidence", "exceptions", *days, env=env)
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith("\n5 exceptions in 0 stored bundles and the tenant's chain\n")
    lines = found.out.splitlines()
    rows = json.loads((await command("evidence", "exceptions", *days, "--json", env=env)).out)["exceptions"]
    assert [(row["name"], row["kind"], row["run_id"], row["definition"]) for row in rows] == [
        (who, "refused", chain_of(TENANT), "")
        for who in ("portal", "portal", "slack:T1:U1", "ann", "https://id.example s-1")
    ]
    assert lines[0].endswith("portal: refused attempt")
    assert lines[1:3] == [
        "  called POST /v1/tasks/{task_id}/answer for “sena”; refused: may not answer for this person",
        f"  id:      {chain_of(TENANT)}, leaf {rows[0]['leaf']}",
    ]
    assert "1,200 times" in rows[1]["what"]
    assert "\x1b" not in found.out
    wanted = "wanted to sign in to the console with the account “s-1” of “https://id.example”"
    refused = f"{wanted}; refused: addresses of this domain do not count"
    assert [row["what"] for row in rows[2:]] == [
        "used the command “show” in Slack; refused: is a guest",
        "tried to record a delegation from “ann” to “ben”; policy denied it: “not themselves”",
        refused,
    ]


FILE = {"company": "ACME", "text": "report\nof two lines"}
DAY = "2026-01-05"


@dataclass
class VotesOffice:
    """A bench with an effect that two people approved, and one that was rejected a day later."""

    bench: Bench
    settings: Settings

    async def rows(self, first: str = DAY, last: str = "2026-01-06", person: str | None = None) -> list[dict[str, Any]]:
        days = period(first, last)
        return await vote_rows(self.settings, RunFilter(since=days.since, until=days.until), person)


async def _play(bench: Bench, _folder: Path) -> None:
    await bench.start("bench.file", FILE, ref="case-1")
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval, reason="=seen, and checked")).counted
        bench.clock.move(minutes=1)
    await bench.settle()
    bench.clock.move(days=1)
    await bench.start("bench.file", {**FILE, "company": "Beta"}, ref="case-2")
    await bench.settle()
    assert (await bench.click("ann", await bench.approval_id(), "reject", "wrong company")).counted
    await bench.settle()


OFFICE = Once(_play)


@pytest.fixture
async def votes_office(bench: Bench, tmp_path: Path, dsn: str) -> VotesOffice:
    await OFFICE.on(bench, tmp_path)
    return VotesOffice(bench, Settings(database_url=dsn, home=tmp_path, tenant=TENANT))


async def test_a_vote_that_did_not_come_from_slack_says_how_it_came_in(votes_office: VotesOffice) -> None:
    bench = votes_office.bench
    for number, desk in enumerate((OperatorService(bench.engine.pool, bench.clock, TENANT), None)):
        bench.clock.move(minutes=1)
        task = await bench.review(str(number))
        view = await bench.desk.approval(task)
        assert view
        said = ReviewAnswer(task, "ann", VoteVerdict.APPROVE, "seen", view.stamp)
        if desk is None:
            await TaskService(bench.engine, TENANT).bring("officer-portal", "r1", said)
        else:
            await desk.say(said)
            await bench.later(seconds=3)
    accounts = [row["account"] for row in await votes_office.rows(first="2026-01-06")]
    assert accounts == ["T0ACME UANN", "none: by command", "none: by officer-portal"]


async def test_each_vote_says_who_what_why_and_by_which_rule(votes_office: VotesOffice) -> None:
    first, _, last = await votes_office.rows()
    assert set(first) == set(VOTE_COLUMNS)
    assert (first["name"], first["person"], first["decision"]) == ("Ann", "ann", "approved")
    assert first["meaning"] == "authorizes exactly this action, once"
    assert (first["reason"], first["reference"], first["requested_by"]) == ("=seen, and checked", "case-1", "rita")
    assert "text: report of two lines" in first["change"]
    assert first["rule"].startswith("writes.")
    assert first["required"] == "2 of compliance"
    assert (last["decision"], last["reason"], last["meaning"]) == ("rejected", "wrong company", "forbids this action")


async def test_who_says_whether_an_attempt_had_happened_approves_nothing(votes_office: VotesOffice) -> None:
    await votes_office.bench.meddle("UPDATE approvals SET kind = 'in_doubt'")
    first, _, last = await votes_office.rows()
    assert (first["decision"], first["meaning"]) == ("stated that it happened", "states that it happened")
    assert (last["decision"], last["meaning"]) == ("stated that it did not happen", "states that it did not happen")


def test_every_vote_has_its_meaning() -> None:
    never = {(kind, VoteVerdict.CHANGES) for kind in AskKind if kind.outlives_run}  # such a vote is refused
    assert set(MEANINGS) == {(kind, verdict) for kind in AskKind for verdict in VoteVerdict} - never


async def test_a_withdrawn_vote_is_listed_as_one(votes_office: VotesOffice) -> None:
    await votes_office.bench.meddle("UPDATE votes SET withdrawn_at = now() WHERE verdict = 'reject' RETURNING 1")
    (*_, last) = await votes_office.rows()
    assert (last["decision"], last["meaning"]) == ("rejected, then withdrew it", "no longer counts")


async def test_what_was_there_before_stands_before_what_comes(votes_office: VotesOffice) -> None:
    await votes_office.bench.meddle('UPDATE approvals SET before = \'{"company": {"name": "Old"}}\'')
    (*_, last) = await votes_office.rows()
    assert 'company: {"name": "Old"} → Beta' in last["change"]


async def test_a_long_value_is_cut_in_the_line(votes_office: VotesOffice) -> None:
    await votes_office.bench.meddle("UPDATE approvals SET before = json_build_object('company', repeat('x', 500))")
    (*_, last) = await votes_office.rows()
    assert f"company: {'x' * 120}… → Beta" in last["change"]


async def test_votes_are_of_the_days_and_of_the_person(votes_office: VotesOffice) -> None:
    assert [row["name"] for row in await votes_office.rows(last=DAY)] == ["Ann", "Ben"]
    assert [row["reference"] for row in await votes_office.rows(person="ANN")] == ["case-1", "case-2"]
    assert await votes_office.rows(person="cat") == []
    assert await votes_office.rows("2026-01-07", "2026-01-07") == []


async def test_votes_of_another_tenant_are_not_listed(votes_office: VotesOffice) -> None:
    votes_office.settings = votes_office.settings.model_copy(update={"tenant": "other"})
    assert await votes_office.rows() == []


async def test_the_command_prints_for_people_json_or_csv(votes_office: VotesOffice) -> None:
    words = ("evidence", "approvals", "--since", DAY, "--until", DAY)
    env = environment(votes_office.settings)
    first, *more = (await command(*words, env=env)).out.splitlines()
    assert first == "2026-01-05 09:00:00 UTC  Ann approved: file"
    assert more[:1] == ["  which means: Ann authorizes exactly this action, once"]
    assert "  why:     “=seen, and checked”" in more
    assert more[-1] == "2 votes"
    rows = json.loads((await command(*words, "--json", env=env)).out)["votes"]
    assert [row["meaning"] for row in rows] == ["authorizes exactly this action, once"] * 2
    lines = csv.DictReader(io.StringIO((await command(*words, "--csv", env=env)).out, newline=""), strict=True)
    assert {line["reason"] for line in lines} == {"'=seen, and checked"}, "a spreadsheet takes it for no formula"


async def test_no_text_steers_the_terminal(votes_office: VotesOffice) -> None:
    await votes_office.bench.meddle("UPDATE votes SET reason = E'fine\\x1b[2K'")
    words = ("evidence", "approvals", "--since", DAY, "--until", DAY)
    finished = await command(*words, env=environment(votes_office.settings))
    assert "“fine\N{REPLACEMENT CHARACTER}[2K”" in finished.out


async def test_the_command_needs_both_days(votes_office: VotesOffice) -> None:
    finished = await command("evidence", "approvals", "--since", DAY, env=environment(votes_office.settings))
    assert finished.code == 2
    assert "--until" in finished.err
