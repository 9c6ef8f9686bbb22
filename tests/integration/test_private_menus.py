"""On the Home and behind "Show all", which one person alone sees, only what this person may do now is offered."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.views.buttons import claim_buttons
from bot.views.references import SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.votes import CardAct
from runtime.services.approval_view import Act
from tests.bench import Bench
from tests.integration.answers_stage import say
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.delegates_stage import delegate
from tests.integration.more_stage import newest
from tests.patience import MINUTE

OFFICER = {Act.DECIDE, Act.ASK, Act.CHANGES, Act.HAND}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    return await bench.approval_id()


async def test_each_person_may_do_what_fits_their_part(bench: Bench) -> None:
    approval = await _asked(bench)
    acts = bench.desk.answers.acts
    assert await acts(approval, "ben") == OFFICER
    assert await acts(approval, "rita") == {Act.CANCEL}
    assert await acts(approval, "ivy") == set()
    assert await acts("apr_none", "ben") == set()


async def test_who_has_voted_may_withdraw_and_nobody_else(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval)).counted
    acts = bench.desk.answers.acts
    assert await acts(approval, "ann") == {Act.WITHDRAW}
    assert await acts(approval, "ben") == OFFICER


async def test_who_waits_for_an_answer_asks_no_second_question(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await say(bench, "ann", approval, CardAct.ASK, "who owns it?")).counted
    assert await bench.desk.answers.acts(approval, "ann") == OFFICER - {Act.ASK}


async def test_a_delegate_decides_and_asks_but_hands_nothing_on(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    assert await bench.desk.answers.acts(approval, "sam") == OFFICER - {Act.HAND}


async def test_of_a_request_that_may_be_edited_who_may_approve_it_edits_it(editing: Bench) -> None:
    await editing.start("editing.file", {"company": "ACME", "text": "report", "copies": 10})
    await editing.settle()
    acts = await editing.desk.answers.acts(await editing.approval_id(), "ann")
    assert Act.EDIT in acts


async def test_nothing_is_offered_of_what_is_decided(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval, "reject", "not like this")).counted
    assert await bench.desk.answers.acts(approval, "ann") == set()


def _labels(surface: Any) -> str:
    return json.dumps(surface, ensure_ascii=False)


async def test_the_home_offers_no_withdrawal_to_who_has_not_voted(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    shown = _labels(await chat.home(await chat.person("ben")))
    assert "Ask a question…" in shown
    assert "Withdraw my vote…" not in shown
    assert "Cancel this request…" not in shown


async def test_show_all_offers_each_reader_their_own_acts(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    for name, there, missing in (
        ("ann", ["Withdraw my vote…"], ["Ask a question…", '"Approve"', "Cancel this request…"]),
        ("ben", ["Ask a question…", '"Approve"'], ["Withdraw my vote…", "Cancel this request…"]),
        ("rita", ["Cancel this request…"], ["Withdraw my vote…", "Ask a question…", '"Approve"']),
    ):
        person = await chat.person(name)
        await person.click(await newest(chat, person), SHOW_ALL)
        shown = _labels(await person.find_modal(timeout=MINUTE))
        assert [label for label in there if label not in shown] == []
        assert [label for label in missing if label in shown] == []


async def test_a_review_is_claimed_and_released_by_whom_the_rules_let(bench: Bench) -> None:
    review = await bench.review()
    acts, claiming = bench.desk.answers.acts, {Act.CLAIM, Act.RELEASE}
    assert await acts(review, "ben") & claiming == {Act.CLAIM}
    assert await acts(review, "rita") & claiming == set()
    assert (await bench.claim("ann", review)).counted
    assert await acts(review, "ann") & claiming == {Act.RELEASE}
    assert await acts(review, "ben") & claiming == set()


async def test_a_private_view_offers_a_claim_as_the_reader_may_have_it(bench: Bench) -> None:
    review = await bench.review()
    assert (await bench.claim("ann", review)).counted
    view = await bench.desk.approval(review)
    assert view
    for may, labels in (
        ({Act.RELEASE}, ["Release"]),
        ({Act.CLAIM}, ["Take over"]),
        (set(), []),
    ):
        buttons = claim_buttons(replace(view, may=frozenset(may)))
        assert [one["text"]["text"] for one in buttons] == labels


async def test_the_card_of_a_channel_offers_what_anybody_may_do(chat: Chat) -> None:
    await chat.file()
    (card,) = await chat.cards()
    assert all(label in _labels(card["blocks"]) for label in ("Approve", "Ask a question…", "Cancel this request…"))
