"""What doctor says of a workspace: token, scopes, Socket Mode, channels."""

from collections.abc import AsyncIterator

import pytest

from bot.slack.client import slack_client
from bot.slack.doctor import check_app, check_slack
from tests.integration.bot_stage import CHANNEL, WORKSPACE, Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as running:
        yield running


async def test_the_doctor_finds_token_scopes_and_socket_mode_in_order(stage: Stage) -> None:
    facts = await check_slack(stage.raw, "xapp-sandbox-app-token", [CHANNEL, CHANNEL])
    assert [(fact.name, fact.ok) for fact in facts] == [
        ("slack token", True),
        ("slack scopes", True),
        (f"slack channel {CHANNEL}", True),
        ("slack socket mode", True),
    ]


async def test_the_doctor_says_what_is_wrong_and_what_to_do(stage: Stage) -> None:
    wrong = slack_client("xoxb-wrong", stage.raw.base_url)
    facts = await check_slack(wrong, "xapp-wrong", [CHANNEL])
    assert [(fact.name, fact.ok, fact.detail) for fact in facts] == [
        ("slack token", False, "invalid_auth"),
        ("slack socket mode", False, "invalid_auth"),
    ]
    assert all(fact.remedy for fact in facts)


async def test_the_doctor_finds_a_token_of_another_app_than_our_links_lead_to(stage: Stage) -> None:
    assert (await check_app(stage.raw, "A0COUNTERSIGN")).ok
    fact = await check_app(stage.raw, "A0OTHER")
    assert (fact.ok, fact.detail) == (False, "the token belongs to A0COUNTERSIGN, but our links open A0OTHER")
    wrong = await check_app(slack_client("xoxb-wrong", stage.raw.base_url), "A0COUNTERSIGN")
    assert (wrong.ok, wrong.detail) == (False, "invalid_auth")


async def test_the_doctor_looks_into_each_channel() -> None:
    there = WORKSPACE["channels"][0]
    channels = [
        there,
        {"id": "C0OTHER", "name": "other", "members": ["U0ANNA"]},
        {"id": "C0OLD", "name": "old", "members": there["members"], "is_archived": True},
        {"id": "C0SECRET", "name": "secret", "members": ["U0ANNA"], "is_private": True},
    ]
    async with staged(channels=channels) as stage:
        facts = await check_slack(stage.raw, None, ["C0OTHER", "C0OLD", "C0SECRET", "C0NONE", "approvals", CHANNEL])
    assert {fact.name.removeprefix("slack channel "): fact.detail for fact in facts if not fact.ok} == {
        "C0OTHER": "the bot is not in #other",
        "C0OLD": "#old is archived",
        "C0SECRET": "channel_not_found",
        "C0NONE": "channel_not_found",
        "approvals": "channel_not_found",
    }
    assert all(fact.remedy for fact in facts if not fact.ok)
