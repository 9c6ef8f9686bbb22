"""Votes that are withdrawn, and votes of people who left.

Votes that are withdrawn stay on record and count no more; changes that are requested end a request.

What somebody said who has left since counts for nothing, and nothing is handed to them.
"""

from typing import Any

import pytest

from runtime.model.approval import ResultCode
from runtime.model.person import SlackAccount
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct, RefusalCode
from runtime.services.clicks import Click
from runtime.services.home import HomeQueries, Look
from runtime.store import directory
from tests.bench import TEAM, TENANT, Bench
from tests.integration.acts_stage import Opener, asked, edit, say, status

WITHDRAW = CardAct.WITHDRAW
RUNBOOK = """
steps:
  - id: file
    verb: file
    params: {{ company: ACME, text: report }}
    on:
      {branch}:
        - {{ id: tell, verb: note, params: {{ incident: I1, text: "${{error.code + ': ' + error.message}}" }} }}
"""


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    return await bench.approval_id()


async def _leaves(bench: Bench, event: str) -> list[dict[str, Any]]:
    (run,) = await bench.rows("SELECT run_id FROM runs")
    return [dict(leaf.data) for leaf in await bench.chain(run["run_id"]) if leaf.event == event]


async def test_a_withdrawn_vote_counts_no_more_and_its_person_may_vote_again(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval)).counted
    assert (await say(bench, "ann", approval, WITHDRAW, "read it again")).counted
    assert (await bench.click("ben", approval)).status is ApprovalStatus.REQUESTED
    assert (await bench.click("ann", approval, nonce="2")).status is ApprovalStatus.APPROVED
    await bench.settle()
    (run,) = await bench.rows("SELECT run_id, status FROM runs")
    assert run["status"] == "succeeded"
    counted, (withdrawn,) = await _leaves(bench, "vote.counted"), await _leaves(bench, "vote.withdrawn")
    assert [leaf["person"] for leaf in counted] == ["ann", "ben", "ann"]
    assert (withdrawn["digest"], withdrawn["reason"]) == (counted[0]["digest"], "read it again")


async def test_a_vote_that_was_given_again_is_the_one_that_is_withdrawn_next(bench: Bench) -> None:
    approval = await _asked(bench)
    for number in ("1", "2"):
        assert (await bench.click("ann", approval, nonce=number)).counted
        assert (await say(bench, "ann", approval, WITHDRAW, f"read it {number} times")).counted
        bench.clock.move(minutes=1)
    counted, withdrawn = await _leaves(bench, "vote.counted"), await _leaves(bench, "vote.withdrawn")
    assert [leaf["digest"] for leaf in withdrawn] == [leaf["digest"] for leaf in counted]
    assert len({leaf["digest"] for leaf in counted}) == 2


async def test_card_and_thread_tell_of_a_withdrawn_vote(bench: Bench) -> None:
    approval = await _asked(bench)
    await bench.click("ann", approval)
    await say(bench, "ann", approval, WITHDRAW, "read it again")
    await bench.settle()
    view = await bench.desk.approval(approval)
    assert view
    assert (view.votes, [vote.person_name for vote in view.withdrawn]) == ((), ["Ann"])
    told = [said["text"] for said in bench.chat.said("post_message")]
    assert 'Ann withdrew their vote (0 of 2): "read it again"' in told


@pytest.mark.parametrize(
    ("person", "words", "code"),
    [
        ("ben", "read it again", RefusalCode.NO_VOTE),
        ("ann", " ", RefusalCode.REASON_MISSING),
    ],
)
async def test_a_withdrawal_that_does_not_count_changes_nothing_and_is_on_record(
    bench: Bench, person: str, words: str, code: RefusalCode
) -> None:
    approval = await _asked(bench)
    await bench.click("ann", approval)
    outcome = await say(bench, person, approval, WITHDRAW, words)
    assert outcome.refusal
    assert outcome.refusal.code is code
    assert [(leaf["code"], leaf["verdict"]) for leaf in await _leaves(bench, "vote.refused")] == [(code, "withdraw")]
    assert (await bench.click("ben", approval)).status is ApprovalStatus.APPROVED


async def test_no_vote_is_withdrawn_once_the_request_is_decided(bench: Bench) -> None:
    approval = await _asked(bench)
    for person in ("ann", "ben"):
        await bench.click(person, approval)
    outcome = await say(bench, "ann", approval, WITHDRAW, "too late")
    assert outcome.refusal
    assert outcome.refusal.code is RefusalCode.CLOSED


async def test_the_same_withdrawal_delivered_again_is_one(bench: Bench) -> None:
    approval = await _asked(bench)
    await bench.click("ann", approval)
    for _ in range(2):
        assert (await say(bench, "ann", approval, WITHDRAW, "read it again")).counted
    assert len(await _leaves(bench, "vote.withdrawn")) == 1


async def test_what_a_person_withdrew_their_vote_from_waits_for_them_again(bench: Bench) -> None:
    approval = await _asked(bench)
    await bench.click("ann", approval)
    assert (await say(bench, "ann", approval, WITHDRAW, "read it again")).counted
    page = (await HomeQueries(bench.engine, TENANT).waiting("ann", Look(10))).page
    assert [entry.view.approval_id for entry in page.entries] == [approval]


async def test_changes_end_the_request_and_say_what_should_change(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval, "changes", "name the owners")).status is ApprovalStatus.REJECTED
    await bench.settle()
    view = await bench.desk.approval(approval)
    assert view
    assert view.result
    assert (view.result.code, view.result.about) == (ResultCode.CHANGES_REQUESTED, ("Ann",))
    (step,) = await bench.rows("SELECT status, error, error_code FROM steps WHERE path = 'file'")
    assert step == {
        "status": "failed_terminal",
        "error": "changes requested by Ann: name the owners",
        "error_code": "changes_requested",
    }
    (told,) = [said["text"] for said in bench.chat.said("direct_message") if said["text"].startswith("Your")]
    assert told.endswith('was sent back: changes were requested. Ann: "name the owners"')


async def test_changes_need_words_and_are_not_for_what_may_have_happened(bench: Bench) -> None:
    approval = await _asked(bench)
    refused = await bench.click("ann", approval, "changes", " ")
    assert refused.refusal
    assert refused.refusal.code is RefusalCode.REASON_MISSING


@pytest.mark.parametrize("branch", ["changes_requested", "rejected", "failure"])
async def test_a_runbook_takes_changes_up_by_their_own_branch_or_else_as_a_rejection(
    opened: Opener, branch: str
) -> None:
    async with opened(RUNBOOK.format(branch=branch)) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.click("ann", await bench.approval_id(), "changes", "name the owners")
        await bench.settle()
        stands = await status(bench, run_id)
        assert (stands["run"], stands["file"]) == ("succeeded", "failed_handled")
        assert stands[f"file.{branch}.tell"] == "succeeded"


@pytest.mark.parametrize(("branches", "taken"), [(("rejected", "changes_requested"), "changes_requested"),
                                                 (("rejected",), "rejected")])  # fmt: skip
async def test_a_review_of_which_changes_were_requested_is_answered_with_no(
    opened: Opener, branches: tuple[str, ...], taken: str
) -> None:
    tell = '        - {{ id: {0}, verb: note, params: {{ incident: I1, text: "${{error.code}}" }} }}'
    on = "\n".join(f"      {name}:\n{tell.format(name[:3])}" for name in branches)
    runbook = f"""
steps:
  - id: look
    verb: review
    params: {{ title: Is it right?, groups: [compliance], case: C1 }}
    on:
{on}
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        task = (await bench.rows("SELECT approval_id FROM approvals"))[0]["approval_id"]
        assert (await bench.click("ann", task, "changes", "add the owners")).counted
        await bench.settle()
        stands = await status(bench, run_id)
        assert stands[f"look.{taken}.{taken[:3]}"] == "succeeded"


async def test_who_hands_a_review_on_makes_it_the_others_to_work_on(bench: Bench) -> None:
    task = await bench.review()
    assert (await bench.claim("ann", task)).counted
    refused = await say(bench, "ben", task, CardAct.HAND, "mine", about="cat")
    assert refused.refusal
    assert refused.refusal.code is RefusalCode.CLAIMED
    assert (await say(bench, "ann", task, CardAct.HAND, "I am away", about="cat")).counted
    view = await bench.desk.approval(task)
    assert view
    assert view.assignee == "cat"
    answered = await bench.click("ann", task)
    assert answered.refusal
    assert answered.refusal.code is RefusalCode.CLAIMED
    assert (await bench.click("cat", task)).counted
    (handed,) = await _leaves(bench, "approval.handed")
    assert (handed["person"], handed["to"], handed["reason"]) == ("ann", "cat", "I am away")


async def test_to_whom_a_request_is_handed_is_told_in_thread_and_in_private(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await say(bench, "ann", approval, CardAct.HAND, "ask the expert", about="cat")).counted
    await bench.settle()
    said = 'Ann handed this to Cat: "ask the expert"'
    (thread,) = [one for one in bench.chat.said("post_message") if one["text"] == said]
    (direct,) = [one for one in bench.chat.said("direct_message") if one["text"] == said]
    assert (thread["said"]["mention"], direct["user"]) == (["UCAT"], "UCAT")


@pytest.mark.parametrize("to", ["rita", "omar", "ann", "nobody", "portal-bot"])
async def test_a_request_is_handed_to_nobody_who_may_not_decide_it(bench: Bench, to: str) -> None:
    approval = await _asked(bench)
    outcome = await say(bench, "ann", approval, CardAct.HAND, "you do it", about=to)
    assert outcome.refusal
    assert outcome.refusal.code is RefusalCode.NOT_ENTITLED
    assert await _leaves(bench, "approval.handed") == []


LEFT = {
    "removed from the directory": ("DELETE FROM actors WHERE actor_id = %s", RefusalCode.NOT_IN_DIRECTORY),
    "deactivated in Slack": ("", RefusalCode.DEACTIVATED),
}


async def _request(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    return await bench.approval_id()


async def _leave(bench: Bench, person: str, statement: str) -> None:
    if statement:
        await bench.meddle(statement, person)
        return
    async with bench.engine.pool.connection() as conn:
        assert await directory.note_account_state(
            conn, TENANT, TEAM, f"U{person.upper()}", bench.clock(), is_active=False
        )


def _click(person: str, approval: str, act: CardAct, about: str) -> Click:
    return Click(
        dedupe_key=f"{person}:{act}",
        approval_id=approval,
        stamp="",
        verdict=act,
        reason="some words",
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-left",
        about=about,
    )


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("act", [CardAct.ASK, CardAct.HAND, CardAct.WITHDRAW, CardAct.REPLY])
async def test_what_was_recorded_of_somebody_who_has_left_since_is_refused_on_record(
    bench: Bench, act: CardAct, how: str
) -> None:
    statement, code = LEFT[how]
    approval = await _request(bench)
    person, about = "ann", "cat" if act is CardAct.HAND else ""
    if act is CardAct.WITHDRAW:
        assert (await bench.click("ann", approval)).counted
    if act is CardAct.REPLY:
        assert (await say(bench, "ben", approval, CardAct.ASK, "who owns it?")).counted
        (question,) = await bench.rows("SELECT question_id FROM questions")
        person, about = "rita", question["question_id"]
    recorded = await bench.desk.record(_click(person, approval, act, about))
    await _leave(bench, person, statement)
    outcome = await bench.desk.apply(recorded)
    assert outcome.refusal is not None
    assert outcome.refusal.code is code
    (run,) = await bench.rows("SELECT run_id FROM runs")
    refused = [leaf.data for leaf in await bench.chain(run["run_id"]) if leaf.event == "vote.refused"]
    assert [(one["verdict"], one["code"]) for one in refused] == [(str(act), str(code))]


@pytest.mark.parametrize("how", LEFT)
async def test_nothing_is_handed_to_somebody_who_has_left(bench: Bench, how: str) -> None:
    approval = await _request(bench)
    await _leave(bench, "cat", LEFT[how][0])
    refusal = (await say(bench, "ann", approval, CardAct.HAND, "I am away", about="cat")).refusal
    assert refusal is not None
    assert refusal.code is RefusalCode.NOT_ENTITLED


async def test_an_edit_of_somebody_who_has_left_since_is_refused(editing: Bench) -> None:
    approval = await asked(editing)
    await _leave(editing, "ann", "")
    refusal = await edit(editing, "ann", approval, {"copies": 3})
    assert refusal is not None
    assert refusal.code is RefusalCode.DEACTIVATED
