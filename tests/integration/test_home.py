"""The Home: a person's desk in Slack, page by page.

The Home tab in Slack: a desk at which a person finds, narrows and decides.

A person's desk: what stands on it, page by page, whatever else is open.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from bot.views.home_state import CLEAR, GROUP, METRICS, RUNBOOK, SEARCH, TIER, TURNS, Section, state_of
from bot.views.references import APPROVE, REJECT, SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.search import COUNTED, ListFilter, PageEdge
from runtime.model.states import ApprovalStatus
from runtime.model.votes import RefusalCode, VoteVerdict
from runtime.services.home import Entry, HomeQueries, Look
from sandbox.harness import SandboxError, SandboxUser
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import copies
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.patience import MINUTE


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def act(chat: Chat, person: SandboxUser, action: str, **how: Any) -> str:
    """Use something on the Home; return the Home that is drawn then, as text."""
    drawn = chat.faults.calls["views.publish"]
    before = (await person.see())["home"]["hash"]
    assert (await person.click_view("home", action, **how))["ok"]
    await chat.faults.called("views.publish", drawn + 1)
    return str(await person.wait_for(lambda state: state["home"]["hash"] != before and state["home"]))


async def until_voted(chat: Chat, approval_id: str) -> None:
    async with asyncio.timeout(MINUTE):
        while not await chat.bench.rows("SELECT FROM votes WHERE approval_id = %s", approval_id):
            await asyncio.sleep(0.01)


def section(one: Section) -> str:
    return f"countersign_home_{one}"


async def test_a_person_goes_through_their_sections(chat: Chat) -> None:
    approval_id = await chat.file("REF-7")
    ann, rita = await chat.person("ann"), await chat.person("rita")
    assert "1 request for you" in str(await chat.home(ann))
    await chat.bench.click("ann", approval_id)
    assert "You approved" in await act(chat, ann, section(Section.DECIDED))
    assert "Nothing is due soon" in await act(chat, ann, section(Section.LATE))
    assert "Nothing is waiting for you" in await act(chat, ann, section(Section.WAITING))
    await chat.home(rita)
    mine = await act(chat, rita, section(Section.MINE))
    assert "REF-7" in mine
    assert "1 of 2" in mine
    assert APPROVE not in mine


async def test_the_home_remembers_what_it_showed_when_it_is_opened_again(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    await chat.home(ann)
    await act(chat, ann, TIER, chosen="low")
    home = await chat.home(ann)
    state = state_of(home["private_metadata"])
    assert (state.section, state.tier) == (Section.WAITING, "low")
    assert "No matches." in str(home)


async def test_menus_and_search_narrow_and_one_button_brings_all_back(chat: Chat) -> None:
    approval_id = await chat.file("REF-7")
    await copies(chat.bench, approval_id, 4)
    ann = await chat.person("ann")
    await chat.home(ann)
    assert "1 request for you" in await act(chat, ann, SEARCH, chosen="ref-000003")
    assert "1 request for you" in await act(chat, ann, GROUP, chosen="compliance")
    found = await act(chat, ann, RUNBOOK, chosen="bench-file")
    assert "REF-000003" in found
    assert "REF-000002" not in found
    assert "5 requests for you" in await act(chat, ann, CLEAR)


async def test_the_page_is_turned_and_turned_back(chat: Chat) -> None:
    await copies(chat.bench, await chat.file("REF-0"), 12)
    ann = await chat.person("ann")
    first = str(await chat.home(ann))
    assert "13 requests for you" in first
    assert TURNS[0] not in first
    second = await act(chat, ann, TURNS[1])
    assert "REF-000012" in second
    assert "REF-000001" not in second
    assert TURNS[1] not in second
    back = await act(chat, ann, TURNS[0])
    assert "REF-000001" in back
    assert "REF-000012" not in back


async def test_who_decides_in_the_home_sees_it_anew_after_the_vote(chat: Chat) -> None:
    approval_id = await chat.file()
    ben = await chat.person("ben")
    await chat.home(ben)
    await ben.click_view("home", REJECT)
    modal = await ben.find_modal()
    assert "Why do you reject?" in str(modal)
    assert (await ben.submit({"reason": "x"}))["errors"]
    await ben.submit({"reason": "the owners are others"})
    await ben.wait_for(lambda state: "Nothing is waiting for you" in str(state["home"]))
    assert await chat.decided(approval_id) is ApprovalStatus.REJECTED


async def test_who_decides_on_the_card_sees_their_open_home_anew(chat: Chat) -> None:
    await chat.file()
    await chat.bench.settle()
    ann = await chat.person("ann")
    assert "1 request for you" in str(await chat.home(ann))
    [card] = await chat.cards()
    await ann.click({**card, "channel": "C0COMPLIANCE"}, APPROVE)
    await ann.find_modal()
    await ann.submit({"reason": "seen and checked"})
    await ann.wait_for(lambda state: "Nothing is waiting for you" in str(state["home"]))


async def test_a_home_that_was_not_opened_is_not_drawn_after_a_vote(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.settle()
    ann = await chat.person("ann")
    [card] = await chat.cards()
    await ann.click({**card, "channel": "C0COMPLIANCE"}, APPROVE)
    await ann.find_modal()
    await ann.submit({"reason": "seen and checked"})
    await until_voted(chat, approval_id)
    assert await chat.decided(approval_id) is ApprovalStatus.REQUESTED
    assert chat.faults.calls["views.publish"] == 0


async def test_a_click_in_the_home_is_acknowledged_while_slack_takes_its_time(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    await chat.home(ann)
    chat.faults.hold("views.publish")
    for action, how in ((section(Section.MINE), {}), (SEARCH, {"chosen": "x"}), (RUNBOOK, {"chosen": "bench-file"})):
        async with asyncio.timeout(3):
            assert (await ann.click_view("home", action, **how))["ok"]
    chat.faults.lift("views.publish")
    await ann.wait_for(lambda state: "My requests" in str(state["home"]))


async def test_the_last_page_that_was_decided_away_gives_way_to_the_first(chat: Chat) -> None:
    approval_id = await chat.file("REF-0")
    await copies(chat.bench, approval_id, 10)
    ann = await chat.person("ann")
    await chat.home(ann)
    assert "REF-000010" in await act(chat, ann, TURNS[1])
    await ann.click_view("home", APPROVE)
    await ann.find_modal()
    await ann.submit({"reason": "seen and checked"})
    await ann.wait_for(lambda state: "10 requests for you" in str(state["home"]) and "REF-000001" in str(state["home"]))


async def test_show_all_opens_from_the_home(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    await chat.home(ann)
    await ann.click_view("home", SHOW_ALL)
    assert "Revision 1 of the request" in str((await ann.find_modal())["blocks"][0])


async def test_an_input_without_a_dispatch_is_sent_by_its_form_alone(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    await chat.home(ann)
    await ann.click_view("home", REJECT)
    await ann.find_modal()
    with pytest.raises(SandboxError, match="sent with its form"):
        await ann.click_view("modal", "reason", chosen="because")


async def test_metrics_are_on_the_home_of_those_who_lead_and_of_nobody_else(chat: Chat) -> None:
    await chat.file()
    chat.bench.clock.move(minutes=1)
    sue, ann = await chat.person("sue"), await chat.person("ann")
    assert "Metrics" not in str(await chat.home(ann))
    assert "Metrics" in str(await chat.home(sue))
    chat.faults.hold("views.open")
    async with asyncio.timeout(3):
        assert (await sue.click_view("home", METRICS))["ok"]
    chat.faults.lift("views.open")
    assert "compliance, high tier: 1 asked: 1 open" in str(await sue.find_modal())


FILING = {"company": "Halvorsen Seefracht", "text": "the owners"}


@pytest.fixture
def homes(bench: Bench) -> HomeQueries:
    return HomeQueries(bench.engine, TENANT)


async def asked(bench: Bench, ref: str = "first") -> str:
    """Ask two of compliance to sign a filing of Rita's; return the request."""
    run_id = (await bench.start("bench.file", FILING, ref)).run_id
    await bench.settle()
    (row,) = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return str(row["approval_id"])


def ids(entries: object) -> list[str]:
    assert isinstance(entries, list)
    return [entry.view.approval_id for entry in entries if isinstance(entry, Entry)]


async def test_pages_go_forth_and_back_and_hold_everything_once(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), 24)
    seen: list[list[str]] = []
    edge: PageEdge | None = None
    for _ in range(4):
        page = (await homes.waiting("ann", Look(7, edge=edge))).page
        seen.append(ids(page.entries))
        assert page.has_before == (len(seen) > 1)
        assert page.has_after == (len(seen) < 4)
        edge = page.last
    assert [len(one) for one in seen] == [7, 7, 7, 4]
    assert len({one for page in seen for one in page}) == 25
    back = (await homes.waiting("ann", Look(7, edge=page.first))).page
    assert (ids(back.entries), back.has_before, back.has_after) == (seen[2], True, True)
    before = (await homes.waiting("ann", Look(7, edge=back.first))).page
    first = (await homes.waiting("ann", Look(7, edge=before.first))).page
    assert (ids(first.entries), first.has_before, first.has_after) == (seen[0], False, True)


async def test_what_is_decided_meanwhile_moves_no_page(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), 9)
    first = (await homes.waiting("ann", Look(5))).page
    second = ids((await homes.waiting("ann", Look(5, edge=first.last))).page.entries)
    assert (await bench.click("ann", ids(first.entries)[0])).counted
    assert ids((await homes.waiting("ann", Look(5, edge=first.last))).page.entries) == second


async def test_requests_are_counted_as_far_as_that_and_no_further(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), COUNTED + 20)
    assert (await homes.waiting("ann", Look(3))).total == COUNTED + 1
    assert (await homes.waiting("ann", Look(3, ListFilter(text="REF-00010")))).total == 10


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        (ListFilter(runbook="bench-file"), 3),
        (ListFilter(runbook="bench-fil"), 0),
        (ListFilter(tier="high"), 3),
        (ListFilter(tier="low"), 0),
        (ListFilter(group="compliance"), 3),
        (ListFilter(group="operators"), 0),
        (ListFilter(text="ref-000002"), 1),
        (ListFilter(text="BENCH-file"), 3),
        (ListFilter(text="%"), 0),
        (ListFilter(text="_"), 3),  # in ids
        (ListFilter(text="the owners"), 0),  # what is written may be secret, and is not looked through
        (ListFilter(runbook="bench-file", tier="high", group="compliance", text="REF-000001"), 1),
        (ListFilter(ids=[]), 0),
    ],
)
async def test_a_list_is_narrowed_by_runbook_tier_group_and_text(
    bench: Bench, homes: HomeQueries, narrowed: ListFilter, found: int
) -> None:
    await copies(bench, await asked(bench), 2)
    assert (await homes.waiting("ann", Look(10, narrowed))).total == found


async def test_what_has_less_than_a_quarter_of_its_time_left_is_due_soon(bench: Bench, homes: HomeQueries) -> None:
    approval_id = await asked(bench)
    due = Look(10, ListFilter(is_due_soon=True))
    view = (await homes.waiting("ann", Look(1))).page.entries[0].view
    lasts = view.expires_at - view.requested_at
    bench.clock.now = view.requested_at + lasts * 3 / 4
    assert (await homes.waiting("ann", due)).total == 0
    bench.clock.now += timedelta(seconds=1)
    assert ids((await homes.waiting("ann", due)).page.entries) == [approval_id]


async def test_nobody_finds_what_they_may_not_decide(bench: Bench, homes: HomeQueries) -> None:
    await asked(bench)
    for person in ("rita", "olga", "sam", "nobody", "portal-bot"):
        assert (await homes.waiting(person, Look(10))).total == 0, person


async def test_a_person_finds_what_they_asked_for_with_how_it_stands(bench: Bench, homes: HomeQueries) -> None:
    approval_id = await asked(bench, "REF-7")
    (one,) = (await homes.asked_for("rita", Look(10))).entries
    assert (one.reference, one.ending, one.error, one.more) == ("REF-7", "waiting_approval", "", 0)
    assert one.waits_for
    assert one.waits_for.view.approval_id == approval_id
    for person in ("ann", "ben"):
        await bench.click(person, approval_id)
    await bench.settle()
    (one,) = (await homes.asked_for("rita", Look(10))).entries
    assert (one.ending, one.waits_for) == ("succeeded", None)
    assert (await homes.asked_for("ann", Look(10))).entries == []
    assert (await homes.asked_for("rita", Look(10, ListFilter(text="ref-8")))).entries == []
    assert len((await homes.asked_for("rita", Look(10, ListFilter(text="ref-7", tier="low", group="x")))).entries) == 1


async def test_a_person_finds_what_they_decided_the_latest_first(bench: Bench, homes: HomeQueries) -> None:
    first, second = await asked(bench, "1"), await asked(bench, "2")
    await bench.click("ann", first)
    await bench.later(seconds=1)
    await bench.click("ann", second, "reject")
    page = await homes.decided("ann", Look(1))
    assert (ids(page.entries), page.has_after, page.entries[0].own) == ([second], True, VoteVerdict.REJECT)
    page = await homes.decided("ann", Look(1, edge=page.last))
    assert (ids(page.entries), page.has_after, page.entries[0].own) == ([first], False, VoteVerdict.APPROVE)
    assert (await homes.decided("ben", Look(10))).entries == []
    assert ids((await homes.decided("ann", Look(10, ListFilter(text=second)))).entries) == [second]


async def test_how_requests_stand_for_a_person_is_said_of_each(bench: Bench, homes: HomeQueries) -> None:
    first, second, third = await asked(bench, "1"), await asked(bench, "2"), await asked(bench, "3")
    await bench.click("ann", first)
    await bench.click("ben", third, "reject")
    found = await homes.standings_of("ann", [third, "apr_none", second, first])
    assert [one.approval_id for one in found] == [third, "apr_none", second, first]
    codes = [one.refusal and one.refusal.code for one in found]
    assert codes == [RefusalCode.CLOSED, RefusalCode.UNKNOWN, None, RefusalCode.REPEATED]
    (one,) = await homes.standings_of("rita", [second])
    assert one.refusal
    assert one.refusal.code is RefusalCode.REQUESTER


async def test_a_person_narrows_by_their_own_groups(bench: Bench, homes: HomeQueries) -> None:
    choices = await homes.choices("ann")
    assert list(choices.groups) == ["compliance"]
    assert "bench-file" in choices.runbooks
