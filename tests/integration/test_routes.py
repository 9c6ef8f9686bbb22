"""Routes of cards: decided when people are asked; and signatures from each of several groups.

Where cards go is decided when people are asked, and stays; each copy is posted, edited, voted on and folded.

Where policy wants a signature of each of several groups, each reads about it, and who is missing is named.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.views.home_state import SECTIONS, Section
from bot.views.references import APPROVE, SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.engine import Routing
from runtime.model.routing import Destination, Rule
from runtime.model.states import ApprovalStatus
from runtime.services.approvals import ApprovalService
from runtime.worker import Worker
from sandbox.harness import SandboxUser, messages
from tests.bench import ROUTING, TENANT, Bench, open_bench
from tests.integration.chat_stage import CHANNEL, Chat, asking_each, chatting
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE

Opening = Callable[[Routing], AbstractAsyncContextManager[Chat]]
Benching = Callable[[Routing], AbstractAsyncContextManager[Bench]]
FILING = {"company": "ACME", "text": "r"}


@pytest.fixture
def chat_with(dsn: str, opa: OpaChild, targets: Targets) -> Opening:
    @asynccontextmanager
    async def opened(routing: Routing) -> AsyncIterator[Chat]:
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            chatting(dsn, policy, targets, routing=routing) as running,
        ):
            yield running

    return opened


@pytest.fixture
def bench_with(dsn: str, opa: OpaChild, targets: Targets) -> Benching:
    @asynccontextmanager
    async def opened(routing: Routing) -> AsyncIterator[Bench]:
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], targets.handlers(), routing=routing) as found,
        ):
            yield found

    return opened


def by(send: Destination, **when: Any) -> Routing:
    """Return a routing with one rule."""
    return replace(ROUTING, rules=(Rule(send, **when),))


async def _cards(person: SandboxUser) -> dict[str, dict[str, Any]]:
    """Return the newest card that a person sees in each conversation."""
    state = await person.see()
    found = [(one, channel["id"]) for channel in state["channels"] for one in channel["messages"]]
    return {place: {**one, "channel": place} for one, place in found if SHOW_ALL in str(one)}


def _posted(bench: Bench) -> list[str]:
    return sorted(card["channel"] for card in bench.chat.said("post_card"))


async def _asked(bench: Bench, by: str = "rita", **filing: Any) -> str:
    await bench.start("bench.file", {**FILING, **filing}, by=by)
    await bench.settle()
    return await bench.approval_id()


async def test_each_of_several_channels_and_people_has_a_card_of_its_own(bench_with: Benching) -> None:
    async with bench_with(by(Destination(("C0ONE", "C0TWO"), direct=True), groups=("compliance",))) as bench:
        await _asked(bench)
        assert _posted(bench) == ["C0ONE", "C0TWO", "UANN", "UBEN", "UCAT"]


async def test_who_asked_has_no_card_of_it(bench_with: Benching) -> None:
    async with bench_with(by(Destination(direct=True))) as bench:
        await _asked(bench, by="ann")
        assert _posted(bench) == ["UBEN", "UCAT"]


async def test_a_request_for_nobody_has_no_card_and_no_thread_and_is_decided_all_the_same(bench_with: Benching) -> None:
    async with bench_with(by(Destination())) as bench:
        approval = await _asked(bench)
        for person in ("ann", "ben"):
            assert (await bench.click(person, approval)).counted
        await bench.settle()
        assert (await bench.rows("SELECT status FROM runs"))[0]["status"] == "succeeded"
        assert [one for one in bench.chat.calls if one.operation in ("post_card", "update_card")] == []
        assert [one for one in bench.chat.said("post_message") if one["thread_of"] == approval] == []


@pytest.mark.parametrize(
    ("when", "place"),
    [
        ({"params": {"company": ["ACME"]}}, "C0RULE"),
        ({"params": {"company": ["HALDEN"]}}, CHANNEL),
        ({"trigger": {"company": ["ACME"]}}, "C0RULE"),
        ({"trigger": {"company": ["HALDEN"]}}, CHANNEL),
        ({"runbooks": ("bench-f*",), "connectors": ("register",), "tiers": ("high",)}, "C0RULE"),
        ({"runbooks": ("kyc-*",)}, CHANNEL),
    ],
)
async def test_a_rule_reads_the_values_of_the_request(bench_with: Benching, when: dict[str, Any], place: str) -> None:
    async with bench_with(by(Destination(("C0RULE",)), **when)) as bench:
        await _asked(bench)
        assert _posted(bench) == [place]


async def test_other_rules_change_nothing_of_what_was_asked(bench_with: Benching) -> None:
    async with bench_with(by(Destination(("C0ONE", "C0TWO")))) as bench:
        approval = await _asked(bench)
        elsewhere = replace(bench.engine, routing=by(Destination(("C0ELSE",))))
        later = replace(bench, engine=elsewhere, worker=Worker(elsewhere), desk=ApprovalService(elsewhere, TENANT))
        assert (await later.click("ann", approval)).counted
        await later.settle()
        edits = await bench.rows("SELECT fields ->> 'copy_at' AS copy FROM effects WHERE operation = 'update_card'")
        assert {row["copy"] for row in edits} == {None, "C0TWO"}
        assert all(call.params.get("channel") != "C0ELSE" for call in bench.chat.calls)


async def test_a_group_that_is_too_large_for_cards_of_their_own_has_one_in_its_channel(bench_with: Benching) -> None:
    async with bench_with(by(Destination(direct=True))) as bench:
        await bench.meddle(
            "INSERT INTO actors SELECT tenant, 'p' || n, 'person', 'P', '[\"compliance\"]', '{}'"
            " FROM actors, generate_series(1, 25) AS n WHERE actor_id = 'ann'"
        )
        await bench.meddle(
            "INSERT INTO slack_accounts SELECT tenant, team, 'UP' || n, 'p' || n"
            " FROM slack_accounts, generate_series(1, 25) AS n WHERE actor_id = 'ann'"
        )
        await _asked(bench)
        assert _posted(bench) == [CHANNEL]


def _quiet(begin: str, until: str) -> str:
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    return json.dumps({"timezone": "UTC", "quiet_hours": [{"days": days, "from": begin, "until": until}], "passes": []})


async def test_a_card_for_a_person_waits_for_the_end_of_their_quiet_hours(bench_with: Benching) -> None:
    async with bench_with(by(Destination(direct=True))) as bench:
        await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = 'ben'", _quiet("00:00", "12:00"))
        await _asked(bench)
        assert _posted(bench) == ["UANN", "UCAT"]
        await bench.later(hours=3)
        assert _posted(bench) == ["UANN", "UBEN", "UCAT"]


async def test_whose_quiet_hours_last_longer_than_the_request_has_no_card_of_their_own(bench_with: Benching) -> None:
    async with bench_with(by(Destination(direct=True))) as bench:
        for person in ("ann", "ben", "cat"):
            await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", _quiet("08:00", "20:00"), person)
        await _asked(bench)
        assert _posted(bench) == [CHANNEL], "what would reach nobody goes to the channel"


async def test_a_review_has_a_card_in_a_channel_and_copies_where_the_rule_says(bench_with: Benching) -> None:
    async with bench_with(by(Destination(("C0ONE", "C0TWO"), direct=True), verbs=("review",))) as bench:
        await bench.start("bench.review", {"case": "1"})
        await bench.settle()
        assert [card["channel"] for card in bench.chat.said("post_task")] == ["C0ONE"]
        assert _posted(bench) == ["C0TWO", "UANN", "UBEN", "UCAT"]


async def _sign(chat: Chat, person: SandboxUser, card: dict[str, Any], approval_id: str, votes: int) -> None:
    await person.click(card, APPROVE)
    await person.find_modal()
    await person.submit({"reason": "seen and checked"})
    async with asyncio.timeout(MINUTE):
        while len(await chat.bench.rows("SELECT FROM votes WHERE approval_id = %s", approval_id)) < votes:
            await asyncio.sleep(0.02)
    await chat.bench.settle()


async def test_the_home_leads_to_a_card_that_its_person_can_open(chat_with: Opening) -> None:
    async with chat_with(by(Destination(direct=True))) as chat:
        await chat.file()
        for name in ("ann", "ben"):
            person = await chat.person(name)
            assert f"/archives/D{name.upper()}/p" in str(await chat.home(person))
        rita = await chat.person("rita")
        await chat.home(rita)
        await rita.click_view("home", next(one for one in SECTIONS if SECTIONS[one] is Section.MINE))
        home = await rita.wait_for(lambda state: "requested" in str(state["home"]) and state["home"])
        assert "/archives/" not in str(home), "who asked has no card, and those of others are not theirs to open"


async def test_the_home_leads_to_a_copy_of_ones_own_before_the_card_in_a_channel(chat_with: Opening) -> None:
    async with chat_with(by(Destination((CHANNEL, "C0APPROVALS"), direct=True))) as chat:
        await chat.file()
        assert "/archives/DANN/p" in str(await chat.home(await chat.person("ann")))


async def test_votes_count_from_any_copy_and_all_copies_show_them_and_fold(chat_with: Opening) -> None:
    async with chat_with(by(Destination((CHANNEL, "C0APPROVALS"), direct=True))) as chat:
        approval_id = await chat.file()
        ann, ben = await chat.person("ann"), await chat.person("ben")
        assert set(await _cards(ann)) == {CHANNEL, "C0APPROVALS", "DANN"}
        await _sign(chat, ann, (await _cards(ann))["DANN"], approval_id, 1)
        assert all("1 of 2" in card["text"] for card in (await _cards(ben)).values())
        await _sign(chat, ben, (await _cards(ben))["C0APPROVALS"], approval_id, 2)
        assert await chat.decided(approval_id) is ApprovalStatus.APPROVED
        seen = (await _cards(ann)).values()
        assert [card["text"].partition(":")[0] for card in seen] == ["Approved"] * 3
        [kept] = await chat.bench.rows(
            "SELECT count(*) AS n, count(DISTINCT c::text) AS states FROM approvals, json_array_elements(cards) AS c"
        )
        leaves = await chat.bench.rows("SELECT FROM audit_leaves WHERE leaf->>'event' = 'card.shown'")
        assert kept["n"] == kept["states"] == len(leaves), "what was shown is kept once, not once for each copy"


async def test_a_copy_that_somebody_deleted_is_posted_again(chat_with: Opening) -> None:
    async with chat_with(by(Destination((CHANNEL, "C0APPROVALS")))) as chat:
        approval_id = await chat.file()
        [copy] = await chat.cards("C0APPROVALS")
        await chat.raw.chat_delete(channel="C0APPROVALS", ts=copy["ts"])
        ann = await chat.person("ann")
        await _sign(chat, ann, (await _cards(ann))[CHANNEL], approval_id, 1)
        [again] = await chat.cards("C0APPROVALS")
        assert again["ts"] != copy["ts"]
        assert "1 of 2" in again["text"]
        assert len(await chat.cards(CHANNEL)) == 1


async def test_a_card_calls_whom_the_rule_names(chat_with: Opening) -> None:
    async with chat_with(by(Destination((CHANNEL,), mention=("UOMAR", "S0LEADS")))) as chat:
        await chat.file()
        [card] = await chat.cards()
        assert "For <@UOMAR> <!subteam^S0LEADS>" in str(card["blocks"])


async def test_a_card_calls_nobody_where_the_rule_says_so(chat_with: Opening) -> None:
    async with chat_with(by(Destination((CHANNEL,), mention=()))) as chat:
        await chat.file()
        [card] = await chat.cards()
        assert "<@" not in str(card["blocks"])


async def test_a_copy_whose_posting_was_not_answered_is_found_again(chat_with: Opening) -> None:
    async with chat_with(by(Destination(direct=True))) as chat:
        chat.faults.lose("chat.postMessage")
        await chat.file()
        chat.faults.lift("chat.postMessage")
        for _ in range(12):
            await chat.bench.later(seconds=30)
        for name in ("ann", "ben", "cat"):
            person = await chat.person(name)
            assert len([one for one in messages(await person.see()) if APPROVE in str(one)]) == 1


async def test_who_asked_hears_with_a_link_that_people_are_asked_and_what_they_decided(chat_with: Opening) -> None:
    async with chat_with(ROUTING) as chat:
        approval_id = await chat.file()
        [card] = await chat.cards()
        rita = await chat.person("rita")
        told = await rita.find_card(lambda one: "was sent to compliance: 2 people must approve it" in one["text"])
        assert card["ts"].replace(".", "") in str(told["blocks"])
        await _sign(chat, await chat.person("ann"), (await _cards(await chat.person("ann")))[CHANNEL], approval_id, 1)
        ben = await chat.person("ben")
        await _sign(chat, ben, (await _cards(ben))[CHANNEL], approval_id, 2)
        decided = await rita.find_card(lambda message: "was approved" in message["text"])
        assert card["ts"].replace(".", "") in str(decided["blocks"])


async def test_who_asked_hears_of_a_request_that_has_no_card(chat_with: Opening) -> None:
    async with chat_with(by(Destination())) as chat:
        await chat.file()
        rita = await chat.person("rita")
        assert await rita.find_card(lambda message: "was sent to compliance" in message["text"])


OTHER = "C0APPROVALS"


@pytest.fixture
async def chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with asking_each(dsn, targets, tmp_path) as running:
        yield running


async def _seen(chat: Chat) -> dict[str, dict[str, Any]]:
    """Return the one card of each channel that has any."""
    found = {channel: await chat.cards(channel) for channel in (CHANNEL, OTHER)}
    assert all(len(cards) <= 1 for cards in found.values())
    return {channel: cards[0] for channel, cards in found.items() if cards}


async def test_each_required_group_has_the_card_where_it_reads(chat: Chat) -> None:
    await chat.file()
    cards = await _seen(chat)
    assert set(cards) == {CHANNEL, OTHER}
    assert "<@UOMAR>" in str(cards[OTHER]["blocks"])


async def test_every_card_says_which_group_has_not_signed_and_folds_at_the_end(chat: Chat) -> None:
    approval = await chat.file()
    for person in ("ann", "ben"):
        assert (await chat.bench.click(person, approval)).counted
    await chat.bench.settle()
    for card in (await _seen(chat)).values():
        assert "(2 signatures; still needed: operators)" in card["text"]
        assert "2 of 2" not in str(card)
    ann = await chat.person("ann")
    assert any(
        "Ben approved (2 signatures; still needed: operators)" in one["text"] for one in messages(await ann.see())
    )
    assert (await chat.bench.click("omar", approval)).counted
    await chat.bench.settle()
    assert [card["text"].partition(":")[0] for card in (await _seen(chat)).values()] == ["Approved", "Approved"]


async def test_a_large_group_does_not_keep_a_small_one_from_being_called(chat: Chat) -> None:
    await chat.bench.meddle(
        "INSERT INTO actors SELECT tenant, 'p' || n, 'person', 'P', '[\"compliance\"]', '{}'"
        " FROM actors, generate_series(1, 5) AS n WHERE actor_id = 'ann'"
    )
    await chat.bench.meddle(
        "INSERT INTO slack_accounts SELECT tenant, team, 'UP' || n, 'p' || n"
        " FROM slack_accounts, generate_series(1, 5) AS n WHERE actor_id = 'ann'"
    )
    await chat.file()
    assert all("For <@UOMAR>" in str(card["blocks"]) for card in (await _seen(chat)).values())


def _by(*rules: Rule) -> Routing:
    return replace(ROUTING, rules=rules)


async def test_the_rule_for_one_group_leaves_the_others_their_channel(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    rule = Rule(Destination((CHANNEL,), mention=("S0DESK",)), groups=("compliance",))
    async with asking_each(dsn, targets, tmp_path, _by(rule)) as chat:
        await chat.file()
        cards = await _seen(chat)
        assert set(cards) == {CHANNEL, OTHER}
        assert "For <@UOMAR> <!subteam^S0DESK>" in str(cards[OTHER]["blocks"])


async def test_a_rule_for_every_request_is_taken_once(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with asking_each(dsn, targets, tmp_path, _by(Rule(Destination((OTHER,))))) as chat:
        await chat.file()
        assert set(await _seen(chat)) == {OTHER}
