"""Who approved what, as a table: each vote of a period, with what it meant and what it changed."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.cli.approval_queries import vote_rows
from countersign.settings import Settings
from evidence.export.approvals_table import VOTE_COLUMNS
from evidence.export.index import period
from evidence.reading.words import MEANINGS
from runtime.model.approval import AskKind
from runtime.model.votes import VoteVerdict
from runtime.services.operator import OperatorDesk
from runtime.services.review_answers import ReviewAnswer
from runtime.services.tasks import TaskDesk
from tests.bench import TENANT, Bench
from tests.integration.program_stage import command, environment
from tests.once import Once

FILE = {"company": "ACME", "text": "report\nof two lines"}
DAY = "2026-01-05"


@dataclass
class Office:
    """A bench with an effect that two people approved, and one that was rejected a day later."""

    bench: Bench
    settings: Settings

    async def rows(self, first: str = DAY, last: str = "2026-01-06", person: str | None = None) -> list[dict[str, Any]]:
        return await vote_rows(self.settings, period(first, last), person)


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
async def office(bench: Bench, tmp_path: Path, dsn: str) -> Office:
    await OFFICE.on(bench, tmp_path)
    return Office(bench, Settings(database_url=dsn, home=tmp_path, tenant=TENANT))


async def test_a_vote_that_did_not_come_from_slack_says_how_it_came_in(office: Office) -> None:
    bench = office.bench
    for number, desk in enumerate((OperatorDesk(bench.engine.pool, bench.clock, TENANT), None)):
        bench.clock.move(minutes=1)
        task = await bench.review(str(number))
        view = await bench.desk.approval(task)
        assert view
        said = ReviewAnswer(task, "ann", VoteVerdict.APPROVE, "seen", view.stamp)
        if desk is None:
            await TaskDesk(bench.engine, TENANT).bring("officer-portal", "r1", said)
        else:
            await desk.say(said)
            await bench.later(seconds=3)
    accounts = [row["account"] for row in await office.rows(first="2026-01-06")]
    assert accounts == ["T0ACME UANN", "none: by command", "none: by officer-portal"]


async def test_each_vote_says_who_what_why_and_by_which_rule(office: Office) -> None:
    first, _, last = await office.rows()
    assert set(first) == set(VOTE_COLUMNS)
    assert (first["name"], first["person"], first["decision"]) == ("Ann", "ann", "approved")
    assert first["meaning"] == "authorizes exactly this action, once"
    assert (first["reason"], first["reference"], first["requested_by"]) == ("=seen, and checked", "case-1", "rita")
    assert "text: report of two lines" in first["change"]
    assert first["rule"].startswith("writes.")
    assert first["required"] == "2 of compliance"
    assert (last["decision"], last["reason"], last["meaning"]) == ("rejected", "wrong company", "forbids this action")


async def test_who_says_whether_an_attempt_had_happened_approves_nothing(office: Office) -> None:
    await office.bench.meddle("UPDATE approvals SET kind = 'in_doubt'")
    first, _, last = await office.rows()
    assert (first["decision"], first["meaning"]) == ("stated that it happened", "states that it happened")
    assert (last["decision"], last["meaning"]) == ("stated that it did not happen", "states that it did not happen")


def test_every_vote_has_its_meaning() -> None:
    never = {(kind, VoteVerdict.CHANGES) for kind in AskKind if kind.outlives_run}  # such a vote is refused
    assert set(MEANINGS) == {(kind, verdict) for kind in AskKind for verdict in VoteVerdict} - never


async def test_a_withdrawn_vote_is_listed_as_one(office: Office) -> None:
    await office.bench.meddle("UPDATE votes SET withdrawn_at = now() WHERE verdict = 'reject' RETURNING 1")
    (*_, last) = await office.rows()
    assert (last["decision"], last["meaning"]) == ("rejected, then withdrew it", "no longer counts")


async def test_what_was_there_before_stands_before_what_comes(office: Office) -> None:
    await office.bench.meddle('UPDATE approvals SET before = \'{"company": {"name": "Old"}}\'')
    (*_, last) = await office.rows()
    assert 'company: {"name": "Old"} → Beta' in last["change"]


async def test_a_long_value_is_cut_in_the_line(office: Office) -> None:
    await office.bench.meddle("UPDATE approvals SET before = json_build_object('company', repeat('x', 500))")
    (*_, last) = await office.rows()
    assert f"company: {'x' * 120}… → Beta" in last["change"]


async def test_votes_are_of_the_days_and_of_the_person(office: Office) -> None:
    assert [row["name"] for row in await office.rows(last=DAY)] == ["Ann", "Ben"]
    assert [row["reference"] for row in await office.rows(person="ANN")] == ["case-1", "case-2"]
    assert await office.rows(person="cat") == []
    assert await office.rows("2026-01-07", "2026-01-07") == []


async def test_votes_of_another_tenant_are_not_listed(office: Office) -> None:
    office.settings = office.settings.model_copy(update={"tenant": "other"})
    assert await office.rows() == []


async def test_the_command_prints_for_people_json_or_csv(office: Office) -> None:
    words = ("evidence", "approvals", "--from", DAY, "--to", DAY)
    env = environment(office.settings)
    first, *more = (await command(*words, env=env)).out.splitlines()
    assert first == "2026-01-05 09:00:00 UTC  Ann approved: file"
    assert more[:1] == ["  which means: Ann authorizes exactly this action, once"]
    assert "  why:     “=seen, and checked”" in more
    assert more[-1] == "2 votes"
    rows = json.loads((await command(*words, "--json", env=env)).out)
    assert [row["meaning"] for row in rows] == ["authorizes exactly this action, once"] * 2
    lines = csv.DictReader(io.StringIO((await command(*words, "--csv", env=env)).out, newline=""), strict=True)
    assert {line["reason"] for line in lines} == {"'=seen, and checked"}, "a spreadsheet takes it for no formula"


async def test_no_text_steers_the_terminal(office: Office) -> None:
    await office.bench.meddle("UPDATE votes SET reason = E'fine\\x1b[2K'")
    words = ("evidence", "approvals", "--from", DAY, "--to", DAY)
    finished = await command(*words, env=environment(office.settings))
    assert "“fine\N{REPLACEMENT CHARACTER}[2K”" in finished.out


async def test_the_command_needs_both_days(office: Office) -> None:
    finished = await command("evidence", "approvals", "--from", DAY, env=environment(office.settings))
    assert finished.code == 2
    assert "--to" in finished.err
