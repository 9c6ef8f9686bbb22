"""What operators look through and do from the command line: tables for people, JSON for programs."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from tests.integration.program_stage import Edge, command, composed, edge_of, environment, settings_of
from tests.integration.test_cli import Office, is_one_sentence


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        yield Office(system, edge, environment(settings))


async def _json(office: Office, *words: str) -> Any:
    finished = await command(*words, "--json", env=office.env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def _letter(edge: Edge) -> str:
    word = {"id": "n-1", "type": "completed", "correlation_key": "acme:ask:C1", "token": "wait_0.tok_0"}
    answer = await edge.notify(**word, result={"answer": "yes"})
    return str(answer.body["notification_id"])


async def test_runs_waits_and_effects_are_listed_and_shown(office: Office) -> None:
    run_id = (await office.edge.trigger("one")).body["run_id"]
    (run,) = await _json(office, "runs", "list", "--status", "queued", "--definition", "kyc-onboarding")
    assert (run["run_id"], run["status"], run["trigger_ref"]) == (run_id, "queued", "one")
    assert await _json(office, "runs", "list", "--older-than", "P1D") == []
    shown = await _json(office, "runs", "show", run_id)
    assert (shown["run_id"], {step["status"] for step in shown["steps"]}) == (run_id, {"pending"})
    assert shown["costs"] == []
    assert "link" not in shown
    env = {**office.env, "COUNTERSIGN_PUBLIC_URL": "https://countersign.example"}
    linked = json.loads((await command("runs", "show", run_id, "--json", env=env)).out)
    assert linked == {**shown, "link": f"https://countersign.example/runs/{run_id}"}
    table = await command("runs", "list", env=office.env)
    assert run_id in table.out
    head, line = (row.split() for row in table.out.splitlines()[:2])
    assert (head[0], head[-1]) == ("reference", "run_id"), "names come before ids"
    assert (line[0], line[-1]) == ("one", run_id)
    assert "Rita Sommer" in table.out
    assert " UTC " in table.out
    text = await command("runs", "show", run_id, env=office.env)
    assert "hierarchy" in text.out
    assert text.out.startswith("reference            one\n")
    for group in ("waits", "effects"):
        assert await _json(office, group, "list", "--run", run_id) == []
        missing = await command(group, "show", "no_such", env=office.env)
        assert is_one_sentence(missing, f"there is no {group[:-1]} no_such")


async def test_a_filter_that_cannot_be_is_a_wrong_use(office: Office) -> None:
    for words in (("--older-than", "yesterday"), ("--status", "happy"), ("--limit", "0")):
        finished = await command("runs", "list", *words, env=office.env)
        assert finished.code == 2
        assert words[0] in finished.err


async def test_a_signal_is_sent_by_a_named_person_with_data_from_a_text_or_a_file(
    office: Office, tmp_path: Path
) -> None:
    run_id = (await office.edge.trigger("signal")).body["run_id"]
    (tmp_path / "data.json").write_text('{"by": "phone"}', encoding="utf-8")
    for data in ('{"by": "phone"}', str(tmp_path / "data.json")):
        said = await command("signal", run_id, "called", "--as=omar", "--data", data, env=office.env)
        assert (said.code, said.err) == (0, "")
        assert "on record as" in said.out
    nobody = await command("signal", run_id, "called", "--as=nobody", env=office.env)
    assert is_one_sentence(nobody, "the directory has no person nobody")
    not_kept = (('{"by": "\\u0000"}', "--data: it holds a NUL character"), ('{"by": "\\ud800"}', "--data: /by: "))
    for data, why in (("{", "--data is not JSON"), ("[1]", "--data: not an object but list"), *not_kept):
        wrong = await command("signal", run_id, "called", "--as=omar", "--data", data, env=office.env)
        assert is_one_sentence(wrong, why)
    assert (await command("signal", run_id, "Not a name", "--as=omar", env=office.env)).code == 2


async def test_reviews_are_listed_and_what_is_none_is_neither_shown_nor_claimed(office: Office) -> None:
    assert await _json(office, "tasks", "list", "--for", "anna", "--assignee", "none") == []
    unknown = await command("tasks", "list", "--for", "ghost", env=office.env)
    assert is_one_sentence(unknown, "the directory has no person ghost")
    missing = await command("tasks", "show", "apr_none", env=office.env)
    assert is_one_sentence(missing, "there is no task apr_none")
    said = await command("tasks", "claim", "apr_none", "--as=anna", env=office.env)
    assert "on record as" in said.out, "no worker runs that would say that there is none"
    wrong = await command("tasks", "answer", "apr_none", "perhaps", "--as=anna", "--stamp=0", env=office.env)
    assert wrong.code == 2


async def test_a_dead_letter_is_seen_requeued_and_dropped_by_a_named_person(office: Office) -> None:
    letter = await _letter(office.edge)
    (row,) = await _json(office, "dead-letters", "list")
    assert (row["notification_id"], row["reason"]) == (letter, "no step has had this token")
    shown = await _json(office, "dead-letters", "show", letter)
    assert (shown["payload"]["result"], "token" in shown["payload"]) == ({"answer": "yes"}, False)
    named = ("--as", "omar", "--reason", "seen")
    again = await office.act("dead-letters", "requeue", letter, *named)
    assert (again.code, again.out) == (0, f"{letter} is requeued\n")
    await office.work()
    dropped = json.loads((await office.act("dead-letters", "drop", letter, *named, "--json")).out)
    assert (dropped["status"], dropped["dead_letter_id"]) == ("applied", letter)
    assert await _json(office, "dead-letters", "list") == []


async def test_an_act_needs_a_name_that_the_directory_has(office: Office) -> None:
    letter = await _letter(office.edge)
    unnamed = await command("dead-letters", "drop", letter, "--reason", "x", env=office.env)
    assert (unnamed.code, "--as" in unnamed.err) == (2, True)
    stranger = await command("dead-letters", "drop", letter, "--reason", "x", "--as", "mallory", env=office.env)
    assert is_one_sentence(stranger, "the directory has no person mallory")


async def test_a_retry_of_what_waits_for_nothing_says_so(office: Office) -> None:
    run_id = (await office.edge.trigger("one")).body["run_id"]
    finished = await office.act("retry", run_id, "--as", "omar", "--reason", "token renewed", "--version", "1")
    assert is_one_sentence(finished, "nothing was done: nothing of it waits for a pause to pass")
    moved = await office.act("retry", run_id, "--as", "omar", "--version", "7")
    assert is_one_sentence(moved, "nothing was done: the run has moved on: it was at version 7, and is at 1")
    assert is_one_sentence(await command("retry", "eff_0", "--as", "omar", env=office.env), "there is no effect eff_0")
