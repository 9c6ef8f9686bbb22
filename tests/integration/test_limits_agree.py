"""Limits in data: of 20,000 generated limits, policy asks what their page says, and all count the votes alike.

What limits ask for is worked out a second time here, by the page on limits and without Rego. Of the requirement that
policy then states, runtime, policy and both verifiers agree on who may sign, and what votes come to.
"""

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import isodate
import pytest
from playwright.async_api import Page

from policy.answer import parse_answer
from policy.contract import Answer, Outcome, Requirement
from policy.vetting import run_opa
from receipts.passkey_records import PASSKEY
from tests.integration.test_classes_agree import Given, bundle, page, page_says, runtime_says, told, verifier_says
from tests.opa_server import opa_program, question

__all__ = ["bundle", "page"]

LOTS, CASES, LIMITS = 10, 250, 8
GROUPS = ["risk", "legal", "ops", "board"]
TIERS = ["low", "medium", "high"]
WEEK = {"between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Berlin"}
REQUIREMENTS: dict[str, dict[str, Any]] = {
    "high": {
        "quorum": 2,
        "groups": ["risk"],
        "all_groups": False,
        "expires_in": "PT8H",
        "escalate_to": [{"after": "PT6H", "to": ["board"]}],
        "veto": ["risk"],
    },
    "legal": {"quorum": 1, "groups": ["legal"], "all_groups": False, "expires_in": "PT4H", "escalate_to": []},
    "each": {
        "quorum": 2,
        "groups": ["legal", "ops"],
        "all_groups": True,
        "expires_in": "P1D",
        "escalate_to": [],
        "veto": ["ops"],
    },
    "class": {
        "quorum": 3,
        "groups": ["risk", "ops"],
        "all_groups": False,
        "expires_in": "P2D",
        "escalate_to": [{"after": "PT7H", "to": ["board"]}],
        "sign_with": PASSKEY,
        "classes": [{"groups": ["ops"], "quorum": 1, "all_groups": False}],
    },
}
TENANT: dict[str, Any] = {
    "writes_per_run": 10,
    "connectors": {
        "pay": {
            "chat": False,
            "operations": {
                "refund": {"tier": "low", "targets": ["*"]},
                "close": {"tier": "high", "targets": ["*"], "execute": {"within": "P2D"}},
            },
        },
        "mail": {"chat": False, "operations": {"send": {"tier": "low", "targets": ["*"]}}},
    },
    "requirements": REQUIREMENTS,
}
OPERATIONS = {"refund": "pay", "close": "pay", "send": "mail"}
PEOPLE = [f"p{number}" for number in range(6)]


def some(draw: random.Random, items: list[str], most: int = 2) -> list[str]:
    return sorted(draw.sample(items, draw.randint(1, most)))


def drawn_condition(draw: random.Random) -> dict[str, Any]:
    """Return a `when` with one member or more."""
    operation = draw.choice(list(OPERATIONS))
    number = draw.choice([0, 10, 10.5, 100])
    field: dict[str, Any] = draw.choice(
        [
            {"over": number},
            {"under": number},
            {"over": 5, "under": number + 6},
            {"in": ["NO", 10]},
            {"matches": "N[OS]"},
        ]
    )
    members: list[dict[str, Any]] = [
        {"connector": [OPERATIONS[operation]], "operation": [operation]},
        {"connector": [OPERATIONS[operation]], "operation": [operation], "fields": {draw.choice(["a", "b.c"]): field}},
        {"connector": some(draw, ["pay", "mail"])},
        {"runbook": some(draw, ["r1", "r2"])},
        {"requester": some(draw, ["ann", "rob"])},
        {"requester_kind": some(draw, ["agent", "person"], 1)},
        {"requester_groups": some(draw, ["desk", "shop"])},
        {"agent": some(draw, ["hook", "rob"])},
        {"time": {"between": [{"days": ["mon", "tue"], "from": "22:00", "until": "06:00"}], "time_zone": "UTC"}},
    ]
    when = dict(draw.choice(members[:4]))
    for more in draw.sample(members[3:], draw.choice([0, 0, 1, 2])):
        when |= more
    return when


def drawn_limit(draw: random.Random) -> dict[str, Any]:
    asks: list[dict[str, Any]] = [
        {"tier": draw.choice(TIERS[1:])},
        {"requirement": draw.choice(list(REQUIREMENTS))},
        {"quorum": draw.randint(1, 4)},
        {"sign_with": PASSKEY},
        {"expires_in": draw.choice(["PT3H", "PT390M", "P3D"])},
        {"exclude": ["who"]},
        {"execute": draw.choice([WEEK, {"within": "PT5H"}, {"not_before": "2026-02-01T00:00:00Z"}])},
    ]
    limit: dict[str, Any] = {"comment": "c", "when": drawn_condition(draw)}
    for one in draw.sample(asks, draw.choice([1, 1, 2, 3])):
        limit |= one
    if set(limit["when"]) <= {"connector", "operation", "runbook"} and {"operation", "runbook"} & set(limit["when"]):
        limit["writes_per_run"] = draw.choice([0, 5, 20])
    if draw.random() < 0.2:
        limit["effective_from"] = draw.choice(["2026-01-05T10:00:00Z", "2026-01-05T10:00:01Z"])
    return limit


def drawn_question(draw: random.Random) -> dict[str, Any]:
    operation = draw.choice(list(OPERATIONS))
    kind = draw.choice(["person", "agent"])
    fields = {
        "a": draw.choice([0, 9, 10, 11, "10.2", 1000, "NO", "NS", None, ["NO", 7]]),
        "b": {"c": draw.choice([10, "100", "x"])} if draw.random() < 0.7 else {},
    }
    asked = question(connector=OPERATIONS[operation], operation=operation, target="t", tier="low", fields=fields)
    document = asked.model_dump(mode="json")
    document["time"] = draw.choice(["2026-01-05T10:00:00Z", "2026-01-05T23:30:00Z", "2026-01-06T03:00:00Z"])
    document["actor"] = {
        "id": "rob" if kind == "agent" else "ann",
        "kind": kind,
        "groups": draw.choice([[], ["desk"]]),
        "submitted_by": "hook",
    }
    document["run"]["definition"] = draw.choice(["r1", "r3"])
    document["counters"] = {"writes": draw.choice([0, 7])}
    document["named"] = {"who": draw.choice([[], ["p0"], ["p1", "p2"]])}
    return document


# What the page on limits says, a second time.


def number_of(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def passes(test: dict[str, Any], value: Any) -> bool:
    number = number_of(value)
    passed = {
        "over": number is None or number > test.get("over", 0),
        "under": number is None or number < test.get("under", 0),
        "in": value is None or isinstance(value, dict | list) or value in test.get("in", ()),
        "matches": not isinstance(value, str) or value in ("NO", "NS"),
    }
    return all(passed[kind] for kind in test)


def field_meets(asked: dict[str, Any], path: str, test: dict[str, Any]) -> bool:
    value: Any = asked["effect"]["fields"]
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return any(passes(test, one) for one in (value if isinstance(value, list) and value else [value]))


def is_met(asked: dict[str, Any], when: dict[str, Any]) -> bool:
    actor, effect = asked["actor"], asked["effect"]
    has = {
        "connector": {effect["connector"]},
        "operation": {effect["operation"]},
        "runbook": {asked["run"]["definition"]},
        "requester": {actor["id"]},
        "requester_kind": {actor["kind"]},
        "requester_groups": set(actor["groups"]),
        "agent": {actor["submitted_by"]} | ({actor["id"]} if actor["kind"] == "agent" else set()),
    }
    lists = all(has[name] & set(values) for name, values in when.items() if name in has)
    fields = all(field_meets(asked, path, test) for path, test in when.get("fields", {}).items())
    return lists and fields and ("time" not in when or asked["time"] != "2026-01-05T10:00:00Z")


def lasts(text: str) -> timedelta:
    found: timedelta = isodate.parse_duration(text)
    return found


def expected(tenant: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Return what policy has to answer before anybody has signed: in terms that do not depend on any order."""
    holds = [
        limit
        for limit in tenant["limits"].values()
        if limit.get("effective_from", "") <= asked["time"] and is_met(asked, limit["when"])
    ]
    listed = tenant["connectors"][asked["effect"]["connector"]]["operations"][asked["effect"]["operation"]]
    windows = [one["execute"] for one in (listed, *holds) if "execute" in one]
    closest = max((len(one["when"]) for one in holds if "writes_per_run" in one), default=None)
    most = [one["writes_per_run"] for one in holds if "writes_per_run" in one and len(one["when"]) == closest]
    if asked["counters"]["writes"] >= min(most, default=tenant["writes_per_run"]):
        return {"outcome": Outcome.DENY}
    tier = max([listed["tier"], *(one["tier"] for one in holds if "tier" in one)], key=TIERS.index)
    names = {one["requirement"] for one in holds if "requirement" in one} | ({"high"} if tier == "high" else set())
    if not names:
        return {"outcome": Outcome.ALLOW, "tier": tier, **execute_of(windows)}
    return {"outcome": Outcome.NEEDS_APPROVAL, "tier": tier, **asked_of(names, holds, asked), **execute_of(windows)}


def execute_of(windows: list[dict[str, Any]]) -> dict[str, Any]:
    if not windows:
        return {"execute": None}
    moments = [one["not_before"] for one in windows if "not_before" in one]
    within = min((one.get("within", "P1D") for one in windows), key=lasts)
    weekly = any("between" in one for one in windows)
    return {"execute": (max(moments, default=None), lasts(within), weekly)}


def asked_of(names: set[str], holds: list[dict[str, Any]], asked: dict[str, Any]) -> dict[str, Any]:
    stated = [REQUIREMENTS[name] for name in sorted(names)]
    alone = len(stated) == 1
    ends = min(lasts(one["expires_in"]) for one in (*stated, *holds) if "expires_in" in one)
    leads = {
        (lasts(entry["after"]), group)
        for one in stated
        for entry in one["escalate_to"]
        for group in entry["to"]
        if lasts(entry["after"]) < ends
    }
    groups = {group for one in stated for group in one["groups"]}
    electorate = groups | {group for _, group in leads}
    classes = [] if alone else [as_class(one, electorate) for one in stated]
    stated_classes = [
        as_class({"escalate_to": [], **entry}, electorate) for one in stated for entry in one.get("classes", ())
    ]
    excluded = {name for one in holds if "exclude" in one for name in asked["named"]["who"]}
    return {
        "quorum": max(one["quorum"] for one in (*stated, *holds) if "quorum" in one),
        "groups": groups,
        "all_groups": alone and stated[0]["all_groups"],
        "classes": {*classes, *stated_classes},
        "veto": {group for one in stated for group in one["veto"]} if all("veto" in one for one in stated) else set(),
        "exclude": {asked["actor"]["id"], "hook"} | excluded,
        "expires_in": ends,
        "leads": leads,
        "sign_with": PASSKEY if any("sign_with" in one for one in (*stated, *holds)) else None,
    }


def as_class(stated: dict[str, Any], electorate: set[str]) -> tuple[frozenset[str], int, bool]:
    leads = {group for entry in stated["escalate_to"] for group in entry["to"]}
    groups = set(stated["groups"]) | (set() if stated["all_groups"] else leads)
    return frozenset(groups & electorate), stated["quorum"], stated["all_groups"]


def as_expected(answer: Answer) -> dict[str, Any]:
    """Return an answer in the terms of what is expected."""
    if answer.outcome is Outcome.DENY:
        return {"outcome": answer.outcome}
    asked = answer.requirement
    execute = answer.execute if asked is None else asked.execute
    when = (execute.not_before, lasts(execute.within), bool(execute.between)) if execute else None
    plain = {"outcome": answer.outcome, "tier": answer.tier, "execute": when}
    return plain if asked is None else {**plain, **terms_of(asked)}


def terms_of(asked: Requirement) -> dict[str, Any]:
    return {
        "quorum": asked.quorum,
        "groups": set(asked.groups),
        "all_groups": asked.all_groups,
        "classes": {(frozenset(one.groups), one.quorum, one.all_groups) for one in asked.classes},
        "veto": set(asked.veto),
        "exclude": set(asked.exclude),
        "expires_in": lasts(asked.expires_in),
        "leads": {(lasts(entry.after), group) for entry in asked.escalate_to for group in entry.to},
        "sign_with": asked.sign_with,
    }


_EACH = """[answer |
    some [question, tenant] in input
    config := {"acme": tenant}
    answer := data.countersign.effect.decision with input as question with data.countersign_config as config
]"""


async def answers(bundle: Path, asked: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[Answer]:
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    said = json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=json.dumps(asked)))
    return [parse_answer(one, "answer") for one in said]


def drawn_votes(draw: random.Random, asked: Requirement) -> list[Given]:
    """Return votes of people who are entitled: that is what is counted."""
    people = [person for person in PEOPLE if person not in asked.exclude]
    return [
        Given(
            person,
            some(draw, asked.electorate, min(2, len(asked.electorate))),
            draw.choice(["approve"] * 9 + ["reject"]),
            is_signed=draw.random() < 0.8,
            breaks_glass=False,
        )
        for person in draw.sample(people, draw.randint(1, len(people)))
    ]


@pytest.mark.parametrize("lot", range(LOTS))
async def test_limits_ask_what_their_page_says_and_all_count_the_votes_alike(
    bundle: Path, page: Page, lot: int
) -> None:
    draw = random.Random(lot)  # noqa: S311 - the same cases each time
    cases = [
        (drawn_question(draw), {**TENANT, "limits": {f"l{place}": drawn_limit(draw) for place in range(LIMITS)}})
        for _ in range(CASES)
    ]
    found = await answers(bundle, cases)
    asking = []
    for (asked, tenant), answer in zip(cases, found, strict=True):
        assert (asked, tenant["limits"], as_expected(answer)) == (asked, tenant["limits"], expected(tenant, asked))
        if answer.requirement:
            asking.append(
                (asked, tenant, answer.requirement.model_dump(mode="json"), drawn_votes(draw, answer.requirement))
            )
    outcomes = await signed(bundle, page, asking)
    assert {Outcome.ALLOW, Outcome.DENY, Outcome.NEEDS_APPROVAL} == outcomes, "the votes show too little"


async def signed(
    bundle: Path, page: Page, asking: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[Given]]]
) -> set[Outcome]:
    """Compare what policy, runtime and both verifiers make of votes; return the outcomes that there were."""
    terms = {"requested_at": "2026-01-05T09:00:00Z", "expires_at": "2026-01-07T17:00:00Z"}
    again = [
        ({**asked, "approval": terms, "votes": [told(requirement, one) for one in votes]}, tenant)
        for asked, tenant, requirement, votes in asking
    ]
    by_policy = await answers(bundle, again)
    by_page = await page_says(page, [(requirement, votes) for _, _, requirement, votes in asking])
    for (_, _, requirement, votes), policy, shown in zip(asking, by_policy, by_page, strict=True):
        is_granted, is_ended = policy.outcome is Outcome.ALLOW, policy.outcome is Outcome.DENY
        says = [runtime_says(requirement, votes), verifier_says(requirement, votes), shown[:2]]
        assert (requirement, votes, says) == (requirement, votes, [(is_granted, is_ended)] * 3)
    return {answer.outcome for answer in by_policy}
