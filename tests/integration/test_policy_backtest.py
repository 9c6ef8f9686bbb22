"""Backtests: decisions on record are asked again of a candidate policy, and sorted, the worst change first."""

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from psycopg import errors

from countersign.backtest import Backtest
from countersign.candidate import vetted
from countersign.connection import connected
from countersign.embedded.opa import OpaChild
from countersign.no_network import NetworkError
from policy.backtest.ledger import JUDGED, Ledger
from policy.bundle import PolicyFolders
from policy.contract import Question
from runtime.services.recorded_decisions import RecordedDecisions
from runtime.store.database.migration import make_login
from runtime.store.schema import role_names
from tests.bench import Bench
from tests.integration.policies_stage import filing
from tests.integration.program_stage import Finished, command, environment, program, settings_of
from tests.opa_server import PACKS, copy_policies, edit_policy, opa_program
from tests.patience import until

LIMITS = "countersign/limits.rego"
BELOW = "input.counters.writes < config.tenant.writes_per_run"
CONFIG = "countersign_config/acme/data.json"
QUORUM = '"quorum": 2'


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_OPA": str(opa_program())}


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    return copy_policies(tmp_path / "rego")


async def backtest(env: dict[str, str], candidate: Path, *words: str) -> Finished:
    return await command("policy", "backtest", "--candidate", str(candidate), *words, env=env)


def classes(finished: Finished) -> dict[str, int]:
    """Return how many decisions each class has, of those that have one, in the report's order."""
    return {one["class"]: one["decisions"] for one in json.loads(finished.out)["classes"] if one["decisions"]}


async def recorded(bench: Bench, writes: int) -> str:
    """Put on record what the policy in force says of a filing by a run that has written so often; return its id."""
    run_id, _ = await filing(bench, f"ACME {writes}")
    [row] = await bench.rows("SELECT document FROM policy_decisions WHERE run_id = %s ORDER BY seq LIMIT 1", run_id)
    document: dict[str, Any] = row["document"]
    question = Question.model_validate_json(json.dumps({**document["input"], "counters": {"writes": writes}}))
    verdict = await bench.engine.policy.ask(question)
    changed = {
        **document,
        "input": question.model_dump(mode="json"),
        "answer": verdict.answer.model_dump(mode="json"),
        "outcome": str(verdict.answer.outcome),
    }
    query = "UPDATE policy_decisions SET document = %s WHERE decision_id = %s"
    await bench.meddle(query, json.dumps(changed), document["id"])
    return str(document["id"])


async def test_a_planted_permission_comes_first_names_its_rule_and_fails(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    denied, _ = await recorded(bench, 60), await recorded(bench, 1)
    edit_policy(candidate, LIMITS, BELOW, "true")
    edit_policy(
        candidate,
        "countersign/approvals.rego",
        'demand := {"requirement": "high",',
        'demand := {"requirement": "none",',
    )
    folder = tmp_path / "out"
    found = await backtest(env, candidate, "--json", "-o", str(folder))
    assert found.code == 1
    assert classes(found) == {"deny-to-allow": 1, "approval-to-allow": 1, "unchanged": 2}
    [worst] = json.loads(found.out)["classes"][0]["examples"]
    assert (worst["decision_id"], worst["rules"]) == (denied, ["limits.writes_per_run"])
    assert worst["differences"][0] == {
        "class": "deny-to-allow",
        "member": "outcome",
        "recorded": "deny",
        "candidate": "allow",
    }
    assert (folder / "report.json").read_text() == found.out
    for name in ("report.md", "report.html"):
        worst_part = (folder / name).read_text().rpartition("Approval required → allowed without approval")[0]
        assert denied in worst_part
        assert "limits.writes_per_run" in worst_part
    assert len((folder / "times.jsonl").read_text().splitlines()) == 1


async def test_a_policy_that_changes_nothing_passes_and_only_named_classes_fail(
    bench: Bench, env: dict[str, str], candidate: Path
) -> None:
    await recorded(bench, 1)
    same = await backtest(env, candidate, "--json", "--group", "operation")
    assert (same.code, classes(same)) == (0, {"unchanged": 2})
    groups = [(one["group"], one["classes"]) for one in json.loads(same.out)["groups"]]
    assert groups == [("register::file_report", {"unchanged": 1}), ("slack::post_card", {"unchanged": 1})]
    edit_policy(candidate, CONFIG, QUORUM, '"quorum": 1')
    fewer = [await backtest(env, candidate, *words) for words in ((), ("--fail-on", "fewer-signatures"))]
    assert [one.code for one in fewer] == [0, 1]
    assert "| Fewer signatures (`fewer-signatures`) | 1 | 50.00 % |" in fewer[0].out


async def test_an_interrupted_backtest_goes_on_and_its_report_is_the_same_byte_for_byte(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    for writes in (60, 1, 59):
        await recorded(bench, writes)
    edit_policy(candidate, CONFIG, QUORUM, '"quorum": 1')
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        assert (await backtest(env, candidate, "-o", str(folder), "--until", "2026-01-05T09:30:00")).code == 0
    bench.clock.move(hours=1)
    lines = (broken / JUDGED).read_bytes().splitlines(keepends=True)
    for left in (b"".join(lines[:3]), b"".join(lines[:3]) + lines[3][:40], lines[0]):  # killed between and in a write
        (broken / JUDGED).write_bytes(left)
        await recorded(bench, 2)  # comes too late for it
        assert (await backtest(env, candidate, "--resume", str(broken))).code == 0
        for name in ("report.json", "report.md", "report.html"):
            assert (broken / name).read_bytes() == (whole / name).read_bytes()


async def test_an_interrupted_backtest_says_how_it_goes_on(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    await recorded(bench, 1)
    slow = "count([1 | numbers.range(1, 2000)[_]; numbers.range(1, 2000)[_]]) > 0"
    edit_policy(candidate, LIMITS, BELOW, f'{BELOW}\n\tinput.step == "file"\n\t{slow}')
    folder = tmp_path / "out"
    words = ("policy", "backtest", "--candidate", str(candidate), "-o", str(folder))
    async with program(*words, env=env) as running:
        await until((folder / JUDGED).exists)
        running.process.send_signal(signal.SIGINT)
        said = (await running.process.communicate())[1].decode()
    assert (running.process.returncode, f"interrupted; resume with --resume {folder} instead of -o" in said) == (
        1,
        True,
    )


async def test_what_cannot_go_on_is_refused_and_nothing_is_overwritten(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert (await backtest(env, candidate, "-o", str(folder))).code == 0
    kept = (folder / JUDGED).read_bytes()
    refused = {
        ("-o", str(folder)): f"{folder} cannot be made: File exists",
        ("--resume", str(folder), "--sample", "3"): "leave out -o, --sample",
        ("--resume", str(tmp_path)): f"{tmp_path / JUDGED} is not there",
        ("--fail-on", "worse"): "no class worse; there are deny-to-allow, approval-to-allow",
    }
    for words, why in refused.items():
        found = await backtest(env, candidate, *words)
        assert (found.code, found.out) != (0, "")
        assert why in " ".join(found.err.replace("│", " ").split())
    edit_policy(candidate, CONFIG, QUORUM, '"quorum": 3')
    other = await backtest(env, candidate, "--resume", str(folder))
    assert (other.code, "that backtest is of the policy" in other.err) == (1, True)
    (folder / JUDGED).write_bytes(b"{}\n" + kept)
    strange = await backtest(env, candidate, "--resume", str(folder))
    assert (strange.code, "line 1: not the plan of a backtest" in strange.err) == (1, True)
    (folder / JUDGED).write_bytes(kept + b"{}\n")
    edit_policy(candidate, CONFIG, '"quorum": 3', QUORUM)
    spoiled = await backtest(env, candidate, "--resume", str(folder))
    assert (spoiled.code, "line 2: not a decision that was judged" in spoiled.err) == (1, True)


async def test_a_sample_takes_always_the_same_decisions_and_a_period_only_its_own(
    bench: Bench, env: dict[str, str], candidate: Path
) -> None:
    for writes in range(1, 6):
        await recorded(bench, writes)
    one, again = [await backtest(env, candidate, "--json", "--sample", "4") for _ in range(2)]
    assert (sum(classes(one).values()), one.out) == (4, again.out)
    many = await backtest(env, candidate, "--json", "--sample", "1000")
    assert sum(classes(many).values()) == 10
    none = await backtest(env, candidate, "--json", "--until", "2026-01-04")
    assert (none.code, classes(none), json.loads(none.out)["decisions"]) == (0, {}, 0)


async def test_one_question_without_an_answer_leaves_the_others_theirs(
    bench: Bench, env: dict[str, str], candidate: Path
) -> None:
    for writes in (1, 7, 2):
        await recorded(bench, writes)
    odd = "odd := 1 if input.counters.writes > 0\n\nodd := 2 if input.counters.writes == 7\n\npermitted if odd == 3"
    edit_policy(candidate, LIMITS, "permitted if input.effect.reads", f"{odd}\n\npermitted if input.effect.reads")
    found = await backtest(env, candidate, "--json")
    assert (found.code, classes(found)) == (1, {"no-answer": 1, "unchanged": 5})
    [example] = json.loads(found.out)["classes"][7]["examples"]
    assert "limits.odd produced conflicting values" in example["why"]


async def test_what_is_no_question_of_today_is_counted_with_its_reason(
    bench: Bench, env: dict[str, str], candidate: Path
) -> None:
    asked, answered = await recorded(bench, 1), await recorded(bench, 2)
    change = "UPDATE policy_decisions SET document = jsonb_set(document::jsonb, %s, %s) WHERE decision_id = %s"
    await bench.meddle(change, "{input,mood}", '"good"', asked)
    await bench.meddle(change, "{answer,outcome}", '"perhaps"', answered)
    found = await backtest(env, candidate, "--json")
    assert (found.code, classes(found)) == (0, {"unchanged": 2, "not-replayable": 2})
    reasons = [(one["reason"], one["decisions"]) for one in json.loads(found.out)["not_replayable"]]
    assert reasons == [("answer.invalid", 1), ("question.invalid", 1)]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            'http.send({"method": "get", "url": "http://127.0.0.1:1"}).status_code == 200',
            "undefined function http.send",
        ),
        ("opa.runtime().env.HOME == input.tenant", "undefined function opa.runtime"),
        ("input.counters.write < 3", "undefined ref: input.counters.write"),
    ],
)
async def test_a_candidate_that_reaches_out_or_does_not_compile_is_asked_nothing(
    bench: Bench, env: dict[str, str], candidate: Path, rule: str, why: str
) -> None:
    await recorded(bench, 1)
    edit_policy(candidate, LIMITS, BELOW, rule)
    found = await backtest(env, candidate)
    assert (found.code, found.out) == (1, "")
    assert why in found.err


async def test_a_login_that_can_only_read_is_enough(bench: Bench, env: dict[str, str], candidate: Path) -> None:
    await recorded(bench, 1)
    reader = make_login(bench.superuser, "test_reader", role_names.READER)
    found = await backtest({**env, "COUNTERSIGN_DATABASE_URL": reader}, candidate, "--json")
    assert (found.code, classes(found)) == (0, {"unchanged": 2})


async def test_a_backtest_reaches_nothing_but_the_database(
    bench: Bench, dsn: str, candidate: Path, tmp_path: Path
) -> None:
    await recorded(bench, 1)
    asked = await vetted(opa_program(), PolicyFolders(candidate, PACKS))
    one = Backtest(asked, Ledger(tmp_path), lambda *_: reach_out())
    with pytest.raises(NetworkError):
        await one.begin(settings_of(dsn, "http://127.0.0.1:1", tmp_path), None, None, None)


def reach_out() -> None:
    socket.create_connection(("127.0.0.1", 9))


async def test_decisions_are_read_where_nothing_can_be_written(dsn: str, tmp_path: Path) -> None:
    async with connected(settings_of(dsn, "http://127.0.0.1:1", tmp_path)) as conn:
        with pytest.raises(errors.ReadOnlySqlTransaction):
            async with RecordedDecisions(conn).reading():
                await conn.execute("DELETE FROM marks")


async def test_tests_are_made_of_decisions_and_of_each_class_of_a_backtest(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    denied, asked = await recorded(bench, 60), await recorded(bench, 1)
    edit_policy(candidate, LIMITS, BELOW, "true")
    edit_policy(candidate, CONFIG, QUORUM, '"quorum": 1')
    folder, file = tmp_path / "out", candidate / "countersign/recorded_test.rego"
    assert (await backtest(env, candidate, "-o", str(folder))).code == 0
    words = ("bootstrap", str(folder), "--candidate", str(candidate), "-o", str(file))
    made = await command("policy", *words, "--json", env=env)
    assert json.loads(made.out) == {"file": str(file), "tests": [f"test_{denied}", f"test_{asked}"]}
    tested = [
        await command("policy", "test", str(folder), "--run", "recorded_test", "--json", env=env)
        for folder in (candidate, copy_with(file, tmp_path / "other"))
    ]
    assert [one.code for one in tested] == [0, 1]  # the policy in force answers neither so
    assert (await command("policy", *words, env=env)).code == 0  # it holds the same
    edit_policy(candidate, CONFIG, '"quorum": 1', '"quorum": 3')
    other = await command("policy", *words, env=env)
    assert (other.code, f"{file} exists with other content: nothing is overwritten" in other.err) == (1, True)
    assert f"{file}: not formatted" not in (await command("policy", "check", str(candidate), env=env)).out


async def test_a_test_made_of_an_answer_by_limits_and_one_without_reasons_pass(
    bench: Bench, env: dict[str, str], candidate: Path
) -> None:
    asked = await recorded(bench, 1)
    [allowed] = await bench.rows("SELECT decision_id FROM policy_decisions WHERE decision_id <> %s", asked)
    when = '{"connector": ["register"]}'
    limits = ", ".join(f'"{name}": {{"comment": "x", "when": {when}, "quorum": 3}}' for name in ("large", "late"))
    edit_policy(candidate, CONFIG, '"requirements": {', f'"limits": {{{limits}}}, "requirements": {{')
    file = candidate / "countersign/recorded_test.rego"
    decisions = (asked, allowed["decision_id"])
    made = await command("policy", "bootstrap", *decisions, "--candidate", str(candidate), "-o", str(file), env=env)
    assert made.code == 0, made.err
    tested = await command("policy", "test", str(candidate), "--run", "recorded_test", env=env)
    assert tested.out == "PASS: 2/2\n"


def copy_with(file: Path, folder: Path) -> Path:
    """Return another copy of the policies with a file of the first one."""
    copy_policies(folder)
    (folder / "countersign" / file.name).write_text(file.read_text())
    return folder


async def test_no_test_is_made_of_what_is_not_there_or_has_no_answer(
    bench: Bench, env: dict[str, str], candidate: Path, tmp_path: Path
) -> None:
    decision, file = await recorded(bench, 1), tmp_path / "recorded_test.rego"
    nothing = await command("policy", "bootstrap", "dec_0", "-o", str(file), env=env)
    assert (nothing.code, "there is no decision dec_0" in nothing.err) == (1, True)
    edit_policy(candidate, "countersign/decision.rego", '"outcome": "needs_approval"', '"outcome": "perhaps"')
    words = ("bootstrap", decision, "--candidate", str(candidate), "-o", str(file))
    found = await command("policy", *words, env=env)
    assert (found.code, f"the policy has no answer for {decision}: answer.outcome" in found.err) == (1, True)
    assert not file.exists()
