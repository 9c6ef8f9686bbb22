"""The policies of this repository, asked through the client on a real OPA."""

import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import rfc8785

from policy.bundle import read_policy
from policy.client import MOST_QUESTIONS, OpaEngine
from policy.contract import Answer, Outcome, PolicyEngine, PolicyUnavailableError, Question, Verdict
from tests.opa_server import POLICIES, SHIPPED, copy_policies, own_opa, question, start_opa, vote
from tests.patience import MINUTE


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OpaEngine]:
    async with (
        start_opa(POLICIES, tmp_path_factory.mktemp("opa"), poll=MINUTE) as child,
        OpaEngine(child.url, timeout=MINUTE) as engine,
    ):
        yield engine


async def answer(engine: PolicyEngine, asked: Question) -> Answer:
    return (await engine.ask(asked)).answer


def codes(answer: Answer) -> list[str]:
    return [reason.code for reason in answer.reasons]


async def test_irreversible_high_tier_write_needs_two_signatures_with_reasons(engine: OpaEngine) -> None:
    got = await answer(engine, question())
    assert got.outcome is Outcome.NEEDS_APPROVAL
    assert codes(got) == ["writes.high_tier"]
    assert got.requirement is not None
    assert got.requirement.model_dump() == {
        "quorum": 2,
        "groups": ["compliance"],
        "all_groups": False,
        "exclude": ["ann", "hook"],
        "expires_in": "PT8H",
        "reason_required": True,
        "escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}],
    }


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ([vote("bob")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("ann")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("hook")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("bob")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("eve", group="sales")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("cyd")], Outcome.ALLOW),
        ([vote("bob"), vote("cyd"), vote("dan", "reject")], Outcome.DENY),
    ],
)
async def test_votes_count_by_distinct_entitled_people(
    engine: OpaEngine, votes: list[dict[str, Any]], outcome: Outcome
) -> None:
    assert (await answer(engine, question(votes))).outcome is outcome


async def test_policy_has_the_last_word_after_the_votes(engine: OpaEngine) -> None:
    got = await answer(engine, question([vote("bob"), vote("cyd")], writes=60))
    assert (got.outcome, codes(got)) == (Outcome.DENY, ["limits.writes_per_run"])


@pytest.mark.parametrize(
    ("effect", "code"),
    [
        ({"connector": "mail"}, "connectors.connector"),
        ({"operation": "delete_report"}, "connectors.operation"),
        ({"target": "elsewhere:1"}, "connectors.target"),
        ({"target": "register:1/../2"}, "connectors.target"),
    ],
)
async def test_what_the_tenant_does_not_list_is_denied(engine: OpaEngine, effect: dict[str, Any], code: str) -> None:
    got = await answer(engine, question(**effect))
    assert (got.outcome, codes(got)) == (Outcome.DENY, [code])


async def test_unknown_tenant_is_denied(engine: OpaEngine) -> None:
    got = await answer(engine, question().model_copy(update={"tenant": "nobody"}))
    assert (got.outcome, codes(got)) == (Outcome.DENY, ["config.tenant_unknown"])


SLACK: dict[str, Any] = {"connector": "slack", "tier": "low", "target": "C0COMPLIANCE"}
PORTAL: dict[str, Any] = {"connector": "portal", "tier": "low", "target": "portal:case-1"}
INCIDENT: dict[str, Any] = {
    "connector": "servicenow",
    "tier": "medium",
    "target": "incident:" + "a" * 32,
    "reversible": True,
}


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [
        ({**SLACK, "operation": "post_card"}, Outcome.ALLOW),
        ({**SLACK, "operation": "update_card"}, Outcome.ALLOW),
        ({**SLACK, "operation": "post_task"}, Outcome.ALLOW),
        ({**SLACK, "operation": "post_message", "target": "#general"}, Outcome.DENY),
        ({**PORTAL, "operation": "request_documents"}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "add_work_note", "tier": "low", "fields": {"priority": 1}}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "assign", "fields": {"priority": 3}}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "assign", "fields": {"priority": "1"}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "fields": {"priority": 1}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "fields": {}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "tier": "high", "fields": {"priority": 5}}, Outcome.NEEDS_APPROVAL),
    ],
)
async def test_packs_effects_get_the_outcome_of_their_tier(
    engine: OpaEngine, effect: dict[str, Any], outcome: Outcome
) -> None:
    assert (await answer(engine, question(**effect))).outcome is outcome


async def test_urgent_incident_is_signed_by_one_incident_manager(engine: OpaEngine) -> None:
    urgent: dict[str, Any] = {**INCIDENT, "operation": "assign", "fields": {"priority": 1}}
    got = await answer(engine, question(**urgent))
    assert got.requirement is not None
    assert (got.requirement.quorum, got.requirement.groups) == (1, ["incident-managers"])
    signed = question([vote("max", group="incident-managers")], **urgent)
    assert (await answer(engine, signed)).outcome is Outcome.ALLOW


async def test_an_operator_breaks_the_glass_of_an_urgent_incident_as_often_as_policy_says(engine: OpaEngine) -> None:
    urgent: dict[str, Any] = {**INCIDENT, "operation": "assign", "fields": {"priority": 1}}
    glass = (await answer(engine, question(**urgent))).requirement
    assert glass is not None
    assert glass.break_glass is not None
    assert (glass.break_glass.groups, glass.break_glass.at_most) == (["operators"], 2)
    broken = vote("omar", group="operators")
    for nth, outcome in ((1, Outcome.ALLOW), (2, Outcome.ALLOW), (3, Outcome.NEEDS_APPROVAL)):
        said = question([{**broken, "break_glass": {"ticket": "INC-7", "nth": nth}}], **urgent)
        assert (await answer(engine, said)).outcome is outcome
    assert (await answer(engine, question([broken], **urgent))).outcome is Outcome.NEEDS_APPROVAL
    filed = await answer(engine, question())
    assert filed.requirement is not None
    assert filed.requirement.break_glass is None, "no glass where there is time"


async def test_run_at_its_limit_may_still_post_its_card(engine: OpaEngine) -> None:
    got = await answer(engine, question(writes=99, operation="post_card", **SLACK))
    assert got.outcome is Outcome.ALLOW


@pytest.mark.parametrize("value", [None, [], {}, "x", 1e300, -0.0, "\x00\u202e", {"a": [{"b": None}]}])
async def test_odd_fields_change_no_outcome(engine: OpaEngine, value: Any) -> None:
    got = await answer(engine, question(fields={"priority": value, "lei": value}))
    assert got.outcome is Outcome.NEEDS_APPROVAL


async def test_verdict_carries_the_digest_of_the_text_that_gave_it(engine: OpaEngine) -> None:
    verdict = await engine.ask(question())
    text = engine.text(verdict.policy_digest)
    assert text == read_policy(SHIPPED)
    assert hashlib.sha256(rfc8785.dumps(dict(text.files))).hexdigest() == verdict.policy_digest


async def test_each_verdict_has_its_own_decision_id_and_latency(engine: OpaEngine) -> None:
    started = time.perf_counter()
    verdicts = [await engine.ask(question()) for _ in range(3)]
    took_ms = (time.perf_counter() - started) * 1000
    assert len({verdict.decision_id for verdict in verdicts}) == 3
    assert all(verdict.latency_ms > 0 for verdict in verdicts)
    assert sum(verdict.latency_ms for verdict in verdicts) <= took_ms


async def test_questions_of_a_list_are_answered_as_each_alone(engine: OpaEngine) -> None:
    asked = [
        question(),
        question([vote("bob"), vote("cyd")]),
        question(writes=99),
        question(target="elsewhere:1"),
        question(operation="post_card", **SLACK),
        question().model_copy(update={"tenant": "nobody"}),
        *(question(fields={"lei": str(number)}) for number in range(34)),
    ]
    found = [one for one in await engine.ask_all(asked) if isinstance(one, Verdict)]
    assert [one.answer for one in found] == [await answer(engine, one) for one in asked]
    requests = [one.decision_id.partition("/") for one in found]
    assert [int(place) for _, _, place in requests] == [number % MOST_QUESTIONS for number in range(40)]
    assert len({request for request, _, _ in requests}) == 2


async def test_a_question_that_breaks_its_request_is_unavailable_alone(engine: OpaEngine) -> None:
    signed = question([vote("bob"), vote("cyd")])
    asked = [signed, signed.model_copy(update={"time": "now"}), signed]
    first, broken, last = await engine.ask_all(asked)
    assert isinstance(broken, PolicyUnavailableError)
    assert "HTTP status 500" in str(broken)
    assert isinstance(first, Verdict)
    assert isinstance(last, Verdict)
    assert first.answer.outcome is last.answer.outcome is Outcome.ALLOW


async def test_flaws_of_a_configuration_make_its_tenant_unavailable_and_no_other(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    config = policies / "countersign_config"
    flawed = (config / "acme/data.json").read_text().replace('"PT1H"', '"1h"')
    (config / "flawed").mkdir()
    (config / "flawed/data.json").write_text(flawed)
    card = question(operation="post_card", **SLACK)
    async with own_opa(policies, tmp_path) as url, OpaEngine(url, timeout=MINUTE) as engine:
        good, bad = await engine.ask_all([card, card.model_copy(update={"tenant": "flawed"})])
    assert isinstance(good, Verdict)
    assert good.answer.outcome is Outcome.ALLOW
    assert isinstance(bad, PolicyUnavailableError)
    assert "flawed: requirements.urgent_incident.expires_in: Does not match pattern" in str(bad)


async def test_text_of_a_digest_never_seen_is_a_lookup_error(engine: OpaEngine) -> None:
    with pytest.raises(LookupError):
        engine.text("00" * 32)
