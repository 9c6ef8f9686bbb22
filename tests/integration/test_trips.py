"""How many round trips to the database a vote and a start need, and that a vote counts where each takes 0.1 s.

A connection prepares what it does a second time, so each is done three times.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.views.references import APPROVE, REJECT
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct, VoteVerdict
from runtime.services.clicks import ClickOutcome
from runtime.services.passkey_ceremonies import SigningPage
from tests.bench import Bench, open_bench
from tests.integration.acts_stage import delegate, say
from tests.integration.chat_stage import CHANNEL, Chat, chatting, choose
from tests.integration.conftest import PACK, Targets
from tests.integration.network import Trips, along, road_to
from tests.integration.policies_stage import (
    AT_MOST,
    asked,
    break_glass,
    counter,
    filing,
    glass_policy,
    open_vault,
    register,
    token_to_sign,
)
from tests.integration.program_stage import composed, settings_of
from tests.integration.test_edge_answers import Stage, staged
from tests.integration.test_edge_tasks import get, post, review
from tests.integration.test_home import until_voted
from tests.patience import MINUTE

CLICKED, ON_CLAIMED, OPENING, SUBMITTED = 3, 4, 2, 2
"""Round trips of a click that is a vote, of one until its form is open, and of the form until the vote is recorded."""
OF_WITHDRAWAL = 4
"""Round trips until the form of a withdrawal is open: it is looked, too, whether enough people would be left."""
MOST = 5
"""Round trips of a vote that comes otherwise: one that is signed, or comes by HTTP, is answered when it is counted."""
FIRST_START, START = 75, 35
"""Round trips of the first start, which stores every definition, and of a later one; people are loaded before each."""
FAR = 0.1
"""Seconds of a round trip."""
RECORDED = "INSERT INTO notifications"
COMMITTED = "COMMIT"
"""After which whoever brought a vote is answered."""
OPENED = "INSERT INTO marks"
"""What is written once the click that opened a form is acknowledged."""
QUIET = json.dumps({"quiet_hours": [{"days": ["mon"], "from": "00:00", "until": "12:00"}]})
"""Of whoever asked."""
TIMES = ("first", "second", "third")


@pytest.fixture
async def road(postgres: str) -> AsyncIterator[Trips]:
    async with road_to(postgres) as road:
        yield road


@pytest.fixture
async def chat(dsn: str, road: Trips, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(along(dsn, road), policy, targets) as running:
        yield running


@pytest.fixture
async def stage(postgres: str, road: Trips, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path, partial(along, road=road)) as stage:
        yield stage


async def _newest_card(chat: Chat) -> dict[str, Any]:
    return {**(await chat.cards())[0], "channel": CHANNEL}


async def _until_opened(chat: Chat, approval_id: str) -> None:
    """Wait until it is on record that somebody opened the form."""
    async with asyncio.timeout(MINUTE):
        while not await chat.bench.rows("SELECT FROM marks WHERE approval_id = %s", approval_id):
            await asyncio.sleep(0.01)


async def test_a_click_is_recorded_and_acknowledged_within_three_round_trips(chat: Chat, road: Trips) -> None:
    ann = await chat.person("ann")
    for ref in TIMES:
        task = await chat.bench.review(ref)
        card = await _newest_card(chat)
        road.made.clear()
        await ann.click(card, APPROVE)
        await until_voted(chat, task)
        assert len(road.until(RECORDED)) <= CLICKED, road.made


async def test_a_delegates_click_is_recorded_and_acknowledged_within_three_round_trips(chat: Chat, road: Trips) -> None:
    await delegate(chat.bench, "ann", "sam", "compliance")
    sam = await chat.person("sam")
    for ref in TIMES:
        task = await chat.bench.review(ref)
        card = await _newest_card(chat)
        road.made.clear()
        await sam.click(card, APPROVE)
        await until_voted(chat, task)
        assert len(road.until(RECORDED)) <= CLICKED, road.made
        [vote] = await chat.bench.rows("SELECT person, delegator FROM votes WHERE approval_id = %s", task)
        assert vote == {"person": "sam", "delegator": "ann"}


async def test_a_click_on_a_claimed_review_is_recorded_within_four_round_trips(chat: Chat, road: Trips) -> None:
    ann = await chat.person("ann")
    for ref in TIMES:
        task = await chat.bench.review(ref)
        await chat.bench.claim("ann", task)
        await chat.bench.settle()
        card = await _newest_card(chat)
        road.made.clear()
        await ann.click(card, APPROVE)
        await until_voted(chat, task)
        assert len(road.until(RECORDED)) <= ON_CLAIMED, road.made


async def test_a_form_opens_within_two_round_trips_and_its_vote_is_recorded_within_two(chat: Chat, road: Trips) -> None:
    ann = await chat.person("ann")
    for ref in TIMES:
        asked = await chat.file(ref)
        card = await _newest_card(chat)
        road.made.clear()
        await ann.click(card, APPROVE)
        await ann.find_modal()
        await _until_opened(chat, asked)
        assert len(road.until(OPENED)[:-1]) <= OPENING, road.made
        road.made.clear()
        assert (await ann.submit({"reason": "seen and checked"}))["ok"]
        await until_voted(chat, asked)
        assert len(road.until(RECORDED)) <= SUBMITTED, road.made


@pytest.mark.parametrize(
    ("label", "opening"), [("Reject", OPENING), ("Request changes", OPENING), ("Withdraw my vote", OF_WITHDRAWAL)]
)
async def test_the_form_of_a_no_opens_within_few_round_trips_and_is_recorded_within_two(
    chat: Chat, road: Trips, label: str, opening: int
) -> None:
    ann = await chat.person("ann")
    for ref in TIMES:
        asked = await chat.file(ref)
        if label == "Withdraw my vote":
            assert (await chat.bench.click("ann", asked)).counted
            await chat.bench.settle()
        card = await _newest_card(chat)
        road.made.clear()
        await (ann.click(card, REJECT) if label == "Reject" else choose(ann, card, label))
        await ann.find_modal()
        assert len([trip for trip in road.made if OPENED not in trip]) <= opening, road.made
        road.made.clear()
        assert (await ann.submit({"reason": "this is last year's"}))["ok"]
        await chat.bench.settle()
        assert len(road.until(RECORDED)) <= SUBMITTED, road.made


async def test_a_form_of_the_menu_opens_within_two_round_trips(chat: Chat, road: Trips) -> None:
    for name in ("ann", "ben", "cat"):
        await chat.file(name)
        card, person = await _newest_card(chat), await chat.person(name)
        road.made.clear()
        await choose(person, card, "Request changes")
        await person.find_modal()
        assert len(road.made) <= OPENING, road.made


async def test_a_click_counts_where_a_round_trip_takes_a_tenth_of_a_second(chat: Chat, road: Trips) -> None:
    ann = await chat.person("ann")
    asked = await chat.file()
    card = await _newest_card(chat)
    road.delay = FAR
    assert (await ann.click(card, APPROVE))["ok"]
    await ann.find_modal()
    assert (await ann.submit({"reason": "seen and checked"}))["ok"]
    await until_voted(chat, asked)
    assert [row["person"] for row in await chat.bench.rows("SELECT person FROM votes")] == ["ann"]


async def _sign_within_five(vault: Bench, road: Trips, person: str, ticket: str = "") -> None:
    """Have a person sign a request of their own each time, written and answered within five round trips."""
    passkey = await register(vault, person)
    for ref in TIMES[: AT_MOST if ticket else len(TIMES)]:
        token = await token_to_sign(vault, person, await asked(vault, ref, role=ref), ticket=ticket)
        page = await counter(vault).open(token)
        assert isinstance(page, SigningPage)
        signed = passkey.sign(page.ceremony.challenge)
        road.made.clear()
        outcome = await counter(vault).sign(token, signed)
        assert isinstance(outcome, ClickOutcome)
        assert outcome.counted
        assert len(road.until(COMMITTED)) <= MOST, road.made


async def test_a_vote_signed_with_a_passkey_counts_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(along(dsn, road), policy) as vault:
        await _sign_within_five(vault, road, "sam")


@pytest.mark.parametrize("hours", ["{}", QUIET], ids=["told at once", "in quiet hours"])
async def test_a_signed_vote_that_ends_an_approval_is_written_and_answered_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild, hours: str
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(along(dsn, road), policy) as vault:
        passkey = await register(vault, "sam")
        for ref in TIMES:
            approval_id = await asked(vault, ref, role=ref)
            with psycopg.connect(dsn, options="-c session_replication_role=replica") as conn:
                conn.execute("UPDATE approvals SET requirement = jsonb_set(requirement::jsonb, '{quorum}', '1')::json")
                conn.execute("UPDATE actors SET notices = %s WHERE actor_id = 'rita'", (hours,))
            token = await token_to_sign(vault, "sam", approval_id)
            page = await counter(vault).open(token)
            assert isinstance(page, SigningPage)
            signed = passkey.sign(page.ceremony.challenge)
            road.made.clear()
            outcome = await counter(vault).sign(token, signed)
            assert isinstance(outcome, ClickOutcome)
            assert outcome.status is ApprovalStatus.APPROVED
            assert len(road.until(COMMITTED)) <= MOST, road.made


@pytest.mark.parametrize("hours", ["{}", QUIET], ids=["told at once", "in quiet hours"])
async def test_a_delegates_signed_vote_is_written_and_answered_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild, hours: str
) -> None:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, open_vault(along(dsn, road), policy) as vault:
        await delegate(vault, "sam", "ann", "security")
        with psycopg.connect(dsn, options="-c session_replication_role=replica") as conn:
            conn.execute("UPDATE actors SET notices = %s WHERE kind = 'person'", (hours,))
        await _sign_within_five(vault, road, "ann")
        votes = await vault.rows("SELECT person, delegator, json_array_length(delegation -> 'acts') AS acts FROM votes")
        assert votes == [{"person": "ann", "delegator": "sam", "acts": 1}] * len(TIMES)


async def test_a_signed_break_glass_is_written_and_answered_within_five_round_trips(
    dsn: str, road: Trips, tmp_path: Path
) -> None:
    async with glass_policy(tmp_path, "access_vault") as policy, open_vault(along(dsn, road), policy) as vault:
        await _sign_within_five(vault, road, "ivy", ticket="INC-7")


async def test_a_break_glass_by_click_is_recorded_and_written_within_five_round_trips(
    dsn: str, road: Trips, tmp_path: Path, targets: Targets
) -> None:
    handlers = targets.handlers()
    async with glass_policy(tmp_path) as policy, open_bench(along(dsn, road), policy, [PACK], handlers) as bench:
        for ref in TIMES[:AT_MOST]:
            _, approval_id = await filing(bench, ref)
            road.made.clear()
            assert (await break_glass(bench, "ivy", approval_id)).status is ApprovalStatus.APPROVED
            assert len(road.until(COMMITTED)) <= MOST, road.made


async def test_a_withdrawal_is_recorded_and_written_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(along(dsn, road), policy, [PACK], targets.handlers()) as bench,
    ):
        for ref in TIMES:
            _, approval_id = await filing(bench, ref)
            assert (await bench.click("ann", approval_id)).counted
            road.made.clear()
            assert (await say(bench, "ann", approval_id, CardAct.WITHDRAW, "the wrong draft")).counted
            assert len(road.until(COMMITTED)) <= MOST, road.made


@pytest.mark.parametrize("verdict", list(VoteVerdict))
@pytest.mark.parametrize("asks", ["a filing", "a review"])
async def test_a_click_that_ends_a_request_is_recorded_and_written_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild, targets: Targets, asks: str, verdict: VoteVerdict
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(along(dsn, road), policy, [PACK], targets.handlers()) as bench,
    ):
        for ref in TIMES:
            approval_id = await bench.review(ref) if asks == "a review" else (await filing(bench, ref))[1]
            with psycopg.connect(dsn, options="-c session_replication_role=replica") as conn:
                conn.execute("UPDATE approvals SET requirement = jsonb_set(requirement::jsonb, '{quorum}', '1')::json")
            road.made.clear()
            outcome = await bench.click("ann", approval_id, verdict, "as agreed")
            assert outcome.counted
            assert outcome.status is not ApprovalStatus.REQUESTED
            assert len(road.until(COMMITTED)) <= MOST, road.made


@pytest.mark.parametrize("verdict", list(VoteVerdict))
async def test_a_delegates_click_is_recorded_and_written_within_five_round_trips(
    dsn: str, road: Trips, opa: OpaChild, targets: Targets, verdict: VoteVerdict
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(along(dsn, road), policy, [PACK], targets.handlers()) as bench,
    ):
        await delegate(bench, "ann", "sam", "compliance")
        for ref in TIMES:
            _, approval_id = await filing(bench, ref)
            road.made.clear()
            assert (await bench.click("sam", approval_id, verdict, "as agreed")).counted
            assert len(road.until(COMMITTED)) <= MOST, "\n".join(m[:120] for m in road.made)


async def test_an_answer_by_http_counts_within_five_round_trips(stage: Stage, road: Trips) -> None:
    for ref in TIMES:
        task = await review(stage, ref)
        with psycopg.connect(stage.dsn, options="-c session_replication_role=replica") as conn:
            conn.execute("UPDATE approvals SET requirement = jsonb_set(requirement::jsonb, '{quorum}', '2')::json")
        task = (await get(stage, f"/v1/tasks/{task['task_id']}?as=boris")).body
        road.made.clear()
        answer = await post(stage, task, "answer")
        assert (answer.status, answer.body) == (200, {"task_id": task["task_id"], "status": "requested"})
        assert len(road.until(COMMITTED)) <= MOST, road.made


async def test_an_answer_by_http_that_ends_a_review_counts_within_five_round_trips(stage: Stage, road: Trips) -> None:
    for ref in TIMES:
        task = await review(stage, ref)
        road.made.clear()
        answer = await post(stage, task, "answer")
        assert (answer.status, answer.body) == (200, {"task_id": task["task_id"], "status": "approved"})
        assert len(road.until(COMMITTED)) <= MOST, road.made


async def test_an_answer_of_another_system_is_recorded_and_its_run_goes_on_within_five_round_trips(
    stage: Stage, road: Trips
) -> None:
    for ref in TIMES:
        asked = await stage.asked(ref)
        road.made.clear()
        assert (await stage.answer(asked, ref)).body["status"] == "applied"
        assert len(road.until(COMMITTED)) <= MOST, road.made
        assert stage.step(asked) == "succeeded"


async def test_a_start_needs_few_round_trips(dsn: str, road: Trips, opa: OpaChild, tmp_path: Path) -> None:
    for most in (FIRST_START, START, START):
        road.made.clear()
        async with composed(settings_of(along(dsn, road), opa.url, tmp_path)):
            assert len(road.made) <= most, road.made
