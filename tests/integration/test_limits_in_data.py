"""Limits in a tenant's data, end to end: amounts, times, who answered the ticket, and how much a run writes."""

from pathlib import Path
from typing import Any

import pytest

from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Verdict
from runtime.handlers import TransientError
from runtime.model.votes import RefusalCode
from runtime.named_people import asked_with_names
from runtime.store.database.pool import make_pool
from tests.integration.limits_stage import (
    LARGE,
    OWNERS,
    REFUND,
    limited_policies,
    open_payments,
    refund,
    status,
    step_error,
)
from tests.logins import as_program
from tests.opa_server import kept_opa, question
from tests.patience import MINUTE

ANSWERED = {"comment": "Nobody signs who answered the ticket", "when": REFUND, "exclude": ["answered_by"]}
BY_OWNERS = {**LARGE, "requirement": "owners"}


async def test_what_is_within_a_limit_needs_nobody_and_what_is_over_it_does(dsn: str, tmp_path: Path) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS}) as (bench, bank):
        assert await status(bench, await refund(bench, "1000.00", ref="1")) == "succeeded"
        run_id = await refund(bench, "1000.01", ref="2")
        assert await status(bench, run_id) == "waiting_approval"
        assert [call.params["payment"] for call in bank.calls] == ["p1"]
        (asked,) = await bench.rows("SELECT tier, reasons FROM approvals")
        assert asked["tier"] == "low"
        assert asked["reasons"] == [
            {"code": "limits.demand", "msg": "A limit of the tenant asks for signatures"},
            {"code": "limits.applies", "msg": "large: Refunds over 1,000 EUR"},
        ]
        approval = await bench.approval_id()
        refused = (await bench.click("ann", approval)).refusal
        assert refused
        assert refused.code is RefusalCode.NOT_IN_GROUP
        assert (await bench.click("olga", approval)).counted
        await bench.settle()
        assert await status(bench, run_id) == "succeeded"
        assert [call.params["payment"] for call in bank.calls] == ["p1", "p2"]


async def test_an_amount_that_cannot_be_read_is_over_the_limit(dsn: str, tmp_path: Path) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS}) as (bench, _):
        assert await status(bench, await refund(bench, "a lot")) == "waiting_approval"


async def test_large_amounts_are_paid_by_day_only(dsn: str, tmp_path: Path) -> None:
    day = {"between": [{"days": ["tue"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Berlin"}
    limits = {"day": {**LARGE, "execute": {**day, "within": "P3D"}}}
    async with open_payments(dsn, tmp_path, limits) as (bench, bank):
        assert await status(bench, await refund(bench, "999", ref="1")) == "succeeded"
        run_id = await refund(bench, "5000", ref="2")
        assert len(bank.calls) == 1
        assert (await bench.run(run_id))["status"] == "running"
        await bench.later(hours=22, minutes=59)
        assert len(bank.calls) == 1
        await bench.later(minutes=1)
        assert await status(bench, run_id) == "succeeded"
        assert [call.params["payment"] for call in bank.calls] == ["p1", "p2"]


@pytest.mark.parametrize(
    ("answered_by", "known"),
    [("olga", ["olga"]), ("UOLGA", ["olga"]), (["UOLGA", "rita", "olga"], ["olga", "rita"])],
)
async def test_nobody_signs_who_answered_the_ticket(
    dsn: str, tmp_path: Path, answered_by: Any, known: list[str]
) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS, "answered": ANSWERED}) as (bench, bank):
        run_id = await refund(bench, "2000", answered_by)
        approval = await bench.approval_id()
        assert (await bench.pending("olga", 9)).total == 0
        assert (await bench.pending("pam", 9)).total == 1
        refused = (await bench.click("olga", approval)).refusal
        assert refused
        assert refused.code is RefusalCode.EXCLUDED
        assert await status(bench, run_id) == "waiting_approval"
        assert (await bench.click("pam", approval)).counted
        await bench.settle()
        assert await status(bench, run_id) == "succeeded"
        assert len(bank.calls) == 1
        query = "SELECT document FROM policy_decisions WHERE run_id = %s AND document ->> 'step' = 'refund'"
        told = await bench.rows(query, run_id)
        assert [one["document"]["input"]["named"] for one in told] == [{"answered_by": known}] * 2


@pytest.mark.parametrize("answered_by", ["somebody", ["olga", "somebody"], [["olga"]]])
async def test_somebody_whom_the_directory_does_not_know_denies_what_people_sign(
    dsn: str, tmp_path: Path, answered_by: Any
) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS, "answered": ANSWERED}) as (bench, bank):
        run_id = await refund(bench, "2000", answered_by, ref="1")
        assert "the directory does not know all of them" in await step_error(bench, run_id, "refund")
        assert await status(bench, await refund(bench, "10", answered_by, ref="2")) == "succeeded"
        assert [call.params["payment"] for call in bank.calls] == ["p2"]


async def test_a_ticket_that_nobody_answered_keeps_nobody_from_signing(dsn: str, tmp_path: Path) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS, "answered": ANSWERED}) as (bench, _):
        run_id = await refund(bench, "2000", None)
        assert (await bench.click("olga", await bench.approval_id())).counted
        await bench.settle()
        assert await status(bench, run_id) == "succeeded"


async def test_groups_are_told_once_when_an_effect_begins(dsn: str, tmp_path: Path) -> None:
    limits = {"told": {**LARGE, "notify": ["compliance", "security"]}}
    async with open_payments(dsn, tmp_path, limits) as (bench, bank):
        bank.answers = [TransientError("busy")]
        run_id = await refund(bench, "2000")
        await bench.later(minutes=1)
        assert await status(bench, run_id) == "succeeded"
        assert len(bank.calls) == 2
        told = [one for one in bench.chat.said("post_message") if one["said"]["kind"] == "policy_notice"]
        assert sorted(one["channel"] for one in told) == ["C0APPROVALS", "C0COMPLIANCE"]
        assert {one["text"] for one in told} == {"refund of One refund (1) begins: Refunds over 1,000 EUR"}


async def test_a_limit_to_come_is_announced_on_the_card_and_holds_from_its_moment_on(dsn: str, tmp_path: Path) -> None:
    two = {"comment": "Two sign", "when": REFUND, "quorum": 2, "effective_from": "2026-01-12T00:00:00Z"}
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS, "two": two}) as (bench, _):
        await refund(bench, "2000", ref="1")
        (first,) = await bench.rows("SELECT requirement, reasons FROM approvals")
        assert first["requirement"]["quorum"] == OWNERS["quorum"]
        assert first["reasons"][1]["msg"] == "from 2026-01-12T00:00:00Z on, two: Two sign"
        await bench.later(days=7)
        await refund(bench, "2000", ref="2")
        (second,) = await bench.rows("SELECT requirement, reasons FROM approvals WHERE status = 'requested'")
        assert second["requirement"]["quorum"] == 2
        assert [one["code"] for one in second["reasons"]] == ["limits.demand", "limits.applies", "limits.applies"]


async def test_a_policy_that_asks_for_other_names_the_second_time_has_given_no_answer(dsn: str, tmp_path: Path) -> None:
    """Another version came into force between the two questions; nothing is denied for good by that."""
    answered_by, also_by = ANSWERED, {**ANSWERED, "exclude": ["answered_by", "payment"]}
    effect: dict[str, Any] = {"connector": "payments", "operation": "refund", "target": "payment:1", "tier": "low"}
    asked = question(**effect, fields={"amount": 2000, "answered_by": "olga", "payment": "pam"})
    async with (
        open_payments(dsn, tmp_path / "old", {"large": BY_OWNERS, "answered": answered_by}) as (old, _),
        OpaEngine(
            (await kept_opa(limited_policies(tmp_path / "new", {"large": BY_OWNERS, "answered": also_by}))).url,
            timeout=MINUTE,
        ) as changed,
    ):
        first = await old.engine.policy.ask_all([asked])
        (found,) = await asked_with_names(old.engine.pool, changed.ask_all, [asked], first)
    assert isinstance(found, PolicyUnavailableError)
    assert "asks for other names now: answered_by, payment" in str(found)


async def test_a_question_about_named_people_is_unavailable_while_the_directory_cannot_be_read(
    dsn: str, tmp_path: Path
) -> None:
    async with open_payments(dsn, tmp_path, {"large": BY_OWNERS, "answered": ANSWERED}) as (bench, _):
        policy = bench.engine.policy
        effect: dict[str, Any] = {"connector": "payments", "operation": "refund", "target": "payment:1", "tier": "low"}
        asked, other = (question(**effect, fields={"amount": amount, "answered_by": "olga"}) for amount in (2000, 2))
        first = await policy.ask_all([asked, other])
        known, free = await asked_with_names(bench.engine.pool, policy.ask_all, [asked, other], first)
        closed = make_pool(as_program(dsn), size=1, behind_pooler=False)
        away, still = await asked_with_names(closed, policy.ask_all, [asked, other], first)
    assert isinstance(known, Verdict)
    assert (known.answer.outcome, known.named) == (Outcome.NEEDS_APPROVAL, {"answered_by": ["olga"]})
    assert isinstance(away, PolicyUnavailableError)
    for one in (free, still):
        assert isinstance(one, Verdict)
        assert (one.answer.outcome, one.named) == (Outcome.ALLOW, None)
