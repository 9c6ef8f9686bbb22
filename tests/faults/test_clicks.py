"""Clicks that come together, twice, late or from the wrong people: one vote a person, one outcome."""

import asyncio
import json

import pytest

from runtime.handlers import OutcomeUnknownError
from runtime.model.person import SlackAccount
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.services.clicks import Click
from tests.bench import TEAM, Bench
from tests.integration.conftest import Targets
from tests.logins import loading

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
