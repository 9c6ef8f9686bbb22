"""Votes in Slack, from the click to the card, over HTTP and over Socket Mode."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.views.references import APPROVE, REJECT, SHOW_ALL
from countersign.embedded.opa import OpaChild
from runtime.handlers import OutcomeUnknownError
from runtime.model.states import ApprovalStatus
from sandbox.harness import SandboxUser
from tests.bench import PUBLIC_URL
from tests.integration.bot_stage import Sides, clicks, plain, refused, require, staged, the_card, votes, without
from tests.integration.chat_stage import CHANNEL, Chat, Slack
from tests.integration.seen import actions, whispered, whispers
from tests.patience import until

WHY = {"reason": "seen and checked"}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with staged(dsn, opa) as running:
        yield running


@pytest.fixture(params=["http", "socket"])
async def either(request: pytest.FixtureRequest, dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with staged(dsn, opa, Slack(transport=request.param)) as running:
        yield running


async def looks(chat: Chat) -> list[dict[str, str]]:
    return await chat.bench.rows("SELECT approval_id, who FROM marks WHERE mark = 'looked' ORDER BY who")


async def test_two_people_approve_and_the_card_follows(either: Chat) -> None:
    approval = await plain(either)
    ann, ben = await either.person("ann"), await either.person("ben")
    assert (await ann.click(await the_card(ann), APPROVE))["ok"]
    await votes(either, 1)
    await either.bench.settle()
    card = await the_card(ben)
    assert "(1 of 2 approvals)" in card["text"]
    await ben.click(card, APPROVE)
    assert [vote["person"] for vote in await votes(either, 2)] == ["ann", "ben"]
    assert await either.decided(approval) is ApprovalStatus.APPROVED
    card = await the_card(ann)
    assert card["text"].startswith("Approved:")
    assert not {APPROVE, REJECT} & set(actions(card))
    assert len(await clicks(either)) == 2
    assert whispers(await ann.see()) == whispers(await ben.see()) == []


async def test_the_same_click_delivered_five_times_at_once_is_one_vote(either: Chat) -> None:
    await plain(either)
    ann = await either.person("ann")
    await ann.click(await the_card(ann), APPROVE, deliveries=5)
    assert len(await votes(either, 1)) == len(await clicks(either)) == 1
    assert whispers(await ann.see()) == []


async def test_approve_and_reject_at_the_same_moment_have_one_outcome(chat: Chat) -> None:
    approval = await plain(chat)
    ann, ben = await chat.person("ann"), await chat.person("ben")
    await chat.bench.click("cat", approval)
    await ben.click(await the_card(ben), REJECT)
    await ben.find_modal()
    await asyncio.gather(ann.click(await the_card(ann), APPROVE), ben.submit({"reason": "Wrong owner"}))
    [late] = await refused(chat)
    assert len(await votes(chat, 2)) == 2
    assert late["refusal"] == "vote.closed"
    ended = await chat.decided(approval)
    assert (await the_card(ann))["text"].startswith(f"{ended.value.title()}:")


async def test_a_rejection_asks_for_a_reason_and_keeps_it_exactly(either: Chat) -> None:
    approval = await plain(either)
    ben = await either.person("ben")
    await ben.click(await the_card(ben), REJECT)
    await ben.find_modal()
    assert "visible" in str((await ben.submit({"reason": "\u200b\u200b\u200b"}))["errors"])
    assert await clicks(either) == []
    reason = "<!channel> *no*\n\u202e" + "x" * 1900
    assert (await ben.submit({"reason": reason}))["ok"]
    assert [(vote["verdict"], vote["reason"]) for vote in await votes(either, 1)] == [("reject", reason)]
    assert await either.decided(approval) is ApprovalStatus.REJECTED
    card = await the_card(ben)
    assert card["mentions"] == []
    assert [link for link in card["links"] if not link.startswith(PUBLIC_URL)] == []


async def test_people_with_the_reason_modal_open_at_once_both_count_and_opening_it_is_on_record(chat: Chat) -> None:
    approval = await chat.file()
    people = [await chat.person(name) for name in ("ann", "ben")]
    for person in people:
        await person.click(await the_card(person), APPROVE)
        assert (await person.find_modal())["title"]["text"] == "Approve"
    expected = [{"approval_id": approval, "who": who} for who in ("ann", "ben")]
    await until(lambda: _are(chat, expected))
    for count, person in enumerate(people, 1):
        await person.submit(WHY)
        assert {vote["reason"] for vote in await votes(chat, count)} == {WHY["reason"]}
    assert await chat.decided(approval) is ApprovalStatus.APPROVED


async def _are(chat: Chat, expected: list[dict[str, str]]) -> bool:
    return await looks(chat) == expected


async def test_a_doubt_is_settled_by_a_person_who_says_how_they_know(dsn: str, opa: OpaChild) -> None:
    sides = Sides.fresh()
    sides.file.answers = [OutcomeUnknownError("reset")]
    async with staged(dsn, opa, targets=sides) as chat:
        approval = await chat.file()
        for name in ("ann", "ben"):
            assert (await chat.bench.click(name, approval)).counted
        await chat.bench.settle()
        await chat.bench.later(minutes=6)
        omar = await chat.person("omar")
        await omar.click(await the_card(omar), REJECT)
        assert (await omar.find_modal())["title"]["text"] == "It did not happen"
        await omar.submit({"reason": "It is not in the register"})
        assert [vote["person"] for vote in await votes(chat, 3)] == ["ann", "ben", "omar"]


async def test_who_may_not_decide_is_told_in_private_and_it_is_recorded(chat: Chat) -> None:
    await plain(chat)
    why = {
        "ext": ("identity.other_team", "another workspace"),
        "guest": ("identity.guest", "Guests"),
        "gone": ("identity.deactivated", "deactivated"),
        "robot": ("identity.bot", "Bots"),
        "vague": ("identity.unclear", "did not say whether you are a full member"),
        "new": ("identity.unknown", "no person"),
        "twin": ("identity.ambiguous", "two people"),
        "rita": ("vote.requester", "You requested this"),
    }
    for number, (name, (code, words)) in enumerate(why.items()):
        person = await chat.person(name)
        for action in (APPROVE, REJECT):
            await person.click(await the_card(person), action)
        await told(person, words, times=2)
        found = [one for one in await refused(chat, 2 * number + 2) if one["user"] == person.user_id]
        assert [one["refusal"] for one in found] == [code] * 2
        assert {one["person"] for one in found} == {"rita" if name == "rita" else None}
        assert (await person.see())["modal"] is None
    assert await chat.bench.rows("SELECT 1 FROM votes") == []
    assert whispers(await (await chat.person("ann")).see()) == []


async def told(person: SandboxUser, words: str, times: int) -> None:
    """Wait until somebody was told so that often, in private."""
    await person.wait_for(lambda state: sum(words in one for one in whispers(state)) == times)


async def test_one_person_with_two_accounts_has_one_vote(chat: Chat) -> None:
    await plain(chat)
    ann, phone = await chat.person("ann"), await chat.person("phone")
    await ann.click(await the_card(ann), APPROVE)
    await votes(chat, 1)
    await phone.click(await the_card(phone), APPROVE)
    await whispered(phone, "already voted on this request")
    assert len(await votes(chat, 1)) == 1


async def test_a_click_on_a_card_with_another_requirement_changes_nothing_and_says_so(chat: Chat) -> None:
    approval = await plain(chat)
    ben = await chat.person("ben")
    await require(chat, approval, quorum=3)
    before = await the_card(ben)
    await ben.click(before, APPROVE, editions_ago=1)
    await whispered(ben, "has changed")
    assert [one["refusal"] for one in await refused(chat)] == ["vote.stale"]
    assert await chat.bench.rows("SELECT 1 FROM votes") == []
    assert await the_card(ben) == before


async def test_show_all_opens_every_page_for_people_of_the_directory_only(chat: Chat) -> None:
    approval = await chat.file("1", "bench.file", company="ACME", text="Ω" * 50_000 + "end")
    rita = await chat.person("rita")  # who asked may look, though they may not decide
    await rita.click(await the_card(rita), SHOW_ALL)
    assert "Page 1" in str((await rita.find_modal())["blocks"][0])
    assert (await rita.click_view("modal", "countersign_page_next"))["ok"]
    turned = await rita.wait_for(lambda state: "Page 2" in str(state["modal"]["blocks"][0]) and state["modal"])
    assert "countersign_page_back" in str(turned["blocks"][-1])
    for name, why in (("ext", "another workspace"), ("guest", "uest"), ("new", "directory has no person")):
        person = await chat.person(name)
        await person.click(await the_card(person), SHOW_ALL)
        await whispered(person, why)
        assert (await person.see())["modal"] is None
    assert await clicks(chat) == []
    assert await looks(chat) == [{"approval_id": approval, "who": "rita"}]


async def test_one_can_approve_behind_show_all_and_sees_there_what_has_become_of_it(chat: Chat) -> None:
    await plain(chat)
    ann = await chat.person("ann")
    await ann.click(await the_card(ann), SHOW_ALL)
    assert APPROVE in str(await ann.find_modal())
    assert (await ann.click_view("modal", APPROVE))["ok"]
    await votes(chat, 1)
    assert "Ann" in str(await ann.wait_for(lambda state: "Approved · " in str(state["modal"]) and state["modal"]))


async def test_a_reason_is_asked_over_show_all_and_both_close_with_the_vote(chat: Chat) -> None:
    approval = await plain(chat)
    ann = await chat.person("ann")
    await ann.click(await the_card(ann), SHOW_ALL)
    await ann.find_modal()
    await ann.click_view("modal", REJECT)
    await ann.wait_for(lambda state: state["modal"]["title"]["text"] == "Reject" and state["modal"])
    await ann.submit({"reason": "Wrong owner"})
    await votes(chat, 1)
    assert await chat.decided(approval) is ApprovalStatus.REJECTED
    assert (await ann.see())["modal"] is None


async def test_what_is_closed_can_only_be_read_behind_show_all(chat: Chat) -> None:
    approval = await plain(chat)
    cat = await chat.person("cat")
    await cat.click(await the_card(cat), SHOW_ALL)
    await cat.find_modal()
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval)
    await cat.click_view("modal", APPROVE)
    await cat.wait_for(lambda state: "already approved" in str(state))
    closed = await cat.wait_for(lambda state: APPROVE not in str(state["modal"]) and state["modal"])
    assert "*Status*" in str(closed)


async def test_app_home_shows_what_waits_for_me_with_links_to_the_cards(either: Chat) -> None:
    for ref in ("1", "2"):
        await plain(either, ref)
    home = str(await either.home(await either.person("ann")))
    assert "2 requests for you" in home
    assert f"/archives/{CHANNEL}/p" in home
    assert "Nothing is waiting for you" in str(await either.home(await either.person("rita")))
    assert "no person" in str(await either.home(await either.person("new")))


async def test_a_command_is_answered_in_private(either: Chat) -> None:
    await plain(either)
    ann = await either.person("ann")
    assert (await ann.command(CHANNEL, "/countersign pending"))["ok"]
    await whispered(ann, "1 request for you")


async def test_a_button_that_is_not_ours_is_answered_and_nothing_else(chat: Chat) -> None:
    await plain(chat)
    ann = await chat.person("ann")
    card = await the_card(ann)
    button = {"type": "button", "action_id": APPROVE, "value": "{}", "text": {"type": "plain_text", "text": "Approve"}}
    broken = [{"type": "actions", "elements": [button]}]
    await chat.raw.chat_update(channel=card["channel"], ts=card["ts"], text="x", blocks=broken)
    await ann.click(await the_card(ann), APPROVE)
    await whispered(ann, "no longer knows this button")
    assert await clicks(chat) == []


async def test_a_click_that_cannot_be_recorded_is_not_acknowledged_and_a_reason_keeps_its_modal_open(
    either: Chat,
) -> None:
    approval = await plain(either)
    for table, name in (("slack_accounts", "ann"), ("approvals", "ben"), ("notifications", "cat")):
        person = await either.person(name)
        async with without(either, table):
            assert not (await person.click(await the_card(person), APPROVE))["ok"]
            await whispered(person, "may not have been recorded")
    await person.click(await the_card(person), REJECT)
    await person.find_modal()
    async with without(either, "notifications"):
        failed = await person.submit({"reason": "Wrong owner"})
    assert "may not have been recorded" in str(failed["errors"])
    assert await clicks(either) == []
    assert (await person.submit({"reason": "Wrong owner"}))["ok"]
    assert [(vote["person"], vote["verdict"]) for vote in await votes(either, 1)] == [("cat", "reject")]
    assert await either.decided(approval) is ApprovalStatus.REJECTED


async def test_a_recorded_click_that_cannot_be_applied_yet_is_acknowledged_and_told(chat: Chat) -> None:
    await plain(chat)
    ann, ben = await chat.person("ann"), await chat.person("ben")
    async with without(chat, "leaf_sets"):
        assert (await ann.click(await the_card(ann), APPROVE))["ok"]
        await whispered(ann, "is recorded, but could not be counted just now")
        await chat.bench.meddle("ALTER TABLE notifications RENAME failures TO elsewhere")  # not even put off
        assert (await ben.click(await the_card(ben), APPROVE))["ok"]
        await whispered(ben, "recorded, but could not be counted yet")
        await chat.bench.meddle("ALTER TABLE notifications RENAME elsewhere TO failures")
    assert [one["status"] for one in await clicks(chat)] == ["received"] * 2
    await chat.bench.later(minutes=1)
    assert [vote["person"] for vote in await votes(chat, 2)] == ["ann", "ben"]
