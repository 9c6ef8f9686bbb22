"""Trials of a policy by command: of questions made up, changed, or filled in on a terminal. Nothing of them is kept."""

import asyncio
import json
import os
import pty
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench import Bench
from tests.integration.limits_stage import REFUND, limited_policies
from tests.integration.policies_stage import filing
from tests.integration.test_policy_explain import LIMITS, asked, env, said
from tests.opa_server import copy_policies, opa_program
from tests.patience import MINUTE

__all__ = ["env"]


async def test_a_question_with_changes_is_tried_on_a_candidate_and_nothing_is_kept(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    run_id, _ = await filing(bench, "ACME")
    counts = "SELECT (SELECT count(*) FROM policy_decisions) AS decisions, (SELECT count(*) FROM policy_texts) AS texts"
    before = await bench.rows(counts)
    many = await said(env, "try", run_id, "--set", "counters.writes=60")
    assert (many.code, many.out.splitlines()[2]) == (0, "Denied, tier high")
    assert "    not so: input.counters.writes < config.tenant.writes_per_run" in many.out
    candidate = copy_policies(tmp_path / "rego")
    rule = candidate / LIMITS
    said_so_far = 'print("so far", input.counters.writes)'
    rule.write_text(rule.read_text().replace("is_number(input.counters.writes)", said_so_far))
    found = await said(env, "try", run_id, "--candidate", str(candidate), "--json")
    document = json.loads(found.out)
    assert (document["result"]["outcome"], document["printed"]) == ("needs_approval", ["so far 0"])
    assert document["milliseconds"] > 0
    assert await bench.rows(counts) == before


async def test_who_could_sign_now_is_said_where_a_database_says_it(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    question = tmp_path / "question.json"
    actor = {"id": "ann", "kind": "person", "groups": ["compliance"], "submitted_by": "portal-bot"}
    question.write_text(json.dumps(asked(actor=actor)))
    told = await said(env, "try", str(question))
    assert "Who could sign it now: Ben (compliance), Cat (compliance)" in told.out.splitlines()
    document = json.loads((await said(env, "try", str(question), "--json")).out)
    assert (document["signers"]["count"], [one["id"] for one in document["signers"]["people"]]) == (2, ["ben", "cat"])
    denied = json.loads((await said(env, "try", str(question), "--set", "counters.writes=60", "--json")).out)
    assert (denied["result"]["outcome"], denied["signers"]) == ("deny", None)


@pytest.mark.parametrize("database", [{}, {"COUNTERSIGN_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}])
async def test_without_a_database_a_trial_says_nothing_of_who_could_sign(
    tmp_path: Path, database: dict[str, str]
) -> None:
    question = tmp_path / "question.json"
    question.write_text(json.dumps(asked()))
    alone = {"COUNTERSIGN_OPA": str(opa_program()), "COUNTERSIGN_HOME": str(tmp_path), **database}
    told = await said(alone, "try", str(question))
    assert (told.code, told.err, "Who could sign" in told.out) == (0, "", False)
    assert "Needs approval, tier high" in told.out
    missing = await said({**alone, "COUNTERSIGN_DATABASE_URL": ""}, "try", "dec_0")
    assert (missing.code, "nothing runs here" in missing.err) == (1, True)


async def test_what_a_policy_prints_is_shown_without_what_a_terminal_obeys(env: dict[str, str], tmp_path: Path) -> None:
    candidate, question = copy_policies(tmp_path / "rego"), tmp_path / "question.json"
    question.write_text(json.dumps(asked()))
    rule = candidate / LIMITS
    escape = 'print("\\u001b[2Jgone")\n\tis_number(input.counters.writes)'
    rule.write_text(rule.read_text().replace("is_number(input.counters.writes)", escape))
    told = await said(env, "try", str(question), "--candidate", str(candidate))
    assert "printed: \N{REPLACEMENT CHARACTER}[2Jgone" in told.out


FORM = [
    ("Connector: ", "register"),
    ("Operation: ", "file_report"),
    ("Target [register:1]: ", "register:7"),
    ("Tier (low, medium, high) [medium]: ", "extreme"),
    ("Error: write low, medium, high\r\nTier (low, medium, high) [medium]: ", "high"),
    ("Can it be undone? [y/N]: ", "n"),
    ("Requester: ", "rita"),
    ("Fields, as JSON [{}]: ", "[]"),
    ('Error: write an object, such as {"amount": 900}\r\nFields, as JSON [{}]: ', '{"lei": 7}'),
]
"""What the form says in its order, and what a person enters."""


async def on_terminal(env: dict[str, str], entries: Sequence[tuple[str, str]], last: str, *words: str) -> int:
    """Run a trial on a terminal, enter each thing once it is asked for, and wait for the last; return how it ended."""
    ours, its = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    command = (sys.executable, "-m", "countersign", "policy", "try", *words)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=its, stdout=its, stderr=its, env={**inherited, **env}
    )
    reader = asyncio.StreamReader()
    screen, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    try:
        async with asyncio.timeout(MINUTE):
            for asked_for, entry in entries:
                await reader.readuntil(asked_for.encode())
                os.write(ours, f"{entry}\n".encode())
            await reader.readuntil(last.replace("\n", "\r\n").encode())
            return await process.wait()
    finally:
        screen.close()
        os.close(its)  # not before: what was shown last would be lost with the terminal
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_on_a_terminal_a_form_asks_for_the_question(env: dict[str, str]) -> None:
    shown = "\nregister::file_report to register:7\n\nDenied, tier high\n"
    assert await on_terminal(env, FORM, shown, "--set", "counters.writes=60") == 0


@pytest.mark.parametrize("words", [(), ("--json",)])
async def test_without_a_terminal_no_form_is_shown(env: dict[str, str], words: tuple[str, ...]) -> None:
    told = await said(env, "try", *words)
    assert (told.code, told.out) == (2, "")
    assert "name a file, - or a decision; only a terminal shows a form" in told.err


async def test_programs_on_a_terminal_are_shown_no_form(env: dict[str, str]) -> None:
    assert await on_terminal(env, [], "only a terminal shows a form", "--json") == 2


async def test_a_policy_that_asks_who_is_named_is_told_so_by_the_question(env: dict[str, str], tmp_path: Path) -> None:
    refunds = limited_policies(tmp_path, {"who": {"comment": "c", "when": REFUND, "tier": "high", "exclude": ["by"]}})
    question = tmp_path / "question.json"
    effect = {**asked()["effect"], "connector": "payments", "operation": "refund", "target": "payment:1"}
    question.write_text(json.dumps(asked(effect=effect)))
    words = ("try", str(question), "--candidate", str(refunds))
    told = (await said(env, *words)).out
    assert """  it asks who is named there: --set 'named={"by": ["ID"]}'""" in told.splitlines()
    answered = (*words, "--set", 'named={"by": ["ben"]}')
    document = json.loads((await said(env, *answered, "--json")).out)
    assert document["result"]["requirement"]["exclude"] == ["ben", "nobody"]
    assert "it asks who is named there" not in (await said(env, *answered)).out


async def test_an_answer_that_the_gate_would_not_take_is_said_to_be_none(env: dict[str, str], tmp_path: Path) -> None:
    candidate, question = copy_policies(tmp_path / "rego"), tmp_path / "question.json"
    decision = candidate / "countersign/decision.rego"
    decision.write_text(decision.read_text().replace('"outcome": "needs_approval"', '"outcome": "perhaps"'))
    question.write_text(json.dumps(asked()))
    found = await said(env, "try", str(question), "--candidate", str(candidate))
    assert found.code == 0
    assert found.out.splitlines()[2].startswith("No valid answer, so nothing would be done: answer.outcome")
    document = json.loads((await said(env, "try", str(question), "--candidate", str(candidate), "--json")).out)
    assert document["fault"].startswith("answer.outcome")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("{",), "QUESTION is no JSON"),
        (('{"time": 1}',), "the question is none: time: Input should be a valid string"),
        (("{}", "--set", "a.b=1"), "a.b=1: the question has no a"),
        (("{}", "--candidate", "NOWHERE"), "NOWHERE is not a folder"),
    ],
)
async def test_what_cannot_be_tried_is_refused_in_a_sentence(
    env: dict[str, str], tmp_path: Path, words: tuple[str, ...], error: str
) -> None:
    file = tmp_path / "question.json"
    file.write_text(words[0])
    found = await said(env, "try", str(file), *words[1:])
    assert (found.code, found.out) == (1, "")
    assert error in found.err.replace(str(file), "QUESTION")
