"""Operators: what they do at their desk and by command.

What operators do: each act is on record by a person, names what it saw, and changes only what it says.

What operators look through and do from the command line: tables for people, JSON for programs.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.clock import utc_now
from runtime.handlers import BlockedError, OutcomeUnknownError, TransientError
from runtime.inbox import inbox
from runtime.services import listings, run_in_full
from runtime.services.listings import Wanted
from runtime.services.operator import OperatorService, UnknownEffectError
from runtime.services.people import UnknownPersonError
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.program_stage import Edge, command, composed, edge_of, environment, settings_of
from tests.integration.test_cli import Office, is_one_sentence

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
ALL = Wanted(limit=50)


@pytest.fixture
def desk(bench: Bench) -> OperatorService:
    return OperatorService(bench.engine.pool, bench.clock, TENANT)


async def _done(bench: Bench, act: Awaitable[str]) -> Mapping[str, Any]:
    return await inbox.apply(bench.engine, await act)


async def _leaf(bench: Bench, run_id: str, event: str) -> dict[str, Any]:
    (row,) = await bench.rows("SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = %s", run_id, event)
    return dict(row["leaf"])


async def _effect(bench: Bench, run_id: str) -> dict[str, Any]:
    (row,) = await bench.rows("SELECT * FROM effects WHERE run_id = %s AND purpose = 'step'", run_id)
    return row


async def _noted(bench: Bench) -> str:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    return run_id


@pytest.mark.parametrize("answer", [TransientError("busy", retry_after=3600.0), BlockedError("token expired")])
async def test_a_retry_wakes_what_a_run_has_put_off(
    bench: Bench, targets: Targets, desk: OperatorService, answer: Exception
) -> None:
    targets.note.answers = [answer]
    run_id = await _noted(bench)
    assert (await bench.run(run_id))["status"] == "failed_retryable"
    facts = await _done(bench, desk.retry("omar", run_id, "the token is new", None))
    assert facts["status"] == "applied"
    assert facts["effects"] == [(await _effect(bench, run_id))["effect_id"]]
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    leaf = await _leaf(bench, run_id, "run.retry_requested")
    assert (leaf["actor"], leaf["data"]["reason"]) == ({"id": "omar", "kind": "person"}, "the token is new")


async def test_a_retry_wakes_reads_and_one_effect_alone_if_asked(
    bench: Bench, targets: Targets, desk: OperatorService
) -> None:
    targets.look.answers = [TransientError("busy", retry_after=3600.0)]
    reading = (await bench.start("bench.branches", {})).run_id
    targets.note.answers = [TransientError("busy", retry_after=3600.0)]
    noting = await _noted(bench)
    effect = (await _effect(bench, noting))["effect_id"]
    assert (await _done(bench, desk.retry("omar", reading, "", None)))["reads"]
    assert (await _done(bench, desk.retry("omar", effect, "", None)))["effects"] == [effect]
    await bench.settle()
    assert [(await bench.run(run_id))["status"] for run_id in (reading, noting)] == ["succeeded", "succeeded"]


async def test_a_retry_leaves_a_doubt_its_time(bench: Bench, targets: Targets, desk: OperatorService) -> None:
    targets.note.answers = [OutcomeUnknownError("reset")]
    run_id = await _noted(bench)
    before = await _effect(bench, run_id)
    facts = await _done(bench, desk.retry("omar", run_id, "", None))
    assert (facts["status"], facts["reason"]) == ("stale", "nothing of it waits for a pause to pass")
    assert (await _effect(bench, run_id))["next_try_at"] == before["next_try_at"]


async def test_a_command_loses_if_the_run_has_moved_on_since_it_was_looked_at(
    bench: Bench, desk: OperatorService
) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    (seen,) = await bench.rows("SELECT version FROM runs WHERE run_id = %s", run_id)
    await bench.settle()
    for act in (desk.cancel("omar", run_id, "x", seen["version"]), desk.retry("omar", run_id, "x", seen["version"])):
        facts = await _done(bench, act)
        assert facts["status"] == "stale"
        assert f"it was at version {seen['version']}" in facts["reason"]
    assert (await bench.run(run_id))["status"] == "waiting"
    (now,) = await bench.rows("SELECT version FROM runs WHERE run_id = %s", run_id)
    assert (await _done(bench, desk.cancel("omar", run_id, "x", now["version"])))["status"] == "applied"
    assert (await _leaf(bench, run_id, "run.cancel_requested"))["actor"]["id"] == "omar"


async def test_whoever_acts_is_a_person_of_the_directory(bench: Bench, desk: OperatorService) -> None:
    run_id = await _noted(bench)
    for nobody in ("mallory", "portal-bot"):
        with pytest.raises(UnknownPersonError, match=f"no person {nobody}"):
            await desk.cancel(nobody, run_id, "x", None)
    with pytest.raises(UnknownEffectError, match="there is no effect eff_0"):
        await desk.retry("omar", "eff_0", "x", None)
    assert await bench.rows("SELECT 1 FROM notifications") == []


async def test_a_run_that_is_not_there_is_refused_and_no_dead_letter(bench: Bench, desk: OperatorService) -> None:
    facts = await _done(bench, desk.cancel("omar", "run_0", "x", None))
    assert (facts["status"], facts["reason"]) == ("refused", "there is no run run_0")


async def _dead(bench: Bench) -> str:
    """Have an answer come seven days before its wait."""
    await bench.complete("acme:await_word:C1", {"answer": "yes"}, token=None, verbs=["await_word"])
    await bench.later(days=8)
    (row,) = await bench.rows("SELECT notification_id FROM notifications WHERE status = 'dead_letter'")
    return str(row["notification_id"])


async def test_a_dead_letter_is_requeued_by_a_person(bench: Bench, desk: OperatorService) -> None:
    letter = await _dead(bench)
    run_id = (await bench.start("bench.word", {"case": "C1"})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "waiting"
    assert (await _done(bench, desk.requeue("omar", letter, "its run was late")))["status"] == "applied"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    again = await _done(bench, desk.requeue("omar", letter, "once more"))
    assert (again["status"], again["reason"]) == ("refused", "it is no dead letter: applied")
    acts = await bench.rows(
        "SELECT actor->>'id' AS by, payload->>'dead_letter_id' AS of FROM notifications WHERE kind = 'requeue'"
    )
    assert acts == [{"by": "omar", "of": letter}] * 2


async def test_a_dead_letter_is_dropped_for_good(bench: Bench, desk: OperatorService) -> None:
    letter = await _dead(bench)
    assert (await _done(bench, desk.drop("omar", letter, "a test of theirs")))["status"] == "applied"
    (row,) = await bench.rows("SELECT status, outcome FROM notifications WHERE notification_id = %s", letter)
    assert (row["status"], row["outcome"]["reason"], row["outcome"]["by"]) == ("dropped", "a test of theirs", "omar")
    assert (await _done(bench, desk.requeue("omar", letter, "no, wait")))["status"] == "refused"


async def test_a_vote_that_may_not_count_cannot_be_requeued(bench: Bench, desk: OperatorService) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    assert not (await bench.click("omar", await bench.approval_id())).counted
    (row,) = await bench.rows("SELECT notification_id FROM notifications WHERE kind = 'vote'")
    facts = await _done(bench, desk.requeue("omar", row["notification_id"], "please"))
    assert facts["reason"] == "it is no dead letter: refused"


async def test_lists_are_narrowed_and_show_nothing_secret(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy", retry_after=3600.0)]
    noting = await _noted(bench)
    waiting = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.meddle(
        "UPDATE runs SET created_at = now() - CASE run_id WHEN %s THEN 2 ELSE 0 END * interval '1 hour'", noting
    )
    async with bench.engine.pool.connection() as conn:
        runs = [
            [row["run_id"] for row in await listings.list_runs(conn, TENANT, wanted)]
            for wanted in (
                Wanted(status="waiting", limit=50),
                Wanted(definition="bench-note", limit=50),
                Wanted(until=utc_now() - timedelta(hours=1), limit=50),
                Wanted(run_id=waiting, limit=50),
            )
        ]
        assert runs == [[waiting], [noting], [noting], [waiting]]
        (wait,) = await listings.list_waits(conn, TENANT, ALL)
        assert (wait["run_id"], wait["step"], "token" in wait) == (waiting, "ask", False)
        effects = await listings.list_effects(conn, TENANT, Wanted(status="pending", run_id=noting, limit=50))
        assert [(row["status"], row["tries"]) for row in effects] == [("pending", 1)]
        shown = await listings.find_effect(conn, TENANT, effects[0]["effect_id"])
        assert shown is not None
        assert "fields" not in shown
        run = await run_in_full.find_run(conn, TENANT, waiting)
        assert run is not None
        assert [step["path"] for step in run["steps"]] == ["ask", "note"]
        assert len(run["waits"]) == 1
        assert await listings.list_runs(conn, "another", ALL) == []
        assert await run_in_full.find_run(conn, "another", waiting) is None
        assert await listings.find_effect(conn, "another", effects[0]["effect_id"]) is None
        assert await listings.find_wait(conn, "another", wait["wait_id"]) is None


async def test_the_desk_of_letters_shows_what_is_dead_early_or_held_up_and_no_token(bench: Bench) -> None:
    await bench.complete("acme:await_answer:C9", {"answer": "yes"}, "dead", token="wait_0.tok_0")
    await bench.complete("acme:await_word:C9", {"answer": "yes"}, "early", token=None)
    await bench.click("ann", "apr_0")
    async with bench.engine.pool.connection() as conn:
        rows = await listings.list_dead_letters(conn, TENANT, ALL)
        assert {(row["status"], row["kind"]) for row in rows} == {
            ("dead_letter", "completion"),
            ("early", "completion"),
            ("dead_letter", "vote"),
        }
        dead = next(row for row in rows if row["reason"] == "no step has had this token")
        letter = await listings.find_dead_letter(conn, TENANT, dead["notification_id"])
    assert letter is not None
    assert (letter["payload"]["result"], "token" in letter["payload"]) == ({"answer": "yes"}, False)


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        yield Office(system, edge, environment(settings))


async def _json(office: Office, *words: str) -> Any:
    finished = await command(*words, "--json", env=office.env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def _list(office: Office, noun: str, *words: str) -> Any:
    """Return the rows of a list that has one page."""
    said = await _json(office, noun, "list", *words)
    assert said["next"] is None
    return said[noun.replace("-", "_")]


async def _letter(edge: Edge) -> str:
    word = {"id": "n-1", "type": "completed", "correlation_key": "acme:ask:C1", "token": "wait_0.tok_0"}
    answer = await edge.notify(**word, result={"answer": "yes"})
    return str(answer.body["notification_id"])


async def test_runs_waits_and_effects_are_listed_and_shown(office: Office) -> None:
    run_id = (await office.edge.trigger("one")).body["run_id"]
    (run,) = await _list(office, "runs", "--status", "queued", "--definition", "kyc-onboarding")
    assert (run["run_id"], run["status"], run["trigger_ref"]) == (run_id, "queued", "one")
    assert await _list(office, "runs", "--until", "P1D") == []
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
        assert await _list(office, group, "--run", run_id) == []
        missing = await command(group, "show", "no_such", env=office.env)
        assert is_one_sentence(missing, f"there is no {group[:-1]} no_such")


async def test_a_filter_that_cannot_be_is_a_wrong_use(office: Office) -> None:
    for words in (("--since", "yesterday"), ("--status", "happy"), ("--limit", "0")):
        finished = await command("runs", "list", *words, env=office.env)
        assert finished.code == 2
        assert words[0] in finished.err


async def test_a_signal_is_sent_by_a_named_person_with_data_from_a_text_or_a_file(
    office: Office, tmp_path: Path
) -> None:
    run_id = (await office.edge.trigger("signal")).body["run_id"]
    (tmp_path / "data.json").write_text('{"by": "phone"}', encoding="utf-8")
    for data in ('{"by": "phone"}', str(tmp_path / "data.json")):
        said = await command("runs", "signal", run_id, "called", "--as=omar", "--data", data, env=office.env)
        assert (said.code, said.err) == (0, "")
        assert "on record as" in said.out
    nobody = await command("runs", "signal", run_id, "called", "--as=nobody", env=office.env)
    assert is_one_sentence(nobody, "the directory has no person nobody")
    not_kept = (('{"by": "\\u0000"}', "--data: it holds a NUL character"), ('{"by": "\\ud800"}', "--data: /by: "))
    for data, why in (("{", "--data is not JSON"), ("[1]", "--data: not an object but list"), *not_kept):
        wrong = await command("runs", "signal", run_id, "called", "--as=omar", "--data", data, env=office.env)
        assert is_one_sentence(wrong, why)
    assert (await command("runs", "signal", run_id, "Not a name", "--as=omar", env=office.env)).code == 2


async def test_reviews_are_listed_and_what_is_none_is_neither_shown_nor_claimed(office: Office) -> None:
    assert await _list(office, "tasks", "--for", "anna", "--assignee", "none") == []
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
    (row,) = await _list(office, "dead-letters")
    assert (row["notification_id"], row["reason"]) == (letter, "no step has had this token")
    shown = await _json(office, "dead-letters", "show", letter)
    assert (shown["payload"]["result"], "token" in shown["payload"]) == ({"answer": "yes"}, False)
    named = ("--as", "omar", "--reason", "seen")
    again = await office.act("dead-letters", "requeue", letter, *named)
    assert (again.code, again.out) == (0, f"{letter} is requeued\n")
    await office.work()
    dropped = json.loads((await office.act("dead-letters", "drop", letter, *named, "--json")).out)
    assert (dropped["status"], dropped["dead_letter_id"]) == ("applied", letter)
    assert await _list(office, "dead-letters") == []


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
