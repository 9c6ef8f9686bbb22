"""Clicks and answers that come together, twice, late or into faults of ours.

Clicks that come together, twice, late or from the wrong people: one vote a person, one outcome.

Faults of ours while a notification is applied: nothing that people or other systems said is thrown away.

A person is not asked what our own rows know: the answer of the other side settles what was asked about its start.
"""

import asyncio
import json
import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from evidence.verify.verify import verify
from runtime.gate import gate
from runtime.handlers import OutcomeUnknownError
from runtime.model.person import SlackAccount
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.outbox.attempts import make_attempt
from runtime.services.clicks import Click
from tests.bench import TEAM, Bench, Target, with_handlers
from tests.faults.test_doubt import KEY, _outcomes
from tests.integration.conftest import Targets
from tests.integration.forger import Forged
from tests.integration.played import stories_of
from tests.logins import loading
from tests.unit.evidence_sample import Office

FILE = {"company": "ACME", "text": "report"}


async def _asked(bench: Bench) -> tuple[str, str]:
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    return run_id, await bench.approval_id()


async def _votes(bench: Bench, approval: str) -> list[tuple[str, str]]:
    rows = await bench.rows("SELECT person, verdict FROM votes WHERE approval_id = %s ORDER BY person", approval)
    return [(row["person"], row["verdict"]) for row in rows]


async def test_the_same_click_delivered_five_times_at_once_is_one_vote(bench: Bench) -> None:
    _, approval = await _asked(bench)
    outcomes = await asyncio.gather(*(bench.click("ann", approval) for _ in range(5)))
    assert all(outcome == outcomes[0] for outcome in outcomes), "every delivery gets the first one's answer"
    assert outcomes[0].counted
    assert await _votes(bench, approval) == [("ann", "approve")]
    (row,) = await bench.rows("SELECT deliveries FROM notifications WHERE kind = 'vote'")
    assert row["deliveries"] == 5


async def test_approve_and_reject_at_the_same_moment_have_one_outcome(bench: Bench, targets: Targets) -> None:
    for ref in range(6):
        run_id = (await bench.start("bench.file", FILE, ref=f"race-{ref}")).run_id
        await bench.settle()
        approval = await bench.approval_id()
        assert (await bench.click("ann", approval)).counted
        yes, no = await asyncio.gather(bench.click("ben", approval), bench.click("cat", approval, "reject", "no good"))
        await bench.settle()
        rows = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval)
        run = await bench.run(run_id)
        ended = [("approved", "succeeded"), ("rejected", "failed_terminal")]
        assert (rows[0]["status"], run["status"]) in ended
        assert [yes.counted, no.counted].count(True) == 1
        performed = [call for call in targets.file.calls if call.run_id == run_id]
        assert len(performed) == (rows[0]["status"] == "approved")


async def test_one_person_with_two_slack_accounts_has_one_vote(bench: Bench) -> None:
    run_id, approval = await _asked(bench)
    for account in ("UANN", "UANN2"):
        click = Click(
            f"{approval}:{account}",
            approval,
            "",
            VoteVerdict.APPROVE,
            "checked",
            SlackAccount(TEAM, account),
            "ann",
            None,
            "req",
        )
        outcome = await bench.desk.apply(await bench.desk.record(click))
    assert outcome.refusal is not None
    assert outcome.refusal.code == "vote.repeated"
    assert await _votes(bench, approval) == [("ann", "approve")]
    assert (await bench.run(run_id))["status"] == "waiting_approval"


@pytest.mark.parametrize(
    ("person", "code"),
    [
        ("rita", "vote.requester"),
        ("omar", "vote.not_in_group"),
        ("portal-bot", "identity.unknown"),
        ("nobody", "identity.unknown"),
    ],
)
async def test_who_may_not_decide_is_refused_and_the_refusal_is_audited(bench: Bench, person: str, code: str) -> None:
    run_id, approval = await _asked(bench)
    outcome = await bench.click(person, approval)
    assert outcome.refusal is not None
    assert outcome.refusal.code == code
    assert await _votes(bench, approval) == []
    leaves = await bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'vote.refused'", run_id
    )
    assert [row["leaf"]["data"]["code"] for row in leaves] == [code]


async def test_a_refusal_that_the_bot_found_is_on_record(bench: Bench) -> None:
    run_id, approval = await _asked(bench)
    guest = Refusal(RefusalCode.GUEST)
    click = Click("k", approval, "", VoteVerdict.APPROVE, "", SlackAccount(TEAM, "UGUEST"), None, guest, "req")
    outcome = await bench.desk.apply(await bench.desk.record(click))
    assert outcome.refusal == guest
    leaves = await bench.rows("SELECT leaf FROM audit_leaves WHERE run_id = %s ORDER BY seq DESC LIMIT 1", run_id)
    assert leaves[0]["leaf"]["data"]["user"] == "UGUEST"


async def test_a_vote_outlives_another_persons_vote_that_came_between(bench: Bench) -> None:
    _, approval = await _asked(bench)
    seen = await bench.desk.approval(approval)
    assert seen is not None
    for person in ("ann", "ben"):  # both modals were open before either was submitted
        assert (await bench.click(person, approval, stamp=seen.stamp)).counted
    assert await _votes(bench, approval) == [("ann", "approve"), ("ben", "approve")]


@pytest.mark.parametrize(
    "change", ["digest = repeat('0', 64)", """requirement = (requirement::jsonb || '{"quorum": 1}')::json"""]
)
async def test_a_vote_on_another_action_or_requirement_than_was_seen_is_stale(bench: Bench, change: str) -> None:
    _, approval = await _asked(bench)
    seen = await bench.desk.approval(approval)
    assert seen is not None
    await bench.meddle(f"UPDATE approvals SET {change} WHERE approval_id = %s", approval)
    outcome = await bench.click("ann", approval, stamp=seen.stamp)
    assert outcome.refusal is not None
    assert outcome.refusal.code == "vote.stale"
    assert await _votes(bench, approval) == []


async def test_a_rejection_without_a_reason_does_not_count(bench: Bench) -> None:
    _, approval = await _asked(bench)
    outcome = await bench.click("ann", approval, "reject", " ")
    assert outcome.refusal is not None
    assert outcome.refusal.code == "vote.reason_missing"


async def test_a_click_on_an_approval_that_is_not_known_is_a_dead_letter(bench: Bench) -> None:
    outcome = await bench.click("ann", "apr_nothing")
    assert outcome.refusal is not None
    assert outcome.refusal.code == "vote.unknown"
    (row,) = await bench.rows("SELECT status FROM notifications WHERE kind = 'vote'")
    assert row["status"] == "dead_letter"


async def test_a_vote_recorded_before_a_crash_is_applied_by_the_next_worker(bench: Bench) -> None:
    _, approval = await _asked(bench)
    click = Click("k", approval, "", VoteVerdict.APPROVE, "fine", SlackAccount(TEAM, "UANN"), "ann", None, "req")
    await bench.desk.record(click)  # and then the bot is gone
    await bench.later(seconds=2)
    assert await _votes(bench, approval) == [("ann", "approve")]


async def _rename(bench: Bench, person: str, new: str) -> None:
    """Give a person another id in the directory, with the same Slack account, while a request is open."""
    async with loading(bench.superuser) as conn:
        row = await (await conn.execute("SELECT name, groups FROM actors WHERE actor_id = %s", (person,))).fetchone()
        assert row is not None
        await conn.execute(
            "INSERT INTO actors (tenant, actor_id, kind, name, groups, grants)"
            " VALUES ('acme', %s, 'person', %s, %s, '{}')",
            (new, row["name"], json.dumps(row["groups"])),
        )
        await conn.execute("UPDATE slack_accounts SET actor_id = %s WHERE actor_id = %s", (new, person))
        await conn.execute("DELETE FROM actors WHERE actor_id = %s", (person,))


async def _click_as(bench: Bench, person: str, account: str, approval: str) -> str | None:
    click = Click(
        f"{approval}:{person}:{account}",
        approval,
        "",
        VoteVerdict.APPROVE,
        "checked",
        SlackAccount(TEAM, account),
        person,
        None,
        "req",
    )
    outcome = await bench.desk.apply(await bench.desk.record(click))
    return outcome.refusal.code if outcome.refusal else None


async def test_a_person_renamed_in_the_directory_does_not_count_twice(bench: Bench) -> None:
    run_id, approval = await _asked(bench)
    assert await _click_as(bench, "ann", "UANN", approval) is None
    await _rename(bench, "ann", "ann.smith")
    assert await _click_as(bench, "ann.smith", "UANN", approval) == "vote.repeated"
    assert (await bench.run(run_id))["status"] == "waiting_approval"


async def test_a_requester_renamed_in_the_directory_still_may_not_sign(bench: Bench) -> None:
    run_id = (await bench.start("bench.file", FILE, by="ann")).run_id
    await bench.settle()
    await _rename(bench, "ann", "ann.smith")
    assert await _click_as(bench, "ann.smith", "UANN", await bench.approval_id()) == "vote.requester"
    assert (await bench.run(run_id))["status"] == "waiting_approval"


async def test_the_vote_of_an_officer_who_was_removed_counts_no_more(bench: Bench, targets: Targets) -> None:
    run_id, approval = await _asked(bench)
    assert (await bench.click("ann", approval)).counted
    async with loading(bench.superuser) as conn:
        await conn.execute("DELETE FROM actors WHERE actor_id = 'ann'")
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    assert targets.file.calls == []


async def test_an_approval_is_used_up_by_its_first_attempt(bench: Bench, targets: Targets) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    run_id, approval = await _asked(bench)
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    await bench.later(minutes=6)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"), "reject", "it is not there")).counted
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    assert await bench.approval_id() != approval


ANSWER_KEY = "acme:await_answer:C1"
YES = {"answer": "yes"}


async def _break(bench: Bench) -> str:
    """Ask for an approval whose requirement cannot be read; return the approval."""
    await bench.start("bench.file", {"company": "ACME", "text": "report"})
    await bench.settle()
    await bench.meddle("UPDATE approvals SET requirement = json_build_object('kept', requirement) RETURNING 1")
    return await bench.approval_id()


async def _repair(bench: Bench) -> None:
    await bench.meddle("UPDATE approvals SET requirement = requirement -> 'kept' RETURNING 1")


async def test_a_vote_that_a_fault_of_ours_keeps_from_counting_is_tried_again_until_it_counts(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    approval = await _break(bench)
    outcome = await bench.click("ann", approval)
    assert (outcome.counted, outcome.refusal and outcome.refusal.code) == (False, "inbox.failing")
    for _ in range(3):
        await bench.later(minutes=1)
    (row,) = await bench.rows("SELECT status, failures, error FROM notifications WHERE kind = 'vote'")
    assert (row["status"], row["failures"]) == ("received", 4)
    assert row["error"] == "ValidationError: 7 validation errors for Requirement"
    said = [record for record in caplog.records if "could not be applied" in record.message]
    assert [(record.levelno, bool(record.exc_info)) for record in said] == [(logging.ERROR, True)], "logged once"
    await _repair(bench)
    await bench.later(minutes=1)
    assert [vote["person"] for vote in await bench.rows("SELECT person FROM votes")] == ["ann"]


async def test_the_pauses_between_tries_grow_and_have_an_end(bench: Bench) -> None:
    await bench.click("ann", await _break(bench))
    pauses = []
    for _ in range(14):
        (row,) = await bench.rows("SELECT next_try_at FROM notifications WHERE kind = 'vote'")
        pauses.append(row["next_try_at"] - bench.clock())
        bench.clock.now = row["next_try_at"]
        await bench.settle()
    assert pauses == [min(timedelta(seconds=2**n), timedelta(minutes=10)) for n in range(14)]


async def test_an_answer_that_a_fault_of_ours_keeps_from_counting_is_tried_again(
    bench: Bench, targets: Targets
) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'ask' RETURNING 1")
    facts = await bench.complete(ANSWER_KEY, YES)
    assert (facts["status"], facts["code"]) == ("received", "inbox.failing")
    await bench.meddle("UPDATE steps SET path = 'ask' WHERE path = 'gone' RETURNING 1")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert (await bench.complete(ANSWER_KEY, YES))["status"] == "applied"
    assert len(targets.note.calls) == 1


async def test_a_deadline_that_a_fault_of_ours_holds_up_is_not_tried_at_every_sweep(bench: Bench) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'pause' RETURNING 1")
    await bench.later(hours=1)
    for _ in range(20):
        await bench.later(seconds=0.1)
    (row,) = await bench.rows("SELECT failures FROM notifications WHERE kind = 'deadline'")
    assert row["failures"] == 2
    await bench.meddle("UPDATE steps SET path = 'pause' WHERE path = 'gone' RETURNING 1")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"


SUCCEEDED = {"outcome": "succeeded", "result": {"answer": "yes", "request_id": "REQ-1"}}
NO = {"outcome": "failed", "result": None}


async def _start_in_doubt(bench: Bench, targets: Targets) -> tuple[str, str]:
    """Have a start whose outcome nobody knows; return its run, and the question to people."""
    targets.portal.answers = [OutcomeUnknownError("503") for _ in range(9)]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    for _ in range(20):
        await bench.later(minutes=1)
    return run_id, await bench.approval_id("in_doubt")


async def _answered(bench: Bench, said: dict[str, Any]) -> None:
    error = "no such case" if said["outcome"] == "failed" else ""
    told = await bench.complete(KEY, said["result"], outcome=said["outcome"], error=error)
    assert told["status"] == "applied"
    await bench.later(minutes=1)


@pytest.mark.parametrize(("said", "ends"), [(SUCCEEDED, "succeeded"), (NO, "failed_terminal")])
async def test_what_people_were_asked_about_a_start_is_settled_by_its_answer(
    bench: Bench, targets: Targets, tmp_path: Path, said: dict[str, Any], ends: str
) -> None:
    run_id, question = await _start_in_doubt(bench, targets)
    await _answered(bench, said)
    assert (await bench.run(run_id))["status"] == ends
    ended = await bench.rows("SELECT status, result ->> 'code' AS said FROM approvals WHERE approval_id = %s", question)
    assert ended == [{"status": "canceled", "said": "answered"}]
    receipts = "SELECT outcome FROM receipts WHERE run_id = %s AND document ->> 'step' = 'ask' ORDER BY seq"
    assert {row["outcome"] for row in (await bench.rows(receipts, run_id))[:-1]} == {"in_doubt"}
    assert (await bench.rows(receipts, run_id))[-1]["outcome"] == "success"
    await _verified(bench, run_id, tmp_path)


async def _verified(bench: Bench, run_id: str, folder: Path) -> None:
    office = Office.in_folder(folder)
    story = (await stories_of(office.key, bench, {"run": run_id}))["run"]
    verify(office.write(Forged.of(story).seal(office.key)), office.public)


async def test_what_people_were_asked_about_a_review_is_settled_by_its_end(bench: Bench, tmp_path: Path) -> None:
    lost = Target(answers=[OutcomeUnknownError("reset") for _ in range(9)])
    other = with_handlers(bench, {"slack::post_task": lost.handler()})
    task = await other.review()
    for _ in range(20):
        await other.later(minutes=1)
    question = await other.approval_id("in_doubt")
    assert (await other.click("ann", task, "reject", "not like this")).counted
    await other.later(minutes=1)
    ended = await other.rows("SELECT run_id, status FROM approvals WHERE approval_id = %s", question)
    assert ended[0]["status"] == "canceled"
    assert (await _outcomes(other, ended[0]["run_id"]))[-1] == "success"
    await _verified(other, ended[0]["run_id"], tmp_path)


async def test_nobody_is_asked_when_the_answer_comes_just_before(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [OutcomeUnknownError("503") for _ in range(9)]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    bench.clock.move(hours=1)
    (leased,) = await bench.lease("bench", bench.engine.timing.lease)
    leased = replace(leased, tries=9)  # it has none left
    attempt = make_attempt(leased, await bench.engine.facts_of(leased))
    assert (await bench.complete(KEY, SUCCEEDED["result"]))["status"] == "applied"
    await gate._Gate(bench.engine, attempt, lambda _: False).go()
    await bench.later(minutes=1)
    assert await bench.rows("SELECT 1 FROM approvals") == []
    assert await _outcomes(bench, run_id) == ["in_doubt", "success", "success"]  # the second is the next step's


async def test_whoever_says_too_late_that_it_did_not_happen_is_not_believed(bench: Bench, targets: Targets) -> None:
    run_id, question = await _start_in_doubt(bench, targets)
    await _answered(bench, SUCCEEDED)
    late = await bench.click("omar", question, "reject", "it is not there")
    assert (late.counted, late.refusal and late.refusal.code) == (False, "vote.closed")
    failed = "SELECT 1 FROM receipts WHERE run_id = %s AND outcome = 'failure'"
    assert await bench.rows(failed, run_id) == []
