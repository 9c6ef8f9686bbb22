"""Escalation, fallback and reminders: who is asked when somebody cannot be reached or does not decide.

An escalation is heard, and a large group does not make it a flood. Policy says who is asked, and when.

Who cannot be reached is seen when people are asked: delegates count, and others are asked if the tenant says so.

Who is asked and has not decided is reminded, with growing pauses, at times at which they may be told.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from policy.client import OpaEngine
from runtime.model.delegation import Delegation
from runtime.model.routing import Fallback
from runtime.store.delegations import add_delegation
from tests.bench import ROUTING, TEAM, TENANT, Bench, open_bench
from tests.integration.acts_stage import delegate
from tests.integration.conftest import PACK, Targets
from tests.integration.test_approvals import _asked_too_few, _leave
from tests.integration.test_routes import Benching, bench_with
from tests.logins import loading
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE

__all__ = ["bench_with"]


LINE = [{"after": "PT1H", "to": ["operators"]}, {"after": "PT7H", "to": ["senior-compliance", "operators"]}]


@pytest.fixture
async def asking(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a bench whose policy asks others twice as time runs short."""
    policies = copy_policies(tmp_path / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"]["escalate_to"] = LINE
    file.write_text(json.dumps(config), encoding="utf-8")
    async with (
        start_opa(policies, tmp_path / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as found,
    ):
        yield found


async def test_policy_says_who_is_asked_one_after_the_other_and_when(asking: Bench, targets: Targets) -> None:
    run_id = (await asking.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await asking.settle()
    approval = await asking.approval_id()
    asked = []
    for hour in range(1, 8):
        await asking.later(hours=1)
        rows = await asking.rows("SELECT joined FROM approvals WHERE approval_id = %s", approval)
        asked.append((hour, rows[0]["joined"]))
    both = ["operators", "senior-compliance"]
    assert asked == [*((hour, ["operators"]) for hour in range(1, 7)), (7, both)]
    data = [leaf.data for leaf in await asking.chain(run_id) if leaf.event == "wait.escalated"]
    assert [(entry["entry"], entry["to"]) for entry in data] == [(0, LINE[0]["to"]), (1, LINE[1]["to"])]
    for person in ("omar", "sue"):
        assert (await asking.click(person, approval)).counted
    await asking.settle()
    assert (await asking.run(run_id))["status"] == "succeeded", "policy counts their votes"


async def test_who_had_to_be_asked_before_the_deadline_is_though_nobody_swept_in_time(asking: Bench) -> None:
    run_id = (await asking.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await asking.settle()
    await asking.later(days=9)
    told = [leaf for leaf in await asking.chain(run_id) if leaf.event in ("wait.escalated", "approval.expired")]
    assert [leaf.event for leaf in told] == ["wait.escalated", "wait.escalated", "approval.expired"]
    assert [leaf.data["to"] for leaf in told[:2]] == [entry["to"] for entry in LINE]


async def _seniors(bench: Bench, count: int) -> None:
    """Let the group of those next in line have `count` people more."""
    async with loading(bench.superuser) as conn, conn.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO actors (tenant, actor_id, kind, name, groups, grants) VALUES (%s, %s, 'person', %s, %s, '{}')",
            [(TENANT, f"s{n}", f"S{n}", json.dumps(["senior-compliance"])) for n in range(count)],
        )
        await cursor.executemany(
            "INSERT INTO slack_accounts (tenant, team, account, actor_id) VALUES (%s, %s, %s, %s)",
            [(TENANT, TEAM, f"US{n}", f"s{n}") for n in range(count)],
        )


@pytest.mark.parametrize(("more", "direct"), [(9, 10), (10, 0), (499, 0)])
async def test_an_escalation_is_one_message_to_the_group_and_few_to_people(
    bench: Bench, targets: Targets, more: int, direct: int
) -> None:
    await _seniors(bench, more)
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    bench.chat.calls.clear()
    await bench.later(hours=6)
    said = [message for message in bench.chat.said("post_message") if "Escalated" in message["text"]]
    assert [message["thread_of"] is None for message in said].count(True) == 1
    assert len([one for one in bench.chat.said("direct_message") if "Escalated" in one["text"]]) == direct


SENIORS = replace(ROUTING, fallback=Fallback(("senior-compliance",), ("C0DESK",)))
OTHERS = replace(ROUTING, fallback=Fallback(("security",)))


async def _stands_in(bench: Bench, delegator: str, delegate: str, by: str = "omar", group: str = "compliance") -> None:
    now = bench.clock()
    new = Delegation(
        f"dlg_{delegator}_{delegate}",
        delegator,
        delegate,
        (group,),
        now - timedelta(hours=1),
        now + timedelta(days=1),
        by,
        "away",
    )
    async with bench.engine.pool.connection() as conn:
        await add_delegation(conn, TENANT, new, now)


async def _fell_back(bench: Bench) -> list[dict[str, Any]]:
    rows = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'approval.fell_back'")
    return [row["leaf"]["data"] for row in rows]


async def test_a_delegate_of_somebody_who_cannot_be_reached_counts(bench: Bench) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", "pam")
    approval, leaves = await _asked_too_few(bench, by="rita")
    assert leaves == []
    for person in ("ann", "pam"):
        assert (await bench.click(person, approval)).counted


async def test_one_delegate_stands_in_for_one_alone(bench: Bench) -> None:
    await _leave(bench, "ann", "ben", "cat", "sue")
    for delegator in ("ann", "ben", "cat"):
        await _stands_in(bench, delegator, "pam")
    _, leaves = await _asked_too_few(bench, by="rita")
    assert [leaf["data"]["why"] for leaf in leaves] == ["it needs 2 distinct people, and 1 may decide"]


@pytest.mark.parametrize(
    ("delegate", "recorded_by"),
    [("rita", "omar"), ("ann", "omar"), ("pam", "rita")],
    ids=["who asks", "who is asked", "by word of who asks"],
)
async def test_a_delegate_who_may_not_vote_for_them_does_not_count(
    bench: Bench, delegate: str, recorded_by: str
) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", delegate, by=recorded_by)
    _, leaves = await _asked_too_few(bench, by="rita")
    assert len(leaves) == 1


async def test_a_delegate_in_another_group_does_not_count(bench: Bench) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", "pam", group="senior-compliance")
    _, leaves = await _asked_too_few(bench, by="rita")
    assert len(leaves) == 1


async def test_what_those_asked_cannot_decide_goes_to_the_fallback_and_is_decided_there(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "ben", "cat")
        approval, unfulfillable = await _asked_too_few(bench, by="rita")
        why = "it needs 2 distinct people, and 1 may decide"
        assert await _fell_back(bench) == [{"approval_id": approval, "why": why, "to": ["senior-compliance"]}]
        assert unfulfillable == []
        cards = sorted(card["channel"] for card in bench.chat.said("post_card"))
        assert cards == ["C0COMPLIANCE", "C0DESK", "USUE"]
        view = await bench.desk.approval(approval)
        assert view is not None
        assert (view.fell_back, view.fallback, view.shortfall, view.escalated) == (
            why,
            ("senior-compliance",),
            "",
            False,
        )
        for person in ("ann", "sue"):
            assert (await bench.click(person, approval)).counted
        await bench.settle()
        assert (await bench.rows("SELECT status FROM runs"))[0]["status"] == "succeeded"


async def test_policy_alone_says_who_signs_so_others_are_told_and_may_not(bench_with: Benching) -> None:
    async with bench_with(OTHERS) as bench:
        await _leave(bench, "ben", "cat", "sue")
        approval, unfulfillable = await _asked_too_few(bench, by="rita")
        assert len(unfulfillable) == 1
        assert [one["to"] for one in await _fell_back(bench)] == [["security"]]
        assert {"UPAM", "USAM"} <= {card["channel"] for card in bench.chat.said("post_card")}
        assert not (await bench.click("sam", approval)).counted


async def test_what_those_asked_can_decide_does_not_fall_back(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "cat")
        approval, _ = await _asked_too_few(bench, by="rita")
        assert await _fell_back(bench) == []
        assert not (await bench.click("sue", approval)).counted, "her time has not come"


async def test_who_asks_leaves_the_others_too_few_and_it_falls_back(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "cat")
        await _asked_too_few(bench, by="ann")
        assert len(await _fell_back(bench)) == 1


async def _deactivate(bench: Bench, *people: str) -> None:
    """Note that Slack says that people's accounts are deactivated."""
    await bench.meddle(
        "INSERT INTO slack_absentees (tenant, team, account, since)"
        " SELECT tenant, team, account, now() FROM slack_accounts WHERE actor_id IN ('" + "','".join(people) + "')"
    )


async def test_who_is_deactivated_is_asked_and_told_nothing_and_others_are_asked_instead(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _deactivate(bench, "ben", "cat", "rita")
        approval, _ = await _asked_too_few(bench, by="rita")
        assert [one["to"] for one in await _fell_back(bench)] == [["senior-compliance"]]
        view = await bench.desk.approval(approval)
        assert view is not None
        assert set(view.asked) == {"UANN", "USUE"}
        await bench.later(hours=7)
        assert (await bench.click("ann", approval, "reject", "not now")).counted
        await bench.settle()
        told = {one["user"] for one in bench.chat.said("direct_message")}
        asked = {one["channel"] for one in bench.chat.said("post_card")}
        assert told
        assert (told | asked).isdisjoint({"UBEN", "UCAT", "URITA"})


async def test_who_is_active_again_is_asked_and_told_again(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _deactivate(bench, "ben", "cat", "rita")
        await bench.meddle("DELETE FROM slack_absentees")
        approval, _ = await _asked_too_few(bench, by="rita")
        assert await _fell_back(bench) == []
        assert (await bench.click("ann", approval, "reject", "not now")).counted
        await bench.settle()
        assert "URITA" in {one["user"] for one in bench.chat.said("direct_message")}


NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "18:00", "until": "08:00"}
QUIET = {"timezone": "UTC", "quiet_hours": [NIGHT], "passes": ["high"]}
REPORT = {"company": "ACME", "text": "r"}


async def _says(bench: Bench, remind: dict[str, Any] | None = None, **notices: dict[str, Any]) -> None:
    """Let the directory say how people are told."""
    await bench.meddle("UPDATE directories SET remind = %s", json.dumps(remind or {}))
    for person, said in notices.items():
        await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", json.dumps(said), person)


async def _asked_to_remind(bench: Bench) -> str:
    await bench.start("bench.file", REPORT)
    await bench.settle()
    return await bench.approval_id()


def _direct(bench: Bench, words: str = "Still open") -> list[str]:
    """Return who was told something directly, and forget it."""
    said = [one["user"] for one in bench.chat.said("direct_message") if words in one["text"]]
    bench.chat.calls.clear()
    return sorted(said)


async def _reminded(bench: Bench, hours: int) -> list[int]:
    """Let hours pass; return those in which somebody was reminded."""
    reminded = []
    for hour in range(1, hours + 1):
        await bench.later(hours=1)
        reminded += [hour] if _direct(bench) else []
    return reminded


async def test_a_request_of_which_nothing_is_said_is_remembered_as_the_tenant_says(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 2, "at_most": 3})
    await _asked_to_remind(bench)
    assert await _reminded(bench, 16) == [1, 3, 7]


async def test_nobody_is_reminded_where_the_tenant_says_nothing(bench: Bench, targets: Targets) -> None:
    await _asked_to_remind(bench)
    assert await _reminded(bench, 10) == []


async def test_what_a_verb_says_holds_and_not_what_the_tenant_says(patient: Bench) -> None:
    await _says(patient, {"first": 3600, "factor": 1, "at_most": 9})
    await patient.start("patience.review", {}, "case-7")
    await patient.settle()
    assert await _reminded(patient, 30) == [24]


async def test_only_who_may_decide_and_has_not_is_reminded_with_the_way_to_the_card(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    approval = await _asked_to_remind(bench)
    await bench.later(hours=1)
    [card] = {one["card_of"] for one in bench.chat.said("direct_message")}
    assert (card, _direct(bench)) == (approval, ["UANN", "UBEN", "UCAT"])
    await bench.click("ann", approval)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]
    await bench.meddle("UPDATE runs SET requested_by = 'ben'")
    await bench.later(hours=1)
    assert _direct(bench) == ["UCAT"], "ben asks for it, and may not decide it"


async def test_who_stands_in_is_reminded_until_one_of_the_two_has_voted(bench: Bench, targets: Targets) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    await delegate(bench, "ann", "sam")
    approval = await _asked_to_remind(bench)
    await bench.later(hours=1)
    assert _direct(bench) == ["UANN", "UBEN", "UCAT", "USAM"]
    await bench.click("sam", approval)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]


async def test_reminders_stop_when_it_is_decided(bench: Bench, targets: Targets) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    approval = await _asked_to_remind(bench)
    await bench.click("ann", approval, verdict="reject")
    await bench.settle()
    assert await _reminded(bench, 3) == []


async def test_a_reminder_in_quiet_hours_waits_until_they_end_and_the_card_does_not(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 1}, ann={**QUIET, "passes": []}, ben=QUIET)
    bench.clock.move(hours=10)
    await _asked_to_remind(bench)
    assert bench.chat.said("post_card"), "at seven in the evening"
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"], "ben is told, since high tiers pass"
    await bench.later(hours=11)
    assert _direct(bench) == []
    await bench.later(hours=1)
    assert _direct(bench) == ["UANN"]


async def test_who_is_asked_next_in_quiet_hours_hears_of_it_after_them_and_may_vote_before(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, sue={**QUIET, "passes": []})
    bench.clock.move(hours=8)
    approval = await _asked_to_remind(bench)
    await bench.later(hours=6)
    assert [one["channel"] for one in bench.chat.said("post_message") if "Escalated" in one["text"]]
    assert _direct(bench, "Escalated") == []
    assert (await bench.click("sue", approval)).counted
    await bench.later(hours=9)
    assert _direct(bench, "Escalated") == ["USUE"]


@pytest.mark.parametrize("waits", [20, 70])
async def test_what_waits_for_the_end_of_quiet_hours_is_not_given_up_meanwhile(
    bench: Bench, targets: Targets, waits: int
) -> None:
    always = {"days": ["mon", "tue", "wed"], "from": "00:00", "until": "24:00"}
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 1}, ann={"quiet_hours": [always], "timezone": "UTC"})
    await _asked_to_remind(bench)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]
    await bench.later(hours=waits)
    assert _direct(bench) == (["UANN"] if waits > 62 else [])
