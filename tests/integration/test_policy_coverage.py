"""Coverage: which lines of a policy the recorded questions evaluate, and by how many of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.store.database.migration import make_login
from runtime.store.schema import role_names
from tests.bench import Bench
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.test_policy_backtest import recorded
from tests.opa_server import copy_policies, edit_policy, opa_program

LIMITS = "countersign/limits.rego"
PLANTED = """
# METADATA
# title: Planted
# description: Denies what nobody asks for.
# custom:
#   short_name: limits.planted
#   failure_msg: Nobody asks for this
deny contains reasons.of(rego.metadata.rule()) if {
	input.effect.operation == "never_asked_for"
	input.counters.writes > 1000
}
"""


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_OPA": str(opa_program())}


async def coverage(env: dict[str, str], *words: str) -> Finished:
    return await command("policy", "coverage", *words, env=env)


def lines_of(document: Any, name: str) -> dict[int, int]:
    """Return the number of questions by the line, of the lines of a file that count."""
    [file] = [one for one in document["files"] if one["file"] == name]
    return {one["row"]: one["questions"] for one in file["lines"]}


def row_of(policies: Path, name: str, text: str) -> int:
    """Return the first line that holds a text."""
    lines = (policies / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


async def test_a_planted_rule_that_no_decision_reaches_is_shown_uncovered(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    await recorded(bench, 1)
    policies, page = copy_policies(tmp_path / "rego"), tmp_path / "coverage.html"
    (policies / LIMITS).write_text((policies / LIMITS).read_text() + PLANTED)
    found = await coverage(env, str(policies), "-o", str(page))
    row = row_of(policies, LIMITS, '"never_asked_for"')
    assert (found.code, found.err) == (0, "")
    assert f"  Planted (limits.planted)  {LIMITS}:{row - 1}" in found.out.splitlines()
    assert f'<tr class="no"><td class="row">{row + 1}</td><td>✗</td><td class="number">0</td>' in page.read_text()
    denies = row_of(policies, LIMITS, "deny contains")  # evaluated, and it held for none
    assert f'<tr class="partly"><td class="row">{denies}</td><td>△</td><td class="number">2</td>' in page.read_text()
    document = json.loads((await coverage(env, str(policies), "--json")).out)
    assert [lines_of(document, LIMITS)[one] for one in (row - 1, row, row + 1)] == [0, 0, 0]


async def test_each_line_has_the_number_of_questions_that_evaluated_it(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    for writes in (1, 2, 60):  # each a filing, beside the card that asks for it
        await recorded(bench, writes)
    policies = copy_policies(tmp_path / "rego")
    document = json.loads((await coverage(env, str(policies), "--json")).out)
    lines = lines_of(document, LIMITS)
    chat, below = (row_of(policies, LIMITS, text) for text in ("permitted if connectors", "input.counters.writes >= 0"))
    denies = row_of(policies, LIMITS, "deny contains")
    assert (document["questions"], lines[chat], lines[below], lines[denies]) == (6, 6, 3, 6)
    names = [(one["path"], one["code"]) for one in document["never_true"]]
    assert ("countersign.effect.limits.deny", "limits.writes_per_run") not in names
    assert ("countersign.effect.tiers.deny", "tiers.unknown") in names
    assert document["counting"] == sum(one["counting"] for one in document["files"])
    assert document["covered"] == sum(
        len([n for n in lines_of(document, one["file"]).values() if n]) for one in document["files"]
    )
    assert document["not_asked"] == ["countersign/decision_log.rego", "countersign/operator.rego"]


async def test_a_sample_is_always_the_same_and_a_period_has_only_its_own(bench: Bench, env: dict[str, str]) -> None:
    for writes in (1, 2):
        await recorded(bench, writes)
    one, again = [await coverage(env, "--sample", "2", "--json") for _ in range(2)]
    assert (json.loads(one.out)["questions"], one.out) == (2, again.out)
    none = await coverage(env, "--until", "2026-01-04")
    assert (none.code, none.out) == (1, "")
    assert none.err == "countersign: no decision is on record in this period: there is nothing to ask\n"


async def test_nothing_is_written_and_a_login_that_can_only_read_is_enough(bench: Bench, env: dict[str, str]) -> None:
    await recorded(bench, 1)
    tables = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables ORDER BY relname"
    await bench.meddle("SELECT pg_stat_force_next_flush()")
    before = await bench.rows(tables)
    reader = make_login(bench.superuser, "test_reader", role_names.READER)
    found = await coverage({**env, "COUNTERSIGN_DATABASE_URL": reader}, "--json")
    assert (found.code, json.loads(found.out)["questions"]) == (0, 2)
    assert await bench.rows(tables) == before


async def test_a_question_over_which_the_policy_fails_counts_nowhere_and_is_told(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    for writes in (1, 7):
        await recorded(bench, writes)
    policies = copy_policies(tmp_path / "rego")
    odd = "odd := 1 if input.counters.writes > 0\n\nodd := 2 if input.counters.writes == 7\n\npermitted if odd == 3"
    edit_policy(policies, LIMITS, "permitted if input.effect.reads", f"{odd}\n\npermitted if input.effect.reads")
    found = await coverage(env, str(policies))
    assert (found.code, "The policy fails over 1 of them, which count nowhere." in found.out) == (0, True)


async def test_what_is_no_question_of_today_is_told(bench: Bench, env: dict[str, str]) -> None:
    change = "UPDATE policy_decisions SET document = jsonb_set(document::jsonb, %s, %s) WHERE decision_id = %s"
    await bench.meddle(change, "{input,mood}", '"good"', await recorded(bench, 1))
    document = json.loads((await coverage(env, "--json")).out)
    assert (document["questions"], document["not_replayable"]) == (1, 1)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            'http.send({"method": "get", "url": "http://127.0.0.1:1"}).status_code == 200',
            "undefined function http.send",
        ),
        ("input.counters.write < 3", "undefined ref: input.counters.write"),
    ],
)
async def test_a_policy_that_reaches_out_or_does_not_compile_is_asked_nothing(
    bench: Bench, env: dict[str, str], tmp_path: Path, rule: str, why: str
) -> None:
    await recorded(bench, 1)
    policies = copy_policies(tmp_path / "rego")
    edit_policy(policies, LIMITS, "input.counters.writes < config.tenant.writes_per_run", rule)
    found = await coverage(env, str(policies))
    assert (found.code, found.out, why in found.err) == (1, "", True)


async def test_no_report_is_overwritten_and_a_folder_that_is_none_is_named(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    await recorded(bench, 1)
    page = tmp_path / "coverage.html"
    page.write_text("mine")
    found = await coverage(env, "-o", str(page))
    assert (found.code, page.read_text()) == (1, "mine")
    assert found.err == f"countersign: {page} exists with other content: nothing is overwritten\n"
    nowhere = await coverage(env, str(tmp_path / "none"))
    assert (nowhere.code, nowhere.err) == (1, f"countersign: {tmp_path / 'none'} is not a folder\n")
