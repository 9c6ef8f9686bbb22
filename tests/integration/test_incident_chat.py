"""Cards of an incident that was closed meanwhile, in a real workspace: they are edited, and nobody can sign them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from countersign_incident_triage.standins import OUTAGE_INCIDENT, build

from bot.views.references import APPROVE
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.integration.chat_stage import Chat, chatting
from tests.integration.incident_stage import PACK, Desk, ServiceNow
from tests.patience import MINUTE

CHANNEL = "C0APPROVALS"
WITHDRAWN = "Canceled"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[tuple[Chat, Desk]]:
    async with TestServer(build()) as server:
        servicenow = ServiceNow(str(server.make_url("")).rstrip("/"))
        async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, servicenow, PACK) as running:
            yield running, Desk(running.bench, servicenow.url)


def _buttons(card: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]


async def test_the_open_cards_of_an_incident_that_was_closed_meanwhile_are_edited_to_say_so(
    chat: tuple[Chat, Desk],
) -> None:
    running, desk = chat
    await desk.triaged(OUTAGE_INCIDENT, "1")
    before = await running.cards(CHANNEL)
    assert [APPROVE in _buttons(card) for card in before] == [True, True], "the assignment and the labels"
    await desk.change(OUTAGE_INCIDENT, state="7")
    await desk.triaged(OUTAGE_INCIDENT, "2")
    await running.bench.later(seconds=3)
    after = await running.cards(CHANNEL)
    assert [card["ts"] for card in after] == [card["ts"] for card in before]
    for card in after:
        assert APPROVE not in _buttons(card)
        assert WITHDRAWN in str(card["blocks"])


async def test_a_click_on_a_card_that_was_withdrawn_changes_nothing(chat: tuple[Chat, Desk]) -> None:
    running, desk = chat
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    approval_id = await desk.asked(run_id, "assign")
    await desk.change(OUTAGE_INCIDENT, state="7")
    await desk.triaged(OUTAGE_INCIDENT, "2")
    assert not (await running.bench.click("ivy", approval_id)).counted
    assert (await desk.incident(OUTAGE_INCIDENT))["labels"] == []
