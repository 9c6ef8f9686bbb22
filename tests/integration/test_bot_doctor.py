"""What doctor says of a workspace: token, scopes, Socket Mode, channels."""

from bot.client import slack_client
from bot.doctor import check_app, check_slack
from tests.integration.bot_stage import only_slack
from tests.integration.chat_stage import APP_TOKEN, CHANNEL, WORKSPACE


async def test_the_doctor_finds_token_scopes_and_socket_mode_in_order() -> None:
    async with only_slack() as (client, _):
        facts = await check_slack(client, APP_TOKEN, [CHANNEL, CHANNEL])
    assert [(fact.name, fact.ok) for fact in facts] == [
        ("slack token", True),
        ("slack scopes", True),
        (f"slack channel {CHANNEL}", True),
        ("slack socket mode", True),
    ]


async def test_the_doctor_says_what_is_wrong_and_what_to_do() -> None:
    async with only_slack() as (client, _):
        wrong = slack_client("xoxb-wrong", client.base_url)
        facts = await check_slack(wrong, "xapp-wrong", [CHANNEL])
    assert [(fact.name, fact.ok, fact.detail) for fact in facts] == [
        ("slack token", False, "invalid_auth"),
        ("slack socket mode", False, "invalid_auth"),
    ]
    assert all(fact.remedy for fact in facts)


async def test_the_doctor_finds_a_token_of_another_app_than_our_links_lead_to() -> None:
    async with only_slack() as (client, _):
        assert (await check_app(client, "A0COUNTERSIGN")).ok
        fact = await check_app(client, "A0OTHER")
        assert (fact.ok, fact.detail) == (False, "the token belongs to A0COUNTERSIGN, but our links open A0OTHER")
        wrong = await check_app(slack_client("xoxb-wrong", client.base_url), "A0COUNTERSIGN")
        assert (wrong.ok, wrong.detail) == (False, "invalid_auth")


async def test_the_doctor_looks_into_each_channel() -> None:
    there = WORKSPACE["channels"][1]
    channels = [
        there,
        {"id": "C0OTHER", "name": "other", "members": ["UANN"]},
        {"id": "C0OLD", "name": "old", "members": there["members"], "is_archived": True},
        {"id": "C0SECRET", "name": "secret", "members": ["UANN"], "is_private": True},
    ]
    async with only_slack(channels=channels) as (client, _):
        facts = await check_slack(client, None, ["C0OTHER", "C0OLD", "C0SECRET", "C0NONE", "approvals", CHANNEL])
    assert {fact.name.removeprefix("slack channel "): fact.detail for fact in facts if not fact.ok} == {
        "C0OTHER": "the bot is not in #other",
        "C0OLD": "#old is archived",
        "C0SECRET": "channel_not_found",
        "C0NONE": "channel_not_found",
        "approvals": "channel_not_found",
    }
    assert all(fact.remedy for fact in facts if not fact.ok)
