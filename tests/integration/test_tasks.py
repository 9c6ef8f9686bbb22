"""Tasks: reviews that people claim, and their cards.

Reviews that somebody works on: a claim shows who, keeps others from answering, and grants nothing.

A review's card in Slack: who works on it, how far it has come, and the buttons that take it on and give it back.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from bot.views.references import APPROVE, CLAIM, REJECT, RELEASE, SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.notification import ConflictError
from runtime.model.votes import ClaimAct, RefusalCode, VoteVerdict
from runtime.services.operator import OperatorService
from runtime.services.people import UnknownPersonError
from runtime.services.review_answers import ReviewAnswer, outcome_of
from runtime.services.tasks import NOBODY, SoughtTasks, TaskService
from runtime.store import directory
from sandbox.harness import SandboxUser
from tests.bench import EDITION, PEOPLE, TEAM, TENANT, Bench
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.seen import whispered
from tests.logins import loading
from tests.patience import MINUTE, until

YES, NO = VoteVerdict.APPROVE, VoteVerdict.REJECT


async def _stamp(bench: Bench, task: str) -> str:
    view = await bench.desk.approval(task)
    assert view
    return view.stamp


async def _bring(
    bench: Bench,
    person: str,
    task: str,
    says: VoteVerdict | ClaimAct,
    ref: str = "",
    caller: str = "officer-portal",
    **more: Any,
) -> RefusalCode | None:
    """Let a caller bring what a person says; return why it did not count."""
    given = {"reason": "seen and checked", "stamp": await _stamp(bench, task), **more}
    said = ReviewAnswer(task, person, says, **({} if isinstance(says, ClaimAct) else given))
    facts = await TaskService(bench.engine, TENANT).bring(caller, ref or f"{person} {says} {bench.clock()}", said)
    refusal, _ = outcome_of(facts)
    return refusal.code if refusal else None


async def _assignee(bench: Bench, task: str) -> tuple[str | None, str]:
    view = await bench.desk.approval(task)
    assert view
    return view.assignee, view.assignee_name


async def _leaves(bench: Bench, task: str) -> list[tuple[str, str, Any]]:
    """Return what the chain has of claims and votes: event, who, and from whom."""
    (row,) = await bench.rows("SELECT run_id FROM approvals WHERE approval_id = %s", task)
    events = ("task.claimed", "task.released", "vote.counted", "vote.refused")
    return [
        (leaf.event, leaf.actor.id, leaf.data.get("from", leaf.data.get("code")))
        for leaf in await bench.chain(row["run_id"])
        if leaf.event in events
    ]


async def _leave(bench: Bench, person: str) -> None:
    """Take a person out of all groups."""
    await bench.meddle("UPDATE actors SET groups = '[]' WHERE actor_id = %s", person)


async def _deactivate(bench: Bench, person: str) -> None:
    """Deactivate a person's account in Slack."""
    account, now = f"U{person.upper()}", bench.clock()
    async with bench.engine.pool.connection() as conn:
        assert await directory.note_account_state(conn, TENANT, TEAM, account, now, is_active=False)


async def test_a_claim_shows_who_works_on_a_review_and_others_are_told(bench: Bench) -> None:
    task = await bench.review()
    assert (await bench.claim("ann", task)).counted
    assert await _assignee(bench, task) == ("ann", "Ann")
    assert await _leaves(bench, task) == [("task.claimed", "ann", None)]
    await bench.settle()
    assert [said["text"] for said in bench.chat.said("post_message")] == ["Ann claimed this."]
    assert bench.chat.said("update_card"), "its card shows it"


async def test_nobody_else_answers_what_somebody_has_claimed_until_they_give_it_back(bench: Bench) -> None:
    task = await bench.review()
    await bench.claim("ann", task)
    refused = await bench.click("ben", task)
    assert refused.refusal
    assert (refused.refusal.code, refused.refusal.about) == (RefusalCode.CLAIMED, ("Ann",))
    assert (await bench.claim("ben", task)).refusal == refused.refusal
    assert (await bench.claim("ann", task, "release")).counted
    assert (await bench.click("ben", task, nonce="again")).counted
    await bench.settle()
    assert any(said["text"].startswith("Ann released this.") for said in bench.chat.said("post_message"))
    assert await _leaves(bench, task) == [
        ("task.claimed", "ann", None),
        ("vote.refused", "ben", "task.claimed"),
        ("vote.refused", "ben", "task.claimed"),
        ("task.released", "ann", None),
        ("vote.counted", "ben", None),
    ]


async def test_who_has_claimed_a_review_answers_it(bench: Bench) -> None:
    task = await bench.review()
    await bench.claim("ann", task)
    assert (await bench.click("ann", task, "reject", "not all right")).counted
    (row,) = await bench.rows("SELECT result FROM steps WHERE path = 'review'")
    assert row["result"] == {"decision": "rejected", "reviewer": "ann", "reason": "not all right"}


@pytest.mark.parametrize(
    ("person", "code"),
    [("rita", RefusalCode.REQUESTER), ("omar", RefusalCode.NOT_IN_GROUP), ("nobody", RefusalCode.NOT_IN_DIRECTORY)],
)
async def test_who_may_not_answer_may_not_claim(bench: Bench, person: str, code: RefusalCode) -> None:
    task = await bench.review()
    await bench.meddle("""UPDATE actors SET groups = '["compliance"]' WHERE actor_id = 'rita'""")
    refusal = (await bench.claim(person, task)).refusal
    assert refusal
    assert refusal.code is code
    assert await _assignee(bench, task) == (None, "")
    assert await _leaves(bench, task) == [("vote.refused", person, str(code))]


async def test_those_next_in_line_take_a_review_over_once_they_may_answer(bench: Bench) -> None:
    task = await bench.review()
    await bench.claim("ann", task)
    early = (await bench.claim("sue", task)).refusal
    assert early
    assert early.code is RefusalCode.NOT_IN_GROUP, "time has not run short"
    await bench.later(days=5, seconds=1)
    assert (await bench.click("sue", task)).refusal, "a lead claims it before they answer it"
    assert (await bench.claim("sue", task, nonce="later")).counted
    assert await _assignee(bench, task) == ("sue", "Sue")
    assert ("task.claimed", "sue", "ann") in await _leaves(bench, task)
    await bench.settle()
    assert "Sue claimed this, taking over from Ann." in [s["text"] for s in bench.chat.said("post_message")]
    assert (await bench.click("ann", task)).refusal
    assert (await bench.click("sue", task, nonce="later")).counted


@pytest.mark.parametrize("leave", [_leave, _deactivate], ids=["the groups", "Slack"])
async def test_the_claim_of_who_has_left_holds_up_nobody(
    bench: Bench, leave: Callable[[Bench, str], Awaitable[None]]
) -> None:
    task = await bench.review()
    await bench.claim("ann", task)
    await leave(bench, "ann")
    assert (await bench.pending("ben", 5)).total == 1
    assert (await bench.click("ben", task)).counted
    assert await _leaves(bench, task) == [
        ("task.claimed", "ann", None),
        ("task.released", "countersign", None),
        ("vote.counted", "ben", None),
    ]


async def test_only_who_has_claimed_a_review_gives_it_back(bench: Bench) -> None:
    task = await bench.review()
    for claimed in (False, True):
        if claimed:
            await bench.claim("ann", task)
        refusal = (await bench.claim("ben", task, "release", str(claimed))).refusal
        assert refusal
        assert refusal.code is RefusalCode.NOT_CLAIMED
    again = (await bench.claim("ann", task, nonce="again")).refusal
    assert again
    assert again.code is RefusalCode.CLAIMED_BEFORE


async def test_only_a_review_can_be_claimed(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "report"})
    await bench.settle()
    refusal = (await bench.claim("ann", await bench.approval_id())).refusal
    assert refusal
    assert refusal.code is RefusalCode.NO_TASK


async def test_what_has_ended_can_be_neither_claimed_nor_given_back(bench: Bench) -> None:
    task = await bench.review()
    await bench.claim("ann", task)
    await bench.click("ann", task)
    for act in ("claim", "release"):
        refusal = (await bench.claim("ben" if act == "claim" else "ann", task, act, "late")).refusal
        assert refusal
        assert (refusal.code, refusal.about) == (RefusalCode.CLOSED, ("approved",))


async def test_what_somebody_else_works_on_does_not_wait_for_me(bench: Bench) -> None:
    task = await bench.review()
    assert (await bench.pending("ben", 5)).total == 1
    await bench.claim("ann", task)
    assert (await bench.pending("ben", 5)).total == 0
    assert [entry.view.approval_id for entry in (await bench.pending("ann", 5)).page.entries] == [task]


async def test_an_answer_that_a_caller_brings_counts_as_the_persons_own_and_says_who_brought_it(bench: Bench) -> None:
    task = await bench.review()
    assert await _bring(bench, "ann", task, ClaimAct.CLAIM) is None
    assert await _bring(bench, "ann", task, YES) is None
    (vote,) = await bench.rows("SELECT person, team, account, via, brought_by FROM votes")
    assert vote == {"person": "ann", "team": TEAM, "account": "UANN", "via": "edge", "brought_by": "officer-portal"}
    (row,) = await bench.rows("SELECT result FROM steps WHERE path = 'review'")
    assert row["result"]["reviewer"] == "ann"
    assert await _leaves(bench, task) == [("task.claimed", "ann", None), ("vote.counted", "ann", None)]


@pytest.mark.parametrize(
    ("person", "says", "change", "code"),
    [
        ("rita", YES, {}, RefusalCode.REQUESTER),
        ("omar", YES, {}, RefusalCode.NOT_IN_GROUP),
        ("sue", YES, {}, RefusalCode.NOT_IN_GROUP),
        ("portal-bot", YES, {}, RefusalCode.NOT_IN_DIRECTORY),
        ("ann", NO, {"reason": ""}, RefusalCode.REASON_MISSING),
        ("ann", YES, {"stamp": "0" * 16}, RefusalCode.STALE),
        ("ann", YES, {"caller": "portal-bot"}, RefusalCode.BROUGHT),  # which submitted the run
    ],
)
async def test_what_a_caller_brings_is_held_to_the_rules_of_a_click(
    bench: Bench, person: str, says: VoteVerdict, change: dict[str, Any], code: RefusalCode
) -> None:
    task = await bench.review()
    assert await _bring(bench, person, task, says, **change) is code
    assert await bench.rows("SELECT 1 FROM votes") == []
    assert await _leaves(bench, task) == [("vote.refused", person, str(code))]


async def test_an_approval_of_an_effect_is_given_in_slack_alone(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "report"})
    await bench.settle()
    assert await _bring(bench, "ann", await bench.approval_id(), YES) is RefusalCode.NO_TASK


async def test_nobody_counts_twice_by_another_name_whichever_way_their_word_comes(bench: Bench) -> None:
    task = await bench.review()
    await bench.meddle("UPDATE approvals SET requirement = jsonb_set(requirement::jsonb, '{quorum}', '2')::json")
    assert await _bring(bench, "ann", task, YES) is None
    people = [{"id": i, "kind": "person", "name": i.title(), "groups": g, "grants": {}} for i, g in PEOPLE.items()]
    people += [{"id": "anna", "kind": "person", "name": "Anna", "groups": ["compliance"], "grants": {}}]
    async with loading(bench.superuser) as conn:
        await directory.replace_directory(conn, TENANT, EDITION, people, [(TEAM, "UANN", "anna")], bench.clock())
    assert await _bring(bench, "anna", task, YES) is RefusalCode.REPEATED


async def test_the_same_ref_says_a_thing_once_and_cannot_say_another(bench: Bench) -> None:
    task = await bench.review()
    assert await _bring(bench, "ann", task, YES, "r1") is None
    desk, said = TaskService(bench.engine, TENANT), ReviewAnswer(task, "ann", YES, "seen and checked", "")
    with pytest.raises(ConflictError, match="used before"):
        await desk.bring("officer-portal", "r1", said)
    assert len(await bench.rows("SELECT 1 FROM votes")) == 1


async def test_a_person_answers_by_command_in_their_own_name(bench: Bench) -> None:
    task = await bench.review()
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    notification = await desk.say(ReviewAnswer(task, "ann", YES, "seen", await _stamp(bench, task)))
    await bench.later(seconds=3)
    refusal, status = outcome_of(await desk.outcome(notification, 0) or {})
    assert (refusal, status) == (None, "approved")
    assert [row["via"] for row in await bench.rows("SELECT via FROM votes")] == ["command"]
    with pytest.raises(UnknownPersonError):
        await desk.say(ReviewAnswer(task, "nobody", YES, "seen", ""))


async def test_open_reviews_are_listed_by_who_may_answer_and_who_works_on_them_a_page_at_a_time(bench: Bench) -> None:
    tasks = []
    for number in range(3):
        tasks.append(await bench.review(str(number)))
        bench.clock.move(minutes=1)
    await bench.claim("ann", tasks[0])
    await bench.click("ben", tasks[2])
    desk = TaskService(bench.engine, TENANT)

    async def listed(**sought: Any) -> list[str]:
        return [view.approval_id for view in await desk.list(SoughtTasks(**sought))]

    assert await listed() == tasks[:2], "what is answered is open no more"
    assert await listed(person="ben") == tasks[:2], "what somebody else works on is listed, too"
    assert await listed(person="omar") == []
    assert await listed(person="rita") == []
    assert await listed(assignee="ann") == tasks[:1]
    assert await listed(assignee=NOBODY) == tasks[1:2]
    assert await listed(limit=1) == tasks[:1]
    assert await listed(after=tasks[0]) == tasks[1:2]
    (row,) = await bench.rows("SELECT run_id FROM approvals WHERE approval_id = %s", tasks[1])
    assert await listed(run_id=row["run_id"]) == tasks[1:2]
    assert await listed(definition="bench-review") == tasks[:2]
    assert await listed(definition="another") == []


async def test_a_review_is_shown_to_those_who_are_asked_alone(bench: Bench) -> None:
    task, desk = await bench.review(), TaskService(bench.engine, TENANT)
    shown = await desk.show(task, "ann")
    assert shown
    assert [field.name for field in shown.fields] == ["case"]
    assert await desk.show(task, "sue") is None
    assert await desk.show(task, "portal-bot") is None
    assert await desk.show("apr_none", "ann") is None
    await bench.later(days=5, seconds=1)
    assert await desk.show(task, "sue")


async def test_progress_on_a_review_is_shown_on_its_card_as_often_as_it_is_on_record(bench: Bench) -> None:
    task = await bench.review()
    (wait,) = await bench.rows("SELECT correlation_key FROM waits WHERE type = 'human_task'")
    await bench.settle()
    for number in range(5):
        facts = await bench.progress(wait["correlation_key"], f"{number} of 5", {"looked_at": number}, ["review"])
        assert facts["status"] == "applied"
    await bench.settle()
    view = await bench.desk.approval(task)
    assert view
    assert view.progress
    assert (view.progress.message, view.progress.data, view.progress.count) == ("4 of 5", {"looked_at": 4}, 5)
    assert len(bench.chat.said("update_card")) == 1
    assert (await bench.run((await bench.rows("SELECT run_id FROM waits"))[0]["run_id"]))["status"] == "waiting"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _card(chat: Chat, person: SandboxUser, words: str) -> dict[str, Any]:
    """Return the review's card as the person sees it once it shows these words."""
    await chat.bench.settle()
    card: dict[str, Any] = await person.find_card(
        lambda message: "Review needed" in message["text"] and words in json.dumps(message["blocks"])
    )
    return card


def _buttons(card: dict[str, Any]) -> dict[str, str]:
    (actions,) = [block for block in card["blocks"] if block["type"] == "actions"]
    named = [one for one in actions["elements"] if "text" in one and one["action_id"] != SHOW_ALL]
    return {button["text"]["text"]: button["action_id"] for button in named}


async def _claimed(chat: Chat, task: str, person: str | None) -> None:
    """Wait until the review is claimed by a person, or by nobody."""

    async def is_so() -> bool:
        rows = await chat.bench.rows("SELECT assignee FROM approvals WHERE approval_id = %s", task)
        return bool(rows[0]["assignee"] == person)

    await until(is_so)


async def test_a_claim_in_slack_shows_on_the_card_and_whoever_else_answers_is_told(chat: Chat) -> None:
    task = await chat.bench.review()
    ann, ben = await chat.person("ann"), await chat.person("ben")
    card = await _card(chat, ann, "Claim")
    assert _buttons(card) == {"Approve": APPROVE, "Reject": REJECT, "Claim": CLAIM}
    await ann.click(card, CLAIM)
    await _claimed(chat, task, "ann")
    card = await _card(chat, ben, "Claimed by")
    assert "Ann" in json.dumps(card["blocks"])
    expected = {"Approve": APPROVE, "Reject": REJECT, "Release": RELEASE, "Take over": CLAIM}
    assert _buttons(card) == expected
    await ben.click(card, APPROVE)
    assert await whispered(ben, "Ann has claimed this. You can answer it once they release it.")
    await ben.click(card, RELEASE)
    assert await whispered(ben, "You have not claimed this")
    await ann.click(card, RELEASE)
    await _claimed(chat, task, None)
    assert "Take over" not in _buttons(await _card(chat, ben, '"Claim"'))


async def test_the_card_shows_how_far_a_review_has_come_as_data(chat: Chat) -> None:
    await chat.bench.review()
    (wait,) = await chat.bench.rows("SELECT correlation_key FROM waits WHERE type = 'human_task'")
    ann = await chat.person("ann")
    await _card(chat, ann, "Claim")
    data = {"documents": "2 of 4", "*bold*": "<!channel>"}
    await chat.bench.progress(wait["correlation_key"], "half *done*", data, ["review"])
    card = await _card(chat, ann, "Progress")
    shown = {(cell["type"], cell["text"]) for block in card["blocks"] for cell in block.get("fields", ())}
    assert {("plain_text", word) for word in ("2 of 4", "*bold*", "half *done*")} <= shown
    assert {kind for kind, text in shown if "!channel" in text} == {"plain_text"}
    await ann.click(card, SHOW_ALL)
    modal = json.dumps(await ann.find_modal())
    assert "Progress" in modal
    assert "2 of 4" in modal
