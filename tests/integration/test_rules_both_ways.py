"""Rules of a house as limits in data and as rules of a pack: both ways they hold from the request to the end."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runtime.model.votes import RefusalCode
from tests.bench import Bench, Target
from tests.integration.limits_stage import LARGE, OWNERS, REFUND, open_payments, refund, status
from tests.opa_server import POLICIES

DAY: dict[str, Any] = {
    "between": [{"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "until": "17:00"}],
    "time_zone": "Europe/Berlin",
    "within": "P5D",
}
BOTH = {
    **OWNERS,
    "quorum": 2,
    "groups": ["compliance", "payments-owners"],
    "classes": [
        {"groups": ["compliance"], "quorum": 2, "all_groups": False},
        {"groups": ["payments-owners"], "quorum": 1, "all_groups": False},
    ],
}
COMMITTEE = {
    **OWNERS,
    "quorum": 5,
    "groups": ["compliance", "payments-owners", "security", "incident-managers"],
    "all_groups": True,
    "veto": ["security"],
}
"""Five of seven, one of each class; security has a veto."""
_DEMAND = """
# METADATA
# title: {title}
# description: Refunds are signed.
# custom:
#   short_name: payments.{code}
#   failure_msg: {title}
demand := {{"requirement": "{name}", "reason": reasons.of(rego.metadata.rule())}} if {{
	{condition}
}}
"""
_LIMIT = """
# METADATA
# title: {title}
# description: Refunds are limited.
limits.{name} := object.union({{"comment": "{title}"}}, {members}) if {{
	{condition}
}}
"""
_NOBODY = """
# METADATA
# title: Nobody signs
# description: Nobody signs it.
demand := {{"requirement": "none"}} if {{
	{condition}
}}
"""


def signed(code: str, name: str, condition: str) -> str:
    return _DEMAND.format(title=f"Rule {code}", code=code, name=name, condition=condition)


def limited(name: str, condition: str, **members: Any) -> str:
    return _LIMIT.format(title=f"Limit {name}", name=name, condition=condition, members=json.dumps(members))


class Rule(NamedTuple):
    """A rule of the house, both ways."""

    limits: dict[str, Any]
    rego: str = ""
    core: str = ""


def of_the_page(begins: str) -> str:
    """Return the rule in the authors' page that begins so."""
    text = (POLICIES.parent / "docs/policy-rules.md").read_text(encoding="utf-8")
    return f"{begins}{text.partition(f'```rego{chr(10)}{begins}')[2].partition('```')[0]}"


def over(amount: int) -> dict[str, Any]:
    return {"comment": f"Over {amount}", "when": {**REFUND, "fields": {"amount": {"over": amount}}}}


NOBODY_TO_1000 = _NOBODY.format(condition="amount <= 1000")
TIERS = Rule(
    {"owners": {**over(1000), "requirement": "owners"}, "two": {**over(5000), "requirement": "two"}},
    NOBODY_TO_1000
    + signed("owners", "owners", "amount > 1000\n\tamount <= 5000")
    + signed("both", "both", "amount > 5000"),
)
BY_DAY = Rule(
    {"day": {**over(5000), "execute": DAY}},
    _NOBODY.format(condition="true") + limited("day", "amount > 5000", execute=DAY),
)
NOT_WHO_ANSWERED = Rule(
    {
        "owners": {**over(1000), "requirement": "owners"},
        "answered": {"comment": "Not who answered", "when": REFUND, "exclude": ["answered_by"]},
    },
    NOBODY_TO_1000 + signed("owners", "owners", "amount > 1000") + limited("answered", "true", exclude=["answered_by"]),
)
BY_COMMITTEE = Rule(
    {"committee": {**LARGE, "requirement": "committee"}},
    NOBODY_TO_1000 + signed("committee", "committee", "amount > 1000"),
)
FROM_MONDAY = Rule(
    {
        "owners": {**over(1000), "requirement": "owners"},
        "monday": {**over(1000), "quorum": 2, "effective_from": "2026-01-12T00:00:00Z"},
    },
    NOBODY_TO_1000
    + signed("owners", "owners", "amount > 1000")
    + limited("monday", 'amount > 1000\n\tinput.time >= "2026-01-12"', quorum=2),
)
AGENTS_DAY = Rule(
    {
        "refund-agent": {
            "comment": "An agent makes two refunds a day",
            "when": REFUND,
            "budget": {"by": "agent", "per": "day", "time_zone": "Europe/Berlin", "count": 2, "over": "wait"},
        }
    },
    _NOBODY.format(condition="true") + of_the_page('limits["refund-agent"] :='),
)
CAMPAIGN = Rule(
    {"campaign": {"comment": "Letters", "when": {"runbook": ["campaign"]}, "writes_per_run": 2000}},
    core=of_the_page("package countersign.effect.limits"),
)
BOTH_WAYS = pytest.mark.parametrize("way", ["data", "rego"])


@asynccontextmanager
async def opened(dsn: str, folder: Path, rule: Rule, way: str) -> AsyncIterator[tuple[Bench, Target]]:
    stated = {"both": BOTH, "two": {**OWNERS, "quorum": 2, "groups": ["compliance"]}, "committee": COMMITTEE}
    limits, rego, core = (rule.limits, "", "") if way == "data" else ({}, rule.rego, rule.core)
    async with open_payments(dsn, folder, limits, rego, core, **stated) as found:
        yield found


async def votes(bench: Bench, *people: str, verdict: str = "approve") -> None:
    approval = await bench.approval_id()
    for person in people:
        assert (await bench.click(person, approval, verdict)).counted, person
    await bench.settle()


@BOTH_WAYS
async def test_amounts_decide_who_signs(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, TIERS, way) as (bench, _):
        assert await status(bench, await refund(bench, "1000", ref="1")) == "succeeded"
        middle = await refund(bench, "5000", ref="2")
        await votes(bench, "olga")
        assert await status(bench, middle) == "succeeded"
        large = await refund(bench, "5000.01", ref="3")
        await votes(bench, "ann", "ben")
        assert await status(bench, large) == "waiting_approval"
        await votes(bench, "pam")
        assert await status(bench, large) == "succeeded"


@BOTH_WAYS
async def test_large_amounts_wait_for_the_day(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, BY_DAY, way) as (bench, bank):
        await bench.later(hours=12)  # Monday, 22:00 in Berlin
        assert await status(bench, await refund(bench, "5000", ref="1")) == "succeeded"
        late = await refund(bench, "5000.01", ref="2")
        assert (await status(bench, late), len(bank.calls)) == ("running", 1)
        await bench.later(hours=11)
        assert (await status(bench, late), len(bank.calls)) == ("succeeded", 2)


@BOTH_WAYS
async def test_nobody_signs_who_answered_the_customer(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, NOT_WHO_ANSWERED, way) as (bench, _):
        run_id = await refund(bench, "2000", "UOLGA")
        assert ((await bench.pending("olga", 9)).total, (await bench.pending("pam", 9)).total) == (0, 1)
        refusal = (await bench.click("olga", await bench.approval_id())).refusal
        assert refusal
        assert refusal.code is RefusalCode.EXCLUDED
        await votes(bench, "pam")
        assert await status(bench, run_id) == "succeeded"


@BOTH_WAYS
async def test_five_of_seven_sign_with_one_of_each_class_and_one_veto(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, BY_COMMITTEE, way) as (bench, _):
        run_id = await refund(bench, "2000", ref="1")
        await votes(bench, "ann", verdict="reject")
        assert await status(bench, run_id) == "waiting_approval"
        await votes(bench, "ben", "cat", "olga", "sam")
        assert await status(bench, run_id) == "waiting_approval"
        await votes(bench, "ivy")
        assert await status(bench, run_id) == "succeeded"
        vetoed = await refund(bench, "2000", ref="2")
        await votes(bench, "sam", verdict="reject")
        assert await status(bench, vetoed) == "failed_terminal"


@BOTH_WAYS
async def test_a_stricter_rule_holds_from_next_monday_on(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, FROM_MONDAY, way) as (bench, _):
        before = await refund(bench, "2000", ref="1")
        await votes(bench, "olga")
        assert await status(bench, before) == "succeeded"
        await bench.later(days=7)
        after = await refund(bench, "2000", ref="2")
        await votes(bench, "olga")
        assert await status(bench, after) == "waiting_approval"
        await votes(bench, "pam")
        assert await status(bench, after) == "succeeded"


@BOTH_WAYS
async def test_an_agent_has_a_budget_a_day(dsn: str, tmp_path: Path, way: str) -> None:
    async with opened(dsn, tmp_path, AGENTS_DAY, way) as (bench, bank):
        for ref in "12":
            assert await status(bench, await refund(bench, "10", ref=ref)) == "succeeded"
        third = await refund(bench, "10", ref="3")
        assert (await status(bench, third), len(bank.calls)) == ("running", 2)
        await bench.later(days=1)
        assert (await status(bench, third), len(bank.calls)) == ("succeeded", 3)


@BOTH_WAYS
async def test_a_campaign_may_write_more_than_the_house(dsn: str, tmp_path: Path, way: str) -> None:
    customers = {"customers": [f"c{number}" for number in range(65)]}
    async with opened(dsn, tmp_path, CAMPAIGN, way) as (bench, bank):
        campaign = (await bench.start("payments.campaign", customers, "1")).run_id
        await bench.settle()
        assert (await status(bench, campaign), len(bank.calls)) == ("succeeded", 65)
        reminders = (await bench.start("payments.reminders", customers, "2")).run_id
        await bench.settle()
        assert (await status(bench, reminders), len(bank.calls)) == ("failed_terminal", 65 + 60)
