"""What somebody said who has left since counts for nothing, and nothing is handed to them."""

import pytest

from runtime.model.person import SlackAccount
from runtime.model.votes import CardAct, RefusalCode
from runtime.services.clicks import Click
from runtime.store import directory
from tests.bench import TEAM, TENANT, Bench
from tests.integration.answers_stage import say
from tests.integration.editing_stage import asked, edit

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
