"""Approve, where a click is not enough: a modal leads to the page where one signs; nothing is recorded before."""

from collections.abc import AsyncIterator

import pytest

from bot.views.references import APPROVE, REJECT, SHOW_ALL
from tests.integration.bot_stage import Stage, ask, staged, the_card, until, whispers
from tests.integration.more_stage import choose


@pytest.fixture(params=["http", "socket"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with staged(transport=request.param) as running:
        yield running


async def test_approve_leads_to_a_page_and_records_nothing(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(sign_with="passkey"))
    await anna.click(await the_card(anna, stage), APPROVE)
    modal = await anna.find_modal()
    assert modal["title"]["text"] == "Sign to approve"
    assert "<https://countersign.example/passkeys/1|Open the page to sign>" in str(modal["blocks"])
    (wish,) = stage.desk.signing.wishes
    view = stage.desk.approvals["apr-1"]
    assert (wish.approval_id, wish.stamp, wish.person_id, wish.account.user) == (
        "apr-1",
        view.stamp,
        "p-anna",
        "U0ANNA",
    )
    assert stage.desk.inbox == {}


async def test_a_reason_that_is_wanted_comes_first_and_goes_with_the_link(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(sign_with="passkey", reason_required=True))
    await anna.click(await the_card(anna, stage), APPROVE)
    await anna.find_modal()
    assert (await anna.submit({"reason": "Checked the register"}))["ok"]
    assert (await anna.find_modal())["title"]["text"] == "Sign to approve"
    assert [wish.reason for wish in stage.desk.signing.wishes] == ["Checked the register"]
    assert stage.desk.inbox == {}


async def test_a_rejection_needs_no_passkey(stage: Stage) -> None:
    boris = await stage.person("U0BORIS")
    await stage.post(ask(sign_with="passkey"))
    await boris.click(await the_card(boris, stage), REJECT)
    await boris.find_modal()
    await boris.submit({"reason": "Wrong owner"})
    await stage.desk.settled()
    assert stage.desk.signing.wishes == []


async def test_who_may_not_decide_gets_no_link_and_is_on_record(stage: Stage) -> None:
    carla = await stage.person("U0CARLA")
    await stage.post(ask(sign_with="passkey"))
    await carla.click(await the_card(carla, stage), APPROVE)
    await stage.desk.settled()
    assert stage.desk.signing.wishes == []
    assert [outcome.counted for outcome in stage.desk.outcomes.values()] == [False]
    assert "requested this yourself" in str(whispers(await carla.see()))


async def test_one_signs_from_the_details_as_well(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(sign_with="passkey"))
    await anna.click(await the_card(anna, stage), SHOW_ALL)
    await anna.find_modal()
    assert (await anna.click_view("modal", APPROVE))["ok"]
    await until(lambda: bool(stage.desk.signing.wishes))
    state = await anna.wait_for(lambda state: state if "Sign to approve" in str(state) else None)
    assert "Open the page to sign" in str(state)


async def test_without_an_address_the_person_is_told_whom_to_ask(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    stage.desk.signing.address = None
    await stage.post(ask(sign_with="passkey"))
    await anna.click(await the_card(anna, stage), APPROVE)
    assert "COUNTERSIGN_PUBLIC_URL" in str((await anna.find_modal())["blocks"])
    assert stage.desk.inbox == {}


async def test_breaking_the_glass_leads_to_a_page_with_its_ticket_and_records_nothing(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask(sign_with="passkey", break_glass=("commanders",)))
    await choose(anna, await the_card(anna, stage), "Break the glass")
    await anna.find_modal()
    assert (await anna.submit({"reason": "the bank is down", "ticket": "INC-7"}))["ok"]
    modal = await anna.find_modal()
    assert modal["title"]["text"] == "Sign to break glass"
    assert "Nothing is done until you have signed there" in str(modal["blocks"])
    assert [(wish.reason, wish.ticket) for wish in stage.desk.signing.wishes] == [("the bank is down", "INC-7")]
    assert stage.desk.inbox == {}
