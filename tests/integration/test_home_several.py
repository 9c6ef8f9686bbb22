"""Several requests decided by one act: one vote each, bound to what was shown, recorded before the modal changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from psycopg import AsyncConnection

from bot.listeners.admission import LATE
from bot.views.bulk_votes import CHOOSE_MODAL, DECIDE_MODAL, DONE_MODAL, EVERY, VERDICT
from bot.views.home_state import SEARCH, SEVERAL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct
from sandbox.harness import SandboxUser
from tests.integration.acts_stage import copies, say
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.patience import MINUTE

WHY = {"reason": "seen and checked"}
VOTES = """
    SELECT approval_id, person, verdict, reason, together, notification_id FROM votes ORDER BY approval_id
"""


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def choosing(chat: Chat, person: SandboxUser) -> dict[str, Any]:
    """Open the list to choose from."""
    await chat.home(person)
    await person.click_view("home", SEVERAL)
    modal: dict[str, Any] = await person.find_modal()
    assert modal["callback_id"] == CHOOSE_MODAL
    return modal


async def before_the_vote(person: SandboxUser, verdict: str, *ids: str) -> dict[str, Any]:
    """Choose these, or all; return the list before the vote."""
    values: dict[str, Any] = {"chosen-0": list(ids)} if ids else {EVERY: [EVERY]}
    done = await person.submit({VERDICT: verdict, **values})
    assert done["ok"], (done, (await person.see())["warnings"])
    modal: dict[str, Any] = (await person.see())["modal"]
    assert modal["callback_id"] in (DECIDE_MODAL, DONE_MODAL)
    return modal


async def told(person: SandboxUser) -> str:
    """Return what came of it, once that is said."""

    def said(state: dict[str, Any]) -> str | None:
        modal = state["modal"]
        came = str(modal["blocks"][0]) if modal else ""
        return json.dumps(modal, ensure_ascii=False) if " counted." in came and "being counted" not in came else None

    found: str = await person.wait_for(said)
    return found


@asynccontextmanager
async def none_counted(chat: Chat, approval_id: str) -> AsyncIterator[None]:
    """Let no vote on it be counted meanwhile: votes of one act are counted when the last of them is."""
    async with await AsyncConnection.connect(chat.bench.superuser) as conn:
        await conn.execute("SELECT FROM approvals WHERE approval_id = %s FOR UPDATE", (approval_id,))
        yield


@asynccontextmanager
async def none_recorded(chat: Chat) -> AsyncIterator[None]:
    """Let no vote be recorded meanwhile."""
    async with await AsyncConnection.connect(chat.bench.superuser) as conn:
        await conn.execute("LOCK TABLE notifications IN EXCLUSIVE MODE")
        yield


async def filings(chat: Chat, count: int) -> list[str]:
    asked = [await chat.file(f"REF-{number}") for number in range(count)]
    await chat.bench.settle()
    return asked


async def test_each_request_has_a_vote_of_its_own_on_record_as_one_of_several(chat: Chat) -> None:
    asked = await filings(chat, 3)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    assert (await ann.submit(WHY))["ok"]
    assert "3 of 3 votes counted." in await told(ann)
    votes = await chat.bench.rows(VOTES)
    assert [vote["approval_id"] for vote in votes] == sorted(asked)
    assert {vote["reason"] for vote in votes} == {WHY["reason"]}
    assert len({vote["notification_id"] for vote in votes}) == 3
    assert len({vote["together"]["id"] for vote in votes}) == 1
    assert {vote["together"]["count"] for vote in votes} == {3}
    for approval_id in asked:
        assert (await chat.bench.click("ben", approval_id)).counted
        assert await chat.decided(approval_id) is ApprovalStatus.APPROVED


async def test_many_are_rejected_at_once_with_one_reason(chat: Chat) -> None:
    asked = await filings(chat, 2)
    ben = await chat.person("ben")
    await choosing(chat, ben)
    modal = await before_the_vote(ben, "reject", *asked)
    assert "Why do you reject?" in str(modal)
    assert (await ben.submit({"reason": "x"}))["errors"]
    assert await chat.bench.rows(VOTES) == []
    assert (await ben.submit({"reason": "not our client"}))["ok"]
    assert "2 of 2 votes counted." in await told(ben)
    assert {await chat.decided(one) for one in asked} == {ApprovalStatus.REJECTED}


async def test_the_list_before_the_vote_says_what_differs_and_what_does_not(chat: Chat) -> None:
    await filings(chat, 2)
    review = await chat.bench.review("R-1")
    ann = await chat.person("ann")
    await choosing(chat, ann)
    shown = json.dumps(await before_the_vote(ann, "approve"), ensure_ascii=False)
    assert "Same for all" in shown
    assert "Left out: 1" in shown
    assert "Reviews and approvals cannot be decided together" in shown
    assert review not in str(await chat.bench.rows(VOTES))
    view = await chat.bench.desk.approval(
        (await chat.bench.rows("SELECT approval_id FROM approvals WHERE kind = 'effect'"))[0]["approval_id"]
    )
    assert view
    assert view.digest[:16] in shown


def _rows(modal: dict[str, Any]) -> dict[str, str]:
    """Return of each request in the list what is said of it, by its name."""
    sections = [block["fields"] for block in modal["blocks"] if block["type"] == "section" and "fields" in block]
    fields = [(name["text"], said["text"]) for one in sections for name, said in zip(one[::2], one[1::2], strict=True)]
    return {name: said for name, said in fields if "Expires" in said}


def _boxes(modal: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words of the boxes, and the values of those that are ticked."""
    found = [block["element"] for block in modal["blocks"] if block.get("element", {}).get("type") == "checkboxes"]
    words = [option["text"]["text"] for one in found for option in one["options"]]
    return words, [option["value"] for one in found for option in one.get("initial_options", ())]


async def test_a_request_with_ones_own_open_question_is_marked_and_not_ticked(chat: Chat) -> None:
    first, second = await filings(chat, 2)
    assert (await say(chat.bench, "ann", first, CardAct.ASK, "Is this the right year?")).counted
    assert (await say(chat.bench, "ben", second, CardAct.ASK, "Who is the owner?")).counted
    await chat.bench.settle()
    ann = await chat.person("ann")
    await choosing(chat, ann)
    modal = await before_the_vote(ann, "approve")
    said = _rows(modal)
    assert {name[:7]: words.split(" · ")[0] for name, words in said.items()} == {
        "⚠ REF-0": "Your question has no answer yet",
        "⚠ REF-1": "No answer yet to Ben",
    }
    words, ticked = _boxes(modal)
    assert all(one.startswith("⚠ ") for one in words)
    assert [value.split(" ")[0] for value in ticked] == [second]
    assert "2 of 2 with a warning" in str(modal)


async def test_a_doubt_in_the_run_and_ones_own_review_of_it_are_marked(chat: Chat) -> None:
    first, second = await filings(chat, 2)
    review = await chat.bench.review("R-1")
    assert (await chat.bench.click("ann", review)).counted
    await chat.bench.meddle(
        "UPDATE approvals SET run_id = (SELECT run_id FROM approvals WHERE approval_id = %s) WHERE approval_id = %s"
        " RETURNING 1",
        first,
        review,
    )
    await chat.bench.meddle(
        "INSERT INTO effects SELECT copy.* FROM effects e JOIN approvals a USING (effect_id),"
        " LATERAL jsonb_populate_record(NULL::effects, to_jsonb(e) || jsonb_build_object('effect_id', 'eff_other',"
        " 'dedupe_key', 'other', 'status', 'in_doubt', 'approval_id', NULL)) copy WHERE a.approval_id = %s RETURNING 1",
        second,
    )
    ann = await chat.person("ann")
    await choosing(chat, ann)
    said = {name[:7]: words for name, words in _rows(await before_the_vote(ann, "approve")).items()}
    assert "You reviewed this run yourself: <!date^" in said["⚠ REF-0"]
    assert "Another step of this run is in doubt" in said["⚠ REF-1"]


async def test_what_has_no_warning_has_no_mark_and_says_when_it_expires(chat: Chat) -> None:
    await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    modal = await before_the_vote(ann, "approve")
    assert len(_rows(modal)) == 2
    assert "⚠" not in str(modal)


async def test_what_expires_soon_is_marked(chat: Chat) -> None:
    await filings(chat, 2)
    await chat.bench.later(hours=7)  # of the eight hours that there are
    ann = await chat.person("ann")
    await choosing(chat, ann)
    modal = await before_the_vote(ann, "approve")
    assert all(said.startswith("Expires soon, <!date^") for said in _rows(modal).values())
    assert all(words.startswith("⚠ ") for words in _boxes(modal)[0])


async def test_what_may_not_be_decided_is_left_out_and_said(chat: Chat) -> None:
    first, second, third = await filings(chat, 3)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await chat.bench.click("ann", first)
    await chat.bench.click("ben", second, "reject")
    shown = json.dumps(await before_the_vote(ann, "approve", first, second, third), ensure_ascii=False)
    assert "Left out: 2" in shown
    assert "You have already voted on this request" in shown
    assert "already rejected" in shown
    await ann.submit(WHY)
    assert "Your vote counted." in await told(ann)
    votes = [vote for vote in await chat.bench.rows(VOTES) if vote["person"] == "ann"]
    assert [vote["approval_id"] for vote in votes] == sorted([first, third])
    assert [vote["together"] for vote in votes] == [None, None]  # the one that was left was no several any more


async def test_what_changes_after_the_list_was_shown_is_refused_and_said(chat: Chat) -> None:
    first, second = await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    await chat.bench.meddle(
        "UPDATE approvals SET requirement = (requirement::jsonb || '{\"quorum\": 3}')::json WHERE approval_id = %s",
        first,
    )
    await ann.submit(WHY)
    came = await told(ann)
    assert "1 of 2 votes counted." in came
    assert "The card has changed since you opened it" in came
    assert [vote["approval_id"] for vote in await chat.bench.rows(VOTES)] == [second]
    query = "SELECT leaf->'data' AS data FROM audit_leaves WHERE leaf->>'event' = 'vote.refused'"
    assert [row["data"]["code"] for row in await chat.bench.rows(query)] == ["vote.stale"]


async def test_what_is_unticked_in_the_list_is_not_decided(chat: Chat) -> None:
    first, second = await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    modal = await before_the_vote(ann, "approve")
    box = next(block for block in modal["blocks"] if block["block_id"] == "chosen-0")
    kept = [option["value"] for option in box["element"]["options"] if option["value"].startswith(second)]
    await ann.submit({"chosen-0": kept, **WHY})
    await told(ann)
    assert [(vote["approval_id"], vote["together"]) for vote in await chat.bench.rows(VOTES)] == [(second, None)]
    assert first != second


async def test_nothing_chosen_is_said_at_once_and_changes_nothing(chat: Chat) -> None:
    await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    refused = await ann.submit({VERDICT: "approve"})
    assert refused["errors"] == {EVERY: "Please choose at least one."}
    assert await chat.bench.rows("SELECT FROM notifications WHERE kind = 'vote'") == []


async def test_the_list_to_choose_from_is_narrowed_as_the_home_is(chat: Chat) -> None:
    first, *_ = await filings(chat, 3)
    await copies(chat.bench, first, 12)
    ann = await chat.person("ann")
    await chat.home(ann)
    await ann.click_view("home", SEARCH, chosen="REF-00000")
    await ann.wait_for(lambda state: "9 requests" in str(state["home"]))
    await ann.click_view("home", SEVERAL)
    modal = await ann.find_modal()
    assert "All 9 of these" in str(modal)
    await before_the_vote(ann, "approve")
    await ann.submit(WHY)
    came = await told(ann)
    assert "9 of 9 votes counted." in came, came


async def test_votes_are_recorded_before_the_acknowledgement_and_in_time_while_slack_is_slow(chat: Chat) -> None:
    [asked] = await filings(chat, 1)
    await copies(chat.bench, asked, 99)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    chat.faults.hold("views.update")
    chat.faults.hold("views.publish")
    async with none_counted(chat, asked):
        async with asyncio.timeout(3):
            assert (await ann.submit(WHY))["ok"]
        assert "100 votes are recorded and being counted" in str((await ann.see())["modal"])
        assert len(await chat.bench.rows("SELECT FROM notifications WHERE kind = 'vote'")) == 100
    async with asyncio.timeout(10):
        await chat.faults.called("views.update")
    assert len(await chat.bench.rows(VOTES)) == 100
    chat.faults.lift("views.update", "views.publish")
    assert "100 of 100 votes counted." in await told(ann)


async def test_what_came_of_votes_that_were_recorded_late_is_what_the_window_ends_with(chat: Chat) -> None:
    asked, _ = await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    async with none_counted(chat, asked):
        async with none_recorded(chat):
            assert list((await ann.submit(WHY))["errors"].values()) == [LATE]
        await ann.wait_for(lambda state: "2 votes are recorded and being counted" in str(state["modal"]))
    await chat.faults.called("views.update", 2)
    await chat.home(ann)
    assert "2 of 2 votes counted." in await told(ann)


async def test_what_cannot_be_recorded_leaves_the_modal_open(chat: Chat) -> None:
    await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    await chat.bench.meddle("ALTER TABLE notifications RENAME TO away")
    refused = await ann.submit(WHY)
    await chat.bench.meddle("ALTER TABLE away RENAME TO notifications")
    assert "may not have been recorded" in str(refused["errors"])
    assert (await ann.see())["modal"]["callback_id"] == DECIDE_MODAL
    assert (await ann.submit(WHY))["ok"]
    assert "2 of 2 votes counted." in await told(ann)


async def test_who_closes_the_window_is_told_in_private(chat: Chat) -> None:
    asked, _ = await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    chat.faults.refuse("views.update", "not_found")
    async with none_counted(chat, asked):
        await ann.submit(WHY)
    await ann.wait_for(lambda state: "2 of 2 votes counted." in str(state["channels"]))


async def test_who_decided_several_sees_their_home_anew(chat: Chat) -> None:
    await filings(chat, 2)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    await before_the_vote(ann, "approve")
    await ann.submit(WHY)
    await ann.wait_for(lambda state: "Nothing is waiting for you" in str(state["home"]))


async def test_what_has_to_be_signed_is_left_out_of_what_is_approved_by_one_act(chat: Chat) -> None:
    signed, other = await filings(chat, 2)
    requirement = '(requirement::jsonb || \'{"sign_with": "passkey"}\')::json'
    await chat.bench.meddle(f"UPDATE approvals SET requirement = {requirement} WHERE approval_id = %s", signed)
    ann = await chat.person("ann")
    await choosing(chat, ann)
    modal = await before_the_vote(ann, "approve")
    assert "This needs a passkey" in str(modal)
    assert (await ann.submit(WHY))["ok"]
    assert "Your vote counted." in await told(ann)
    assert [row["approval_id"] for row in await chat.bench.rows(VOTES)] == [other]
