"""Where policy wants a signature of each of several groups, each reads about it, and who is missing is named."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.engine import Routing
from runtime.model.routing import Destination, Rule
from sandbox.harness import messages
from tests.bench import ROUTING
from tests.integration.chat_stage import CHANNEL, Chat
from tests.integration.conftest import Targets
from tests.integration.groups_stage import asking_each

OTHER = "C0APPROVALS"


@pytest.fixture
async def chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with asking_each(dsn, targets, tmp_path) as running:
        yield running


async def _seen(chat: Chat) -> dict[str, dict[str, Any]]:
    """Return the one card of each channel that has any."""
    found = {channel: await chat.cards(channel) for channel in (CHANNEL, OTHER)}
    assert all(len(cards) <= 1 for cards in found.values())
    return {channel: cards[0] for channel, cards in found.items() if cards}


async def test_each_required_group_has_the_card_where_it_reads(chat: Chat) -> None:
    await chat.file()
    cards = await _seen(chat)
    assert set(cards) == {CHANNEL, OTHER}
    assert "<@UOMAR>" in str(cards[OTHER]["blocks"])


async def test_every_card_says_which_group_has_not_signed_and_folds_at_the_end(chat: Chat) -> None:
    approval = await chat.file()
    for person in ("ann", "ben"):
        assert (await chat.bench.click(person, approval)).counted
    await chat.bench.settle()
    for card in (await _seen(chat)).values():
        assert "(2 signatures; still needed: operators)" in card["text"]
        assert "2 of 2" not in str(card)
    ann = await chat.person("ann")
    assert any(
        "Ben approved (2 signatures; still needed: operators)" in one["text"] for one in messages(await ann.see())
    )
    assert (await chat.bench.click("omar", approval)).counted
    await chat.bench.settle()
    assert [card["text"].partition(":")[0] for card in (await _seen(chat)).values()] == ["Approved", "Approved"]


async def test_a_large_group_does_not_keep_a_small_one_from_being_called(chat: Chat) -> None:
    await chat.bench.meddle(
        "INSERT INTO actors SELECT tenant, 'p' || n, 'person', 'P', '[\"compliance\"]', '{}'"
        " FROM actors, generate_series(1, 5) AS n WHERE actor_id = 'ann'"
    )
    await chat.bench.meddle(
        "INSERT INTO slack_accounts SELECT tenant, team, 'UP' || n, 'p' || n"
        " FROM slack_accounts, generate_series(1, 5) AS n WHERE actor_id = 'ann'"
    )
    await chat.file()
    assert all("For <@UOMAR>" in str(card["blocks"]) for card in (await _seen(chat)).values())


def _by(*rules: Rule) -> Routing:
    return replace(ROUTING, rules=rules)


async def test_the_rule_for_one_group_leaves_the_others_their_channel(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    rule = Rule(Destination((CHANNEL,), mention=("S0DESK",)), groups=("compliance",))
    async with asking_each(dsn, targets, tmp_path, _by(rule)) as chat:
        await chat.file()
        cards = await _seen(chat)
        assert set(cards) == {CHANNEL, OTHER}
        assert "For <@UOMAR> <!subteam^S0DESK>" in str(cards[OTHER]["blocks"])


async def test_a_rule_for_every_request_is_taken_once(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with asking_each(dsn, targets, tmp_path, _by(Rule(Destination((OTHER,))))) as chat:
        await chat.file()
        assert set(await _seen(chat)) == {OTHER}
