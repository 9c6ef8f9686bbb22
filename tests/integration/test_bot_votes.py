"""Votes in Slack, from the click to the card, over HTTP and over Socket Mode."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.views.references import APPROVE, REJECT, SHOW_ALL
from runtime.model.approval import AskKind
from runtime.model.states import ApprovalStatus
from tests.integration.bot_stage import CHANNEL, Stage, ask, staged, the_card, until, whispered, whispers


@pytest.fixture(params=["http", "socket"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with staged(transport=request.param) as running:
        yield running


def actions(card: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]


async def test_two_people_approve_and_the_card_follows(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask())
    done = await anna.click(await the_card(anna, stage), APPROVE)
    assert done["ok"]
    await stage.desk.settled()
    await stage.refresh()
    card = await the_card(boris, stage)
    assert "(1 of 2 approvals)" in card["text"]
    await boris.click(card, APPROVE)
    await stage.desk.settled(2)
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.APPROVED
    await stage.refresh()
    card = await the_card(anna, stage)
    assert card["text"].startswith("Approved:")
    assert actions(card) == [SHOW_ALL]
    assert len(stage.desk.inbox) == 2
    assert whispers(await anna.see()) == whispers(await boris.see()) == []


async def test_the_same_click_delivered_five_times_at_once_is_one_vote(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await anna.click(await the_card(anna, stage), APPROVE, deliveries=5)
    await stage.desk.settled()
    assert len(stage.desk.inbox) == 1
    assert len(stage.desk.approvals["apr-1"].votes) == 1
    assert whispers(await anna.see()) == []


async def test_approve_and_reject_at_the_same_moment_have_one_outcome(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask(quorum=1))
    await boris.click(await the_card(boris, stage), REJECT)
    await boris.find_modal()
    card = await the_card(anna, stage)
    await asyncio.gather(anna.click(card, APPROVE), boris.submit({"reason": "Wrong owner"}))
    await stage.desk.settled(2)
    assert sorted(one.counted for one in stage.desk.outcomes.values()) == [False, True]
    await stage.refresh()
    assert (await the_card(anna, stage))["text"].startswith(("Approved:", "Rejected:"))


async def test_a_rejection_asks_for_a_reason_and_keeps_it_exactly(stage: Stage) -> None:
    boris = await stage.person("U0BORIS")
    await stage.post(ask())
    await boris.click(await the_card(boris, stage), REJECT)
    await boris.find_modal()
    assert stage.desk.inbox == {}
    refused = await boris.submit({"reason": "\u200b\u200b\u200b"})
    assert "visible" in str(refused["errors"])
    assert stage.desk.inbox == {}
    reason = "<!channel> *no*\n\u202e" + "x" * 1900
    assert (await boris.submit({"reason": reason}))["ok"]
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.REJECTED
    assert stage.desk.approvals["apr-1"].votes[0].reason == reason
    await stage.refresh()
    card = await the_card(boris, stage)
    assert card["mentions"] == card["links"] == []


async def test_an_approval_that_needs_a_reason_asks_for_it(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(reason_required=True, quorum=1))
    await anna.click(await the_card(anna, stage), APPROVE)
    modal = await anna.find_modal()
    assert modal["title"]["text"] == "Approve"
    await until(lambda: stage.desk.figures.looks == [("apr-1", "p-anna")])  # opening the form is on record
    await anna.submit({"reason": "Checked the register"})
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.APPROVED
    assert stage.desk.figures.looks == [("apr-1", "p-anna")]


async def test_a_doubt_is_settled_by_a_person_who_says_how_they_know(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(kind=AskKind.IN_DOUBT, quorum=1))
    await anna.click(await the_card(anna, stage), REJECT)
    assert (await anna.find_modal())["title"]["text"] == "It did not happen"
    await anna.submit({"reason": "It is not in the register"})
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.REJECTED


@pytest.mark.parametrize(
    ("user", "code", "words"),
    [
        ("U0EXT", "identity.other_team", "another workspace"),
        ("U0GUEST", "identity.guest", "Guests"),
        ("U0GONE", "identity.deactivated", "deactivated"),
        ("U0ROBOT", "identity.bot", "Bots"),
        ("U0NEW", "identity.unknown", "no person"),
        ("U0TWIN", "identity.ambiguous", "two people"),
    ],
)
@pytest.mark.parametrize("action", [APPROVE, REJECT])
async def test_who_may_not_decide_is_told_in_private_and_it_is_recorded(
    stage: Stage, user: str, code: str, words: str, action: str
) -> None:
    person, anna = await stage.person(user), await stage.person("U0ANNA")
    await stage.post(ask())
    await person.click(await the_card(person, stage), action)
    assert words in await whispered(person, words)
    [click] = stage.desk.inbox.values()
    assert click.refusal
    assert (click.refusal.code, click.person_id, click.account.user) == (code, None, user)
    assert stage.desk.approvals["apr-1"].votes == ()
    assert whispers(await anna.see()) == []
    assert (await person.see())["modal"] is None


@pytest.mark.parametrize("action", [APPROVE, REJECT])
async def test_the_requester_is_refused_in_private(stage: Stage, action: str) -> None:
    carla = await stage.person("U0CARLA")
    await stage.post(ask())
    await carla.click(await the_card(carla, stage), action)
    await whispered(carla, "You requested this")
    assert [one.counted for one in stage.desk.outcomes.values()] == [False]
    assert (await carla.see())["modal"] is None


async def test_one_person_with_two_accounts_has_one_vote(stage: Stage) -> None:
    anna, phone = await stage.person("U0ANNA"), await stage.person("U0ANNA2")
    await stage.post(ask())
    await anna.click(await the_card(anna, stage), APPROVE)
    await stage.desk.settled()
    await stage.refresh()
    await phone.click(await the_card(phone, stage), APPROVE)
    await whispered(phone, "already voted on this request")
    assert len(stage.desk.approvals["apr-1"].votes) == 1


async def test_a_click_on_a_card_with_another_requirement_changes_nothing_and_says_so(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask(quorum=3))
    await anna.click(await the_card(anna, stage), APPROVE)
    await stage.desk.settled()
    stage.desk.approvals["apr-1"] = replace(stage.desk.approvals["apr-1"], quorum=2, stamp="6" * 16)
    await stage.refresh()
    before = await the_card(boris, stage)
    await boris.click(before, APPROVE, editions_ago=1)
    await whispered(boris, "has changed")
    assert len(stage.desk.approvals["apr-1"].votes) == 1
    assert await the_card(boris, stage) == before
    assert len(stage.desk.inbox) == 2


async def test_two_people_with_the_reason_modal_open_at_once_both_count(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask(reason_required=True))
    for person in (anna, boris):
        await person.click(await the_card(person, stage), APPROVE)
        await person.find_modal()
    for count, person in enumerate((anna, boris), 1):
        await person.submit({"reason": "Checked the register"})
        await stage.desk.settled(count)
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.APPROVED
    assert [vote.reason for vote in stage.desk.approvals["apr-1"].votes] == ["Checked the register"] * 2


async def test_a_click_after_the_end_says_how_it_ended(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask(quorum=1))
    await anna.click(await the_card(anna, stage), APPROVE)
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.APPROVED
    await boris.click(await the_card(boris, stage), REJECT)
    await whispered(boris, "already approved")


async def test_show_all_opens_every_page_for_people_of_the_directory_only(stage: Stage) -> None:
    anna, eve = await stage.person("U0ANNA"), await stage.person("U0EXT")
    await stage.post(ask(purpose="Ω" * 500_000 + "end"))
    await anna.click(await the_card(anna, stage), SHOW_ALL)
    modal = await anna.find_modal()
    assert "Page 1" in str(modal["blocks"][0])
    done = await anna.click_view("modal", "countersign_page_next")
    assert done["ok"]
    turned = await anna.wait_for(lambda state: "Page 2" in str(state["modal"]["blocks"][0]) and state["modal"])
    assert "countersign_page_back" in str(turned["blocks"][-1])
    await eve.click(await the_card(eve, stage), SHOW_ALL)
    await whispered(eve, "another workspace")
    assert (await eve.see())["modal"] is None
    assert stage.desk.inbox == {}
    assert set(stage.desk.figures.looks) == {("apr-1", "p-anna")}


async def test_whoever_of_the_directory_sees_the_card_may_look_though_they_are_not_asked(stage: Stage) -> None:
    carla = await stage.person("U0CARLA")
    await stage.post(ask())
    await carla.click(await the_card(carla, stage), SHOW_ALL)
    assert "Page" not in str((await carla.find_modal())["title"])
    assert await stage.desk.may_decide("apr-1", "p-carla") is not None


async def test_who_is_a_guest_or_not_known_sees_the_card_and_nothing_behind_it(stage: Stage) -> None:
    await stage.post(ask())
    for account, why in (("U0GUEST", "uest"), ("U0NEW", "directory has no person")):
        person = await stage.person(account)
        await person.click(await the_card(person, stage), SHOW_ALL)
        await whispered(person, why)
        assert (await person.see())["modal"] is None


async def test_one_can_approve_behind_show_all_and_sees_there_what_has_become_of_it(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await anna.click(await the_card(anna, stage), SHOW_ALL)
    assert APPROVE in str(await anna.find_modal())
    assert (await anna.click_view("modal", APPROVE))["ok"]
    await stage.desk.settled()
    assert len(stage.desk.approvals["apr-1"].votes) == 1
    shown = await anna.wait_for(lambda state: "Approved · " in str(state["modal"]) and state["modal"])
    assert "Anna Berg" in str(shown)


async def test_a_reason_is_asked_over_show_all_and_both_close_with_the_vote(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await anna.click(await the_card(anna, stage), SHOW_ALL)
    await anna.find_modal()
    await anna.click_view("modal", REJECT)
    await anna.wait_for(lambda state: state["modal"]["title"]["text"] == "Reject" and state["modal"])
    await anna.submit({"reason": "Wrong owner"})
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.REJECTED
    assert (await anna.see())["modal"] is None


async def test_what_is_closed_can_only_be_read_behind_show_all(stage: Stage) -> None:
    anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
    await stage.post(ask(quorum=1))
    await boris.click(await the_card(boris, stage), SHOW_ALL)
    await boris.find_modal()
    await anna.click(await the_card(anna, stage), APPROVE)
    await stage.desk.settled()
    await boris.click_view("modal", APPROVE)
    await boris.wait_for(lambda state: "already approved" in str(state))
    closed = await boris.wait_for(lambda state: APPROVE not in str(state["modal"]) and state["modal"])
    assert "*Status*" in str(closed)


async def test_app_home_shows_what_waits_for_me_with_links_to_the_cards(stage: Stage) -> None:
    anna, carla, eve = await stage.person("U0ANNA"), await stage.person("U0CARLA"), await stage.person("U0NEW")
    await stage.post(ask())
    await stage.post(ask("apr-2"))
    await anna.open_home()
    home = str(await anna.wait_for(lambda state: state["home"]))
    assert "2 requests for you" in home
    assert f"/archives/{CHANNEL}/p" in home
    await carla.open_home()
    assert "Nothing is waiting for you" in str(await carla.wait_for(lambda state: state["home"]))
    await eve.open_home()
    assert "no person" in str(await eve.wait_for(lambda state: state["home"]))


async def test_a_button_that_is_not_ours_is_answered_and_nothing_else(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    channel, ts, card = stage.desk.cards["apr-1"][-1]
    (buttons,) = [block for block in card["blocks"] if block["type"] == "actions"]
    broken = [{**buttons, "elements": [{**buttons["elements"][0], "value": "{}"}]}]
    await stage.raw.chat_update(channel=channel, ts=ts, text="x", blocks=broken)
    await anna.click(await the_card(anna, stage), APPROVE)
    await whispered(anna, "no longer knows this button")
    assert stage.desk.inbox == {}


@pytest.mark.parametrize("part", ["people", "approval", "record"])
async def test_a_click_that_cannot_be_recorded_is_not_acknowledged_and_the_person_is_told(
    stage: Stage, part: str
) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    stage.desk.down.add(part)
    card = await the_card(anna, stage)
    click = asyncio.create_task(anna.click(card, APPROVE))
    await whispered(anna, "may not have been recorded")
    stage.clock.advance(4)
    assert not (await click)["ok"]
    assert stage.desk.inbox == {}
    stage.desk.down.clear()
    await anna.click(card, APPROVE)
    await stage.desk.settled()


async def test_a_reason_that_cannot_be_recorded_keeps_its_modal_open(stage: Stage) -> None:
    boris = await stage.person("U0BORIS")
    await stage.post(ask())
    await boris.click(await the_card(boris, stage), REJECT)
    await boris.find_modal()
    stage.desk.down.add("record")
    failed = await boris.submit({"reason": "Wrong owner"})
    assert "may not have been recorded" in str(failed["errors"])
    stage.desk.down.clear()
    assert (await boris.submit({"reason": "Wrong owner"}))["ok"]
    await stage.desk.settled()
    assert stage.desk.approvals["apr-1"].status is ApprovalStatus.REJECTED


async def test_a_recorded_click_that_cannot_be_applied_yet_is_acknowledged_and_told(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    stage.desk.down.add("apply")
    assert (await anna.click(await the_card(anna, stage), APPROVE))["ok"]
    await whispered(anna, "recorded, but could not be counted yet")
    assert len(stage.desk.inbox) == 1
