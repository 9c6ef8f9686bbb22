"""Five of seven with two of risk and one of legal, who alone has a veto: played to the end, told, and in evidence."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.views.card import card
from countersign.cli.audit import vote_row
from evidence.export.run_lines import RunTold
from evidence.report import report_on
from evidence.verify.trust import trust_of
from evidence.verify.verify import verify
from runtime.inbox.directory_changes import recheck_open_requests
from runtime.model.search import RunFilter
from runtime.model.votes import CardAct
from runtime.services.bundles import find_votes
from runtime.services.health import shortfalls
from runtime.services.home import HomeQueries, Look
from tests.bench import TENANT, Bench
from tests.browser import failure_of, verify_page
from tests.integration.acts_stage import say
from tests.integration.committee_stage import REQUIRED, SEATS, WRONG, approve, committee_bench, seat
from tests.integration.conftest import Targets
from tests.integration.forger import Forged
from tests.integration.played import stories_of
from tests.integration.policies_stage import filing
from tests.unit.evidence_bends import members_of
from tests.unit.evidence_sample import Office


@pytest.fixture
async def bench(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    async with committee_bench(dsn, targets, tmp_path) as found:
        yield found


async def said(bench: Bench) -> list[dict[str, Any]]:
    """Return all that was said to anybody, in threads and in private."""
    await bench.settle()
    return [*bench.chat.said("post_message"), *bench.chat.said("direct_message")]


async def status_of(bench: Bench, approval: str) -> str:
    (row,) = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval)
    return str(row["status"])


async def shown(bench: Bench, approval: str) -> str:
    """Return the card as it is now."""
    view = await bench.desk.approval(approval)
    assert view
    return json.dumps(card(view, now=bench.clock()).json(), ensure_ascii=False)


async def events(bench: Bench, run_id: str) -> list[str]:
    return [leaf.event for leaf in await bench.chain(run_id)]


async def test_a_no_without_veto_leaves_it_open_and_five_with_each_class_carry_it_out(
    bench: Bench, targets: Targets
) -> None:
    run_id, approval = await filing(bench)
    await approve(bench, approval, "ray", "lea")
    no = await bench.click("oda", approval, "reject", WRONG)
    assert (no.counted, await status_of(bench, approval)) == (True, "requested")
    await approve(bench, approval, "rik", "ole")
    assert await status_of(bench, approval) == "requested", "four have approved"
    await bench.settle()
    assert targets.file.calls == []
    await approve(bench, approval, "ona")
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_five_without_somebody_of_each_class_are_not_enough(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    await approve(bench, approval, "ray", "oda", "ole", "ona", "lea")
    assert await status_of(bench, approval) == "requested"
    assert "5 signatures; still needed: 2 of risk" in await shown(bench, approval)
    await approve(bench, approval, "rik")
    await bench.settle()
    assert len(targets.file.calls) == 1


async def test_a_no_with_a_veto_ends_it_whatever_others_said(bench: Bench, targets: Targets) -> None:
    run_id, approval = await filing(bench)
    await approve(bench, approval, "ray", "rik", "oda", "lea")
    assert (await bench.click("leo", approval, "reject", WRONG)).counted
    assert await status_of(bench, approval) == "rejected"
    assert not (await bench.click("ole", approval)).counted
    await bench.settle()
    assert targets.file.calls == []
    step = (await bench.run(run_id))["steps"]["file"]
    assert (step["error_code"], step["error"]) == ("rejected", f"rejected by Leo: {WRONG}")


async def test_only_who_ended_it_is_named_as_who_rejected_it(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    assert (await bench.click("oda", approval, "changes", "other words")).counted
    assert (await bench.click("leo", approval, "reject", WRONG)).counted
    step = (await bench.run(run_id))["steps"]["file"]
    assert (step["error_code"], step["error"]) == ("rejected", f"rejected by Leo: {WRONG}")
    ended = [one["text"] for one in await said(bench) if "was rejected" in one["text"]]
    assert ended
    assert all('Leo: "' in text and 'Oda (voted no): "' in text for text in ended)
    assert "Not done: rejected by Leo" in await shown(bench, approval)


async def test_nobody_is_told_that_it_was_rejected_by_a_vote_that_ended_nothing(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    await approve(bench, approval, "ray")
    assert (await bench.click("oda", approval, "reject", WRONG)).counted
    told = await said(bench)
    (thread,) = [one for one in told if one.get("thread_of") == approval and "Oda" in one["text"]]
    assert thread["text"] == f'Oda voted no (this stays open): "{WRONG}"'
    (direct,) = [one for one in told if one.get("user") == "URITA" and "Oda" in one["text"]]
    assert direct["text"].startswith("Oda voted no on ")
    assert "only a no from legal ends it" in direct["text"]
    seen = await shown(bench, approval)
    assert "Oda voted no" in seen
    assert '"text": "Reject"' in seen
    everything = " ".join([seen, *(str(one["text"]) for one in told)])
    assert "rejected" not in everything.lower()
    home = await HomeQueries(bench.engine, TENANT).decided("oda", Look(10))
    assert [(one.own, one.leaves_open) for one in home.entries] == [("reject", True)]
    assert "approval.rejected" not in await events(bench, run_id)


async def test_who_said_no_may_take_that_back_and_approve(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    assert (await bench.click("oda", approval, "reject", WRONG)).counted
    assert not (await bench.click("oda", approval, nonce="before")).counted, "they have voted"
    assert (await say(bench, "oda", approval, CardAct.WITHDRAW, "read again")).counted
    await approve(bench, approval, "oda", "ray", "rik", "ole", "lea")
    await bench.settle()
    assert len(targets.file.calls) == 1


async def test_where_too_few_of_a_class_are_left_after_a_no_it_is_told_until_that_is_taken_back(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    assert (await bench.click("rik", approval, "reject", WRONG)).counted
    why = "it needs 2 of risk, and 1 may decide"
    assert why in await shown(bench, approval)
    told = [one for one in await said(bench) if why in one["text"]]
    assert {one.get("user") or one.get("thread_of") for one in told} >= {"URITA", "UOMAR", approval}
    assert (await say(bench, "rik", approval, CardAct.WITHDRAW, "read again")).counted
    assert why not in await shown(bench, approval)
    facts = [one for one in await events(bench, run_id) if one.startswith(("approval.unf", "approval.ful"))]
    assert facts == ["approval.unfulfillable", "approval.fulfillable"]


async def test_a_vote_stays_where_only_a_no_would_be_left_in_its_place(bench: Bench) -> None:
    _, approval = await filing(bench)
    assert (await bench.click("oda", approval, "reject", WRONG)).counted
    await approve(bench, approval, "ona")
    await bench.meddle("DELETE FROM slack_accounts WHERE actor_id IN ('ona', 'leo')")
    refused = await say(bench, "ona", approval, CardAct.WITHDRAW, "read again")
    assert refused.refusal
    assert (refused.refusal.code, refused.refusal.about) == (
        "approvers.too_few",
        ("it needs 5 distinct people, and 4 may decide",),
    )


async def test_a_no_keeps_the_groups_with_which_it_was_given(bench: Bench, targets: Targets) -> None:
    run_id, approval = await filing(bench)
    assert (await bench.click("oda", approval, "reject", WRONG)).counted
    await seat(bench, 2, {**SEATS, "oda": ["legal"]})
    assert await status_of(bench, approval) == "requested"
    assert "vote.lapsed" not in await events(bench, run_id)
    await approve(bench, approval, "ray", "rik", "ole", "ona", "lea")
    await bench.settle()
    assert len(targets.file.calls) == 1
    decisions = await bench.rows("SELECT document FROM policy_decisions WHERE run_id = %s ORDER BY seq", run_id)
    told = [vote for one in decisions for vote in one["document"]["input"]["votes"] if vote["person"] == "oda"]
    assert [vote["groups"] for vote in told] == [["operations"]]


async def test_a_no_of_somebody_who_left_is_no_approval_that_lapsed(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    assert (await bench.click("oda", approval, "reject", WRONG)).counted
    await seat(bench, 2, {name: groups for name, groups in SEATS.items() if name != "oda"})
    await recheck_open_requests(bench.engine)
    assert "vote.lapsed" not in await events(bench, run_id)
    assert "no longer counts" not in await shown(bench, approval)


async def test_the_doctor_names_a_class_that_too_few_people_are_in(bench: Bench) -> None:
    wanted = {**REQUIRED, "exclude": [], "reason_required": False}
    async with bench.engine.pool.connection() as conn:
        assert await shortfalls(conn, TENANT, {"high": wanted}, bench.clock()) == {}
        three = {**wanted, "classes": [{"groups": ["risk"], "quorum": 3, "all_groups": False}]}
        found = await shortfalls(conn, TENANT, {"high": three}, bench.clock())
    assert found == {"high": "it needs 3 of risk, and 2 may decide"}


async def test_both_verifiers_take_the_bundles_and_the_report_tells_a_no_as_a_vote(
    bench: Bench, tmp_path: Path
) -> None:
    office, runs = Office.in_folder(tmp_path), dict[str, str]()
    for name, person in (("agreed", "lea"), ("vetoed", "leo")):
        runs[name], approval = await filing(bench, name)
        await approve(bench, approval, "ray", "rik", "ole", "ona")
        assert (await bench.click("oda", approval, "reject", WRONG)).counted
        verdict = "reject" if name == "vetoed" else "approve"
        assert (await bench.click(person, approval, verdict, "seen and checked")).counted
        await bench.settle()
    votes = await votes_told(bench)
    stories = await stories_of(office.key, bench, runs)
    async with verify_page() as page:
        for name, story in stories.items():
            data = Forged.of(story).seal(office.key)
            file = office.write(data)
            assert verify(file, office.public).run_id == runs[name]
            assert await failure_of(page, data, office.public.read_text()) is None
            seen = report_on(file, trust_of(office.public)).page.decode()
            assert "voted no" in seen
            timeline = members_of(file)["timeline.md"].decode()
            assert ("rejected" in timeline) == (name == "vetoed")
            assert "2 of risk among them, 1 of legal among them, only a no of legal ends it" in timeline
    said_no = {(row["run_id"], row["person"]): (row["decision"], row["required"]) for row in votes}
    required = "5 of risk or legal or operations; 2 of risk; 1 of legal; veto: legal"
    assert said_no[runs["agreed"], "oda"] == said_no[runs["vetoed"], "oda"] == ("voted no", required)
    assert said_no[runs["vetoed"], "leo"] == ("rejected", required)


async def votes_told(bench: Bench) -> list[dict[str, Any]]:
    """Return the lines of all votes in the table of an export; what the log tells of them is the same."""
    async with bench.engine.pool.connection() as conn:
        rows = [vote_row(vote) for vote in await find_votes(conn, TENANT, RunFilter())]
    for run_id in {row["run_id"] for row in rows}:
        told = RunTold()
        for leaf in await bench.chain(run_id):
            told.add(leaf)
        by_log = {(one["person"], one["decision"], one["meaning"]) for one in told.rows("2026", "2027")}
        assert by_log == {(row["person"], row["decision"], row["meaning"]) for row in rows if row["run_id"] == run_id}
    return rows
